#!/usr/bin/env bash
# Gets the plugins and servers of engines, unless they are there: plugins (WiredTiger and TidesDB,
# built from their published sources; LevelDB, the system's package) and servers (the system's
# packages, unpacked and not installed). On Debian, installs first what a build needs. Exits with 1,
# and prints why, if one cannot be had.
#
# usage: get-engines.sh KVDYNO ENGINE...
set -uo pipefail
here=$(dirname "$0")
. "$here/skip.sh"
. "$here/apt.sh"
kvdyno=$1
shift

is_there() {
    local store file=library.json
    case $1 in leveldb | tidesdb | wiredtiger) file=libkvdyno-$1.so ;; esac
    for store in "${XDG_CACHE_HOME:-$HOME/.cache}/kvdyno/libraries" ${KVDYNO_LIBRARY_PATH:+${KVDYNO_LIBRARY_PATH//:/ }}; do
        compgen -G "$store/$1/*/$file" >/dev/null && return
    done
    return 1
}

# Prints the packages that the build of an engine's library needs and this machine lacks.
print_missing_packages() {
    case $1 in wiredtiger | leveldb | tidesdb) ;; *) return ;; esac
    command -v cc >/dev/null || echo gcc
    command -v c++ >/dev/null || echo g++
    case $1 in
        wiredtiger)
            command -v cmake >/dev/null || echo cmake
            command -v ninja >/dev/null || echo ninja-build
            python3 -m pip --version >/dev/null 2>&1 || echo python3-pip
            [ -e /usr/include/lz4.h ] || echo liblz4-dev
            [ -e /usr/include/snappy-c.h ] || echo libsnappy-dev
            [ -e /usr/include/zstd.h ] || echo libzstd-dev
            ;;
        tidesdb)
            command -v cmake >/dev/null || echo cmake
            [ -e /usr/include/lz4.h ] || echo liblz4-dev
            [ -e /usr/include/snappy-c.h ] || echo libsnappy-dev
            [ -e /usr/include/zstd.h ] || echo libzstd-dev
            ;;
        leveldb)
            [ -e /usr/include/leveldb/db.h ] || echo libleveldb-dev
            [ -e /usr/include/snappy-c.h ] || echo libsnappy-dev
            ;;
    esac
}

failed=0
for engine in "$@"; do
    is_there "$engine" && continue
    mapfile -t packages < <(print_missing_packages "$engine")
    if [ ${#packages[@]} -gt 0 ]; then
        why=$(apt_install "${packages[@]}") || echo "warning: $engine: ${packages[*]}: $why" >&2
    fi
    if ! "$kvdyno" engines get "$engine" >&2; then
        skip "$engine" "\`kvdyno engines get $engine\` failed"
        failed=1
    fi
done
exit $failed
