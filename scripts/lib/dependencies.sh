# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Where the dependencies come from. Each way sets build (the build tree), log and, if the work is done in a Debian root,
# root. Needs debian_root.sh, and the variables source, cache, lane, preset, data_files and
# configure_options.
# shellcheck disable=SC2154

# What inside() shows of the outer system, as arguments of enter_root.sh.
folders=()

# A folder or file of the user's: visible at the same path.
add_folder() {
  local path
  path=$(realpath -s "$1")
  [[ -e $path ]] || return 0
  case $path/ in
    // | /usr/* | /bin/* | /sbin/* | /lib/* | /lib64/* | /etc/* | /proc/* | /sys/* | /dev/*)
      die "$path belongs to the system and cannot be shown in a Debian root: copy what is needed elsewhere"
      ;;
  esac
  folders+=(--bind "$(realpath "$path")" "$path")
}

find_folders() {
  local name
  folders=(--ro-bind "$source" "$source" --bind "$build" "$build")
  for name in $(compgen -e ELAPHOS_); do
    if [[ $name == ELAPHOS_*_DIR && $name != ELAPHOS_CACHE_DIR ]]; then add_folder "${!name}"; fi
  done
  for name in "${data_files[@]}"; do add_folder "$name"; done
}

# Runs a command in the build tree, in the environment where the dependencies are.
inside() {
  if [[ -z $root ]]; then
    (cd "$build" && "$@")
    return
  fi
  local variables=(PATH=/usr/bin:/usr/sbin HOME=/tmp LANG=C.UTF-8 CMAKE_GENERATOR=Ninja "TERM=${TERM:-dumb}") name
  for name in $(compgen -e); do
    case $name in
      ELAPHOS_CACHE_DIR) ;;
      ELAPHOS_*_DIR) variables+=("$name=$(realpath -s "${!name}")") ;;
      ELAPHOS_* | KOKKOS_* | OMP_* | GOMP_* | CTEST_* | ASAN_* | LSAN_* | UBSAN_* | CI) variables+=("$name=${!name}") ;;
    esac
  done
  contained env -i "${variables[@]}" bash "$source/scripts/lib/enter_root.sh" "$root" "${folders[@]}" -- "$build" "$@"
}

# Build trees of clones that are gone.
remove_stale_build_trees() {
  local record old
  for record in "$cache"/build/*.source; do
    if [[ ! -f $record || -d $(<"$record") ]]; then continue; fi
    old=${record%.source}
    (
      exec 7>"$old.lock"
      if flock --nonblock 7; then rm -rf "$old" "$old".*; fi
    )
  done
}

# The build tree of this clone for one source of the dependencies.
use_build_tree() {
  build=$cache/build/$1-$preset-$(printf '%s' "$source" | sha256sum | cut -c1-12)
  log=$build.log
  mkdir -p "$build"
  exec 6>"$build.lock"
  flock --nonblock 6 || {
    say "waiting for another run, which works in $build"
    flock 6
  }
  printf '%s\n' "$source" >"$build.source"
}

configure() {
  local commit
  commit=$(git -C "$source" describe --always --dirty --abbrev=12 '--exclude=*' 2>/dev/null || true)
  inside cmake --preset "$preset" -S "$source" -B "$build" -D "ELAPHOS_GIT_COMMIT=$commit" "${configure_options[@]}" \
    "$@" >"$log" 2>&1
}

# "Kokkos 5.2.2, fmt 11.1.1", or what CMake said was missing.
found() { sed -nE 's/^-- ((Kokkos|fmt|nlohmann_json|HDF5|Catch2|CLI11|benchmark)[^:]*): (installed|downloaded).*/\1/p' "$log" | paste -sd, | sed 's/,/, /g'; }
missing() {
  local reason
  reason=$(grep -oE '^  [A-Za-z0-9_]+ [0-9.<]+ is not installed|^  [A-Za-z0-9_]+: could not download' "$log" | head -n 1)
  reason=${reason#  }
  echo "${reason:-see $log}"
}

use_installed() {
  if ! command -v cmake >/dev/null; then
    say "installed packages: CMake is not installed"
    return 1
  fi
  use_build_tree installed
  if ! configure; then
    say "installed packages: $(missing)"
    return 1
  fi
  say "installed packages: $(found)"
}

use_downloads() {
  if ! command -v cmake >/dev/null; then
    say "pinned downloads: they need CMake"
    return 1
  fi
  use_build_tree downloads
  if ! configure -D ELAPHOS_FETCH_DEPENDENCIES=ON; then
    say "pinned downloads: $(missing)"
    return 1
  fi
  say "pinned downloads: $(found)"
}

use_debian() {
  use_debian_root "$lane"
  use_build_tree "$lane"
  find_folders
  # A tree made with another root's compiler and packages is of no use.
  if [[ $(cat "$build.root" 2>/dev/null) != "$(root_identity)" ]]; then
    rm -rf "${build:?}"
    mkdir "$build"
    root_identity >"$build.root"
  fi
  configure || {
    tail -n 20 "$log" >&2
    die "CMake failed, see $log"
  }
  say "Debian packages: $(found)"
}

use_dependencies() {
  remove_stale_build_trees
  if [[ $lane == newest ]]; then
    if use_installed; then return; fi
    if [[ -d $(debian_root_path "$lane") ]]; then
      say "pinned downloads: not tried, the Debian root is there"
    elif use_downloads; then
      return
    fi
  fi
  use_debian
}
