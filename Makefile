# The commands of this project. `make demo` and `make test` need nothing set up beforehand but Rust.
#
# Build output goes to a cache folder outside the clone: RocksDB's C++ takes about 10 minutes of two
# cores once, and a fresh clone should not pay for it again.
export CARGO_TARGET_DIR ?= $(HOME)/.cache/kvdyno/target
BIN := $(CARGO_TARGET_DIR)/release
# Each engine is built by a command of its own, always the same: asking for two packages at once may
# choose other features for what they share, and that would build RocksDB again.
ENGINES := null drive fio direct lmdb lmdb1 rocksdb

# .cargo/config.toml asks for instructions of 2013; an older processor goes without.
ifneq ($(shell uname -m),x86_64)
else ifeq ($(shell grep -qw avx2 /proc/cpuinfo && grep -qw bmi2 /proc/cpuinfo && echo modern),)
export RUSTFLAGS :=
endif

.PHONY: help setup demo build page program engines $(ENGINES) test test-tools check-style test-rust test-page test-engines \
	bench clean

help:
	@echo "make demo    set up, build, and compare LMDB with RocksDB on this machine"
	@echo "make test    set up, check style, run all tests"
	@echo "make build   the program and its engines, into $(BIN)"
	@echo "make page    the report's page, where report/ was changed (needs Node.js)"
	@echo "make bench   the harness and the engines against their peers, as ratios"

# The report is written also where an engine failed or findings void the figures: it says so itself.
demo: build
	@$(BIN)/kvdyno run quick; ended=$$?; \
	case $$ended in 0|3|4) echo "The report, to open in a browser:"; $(BIN)/kvdyno report ;; esac; \
	exit $$ended

build: program engines

setup:
	@scripts/setup.sh

# The report's page: TypeScript to one HTML file, which is kept in the repository, and which the
# program takes in. A test says when it is older than its sources.
PAGE := report/dist/index.html
NPM := npm --prefix report
NODE_MODULES := report/node_modules/.package-lock.json

page: $(NODE_MODULES)
	$(NPM) run --silent build

$(NODE_MODULES): report/package.json report/package-lock.json
	@scripts/node.sh
	$(NPM) ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

program: setup
	cargo build --release -p kvdyno

engines: $(ENGINES)

$(ENGINES): setup
	@[ $@ != rocksdb ] || [ -e $(BIN)/kvdyno-rocksdb ] || \
		echo "compiling RocksDB's C++, once a machine: 10 to 20 minutes of two cores"
	cargo build --release -p kvdyno-$@

# RocksDB from source for this machine's processor, beside the official library.
.PHONY: rocksdb-native
rocksdb-native:
	@scripts/rocksdb-native.sh

test-tools:
	@scripts/test-tools.sh

test: check-style build test-rust test-page test-engines

check-style: setup
	cargo fmt --all --check
	cargo clippy --all-targets -- -D warnings
	cargo clippy --all-targets -p kvdyno-lmdb -- -D warnings
	cargo clippy --all-targets -p kvdyno-lmdb1 -- -D warnings
	cargo clippy --all-targets -p kvdyno-direct -- -D warnings
	cargo clippy --release -p kvdyno-rocksdb -- -D warnings

# The program's own tests run it with the release workers beside it.
test-rust: build test-tools
	KVDYNO_ENGINE_PATH=$(BIN) cargo test

# In a browser, on pages of the frozen record; where there is none, only what needs none.
test-page: program $(NODE_MODULES)
	@cp $(PAGE) $(CARGO_TARGET_DIR)/kept-page.html
	$(NPM) run --silent build
	@cmp $(PAGE) $(CARGO_TARGET_DIR)/kept-page.html || \
		{ echo "error: $(PAGE) is not what report/ builds: commit what it is now" >&2; exit 1; }
	$(NPM) run --silent test
	KVDYNO=$(BIN)/kvdyno KVDYNO_CHROMIUM="$$(scripts/chromium.sh)" $(NPM) run --silent test:browser

# Engines are tested as they are measured: optimised.
test-engines: build
	cargo test --release -p kvdyno-lmdb
	cargo test --release -p kvdyno-lmdb1
	cargo test --release -p kvdyno-rocksdb
	cargo test --release -p kvdyno-direct

# BENCH="lmdb drive" runs parts of it; `blockio` is what watching block I/O costs.
bench: build
	@[ "$(BENCH)" = blockio ] || KVDYNO_ENGINE_PATH=$(BIN) \
		cargo bench -p kvdyno --bench peers -- $(BENCH) --json $(CARGO_TARGET_DIR)/bench.json
	@case " $(BENCH) " in "  "|*" blockio "*) cargo bench -p kvdyno --bench blockio ;; esac

clean:
	rm -rf runs report/node_modules
