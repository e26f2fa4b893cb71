# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# step NAME COMMAND...: runs COMMAND and counts whether it passed. closing_line: prints the counts, and is the exit
# status.

passed=0
failures=()

step() {
  local name=$1 start=$SECONDS
  shift
  printf '\n===== %s\n' "$name"
  if "$@" </dev/null 2>&1; then
    passed=$((passed + 1))
    printf '===== %s: passed, %d s\n' "$name" $((SECONDS - start))
  else
    failures+=("$name")
    printf '===== %s: FAILED, %d s\n' "$name" $((SECONDS - start))
  fi
}

mount_points() { awk '{ print $5 }' /proc/self/mountinfo | sort; }

closing_line() {
  local name
  printf '\n'
  for name in "${failures[@]}"; do printf 'failed: %s\n' "$name"; done
  printf '%d passed, %d failed\n' "$passed" "${#failures[@]}"
  ((${#failures[@]} == 0))
}
