#!/usr/bin/env bash
# Packs the archive of `make dist` as a package of Debian, into dist/kvdyno_VERSION_amd64.deb. The
# package has the program and the workers in /usr/lib/kvdyno, as the program finds workers beside
# itself, and completions and docs.
#
# usage: deb.sh [ARCHIVE]
set -euo pipefail
. "$(dirname "$0")/archive.sh"
command -v dpkg-deb >/dev/null || fail "dpkg-deb is not installed" "apt-get install dpkg"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
root=$dir/root
mkdir -p "$root/DEBIAN" "$root/usr/bin" "$root/usr/lib/kvdyno" "$root/usr/share/doc/kvdyno"
tar --extract --file "$archive" --directory "$root/usr/lib/kvdyno" --strip-components 1

# The rest of the archive is documentation.
lib=$root/usr/lib/kvdyno doc=$root/usr/share/doc/kvdyno
mv "$lib/LICENSE" "$doc/copyright"
mv "$lib/README.md" "$lib/docs" "$lib/suites" "$lib/licences" "$doc/"
ln -s ../lib/kvdyno/kvdyno "$root/usr/bin/kvdyno"
while read -r shell path; do
    mkdir -p "$(dirname "$root/usr/share/$path")"
    "$lib/kvdyno" completions "$shell" >"$root/usr/share/$path"
done <<'PATHS'
bash bash-completion/completions/kvdyno
zsh zsh/vendor-completions/_kvdyno
fish fish/vendor_completions.d/kvdyno.fish
PATHS

cat >"$root/DEBIAN/control" <<CONTROL
Package: kvdyno
Version: $version
Architecture: amd64
Maintainer: the authors of kvdyno <kvdyno@localhost>
Installed-Size: $(du -sk "$root/usr" | cut -f1)
Depends: libc6 (>= 2.28), libgcc-s1 | libgcc1, libstdc++6
Section: utils
Priority: optional
Description: dynamometer for storage engines
 Puts key-value stores and drives under a known load on a known machine, and
 measures what they deliver and what it costs.
CONTROL
chmod -R u=rwX,go=rX "$root"
package=dist/kvdyno_${version}_amd64.deb
mkdir -p dist
dpkg-deb -Zgzip --root-owner-group --build "$root" "$package" >&2
echo "$package, $(du -h "$package" | cut -f1)"
