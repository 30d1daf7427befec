#!/usr/bin/env bash
# Reads a generated record of a day (86,400 slices of 10 operations) with each command in 512 MiB,
# and prints how long each takes, with the program optimised.
set -euo pipefail
cd "$(dirname "$0")/.."
KVDYNO_LONG_RECORD=day cargo test --release -p kvdyno --test program -- long_records --nocapture
