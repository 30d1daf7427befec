#!/usr/bin/env bash
# The conformance kit on workers as they are measured: optimised, and linked as they are run.
#
# usage: test-engines.sh FOLDER ENGINE...
set -uo pipefail
. "$(dirname "$0")/require.sh"
folder=$1
shift

failed=0
for engine in "$@"; do
    # fio stores nothing that could be read back, and the bare drive no values of any length; its
    # tests have a store of their own for the kit.
    case $engine in fio | drive) continue ;; esac
    scratch=$(mktemp -d /var/tmp/kvdyno-conformance-XXXXXX)
    told=$("$folder/kvdyno-$engine" conformance "$scratch" 2>&1)
    ended=$?
    if [ $ended -eq 0 ]; then
        echo "$engine conforms"
    elif [ $ended -eq 2 ] && [[ $engine =~ ^(rocksdb|wiredtiger|leveldb|redis|postgres|mariadb|memcached|mongodb|aerospike)$ ]]; then
        without "$engine" "$told"
    else
        printf '%s does not conform:\n%s\n' "$engine" "$told" >&2
        failed=1
    fi
    rm -rf "$scratch"
done
exit $failed
