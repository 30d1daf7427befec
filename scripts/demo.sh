#!/usr/bin/env bash
# Runs the suite `quick` and writes its report: LMDB beside RocksDB, or beside LMDB of the 1.0 line
# if RocksDB's library is not there. Adds trials where four leave a comparison undecided.
#
# usage: demo.sh KVDYNO VERSION; VERSION is that of RocksDB
set -uo pipefail
here=$(dirname "$0")
kvdyno=$1

engines=()
if ! "$here/library.sh" --is-there "$2"; then
    echo "note: LMDB is compared with LMDB of the 1.0 line (lmdb1) in its place: the same options, another data format" >&2
    engines=(--engine lmdb,lmdb1,null,drive)
fi
"$kvdyno" run quick --budget 11m "${engines[@]}"
code=$?
# Writes the report also if an engine failed or findings void the figures: the report says so.
case $code in
    0 | 3 | 4) echo "The report, to open in a browser:"; "$kvdyno" report || exit 1 ;;
esac
echo "The program for this shell: export PATH=\"$(dirname "$kvdyno"):\$PATH\""
exit $code
