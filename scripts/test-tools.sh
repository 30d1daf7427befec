#!/usr/bin/env bash
# Installs what some tests set the program beside: fio (the drive's cross-check), the tools that make
# filesystems on loop devices, Java and mvn (YCSB's own generators), valgrind, OpenMPI and what
# kvdyno-crew is built with, GNU parallel, an sshd, Ansible and Slurm (docs/fleet.md). Where they cannot be had, those tests say that they were skipped; where
# KVDYNO_REQUIRE wants them, this fails.
set -uo pipefail
. "$(dirname "$0")/require.sh"
PATH="$PATH:/usr/sbin:/sbin"

look() {
    packages=()
    needs=()
    command -v fio >/dev/null || { packages+=(fio); needs+=(fio); }
    command -v mkfs.ext4 >/dev/null || { packages+=(e2fsprogs); needs+=(mkfs); }
    command -v mkfs.xfs >/dev/null || { packages+=(xfsprogs); needs+=(mkfs); }
    command -v mkfs.btrfs >/dev/null || { packages+=(btrfs-progs); needs+=(mkfs); }
    command -v javac >/dev/null || { packages+=(default-jdk-headless); needs+=(java); }
    command -v mvn >/dev/null || { packages+=(maven); needs+=(java); }
    command -v valgrind >/dev/null || { packages+=(valgrind); needs+=(valgrind); }
    command -v mpicc >/dev/null || { packages+=(openmpi-bin libopenmpi-dev); needs+=(mpi); }
    command -v parallel >/dev/null || { packages+=(parallel); needs+=(fleet); }
    command -v sshd >/dev/null || { packages+=(openssh-server openssh-client); needs+=(fleet); }
    command -v ansible-playbook >/dev/null || { packages+=(ansible-core); needs+=(fleet); }
    command -v slurmctld >/dev/null || { packages+=(slurmctld slurmd slurm-client munge); needs+=(fleet); }
    ldconfig -p | grep -qE 'libclang(-[0-9]+)?\.so' || { packages+=(libclang-dev); needs+=(mpi); }
}

# Says why they cannot be installed, where they cannot.
install() {
    command -v apt-get >/dev/null || { echo "no apt-get here"; return; }
    local sudo=
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null && sudo -n true 2>/dev/null || { echo "that needs root"; return; }
        sudo="sudo -n"
    fi
    echo "installing for the tests: ${packages[*]}" >&2
    $sudo apt-get update -qq || { echo "apt-get update failed"; return; }
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null ||
        echo "apt-get install failed"
}

look
[ ${#packages[@]} -eq 0 ] && exit 0
why=$(install)
look
for need in "${needs[@]}"; do
    without "$need" "${packages[*]} not installed ($why)"
done
