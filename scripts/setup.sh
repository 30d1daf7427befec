#!/usr/bin/env bash
# Installs what a build needs and this machine lacks: a C and C++ compiler, and libclang (RocksDB's
# bindings are generated from its header). Debian and Ubuntu; elsewhere it says what is missing.
set -euo pipefail

fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit 1
}

command -v cargo >/dev/null ||
    fail "Rust is not installed (no cargo on PATH)" "install it from https://rustup.rs, then run this again"

# libclang itself: libclang-cpp, which comes with other packages, is another library.
has_libclang() {
    [ -n "${LIBCLANG_PATH:-}" ] && return 0
    ldconfig -p 2>/dev/null | grep -Eq 'libclang(-[0-9][0-9.]*)?\.so' && return 0
    compgen -G '/usr/lib/llvm-*/lib/libclang.so*' >/dev/null || compgen -G '/usr/lib/llvm-*/lib/libclang-[0-9]*.so*' >/dev/null
}

packages=()
command -v cc >/dev/null || packages+=(gcc libc6-dev)
command -v c++ >/dev/null || packages+=(g++)
command -v make >/dev/null || packages+=(make)
has_libclang && [ ${#packages[@]} -eq 0 ] && exit 0

command -v apt-get >/dev/null ||
    fail "missing: ${packages[*]:-}$(has_libclang || echo ' libclang')" "install them with this system's package manager"
sudo=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "installing packages needs root" "run as root: apt-get install ${packages[*]:-} libclang-dev"
    sudo=sudo
fi
echo "installing build tools: ${packages[*]:-}$(has_libclang || echo ' libclang')" >&2
$sudo apt-get update -qq
if ! has_libclang; then
    # The library and its headers alone, of the newest version here: the clang program is not needed.
    version=$(apt-cache search --names-only '^libclang1-[0-9]+$' | sed 's/^libclang1-\([0-9]*\).*/\1/' | sort -n | tail -1)
    [ -n "$version" ] || fail "no libclang package is known to apt-get" "install libclang, or set LIBCLANG_PATH"
    packages+=("libclang1-$version" "libclang-common-$version-dev")
fi
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
