# The commands of this project. `make demo` and `make test` need nothing set up beforehand but Rust.
#
# Build output goes to a cache folder outside the clone: RocksDB's C++ takes about 10 minutes of two
# cores once, and a fresh clone should not pay for it again.
export CARGO_TARGET_DIR ?= $(HOME)/.cache/kvdyno/target
BIN := $(CARGO_TARGET_DIR)/release
# Each engine is built by a command of its own, always the same: asking for two packages at once may
# choose other features for what they share, and that would build RocksDB again.
ENGINES := null lmdb rocksdb

# .cargo/config.toml asks for instructions of 2013; an older processor goes without.
ifneq ($(shell uname -m),x86_64)
else ifeq ($(shell grep -qw avx2 /proc/cpuinfo && grep -qw bmi2 /proc/cpuinfo && echo modern),)
export RUSTFLAGS :=
endif

.PHONY: help setup demo build program engines $(ENGINES) test check-style test-rust test-engines bench clean

help:
	@echo "make demo    set up, build, and compare LMDB with RocksDB on this machine"
	@echo "make test    set up, check style, run all tests"
	@echo "make build   the program and its engines, into $(BIN)"
	@echo "make bench   the harness and the engines against their peers, as ratios"

demo: build
	$(BIN)/kvdyno run quick

build: program engines

setup:
	@scripts/setup.sh

program: setup
	cargo build --release -p kvdyno

engines: $(ENGINES)

$(ENGINES): setup
	cargo build --release -p kvdyno-$@

test: check-style build test-rust test-engines

check-style: setup
	cargo fmt --all --check
	cargo clippy --all-targets -- -D warnings
	cargo clippy --all-targets -p kvdyno-lmdb -- -D warnings
	cargo clippy --release -p kvdyno-rocksdb -- -D warnings

# The program's own tests run it with the release workers beside it.
test-rust: build
	KVDYNO_ENGINE_PATH=$(BIN) cargo test

# Engines are tested as they are measured: optimised.
test-engines: build
	cargo test --release -p kvdyno-lmdb
	cargo test --release -p kvdyno-rocksdb

bench: build
	KVDYNO_ENGINE_PATH=$(BIN) cargo bench -p kvdyno --bench peers -- $(BENCH) --json $(CARGO_TARGET_DIR)/bench.json

clean:
	rm -rf runs
