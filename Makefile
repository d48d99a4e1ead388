# Everything that this repository can be asked to do. `make help` lists it.

CARGO ?= cargo

# Where a run is kept: benchmarks/record/<cpu>/<date>/, <benchmark>.json and torture.txt.
CPU := $(shell sed -n 's/(R)//g; s/(TM)//g; s/^model name[^:]*: *//p' /proc/cpuinfo | \
	head -n 1 | tr -d '\n' | tr 'A-Z' 'a-z' | tr -cs 'a-z0-9' '-')
RECORD ?= benchmarks/record/$(or $(CPU),unknown-cpu)/$(shell date +%Y-%m-%d)

# `make bench BENCH=--quick` is meant to take three minutes instead of thirty.
BENCH ?=

# Where `make test` installs the Python package, to test what users get.
VENV := target/venv

# The oldest Rust that Cargo.toml promises to work with.
OLDEST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

.PHONY: help demo test test-python bench-python install-python torture lint oldest bench readme \
	tools test-tools lint-tools

help: ## lists the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 22

demo: tools ## runs the robot of examples/robot: five processes, one of which is killed
	$(CARGO) run --release --locked -p robot

test: test-tools ## runs all tests
	$(CARGO) test --workspace --locked
	$(CARGO) test -p horus_core --features async-io --locked --test scheduler_async_io
	$(CARGO) test -p horus_core --features async-io --locked --doc build_async
	$(MAKE) test-python

test-python: install-python
	$(VENV)/bin/pytest --quiet horus_py/tests

bench-python: install-python ## measures Python and records it with the others
	mkdir -p "$(RECORD)"
	cd horus_py && PYTHONPATH=. "$(CURDIR)/$(VENV)/bin/python" \
		benchmarks/research_bench_python.py --json "$(abspath $(RECORD))/research_bench_python.json"

# WHY a target directory of its own for pip: it is kept between runs, and pip's is not.
install-python: test-tools
	test -x $(VENV)/bin/pytest || { rm -rf $(VENV) && python3 -m venv $(VENV); }
	CARGO_TARGET_DIR="$(CURDIR)/target" $(VENV)/bin/pip install --quiet \
		--disable-pip-version-check './horus_py[test]'

torture: test-tools ## runs the long versions of all tests, then sanitizers; records what was reached
	CARGO="$(CARGO)" .ci/torture "$(RECORD)"

lint: lint-tools ## checks formatting, lints, documentation and, with cargo-deny, dependencies
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy -p horus_core --all-targets --features async-io --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc -p horus_core --no-deps --features async-io --locked
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny --locked check; \
	else echo "SKIP cargo deny: not installed (cargo install --locked cargo-deny)"; fi

oldest: tools ## checks that all compiles with the oldest Rust promised; downloads that by rustup
	rustup toolchain install $(OLDEST) --profile minimal --no-self-update
	CARGO_TARGET_DIR=target/oldest cargo +$(OLDEST) check --workspace --all-targets --locked

bench: tools ## measures everything and records it in benchmarks/record, with a page of it
	CARGO="$(CARGO)" benchmarks/research/run_all.sh --output "$(RECORD)" $(BENCH)

readme: tools ## writes the tables of the documents from the record of today's `make bench`
	$(CARGO) run --release --locked -p horus_benchmarks --bin readme_table -- \
		"$(RECORD)/all_paths_latency.json"

# What rustup's stable toolchain on a bare Debian may still lack.
tools:
	@command -v $(CARGO) >/dev/null || { echo "error: no cargo: install Rust from \
	https://rustup.rs" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "error: no C compiler to link with: \
	apt-get install gcc libc6-dev" >&2; exit 1; }

# What the tests compile and run besides.
test-tools: tools
	@command -v c++ >/dev/null || { echo "error: no C++ compiler: apt-get install g++" >&2; exit 1; }
	@command -v cmake >/dev/null || { echo "error: no cmake: apt-get install cmake make" >&2; exit 1; }
	@command -v pkg-config >/dev/null || { echo "error: no pkg-config: \
	apt-get install pkg-config" >&2; exit 1; }
	@command -v python3 >/dev/null || { echo "error: no python3: apt-get install python3" >&2; \
	exit 1; }
	@python3 -c 'import ensurepip, venv' 2>/dev/null || { echo "error: python3 cannot make virtual \
	environments: apt-get install python3-venv" >&2; exit 1; }
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: python3 is \
	older than 3.11" >&2; exit 1; }

lint-tools: tools
	@$(CARGO) fmt --version >/dev/null 2>&1 || { echo "error: no rustfmt: \
	rustup component add rustfmt" >&2; exit 1; }
	@$(CARGO) clippy --version >/dev/null 2>&1 || { echo "error: no clippy: \
	rustup component add clippy" >&2; exit 1; }
