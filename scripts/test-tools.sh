#!/usr/bin/env bash
# Installs what some tests set the program beside: fio (the drive's cross-check) and the tools that
# make filesystems on loop devices. Where they cannot be had, those tests say that they were skipped.
set -uo pipefail

packages=()
command -v fio >/dev/null || packages+=(fio)
command -v mkfs.ext4 >/dev/null || packages+=(e2fsprogs)
command -v mkfs.xfs >/dev/null || packages+=(xfsprogs)
command -v mkfs.btrfs >/dev/null || packages+=(btrfs-progs)
[ ${#packages[@]} -eq 0 ] && exit 0

skip() {
    echo "note: ${packages[*]} not installed ($1): the tests that need them will be skipped" >&2
    exit 0
}

command -v apt-get >/dev/null || skip "no apt-get here"
sudo=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null && sudo -n true 2>/dev/null || skip "that needs root"
    sudo=sudo
fi
echo "installing for the tests: ${packages[*]}" >&2
$sudo apt-get update -qq || skip "apt-get update failed"
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null ||
    skip "apt-get install failed"
