#!/usr/bin/env bash
# Gets what engines are nothing without, where it is not there yet: libraries that kvdyno links a
# shim with (WiredTiger, built from its published sources; LevelDB, the system's package) and servers
# (the system's packages, unpacked and not installed). What building takes is installed first, on
# Debian. Ends with 1, and says why, where one cannot be had.
#
# usage: get-engines.sh KVDYNO ENGINE...
set -uo pipefail
kvdyno=$1
shift

is_there() {
    local store
    for store in "${XDG_CACHE_HOME:-$HOME/.cache}/kvdyno/libraries" ${KVDYNO_LIBRARY_PATH:+${KVDYNO_LIBRARY_PATH//:/ }}; do
        compgen -G "$store/$1/*/library.json" >/dev/null && return
    done
    return 1
}

# What is not there of what an engine's library is made with.
missing() {
    case $1 in wiredtiger | leveldb) ;; *) return ;; esac
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
        leveldb)
            [ -e /usr/include/leveldb/db.h ] || echo libleveldb-dev
            [ -e /usr/include/snappy-c.h ] || echo libsnappy-dev
            ;;
    esac
}

# Says why they cannot be installed, where they cannot.
install() {
    command -v apt-get >/dev/null || { echo "there is no apt-get to install it"; return; }
    local sudo=
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null && sudo -n true 2>/dev/null || { echo "installing it needs root: apt-get install $*"; return; }
        sudo="sudo -n"
    fi
    $sudo apt-get update -qq || { echo "apt-get update failed"; return; }
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null ||
        echo "apt-get install failed"
}

failed=0
for engine in "$@"; do
    is_there "$engine" && continue
    mapfile -t packages < <(missing "$engine")
    if [ ${#packages[@]} -gt 0 ]; then
        echo "installing what $engine's library is made with: ${packages[*]}" >&2
        why=$(install "${packages[@]}")
        [ -z "$why" ] || echo "warning: ${packages[*]}: $why" >&2
    fi
    if ! "$kvdyno" engines get "$engine" >&2; then
        echo "warning: $engine cannot be had here: its tests are skipped" >&2
        failed=1
    fi
done
exit $failed
