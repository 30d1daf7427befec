#!/usr/bin/env bash
# Tests the report's page: that the page in the repository is what its sources build, the functions
# of the page, and pages of the frozen record in a browser. Reports tests as skipped if there is no
# Node.js or no Chromium.
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

# Builds into another directory, as other tests read the page meanwhile.
page_dir=$(mktemp -d)
trap 'rm -r "$page_dir"' EXIT
npm --prefix report run --silent build -- --outDir "$page_dir"
if ! cmp report/dist/index.html "$page_dir/index.html"; then
    echo "error: report/dist/index.html is not what report/ builds: run \`make page\`, commit it" >&2
    exit 1
fi
npm --prefix report run --silent test

KVDYNO_CHROMIUM=$(scripts/chromium.sh)
export KVDYNO_CHROMIUM
[ -n "$KVDYNO_CHROMIUM" ] || skip chromium "there is no Chromium here (install chromium or Chrome, or set KVDYNO_CHROMIUM to its path)"
npm --prefix report run --silent test:browser
