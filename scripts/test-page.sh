#!/usr/bin/env bash
# Tests the report's page: that the one in the repository is what its sources build, its functions,
# and in a browser pages of the frozen record. Where there is no Node.js or no Chromium those tests
# say that they were skipped.
#
# usage: test-page.sh KVDYNO
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/skip.sh
export KVDYNO=$1

if ! why=$(scripts/node.sh 2>&1); then
    skip chromium "${why%%$'\n'*}"
    exit 0
fi
${MAKE:-make} --no-print-directory report/node_modules/.package-lock.json

# Elsewhere: other tests read the page meanwhile.
built=$(mktemp -d)
trap 'rm -r "$built"' EXIT
npm --prefix report run --silent build -- --outDir "$built"
if ! cmp report/dist/index.html "$built/index.html"; then
    echo "error: report/dist/index.html is not what report/ builds: run \`make page\`, commit it" >&2
    exit 1
fi
npm --prefix report run --silent test

KVDYNO_CHROMIUM=$(scripts/chromium.sh)
export KVDYNO_CHROMIUM
[ -n "$KVDYNO_CHROMIUM" ] || skip chromium "there is no Chromium here (install chromium or Chrome, or set KVDYNO_CHROMIUM to its path)"
npm --prefix report run --silent test:browser
