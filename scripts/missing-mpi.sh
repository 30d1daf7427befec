#!/usr/bin/env bash
# Prints the packages that building kvdyno-crew needs and this machine lacks.
set -euo pipefail

command -v mpicc >/dev/null || echo openmpi-bin libopenmpi-dev
# The bindings' generator reads Clang's own headers; a machine may have libclang without them.
for headers in /usr/lib/llvm-*/lib/clang/*/include/stddef.h /usr/lib{,64}/clang/*/include/stddef.h; do
    [ ! -e "$headers" ] || exit 0
done
echo libclang-dev
