#!/usr/bin/env bash
# Makes several of this project's targets, one after the other, and prints at the end where the time
# went, in seconds by the clock and of CPU time: `parts.sh build run-demo`. Ends at the first part
# that fails, with its exit code. Makes parts joined by `+` side by side.
set -uo pipefail

rows=()
code=0
file=$(mktemp)
trap 'rm -f "$file"' EXIT
for part in "$@"; do
    began=$(date +%s.%N)
    # `times` must run in this very shell: a subshell does not count the children of its parent.
    times >"$file"; before=$(tail -1 "$file")
    case $part in
        *+*) ${MAKE:-make} --no-print-directory -j ${part//+/ } ;;
        *) ${MAKE:-make} --no-print-directory "$part" ;;
    esac
    code=$?
    times >"$file"; after=$(tail -1 "$file")
    rows+=("$part $began $(date +%s.%N) $before $after")
    [ $code -eq 0 ] || break
done

{
    echo "Where the time went, in seconds (on $(nproc) processors, load average $(cut -d' ' -f1 /proc/loadavg)):"
    printf '%s\n' "${rows[@]}" | awk '
        function seconds(text, p) { split(text, p, /[ms]/); return 60 * p[1] + p[2] }
        BEGIN { printf "  %-24s %8s %11s\n", "part", "clock", "CPU s" }
        {
            # Some locales write seconds with a comma.
            gsub(/,/, ".")
            clock = $3 - $2
            cpu = seconds($6) + seconds($7) - seconds($4) - seconds($5)
            printf "  %-24s %8.1f %11.1f\n", $1, clock, cpu
            all += clock; used += cpu
        }
        END { printf "  %-24s %8.1f %11.1f\n", "all", all, used }'
} >&2
exit $code
