#!/usr/bin/env bash
# Tries the archive of `make dist`, and the package of `make deb` if there is one, in a new, minimal
# Debian that debootstrap makes: the oldest release that the mirror has. Needs root; leaves nothing.
#
# usage: try-dist.sh [ARCHIVE.tar.gz] [RELEASE...]
# Without an archive, tries the archive of this version in dist/.
set -euo pipefail
archive=
case ${1:-} in
*.tar.gz)
    archive=$(realpath --canonicalize-missing "$1")
    shift
    ;;
esac
cd "$(dirname "$0")/.."

fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit 1
}

[ "$(id -u)" -eq 0 ] || fail "making and entering a system needs root" "run as root"
command -v debootstrap >/dev/null || fail "debootstrap is not installed" "apt-get install debootstrap"
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)
archive=${archive:-dist/kvdyno-$version-x86_64-linux.tar.gz}
[ -e "$archive" ] || fail "there is no $archive" "make dist"
releases=("$@")
[ ${#releases[@]} -gt 0 ] || releases=(buster bullseye bookworm)

# The mirror is the one that this machine is set up with.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -m1 '/debian/*$') ||
    fail "apt knows no mirror of Debian" "try-dist.sh runs on Debian"

root=$(mktemp -d /var/tmp/kvdyno-try-dist-XXXXXX)
mounts=()
clean_up() {
    for ((at = ${#mounts[@]} - 1; at >= 0; at--)); do umount --recursive "${mounts[at]}" || true; done
    # Removes nothing in a directory that could not be unmounted.
    rm -rf --one-file-system "$root"
}
trap clean_up EXIT

debian=
for release in "${releases[@]}"; do
    echo "making a minimal $release" >&2
    if debootstrap --variant=minbase "$release" "$root/system" "$mirror" >"$root/debootstrap.log" 2>&1; then
        debian=$release
        break
    fi
    echo "note: no $release: $(tail -1 "$root/debootstrap.log")" >&2
    rm -rf --one-file-system "$root/system"
done
[ -n "$debian" ] || fail "none of ${releases[*]} could be made" "look at the network, or name a release that the mirror has"

for dir in proc sys dev; do
    mount --rbind --make-rslave "/$dir" "$root/system/$dir"
    mounts+=("$root/system/$dir")
done
tar --extract --file "$archive" --directory "$root/system/opt"
extra_path=/opt/$(basename "$archive" .tar.gz):
run() {
    echo "+ ${*}" >&2
    chroot "$root/system" /usr/bin/env -i HOME=/root PATH="$extra_path/usr/bin:/bin:/usr/sbin:/sbin" LANG=C "$@"
}

echo "$debian: $(run ldd --version | head -1)"
run kvdyno --version
run kvdyno doctor || echo "(doctor ended with $?)"
run kvdyno engines
# A small run, with its report; its figures are of no interest here. Exit code 4, findings that void
# figures, is accepted; 3, an engine that failed, is not.
code=0
run kvdyno run quick --engine lmdb,rocksdb --scale 1/100 --no-ram-limit --trials 1 --runs /root/runs --data-dir /var/tmp/kvdyno-place --create-data-dir || code=$?
case $code in 0 | 4) ;; *) fail "the run ended with $code" "see above" ;; esac
run kvdyno report --runs /root/runs
run sh -c 'ls -l /root/runs/*.html && grep -c "<script" /root/runs/*.html'
echo "the archive works on $debian"

version=$(basename "$archive" | sed -n 's/^kvdyno-\(.*\)-x86_64-linux\.tar\.gz$/\1/p')
package=$(dirname "$archive")/kvdyno_${version}_amd64.deb
[ -e "$package" ] || exit 0
rm -rf "$root/system/opt" "$root/system/root/runs"
extra_path=
cp "$package" "$root/system/tmp/kvdyno.deb"
run sh -c 'apt-get install --yes --no-install-recommends /tmp/kvdyno.deb </dev/null >/tmp/apt.log 2>&1 || { cat /tmp/apt.log; exit 1; }' ||
    fail "the package cannot be installed" "see above"
code=0
run kvdyno quick lmdb rocksdb --ram all --records 10k --trials 1 --threads 1 --duration 1s --runs /root/runs --data-dir /var/tmp/kvdyno-place --create-data-dir || code=$?
case $code in 0 | 4) ;; *) fail "the run of the package ended with $code" "see above" ;; esac
run sh -c 'dpkg --remove kvdyno && [ ! -e /usr/lib/kvdyno ] && [ ! -e /usr/bin/kvdyno ]' || fail "the package left files" "see above"
echo "the package works on $debian"
