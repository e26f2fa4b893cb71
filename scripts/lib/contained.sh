# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# contained COMMAND...: runs COMMAND as root, or as a user who looks like root, with mounts and processes of its own.
# However COMMAND or this shell ends, even by kill -9, its processes end too, and its mounts with them.

contained_pid=

end_contained() {
  [[ -z $contained_pid ]] || kill -KILL "$contained_pid" 2>/dev/null || true
}
trap end_contained EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

contained() {
  local unshare=(unshare --mount --pid --fork --kill-child --mount-proc)
  ((EUID == 0)) || unshare+=(--map-root-user --map-auto)
  # In the background, since a shell that waits for a foreground command answers no signal.
  setpriv --pdeathsig KILL "${unshare[@]}" "$@" <&0 &
  contained_pid=$!
  local status=0
  wait "$contained_pid" || status=$?
  contained_pid=
  return "$status"
}

# Says why contained cannot work here; says nothing where it can.
contained_obstacle() {
  local tool
  for tool in unshare setpriv flock; do
    if ! command -v "$tool" >/dev/null; then
      echo "the command $tool (package util-linux) is missing"
      return
    fi
  done
  if contained true 2>/dev/null; then return; fi
  if ((EUID == 0)); then
    echo "root may not make mount namespaces here (a container needs the capability SYS_ADMIN)"
  else
    echo "run it as root, or allow user namespaces (package uidmap, an entry in /etc/subuid and /etc/subgid)"
  fi
}
