# Sourced by scripts with `set -u` that set tests up.

# Reports that tests are skipped, in the form that scripts/refuse-skips.sh reads: skip NEED REASON.
# The needs' names are in crates/testing.
skip() {
    echo "$(basename "$0"): skipped ($1): $2" >&2
}
