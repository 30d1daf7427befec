# Sourced, with their arguments, by scripts that repack the archive of `make dist`. Sets `archive`
# to the first argument, or else to the newest archive in dist/, and `version` from its name.

fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit 1
}

[ $# -eq 0 ] || set -- "$(realpath -- "$1")"
cd "$(dirname "$0")/.."
archive=${1:-$({ find dist -name 'kvdyno-*.tar.gz' 2>/dev/null || true; } | sort -V | tail -1)}
[ -n "$archive" ] && [ -e "$archive" ] ||
    fail "expected an archive, found none at ${archive:-dist/}" "make dist"
version=$(basename "$archive" | sed -n 's/^kvdyno-\(.*\)-x86_64-linux\.tar\.gz$/\1/p')
[ -n "$version" ] ||
    fail "expected kvdyno-VERSION-x86_64-linux.tar.gz, found $(basename "$archive")" \
        "pass the archive of make dist"
