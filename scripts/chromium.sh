#!/usr/bin/env bash
# Prints the path of a Chromium for the page's tests; installs Debian's where there is none and that
# is possible. Prints nothing where none can be had: the tests then skip the browser.
set -euo pipefail

find_one() {
    local name
    for name in "${KVDYNO_CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable; do
        # Ubuntu's `chromium-browser` is a script that asks for a snap: it has to start.
        [ -n "$name" ] && command -v "$name" >/dev/null && "$name" --version >/dev/null 2>&1 && command -v "$name" && return 0
    done
    return 1
}

find_one && exit 0
sudo=
[ "$(id -u)" -eq 0 ] || sudo="sudo -n"
if command -v apt-get >/dev/null && grep -q '^ID=debian' /etc/os-release && $sudo true 2>/dev/null; then
    echo "installing chromium for the page's tests" >&2
    $sudo apt-get update -qq &&
        $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null &&
        find_one && exit 0 || true
fi
exit 0
