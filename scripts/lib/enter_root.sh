#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# enter_root.sh ROOT [--bind|--ro-bind SOURCE TARGET]... -- FOLDER COMMAND...
# Runs COMMAND in FOLDER of the system in ROOT, where each TARGET is the outer SOURCE. Its mounts are made in the
# calling process' mount namespace, which must be private.
set -euo pipefail

outside() {
  local root=$1
  shift
  mkdir -p "$root/.outside"
  mount --rbind / "$root/.outside"
  # The rest is done from inside, where a link in a TARGET's path leads to where it leads inside.
  exec chroot "$root" /bin/bash "/.outside$(realpath "$0")" --inside "$@"
}

inside() {
  mount -t proc proc /proc
  mount --rbind /.outside/sys /sys
  mount --rbind /.outside/dev /dev
  mount -t tmpfs tmpfs /tmp
  while [[ $1 != -- ]]; do
    if [[ -d /.outside$2 ]]; then
      mkdir -p "$3"
    else
      mkdir -p "$(dirname "$3")"
      touch "$3"
    fi
    mount --bind "/.outside$2" "$3"
    if [[ $1 == --ro-bind ]]; then mount -o remount,bind,ro "$3"; fi
    shift 3
  done
  umount -l /.outside
  cd "$2"
  shift 2
  # Not exec: the first process of a pid namespace is immune to signals such as its own abort.
  "$@"
}

if [[ $1 == --inside ]]; then
  shift
  inside "$@"
else
  outside "$@"
fi
