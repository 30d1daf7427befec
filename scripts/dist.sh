#!/usr/bin/env bash
# Packs the program (with the report's page inside), its workers, RocksDB's library and the licences
# into dist/kvdyno-VERSION-x86_64-linux.tar.gz, for any Linux with glibc 2.28 (2018) or newer on any
# x86-64 since 2009 (x86-64-v2). cargo-zigbuild links against the symbols of that glibc; the script
# fails if something needs newer ones.
set -euo pipefail
cd "$(dirname "$0")/.."

glibc=2.28
target=x86_64-unknown-linux-gnu
rocksdb=11.8.1
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)
name=kvdyno-$version-x86_64-linux
cache=${XDG_CACHE_HOME:-$HOME/.cache}/kvdyno
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$cache/target}"

fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit 1
}

[ "$(uname -sm)" = "Linux x86_64" ] || fail "the archive is for x86-64, this machine is $(uname -sm)" "make it on such a machine"
command -v objdump >/dev/null || fail "objdump, which looks through what was built, is not installed" "apt-get install binutils"

# cargo-zigbuild and its linker, from the Python packages of the same names.
tools=$cache/dist-tools
if ! [ -x "$tools/bin/cargo-zigbuild" ]; then
    echo "installing cargo-zigbuild and ziglang into $tools" >&2
    python3 -m venv "$tools" || fail "python3 -m venv failed" "apt-get install python3-venv"
    "$tools/bin/pip" install --quiet --disable-pip-version-check cargo-zigbuild ziglang
fi

# The linker's headers say that this processor has asm/cachectl.h, which libmdbx then includes; and
# its compiler refuses the date that libmdbx has in its version. -fPIE: .cargo/config.toml.
mkdir -p "$tools/include/asm"
: >"$tools/include/asm/cachectl.h"
export CFLAGS_x86_64_unknown_linux_gnu="-fPIE -Wno-date-time -I$tools/include"

# Instructions of 2009: a default virtual processor has no newer ones.
RUSTFLAGS=-Ctarget-cpu=x86-64-v2 PATH="$tools/bin:$PATH" cargo zigbuild --release --workspace --locked --bins --target "$target.$glibc"
binaries=$CARGO_TARGET_DIR/$target/release

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
tree=$dir/$name
mkdir -p "$tree/libraries/rocksdb"
workers=(null drive fio direct fjall lmdb lmdb1 mdbx plugin redb rocksdb sqlite surrealkv)
workers+=(aerospike mariadb memcached mongodb postgres redis)
for program in kvdyno "${workers[@]/#/kvdyno-}"; do
    install -m 755 "$binaries/$program" "$tree/$program"
    # Names of functions stay, for profiles; data for debuggers goes.
    strip --strip-debug "$tree/$program"
done
cp LICENSE README.md "$tree/"
cp -r docs suites "$tree/"

# The worker of RocksDB looks for its library beside itself first.
scripts/library.sh "$binaries/kvdyno" "$rocksdb" || fail "RocksDB's library cannot be packed" "see above"
for store in ${KVDYNO_LIBRARY_PATH:+${KVDYNO_LIBRARY_PATH//:/ }} "$cache/libraries"; do
    [ ! -e "$store/rocksdb/$rocksdb/library.json" ] || { cp -r "$store/rocksdb/$rocksdb" "$tree/libraries/rocksdb/"; break; }
done

# Licences of the crates that are linked in, as their packages have them.
mkdir "$tree/licences"
cargo metadata --locked --format-version 1 --filter-platform "$target" | python3 scripts/licences.py "$tree/licences"

echo "symbols of glibc that are needed, the newest of each:" >&2
newest=0
while read -r file; do
    needed=$(objdump -T "$file" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -Vu | tail -1)
    printf '  %-44s %s\n' "${file#"$tree"/}" "$needed" >&2
    newest=$(printf '%s\n%s\n' "$newest" "$needed" | sort -V | tail -1)
done < <(find "$tree" -type f \( -name 'kvdyno*' -o -name '*.so' \) -perm -u+r | sort)
[ "$(printf '%s\n%s\n' "$newest" "$glibc" | sort -V | tail -1)" = "$glibc" ] ||
    fail "something needs glibc $newest, and the archive is for $glibc" "see the list above"

mkdir -p dist
tar --create --gzip --mode u=rwX,go=rX --file "dist/$name.tar.gz" --owner 0 --group 0 --sort name --directory "$dir" "$name"
echo "dist/$name.tar.gz, $(du -h "dist/$name.tar.gz" | cut -f1)"
