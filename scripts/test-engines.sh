#!/usr/bin/env bash
# Runs the conformance kit on the programs that are measured: the optimised workers, and the
# installed plugins. Runs several engines side by side, as the kit waits more than it computes.
#
# usage: test-engines.sh DIRECTORY ENGINE...
set -uo pipefail
. "$(dirname "$0")/skip.sh"
dir=$1
shift
scratch=$(mktemp -d /var/tmp/kvdyno-conformance-XXXXXX)
trap 'rm -rf "$scratch"' EXIT

check_engine() {
    local engine=$1 start=$SECONDS worker output code
    worker=("$dir/kvdyno-$engine")
    mkdir "$scratch/$engine"
    if [[ $engine =~ ^(leveldb|wiredtiger)$ ]]; then
        output=$("$dir/kvdyno" engines "$engine" --json 2>&1)
        code=$?
        worker=("$dir/kvdyno-plugin" --library "$(sed -n 's/^ *"plugin": "\(.*\)",*$/\1/p' <<<"$output")")
    fi
    if [ "${code:-0}" -eq 0 ]; then
        output=$("${worker[@]}" conformance "$scratch/$engine" 2>&1)
        code=$?
    fi
    rm -rf "${scratch:?}/$engine"
    if [ $code -eq 0 ]; then
        echo "$engine conforms ($((SECONDS - start)) s)"
    elif [ $code -eq 2 ] && [[ $engine =~ ^(rocksdb|wiredtiger|leveldb|redis|postgres|mariadb|memcached|mongodb|aerospike)$ ]]; then
        skip "$engine" "${output#error: }"
    else
        printf 'error: %s does not conform:\n%s\n' "$engine" "$output" >&2
        touch "$scratch/failed"
    fi
}

for engine in "$@"; do
    # fio stores nothing that could be read back. The bare drive cannot store values of any length;
    # its tests have a store of their own for the kit.
    case $engine in fio | drive) continue ;; esac
    while [ "$(jobs -rp | wc -l)" -ge $((2 * $(nproc))) ]; do wait -n; done
    check_engine "$engine" &
done
wait
[ ! -e "$scratch/failed" ]
