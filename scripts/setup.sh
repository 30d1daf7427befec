#!/usr/bin/env bash
# Installs what a build needs and this machine lacks: a C compiler, for LMDB. Debian and Ubuntu;
# elsewhere it says what is missing.
set -euo pipefail

fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit 1
}

command -v cargo >/dev/null ||
    fail "Rust is not installed (no cargo on PATH)" "install it from https://rustup.rs, then run this again"
command -v cc >/dev/null && exit 0

command -v apt-get >/dev/null ||
    fail "there is no C compiler (no cc on PATH)" "install one with this system's package manager"
sudo=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "there is no C compiler, and installing one needs root" "run as root: apt-get install gcc libc6-dev"
    sudo=sudo
fi
echo "installing a C compiler" >&2
$sudo apt-get update -qq
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc libc6-dev >/dev/null
