#!/usr/bin/env bash
# Prints its input, the output of tests, and fails at its end if a test was skipped for something
# that this machine must have: `make test 2>&1 | scripts/refuse-skips.sh all -mongodb`. The names
# are those of crates/testing; of several that match a need, the last one counts.
#
# usage: refuse-skips.sh NEED... (`all`, NAME, -NAME)
set -uo pipefail

is_required() {
    local word code=1
    for word in "${needs[@]}"; do
        case $word in
            all | "$1") code=0 ;;
            -all | "-$1") code=1 ;;
        esac
    done
    return $code
}

[ $# -gt 0 ] || { echo "error: expected names of needs, found none" >&2; exit 2; }
needs=("$@")
refused=()
while IFS= read -r line || [ -n "$line" ]; do
    printf '%s\n' "$line"
    if [[ $line =~ :\ skipped\ \(([a-z-]+)\): ]] && is_required "${BASH_REMATCH[1]}"; then
        refused+=("$line")
    fi
done
[ ${#refused[@]} -eq 0 ] && exit 0
printf 'error: %s tests were skipped for want of what this machine must have:\n' "${#refused[@]}" >&2
printf '  %s\n' "${refused[@]}" >&2
exit 1
