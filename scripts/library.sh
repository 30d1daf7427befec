#!/usr/bin/env bash
# Gets the RocksDB that the suite `quick` runs into the store of libraries, where it is not there
# yet: the official binary, by `kvdyno engines get`. Ends with 1, and says why, where it cannot be
# had: `make demo` then does without RocksDB.
#
# usage: library.sh KVDYNO VERSION        gets it
#        library.sh --is-there VERSION    only looks
set -uo pipefail
. "$(dirname "$0")/apt.sh"
kvdyno=$1
version=$2

for store in "${XDG_CACHE_HOME:-$HOME/.cache}/kvdyno/libraries" ${KVDYNO_LIBRARY_PATH:+${KVDYNO_LIBRARY_PATH//:/ }}; do
    [ -e "$store/rocksdb/$version/library.json" ] && exit 0
    # What `make rocksdb-native` built will do for a demo; tests want the official one as well.
    [ "$kvdyno" = --is-there ] && [ -e "$store/rocksdb/$version-native/library.json" ] && exit 0
done
[ "$kvdyno" != --is-there ] || exit 1

cannot() {
    echo "warning: RocksDB $version cannot be had here: $1" >&2
    exit 1
}

[ "$(uname -s)" = Linux ] || cannot "its official binary for this system is not known"
case $(uname -m) in
    x86_64 | aarch64) ;;
    *) cannot "there is no official binary for $(uname -m); \`make rocksdb-native\` builds one" ;;
esac
if ! command -v mvn >/dev/null; then
    why=$(apt_install maven default-jre-headless) || cannot "mvn, which fetches it, is not installed: $why"
fi
"$kvdyno" engines get rocksdb "$version" >&2 || cannot "\`kvdyno engines get rocksdb $version\` failed"
