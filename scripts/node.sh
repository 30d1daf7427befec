#!/usr/bin/env bash
# Checks that the Node.js that builds and tests the report's page is there. Only those who change
# the page need it, as the repository has the built page.
set -euo pipefail

if command -v npm >/dev/null && node -e \
    'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' 2>/dev/null; then
    exit 0
fi
printf 'error: no Node.js 20.19 or newer with npm on PATH (found: %s)\n' "$(node --version 2>/dev/null || echo none)" >&2
printf 'hint: install it from https://nodejs.org or with the package manager, then run this again\n' >&2
exit 1
