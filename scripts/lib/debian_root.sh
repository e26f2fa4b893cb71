# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Debian unstable, with the packages of one lane, in a folder of the cache. Needs messages.sh and contained.sh, and the
# variable cache.
# shellcheck disable=SC2154

debian_packages() {
  local packages=(mount g++ cmake ninja-build catch2 libfmt-dev libcli11-dev libbenchmark-dev nlohmann-json3-dev
    libhdf5-dev ca-certificates)
  case $1 in
    newest) packages+=(libkokkos-dev) ;;
    oldest) packages+=(libtrilinos-kokkos-dev libtrilinos-kokkos-kernels-dev libblas-dev liblapack-dev) ;;
  esac
  local more
  read -ra more <<<"${ELAPHOS_DEBIAN_PACKAGES:-}"
  packages+=("${more[@]}")
  local IFS=,
  echo "${packages[*]}"
}

# Debian's Kokkos names static libraries that it does not ship, since they would be empty.
# shellcheck disable=SC2016
mend_kokkos='
for list in $(find /usr/lib -path "*/cmake/Kokkos/KokkosTargets-*.cmake"); do
  for library in $(grep -o "lib/[^ \"]*\.a\"" "$list" | tr -d \" | sort -u); do
    [ -e "/usr/$library" ] || ar cr "/usr/$library"
  done
done'

# A root is known by what it is made from, so a change here makes a new one.
debian_root_path() {
  local lane=$1 key
  key=$(printf '%s\n' "$(debian_packages "$lane")" "$mend_kokkos" | sha256sum | cut -c1-12)
  echo "$cache/roots/$lane-$key"
}

# What it takes to make a root and to enter it; the smallest systems lack mount, too.
install_root_tools() {
  local missing=() package
  for package in mmdebstrap mount; do
    command -v "$package" >/dev/null || missing+=("$package")
  done
  ((${#missing[@]} > 0)) || return 0
  command -v apt-get >/dev/null ||
    die "this is not a Debian system (no apt-get): install the dependencies by other means, see README.md"
  ((EUID == 0)) || die "not installed: ${missing[*]}: run quickstart as root, or have it installed"
  say "installing from Debian: ${missing[*]}"
  # A foreign package source that is out of order must not matter, so only the installation counts.
  DEBIAN_FRONTEND=noninteractive apt-get update -qq >"$log" 2>&1 || true
  DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends "${missing[@]}" >>"$log" 2>&1 ||
    die "apt-get could not install ${missing[*]}, see $log"
}

# The mirror that this machine uses itself.
debian_mirror() {
  # shellcheck disable=SC2016
  local fields='$(ORIGIN)|$(RELEASE)|$(REPO_URI)' mirror
  find_mirror() {
    apt-get indextargets --format "$fields" 'Created-By: Packages' 2>/dev/null |
      awk -F'|' '$1 == "Debian" && $2 !~ /-(security|updates|backports)/ { print $3; exit }'
  }
  mirror=$(find_mirror)
  if [[ -z $mirror && $EUID == 0 ]]; then
    apt-get update -qq >"$log" 2>&1 || true
    mirror=$(find_mirror)
  fi
  case $mirror in
    mirror+file:*) mirror=$(awk '!/^#/ && NF { print $1; exit }' "${mirror#mirror+file:}") ;;
  esac
  echo "$mirror"
}

# Tells this root from an earlier or later one made from the same list.
root_identity() { cat "$root/.made"; }

# What else of the machine's apt settings is needed to reach that mirror.
apt_proxies() { apt-config dump 2>/dev/null | grep -iE '^Acquire::https?::Proxy' | grep -v '""' || true; }

remove_root() {
  if ((EUID == 0)); then rm -rf "$1"; else contained rm -rf "$1"; fi
}

# Other versions of the lane's root, except one that is in use.
remove_superseded_roots() {
  local lane=$1 keep=$2 old
  for old in "$cache/roots/$lane"-*; do
    if [[ ! -d $old || $old == "$keep" ]]; then continue; fi
    (
      exec 7>"$old.lock"
      if flock --nonblock 7; then
        remove_root "$old"
        rm -f "$old.lock"
      fi
    )
  done
}

make_debian_root() {
  local lane=$1 root=$2 mirror partial option options=()
  install_root_tools
  mirror=$(debian_mirror)
  [[ -n $mirror ]] || die "no Debian mirror in this machine's apt sources (or no package lists yet: apt-get update)"
  local free
  free=$(df -Pm "$cache" | awk 'NR == 2 { print $4 }')
  ((free >= 3000)) || die "$cache has $free MB free, 3000 are needed (ELAPHOS_CACHE_DIR names another folder)"

  while IFS= read -r option; do
    [[ -z $option ]] || options+=(--aptopt="$option")
  done < <(apt_proxies)
  # The name tells that it is unfinished: a run that is killed leaves no root that looks whole.
  partial=$root.partial
  remove_root "$partial"
  say "Debian unstable root for lane $lane: making it in $cache (about half a minute)"
  # An archive snapshot's Release file counts as expired.
  contained mmdebstrap --mode=root --variant=apt --aptopt='Acquire::Check-Valid-Until "false"' "${options[@]}" \
    --include="$(debian_packages "$lane")" --customize-hook="chroot \"\$1\" sh -c '$mend_kokkos'" \
    unstable "$partial" "$mirror" >"$log" 2>&1 || {
    tail -n 5 "$log" >&2
    die "mmdebstrap failed, see $log"
  }
  date +%s.%N >"$partial/.made"
  mv "$partial" "$root"
  remove_superseded_roots "$lane" "$root"
}

# Sets root, and holds it (file descriptor 8) until this shell ends.
use_debian_root() {
  local lane=$1 obstacle
  log=$cache/roots/$lane.log
  obstacle=$(contained_obstacle)
  [[ -z $obstacle ]] || die "cannot use a Debian root: $obstacle"
  root=$(debian_root_path "$lane")
  exec 9>"$cache/roots/$lane.lock"
  flock --nonblock 9 || {
    say "waiting for another run, which makes the root"
    flock 9
  }
  if [[ -d $root ]]; then
    say "Debian unstable root for lane $lane: $root"
  else
    make_debian_root "$lane" "$root"
  fi
  exec 8>"$root.lock"
  flock --shared 8
  exec 9>&-
}
