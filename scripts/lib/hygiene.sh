#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What can be told without building: stray white space and conflict markers, scripts and recipes that do not parse,
# and whether the script that compares measurements is right.
set -euo pipefail
cd "$(dirname "$0")/../.."

empty_tree=$(git hash-object -t tree /dev/null)
git diff --check "$empty_tree" -- ':!unit_tests/reference/*.txt' ':!examples/data/*.csv'

mapfile -t scripts < <(git grep -lI '^#!/usr/bin/env bash\|^# shellcheck shell=bash')
for script in "${scripts[@]}"; do bash -n "$script"; done
if ! command -v shellcheck >/dev/null && ((EUID == 0)) && command -v apt-get >/dev/null; then
  apt-get install -qq --no-install-recommends shellcheck >/dev/null || true
fi
if command -v shellcheck >/dev/null; then
  shellcheck --external-sources "${scripts[@]}"
else
  echo "shellcheck is not installed: the scripts were only parsed"
fi

if ! command -v python3 >/dev/null && ((EUID == 0)) && command -v apt-get >/dev/null; then
  apt-get install -qq --no-install-recommends python3 >/dev/null || true
fi
mapfile -t recipes < <(git ls-files 'spack/*.py')
if command -v python3 >/dev/null; then
  for recipe in "${recipes[@]}"; do python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$recipe"; done
  python3 perf_tests/test_compare_results.py
else
  echo "python3 is not installed: recipes and perf_tests/compare_results were not checked"
fi
