# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

say() { printf 'quickstart: %s\n' "$*" >&2; }

die() {
  say "$*"
  exit 1
}
