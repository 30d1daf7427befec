# The commands of this project. `make demo` and `make test` need nothing set up beforehand but Rust.
#
# Build output goes to a cache directory outside the clone, so that a fresh clone builds only what
# changed; CARGO_TARGET_DIR names another one (docs/dependencies.md).
export CARGO_TARGET_DIR ?= $(HOME)/.cache/kvdyno/target
# The path must be absolute: tests have working directories of their own.
ifeq ($(filter /%,$(CARGO_TARGET_DIR)),)
override export CARGO_TARGET_DIR := $(CURDIR)/$(CARGO_TARGET_DIR)
endif
# Node.js does not look at the system's certificates by itself.
ifneq ($(wildcard /etc/ssl/certs/ca-certificates.crt),)
export NODE_EXTRA_CA_CERTS ?= /etc/ssl/certs/ca-certificates.crt
endif
# Incremental compilation slows the first build and fills the disk.
export CARGO_INCREMENTAL ?= 0
BIN := $(CARGO_TARGET_DIR)/release
# Servers first: their conformance kits wait longest.
ENGINES := memcached postgres mariadb redis mongodb aerospike null drive fio direct fjall lmdb lmdb1 mdbx redb rocksdb sqlite surrealkv
# Installed by `kvdyno engines get`.
PLUGINS := leveldb wiredtiger
DEMO := null drive fio direct lmdb lmdb1 rocksdb
# The version of RocksDB that the suite `quick` and the tests run.
ROCKSDB := 11.8.1
# The version that tests need beside it, for two versions in one run.
ROCKSDB_OLDER := 9.10.0

# .cargo/config.toml asks for instructions of 2013; an older processor goes without.
ifneq ($(shell uname -m),x86_64)
else ifeq ($(shell grep -qw avx2 /proc/cpuinfo && grep -qw bmi2 /proc/cpuinfo && echo modern),)
export RUSTFLAGS :=
endif

# `make soak` runs the engines' own tests: `make test` runs the conformance kit on the programs that
# are measured. Examples are only compiled, by check-style.
TEST_CRATES := cargo test --workspace $(ENGINES:%=--exclude kvdyno-%) --locked
TEST_ENGINES := cargo test $(ENGINES:%=-p kvdyno-%) --lib --bins --tests --locked

.PHONY: help check check-style check-tests setup fetch demo run-demo build build-demo engines program library older-library get-engines get-plugins page \
	test test-tools build-tests test-program test-crates test-engines test-page soak soak-tools soak-crew test-soak bench dist try-dist clean

help:
	@echo "make demo      set up, build, and compare LMDB with RocksDB on this machine"
	@echo "make test      set up, run all tests but the long ones"
	@echo "make check     style, lints, unit tests, the house rules: what to run after each change"
	@echo "make soak      the long tests, and those beside MPI, Slurm, Java, Go and swap"
	@echo "make engines   the program and all its engines, into $(BIN)"
	@echo "make crew      kvdyno-crew, several workers that drive one server (needs OpenMPI)"
	@echo "make page      the report's page, where report/ was changed (needs Node.js)"
	@echo "make bench     the load generator and the engines against their peers, as ratios"
	@echo "make dist      one archive for x86-64 Linux with glibc 2.28 or newer, into dist/"
	@echo "make deb       the archive as a package of Debian, into dist/"
	@echo "make image     the archive as a container image (podman, docker or buildah)"
	@echo "make try-dist  tries the archive and the package in a minimal Debian (root, debootstrap)"

# Needs no engines, no RocksDB, no browser and no root.
check: check-style check-tests

check-style:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	@[ -n "$$(scripts/missing-mpi.sh)" ] || cargo clippy -p kvdyno-crew --features mpi --all-targets --locked --quiet -- -D warnings

check-tests:
	$(TEST_CRATES) --lib --bins --test tidy --quiet -- --skip soak::

# These print at their end where the time went.
demo:
	@scripts/parts.sh setup fetch build-demo library run-demo

test:
	@scripts/parts.sh setup test-tools fetch build library older-library get-engines build-tests+test-engines test-program test-crates+test-page

# Installs large tools, and runs tests that take minutes and seldom find anything.
soak:
	@scripts/parts.sh setup soak-tools fetch build soak-crew library older-library get-engines get-plugins build-tests test-soak

setup:
	@scripts/setup.sh

# Fetches crates apart from their compilation, so that the time of each is seen.
fetch:
	@cargo fetch --locked --quiet --target "$$(rustc -vV | sed -n 's/^host: //p')"

# One command builds all programs, so that shared crates are compiled once. The two LMDBs have the
# same symbols, and never meet: each worker is a program of its own.
build:
	cargo build --release --workspace --locked

engines: build
	@$(MAKE) --no-print-directory library

# Single programs are chosen by `--bin`, not by `-p`: with `--workspace` cargo turns on the same
# features of shared crates, and does not compile them again for all engines.
program:
	cargo build --release --workspace --locked --bin kvdyno

# Builds only what the demo runs: a first table in minutes. `make engines` builds the others.
build-demo:
	cargo build --release --workspace --locked --bin kvdyno $(DEMO:%=--bin kvdyno-%)

# If RocksDB's library cannot be had, the script prints why, and the demo does without it.
library:
	@scripts/library.sh $(BIN)/kvdyno $(ROCKSDB) || true

older-library:
	@scripts/library.sh $(BIN)/kvdyno $(ROCKSDB_OLDER) || true

# Plugins and servers; the tests alone need them.
get-engines:
	@scripts/get-engines.sh $(BIN)/kvdyno wiredtiger leveldb redis postgres mariadb memcached || true

# More plugins that are built here, in two versions where tests compare them. Without Go, the tests
# of plugins in Go are skipped.
get-plugins:
	@scripts/get-engines.sh $(BIN)/kvdyno tidesdb || true
	@! command -v go >/dev/null || $(BIN)/kvdyno engines get bbolt 1.4.3 1.5.0 || true
	@! command -v go >/dev/null || scripts/get-engines.sh $(BIN)/kvdyno badger pebble || true

run-demo:
	@scripts/demo.sh $(BIN)/kvdyno $(ROCKSDB)

# The one program that needs MPI: built on demand, and never with the others. The bindings need
# libclang.
.PHONY: crew
crew:
	@missing=$$(scripts/missing-mpi.sh | xargs); [ -z "$$missing" ] || { echo "error: building" \
		"kvdyno-crew needs \`apt-get install $$missing\`" >&2; exit 1; }
	cargo build --release --locked -p kvdyno-crew --features mpi

# Builds the report's page from TypeScript into one HTML file, which the repository keeps and the
# program embeds. A test fails if the page is older than its sources.
NODE_MODULES := report/node_modules/.package-lock.json

page: $(NODE_MODULES)
	npm --prefix report run --silent build

$(NODE_MODULES): report/package.json report/package-lock.json
	@scripts/node.sh
	npm --prefix report ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# Builds RocksDB from source for this machine's processor, beside the official library.
.PHONY: rocksdb-native
rocksdb-native:
	@scripts/rocksdb-native.sh

test-tools:
	@scripts/test-tools.sh fio mkfs valgrind

soak-tools:
	@scripts/test-tools.sh fio mkfs valgrind java mpi prometheus fleet
	@scripts/ferretdb.sh

# Builds the crew if soak-tools could install OpenMPI.
soak-crew:
	@[ -n "$$(scripts/missing-mpi.sh)" ] || $(MAKE) --no-print-directory crew

build-tests:
	$(TEST_CRATES) --lib --bins --tests --no-run --quiet

# The program's own tests run it with the release workers beside it. They wait for drives and servers
# more than they compute: three run at a time for each processor, and no other tests beside them.
test-program: export RUST_TEST_THREADS ?= $(shell echo $$((3 * $$(nproc))))
test-program:
	KVDYNO_ENGINE_PATH=$(BIN) $(TEST_CRATES) --test program -- --skip soak::

# These tests wait for their files to be synced.
test-crates: export RUST_TEST_THREADS ?= $(shell echo $$((2 * $$(nproc))))
test-crates:
	KVDYNO_ENGINE_PATH=$(BIN) $(TEST_CRATES) --lib --bins --test '[!p]*' -- --skip soak::

test-soak: export RUST_TEST_THREADS ?= $(shell echo $$((2 + $$(nproc))))
test-soak:
	KVDYNO_ENGINE_PATH=$(BIN) $(TEST_CRATES) --lib --bins --tests -- --include-ignored soak::
	KVDYNO_ENGINE_PATH=$(BIN) $(TEST_ENGINES)

# Runs the conformance kit on the programs that are measured: tests are built with other options.
test-engines:
	@scripts/test-engines.sh $(BIN) $(ENGINES) $(PLUGINS)

test-page:
	@scripts/test-page.sh $(BIN)/kvdyno

# BENCH="lmdb drive" runs parts of it; `blockio` is what watching block I/O costs.
bench: build
	@cargo build --release --locked --quiet --examples $(ENGINES:%=-p kvdyno-%)
	@[ "$(BENCH)" = blockio ] || KVDYNO_ENGINE_PATH=$(BIN) \
		cargo bench -p kvdyno --bench peers -- $(BENCH) --json $(CARGO_TARGET_DIR)/bench.json
	@case " $(BENCH) " in "  "|*" blockio "*) cargo bench -p kvdyno --bench blockio ;; esac

dist:
	@scripts/dist.sh

.PHONY: deb image
deb:
	@scripts/deb.sh

image:
	@scripts/image.sh

try-dist:
	@scripts/try-dist.sh

clean:
	rm -rf runs dist report/node_modules
