#!/usr/bin/env bash
# Runs the suite `quick` and writes its report: LMDB beside RocksDB, or beside LMDB of the 1.0 line
# where RocksDB's library is not there. Trials are added for what four leave undecided.
#
# usage: demo.sh KVDYNO VERSION, the version of RocksDB that is wanted
set -uo pipefail
here=$(dirname "$0")
kvdyno=$1

engines=()
if ! "$here/library.sh" --is-there "$2"; then
    echo "note: LMDB is compared with LMDB of the 1.0 line (lmdb1) in its place: the same options, another data format" >&2
    engines=(--engine lmdb,lmdb1,null,drive)
fi
"$kvdyno" run quick --budget 11m "${engines[@]}"
ended=$?
# The report is written also where an engine failed or findings void the figures: it says so itself.
case $ended in
    0 | 3 | 4) echo "The report, to open in a browser:"; "$kvdyno" report || exit 1 ;;
esac
echo "The program for this shell: export PATH=\"$(dirname "$kvdyno"):\$PATH\""
exit $ended
