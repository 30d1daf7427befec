#!/usr/bin/env bash
# Installs what a build needs and this machine lacks: a C compiler, for LMDB. Debian and Ubuntu;
# elsewhere it prints what is missing.
set -euo pipefail
. "$(dirname "$0")/apt.sh"

fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit 1
}

command -v cargo >/dev/null ||
    fail "Rust is not installed (no cargo on PATH)" "install it from https://rustup.rs, then run this again"
command -v cc >/dev/null && exit 0
why=$(apt_install gcc libc6-dev) ||
    fail "there is no C compiler (no cc on PATH): $why" "install gcc with this system's package manager"
