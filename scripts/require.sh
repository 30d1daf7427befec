# Sourced by the scripts that set tests up: what CI requires is there, or they fail. KVDYNO_REQUIRE
# is read as by crates/testing, where the names are.

# Whether KVDYNO_REQUIRE wants this.
is_required() {
    local word required=1
    for word in ${KVDYNO_REQUIRE//,/ }; do
        case $word in
            all | "$1") required=0 ;;
            -all | "-$1") required=1 ;;
        esac
    done
    return $required
}

# Says that tests are skipped, or fails where they may not be: without NEED REASON.
without() {
    if is_required "$1"; then
        echo "error: $2; KVDYNO_REQUIRE wants \`$1\`" >&2
        exit 1
    fi
    echo "note: $2: the tests that need it are skipped" >&2
}
