#!/usr/bin/env bash
# Installs the tools that some tests need beside the program. Reports those tests as skipped if a
# tool cannot be had.
#
# usage: test-tools.sh NEED...: fio (the drive's cross-check), mkfs (filesystems on loop devices),
# valgrind, java (YCSB's own generators), mpi (OpenMPI and what kvdyno-crew is built with),
# prometheus (it reads /metrics), fleet (GNU parallel, an sshd, Ansible and Slurm: docs/fleet.md).
set -uo pipefail
here=$(dirname "$0")
. "$here/skip.sh"
. "$here/apt.sh"
PATH="$PATH:/usr/sbin:/sbin"

# Prints the packages that a need lacks.
print_missing_packages() {
    case $1 in
        fio) command -v fio >/dev/null || echo fio ;;
        mkfs)
            command -v mkfs.ext4 >/dev/null || echo e2fsprogs
            command -v mkfs.xfs >/dev/null || echo xfsprogs
            command -v mkfs.btrfs >/dev/null || echo btrfs-progs
            ;;
        valgrind) command -v valgrind >/dev/null || echo valgrind ;;
        java)
            command -v javac >/dev/null || echo default-jdk-headless
            command -v mvn >/dev/null || echo maven
            ;;
        mpi) "$here/missing-mpi.sh" ;;
        prometheus) command -v prometheus >/dev/null || echo prometheus ;;
        fleet)
            command -v parallel >/dev/null || echo parallel
            command -v sshd >/dev/null || echo openssh-server openssh-client
            command -v ansible-playbook >/dev/null || echo ansible-core
            command -v slurmctld >/dev/null || echo slurmctld slurmd slurm-client munge
            ;;
        *)
            echo "error: expected fio, mkfs, valgrind, java, mpi, prometheus or fleet, found \`$1\`" >&2
            exit 2
            ;;
    esac
}

packages=()
for need in "$@"; do
    lacking=$(print_missing_packages "$need") || exit
    read -ra lacking <<<"${lacking//$'\n'/ }"
    packages+=("${lacking[@]}")
done
[ ${#packages[@]} -eq 0 ] && exit 0
why=$(apt_install "${packages[@]}") || true
for need in "$@"; do
    lacking=$(print_missing_packages "$need")
    [ -z "$lacking" ] || skip "$need" "not installed: ${lacking//$'\n'/ } ($why)"
done
