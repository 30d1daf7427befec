#!/usr/bin/env bash
# Gets the RocksDB that the suite `quick` runs into the store of libraries, unless it is there: the
# official binary, by `kvdyno engines get`. Exits with 1, and prints why, if it cannot be had: `make
# demo` then does without RocksDB.
#
# usage: library.sh KVDYNO VERSION        gets it
#        library.sh --is-there VERSION    only looks
set -uo pipefail
. "$(dirname "$0")/apt.sh"
kvdyno=$1
version=$2

for store in "${XDG_CACHE_HOME:-$HOME/.cache}/kvdyno/libraries" ${KVDYNO_LIBRARY_PATH:+${KVDYNO_LIBRARY_PATH//:/ }}; do
    [ -e "$store/rocksdb/$version/library.json" ] && exit 0
    # A build of `make rocksdb-native` is enough for a demo; tests need the official one as well.
    [ "$kvdyno" = --is-there ] && [ -e "$store/rocksdb/$version-native/library.json" ] && exit 0
done
[ "$kvdyno" != --is-there ] || exit 1

give_up() {
    echo "warning: RocksDB $version cannot be had here: $1" >&2
    exit 1
}

[ "$(uname -s)" = Linux ] || give_up "its official binary for this system is not known"
case $(uname -m) in
    x86_64 | aarch64) ;;
    *) give_up "there is no official binary for $(uname -m); \`make rocksdb-native\` builds one" ;;
esac
if ! command -v mvn >/dev/null; then
    why=$(apt_install maven default-jre-headless) || give_up "mvn, which fetches it, is not installed: $why"
fi
"$kvdyno" engines get rocksdb "$version" >&2 || give_up "\`kvdyno engines get rocksdb $version\` failed"
