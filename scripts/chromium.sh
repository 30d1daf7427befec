#!/usr/bin/env bash
# Prints the path of a Chromium for the page's tests. If there is none, installs Debian's package if
# that is possible; else prints nothing, and the tests skip the browser.
set -euo pipefail
. "$(dirname "$0")/apt.sh"

find_chromium() {
    local name
    for name in "${KVDYNO_CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable; do
        # Ubuntu's `chromium-browser` is a script that asks for a snap: it has to start.
        [ -n "$name" ] && command -v "$name" >/dev/null && "$name" --version >/dev/null 2>&1 && command -v "$name" && return 0
    done
    return 1
}

find_chromium && exit 0
grep -q '^ID=debian' /etc/os-release || exit 0
why=$(apt_install chromium fonts-dejavu-core) || { echo "note: no chromium: $why" >&2; exit 0; }
find_chromium || true
