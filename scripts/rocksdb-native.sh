#!/usr/bin/env bash
# Builds RocksDB from source for this machine's processor, as one more library beside the official
# ones: version `11.8.1-native`. Needs a C and a C++ compiler, make, cargo; no libclang.
#
# The sources (RocksDB, snappy, lz4, zstd) come with the crates that Rust's own bindings are built
# from: cargo fetches and checks them. 10 to 20 minutes of two cores; started again, it goes on.
set -euo pipefail

crate="0.19.0+11.8.1"

fail() {
    echo "error: $1" >&2
    exit 1
}

for tool in cargo make cc c++; do
    command -v "$tool" >/dev/null || fail "no \`$tool\`: install it (Debian: make, g++; Rust for cargo)"
done

cache="${XDG_CACHE_HOME:-$HOME/.cache}/kvdyno"
work="$cache/rocksdb-native/$crate"
mkdir -p "$work/fetch/src"
cd "$work"

if [ ! -e fetched ]; then
    cat > fetch/Cargo.toml <<END
[package]
name = "fetch"
version = "0.0.0"
edition = "2021"
[dependencies]
librocksdb-sys = { version = "=$crate", default-features = false, features = ["lz4", "snappy", "zstd"] }
[workspace]
END
    touch fetch/src/lib.rs
    (cd fetch && cargo vendor --quiet ../vendor >/dev/null)
    touch fetched
fi

rocksdb=vendor/librocksdb-sys
part() { sed -n "s/^#define ROCKSDB_$1 //p" "$rocksdb/rocksdb/include/rocksdb/version.h"; }
version="$(part MAJOR).$(part MINOR).$(part PATCH)"

# As RocksDB's own makefile builds a release, for this processor. The last two flags undo the price
# of a shared library: functions of its own are inlined and called directly.
case "$(uname -m)" in
x86_64) target=-march=native ;;
*) target=-mcpu=native ;;
esac
common="-O2 -g1 $target -DNDEBUG -fPIC -fno-semantic-interposition -fno-plt"
defines="-DROCKSDB_PLATFORM_POSIX -DROCKSDB_LIB_IO_POSIX -DOS_LINUX -DROCKSDB_FALLOCATE_PRESENT \
-DROCKSDB_RANGESYNC_PRESENT -DROCKSDB_SCHED_GETCPU_PRESENT -DROCKSDB_AUXV_GETAUXVAL_PRESENT \
-DHAVE_ALIGNED_NEW -DHAVE_UINT128_EXTENSION -DUSE_RTTI -DSNAPPY -DLZ4 -DZSTD"
includes="-I$rocksdb -I$rocksdb/rocksdb -I$rocksdb/rocksdb/include -I$rocksdb/snappy \
-Ivendor/lz4-sys/liblz4/lib -Ivendor/zstd-sys/zstd/lib"

{
    grep -v 'util/build_version.cc' "$rocksdb/rocksdb_lib_sources.txt" | sed "s|^|$rocksdb/rocksdb/|"
    echo "$rocksdb/build_version.cc"
    printf '%s\n' "$rocksdb"/snappy/snappy{,-sinksource,-stubs-internal}.cc
    printf '%s\n' vendor/lz4-sys/liblz4/lib/lz4{,hc}.c
    find vendor/zstd-sys/zstd/lib/{common,compress,decompress,dictBuilder} -name '*.[cS]'
} > sources

{
    echo "librocksdb.so: $(sed 's|$|.o|' sources | tr '\n' ' ')"
    printf '\tc++ -shared -Wl,-Bsymbolic -Wl,-soname,librocksdb.so -o $@ @objects -lpthread -ldl\n'
    printf '%%.cc.o: %%.cc\n\tc++ -std=c++20 %s %s %s -w -c $< -o $@\n' "$common" "$defines" "$includes"
    printf '%%.c.o: %%.c\n\tcc %s -DXXH_NAMESPACE=ZSTD_ -w -c $< -o $@\n' "$common"
    printf '%%.S.o: %%.S\n\tcc %s -c $< -o $@\n' "$common"
} > Makefile
sed 's|$|.o|' sources > objects

echo "compiling RocksDB $version for this processor ($(wc -l < sources) files)" >&2
make --silent -j "${JOBS:-$(nproc)}" librocksdb.so

dir="$cache/libraries/rocksdb/$version-native"
mkdir -p "$dir"
strip --strip-debug -o "$dir/librocksdb.so.part" librocksdb.so
sum=$(sha256sum "$dir/librocksdb.so.part" | cut -d ' ' -f 1)
cat > "$dir/library.json" <<END
{
  "engine": "rocksdb",
  "version": "$version",
  "build": "native",
  "sha256": "$sum",
  "source": "librocksdb-sys $crate, $(c++ --version | head -1), $target"
}
END
mv "$dir/librocksdb.so.part" "$dir/librocksdb.so"
echo "$dir/librocksdb.so"
