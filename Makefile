# All tasks of this repository. `make help` lists them.

CARGO ?= cargo

# The directory of a record, to write or to read: benchmarks/record/<cpu>/<date>-<commit>. Unless it
# is set, a run makes a new directory; no record is overwritten.
RECORD ?=
record-of = $(or $(RECORD),$(shell benchmarks/research/record_dir.sh '$(1)'))

# `make bench BENCH=--quick` takes about four minutes instead of forty.
BENCH ?=

# The virtual environment in which `make test` installs the Python package, as users do.
VENV := target/venv

# The file in which tests record what they skipped on this machine; `make test` prints it at the end.
export HORUS_TEST_SKIPS := $(CURDIR)/target/skipped-tests.txt

# The oldest Rust that Cargo.toml supports.
OLDEST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# The packages that have to compile alone, with only the features of dependencies that they request.
CRATES := horus_shm horus_core horus_cpp horus_py horus_benchmarks horus_cli robot

# The library that generates the bindings of the peer iceoryx2.
HAS_LIBCLANG = test -n "$$LIBCLANG_PATH" || PATH="$$PATH:/sbin" ldconfig -p | grep -q 'libclang[-.0-9]*\.so'
NO_LIBCLANG = no libclang (apt-get install libclang-dev)

.PHONY: help demo install quick test test-python test-aarch64 bench-python bench-peers install-python torture \
	mutants lint oldest bench page readme tools test-tools lint-tools

help: ## lists the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1	\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 22

demo: tools ## runs the robot of examples/robot: five processes, one of which is killed
	$(CARGO) build --release --locked -p robot -p horus_cli
	export ROBOT="$(abspath $(or $(CARGO_TARGET_DIR),target))/release/robot"; \
	ROBOT_CONTROLLER="$${ROBOT_CONTROLLER:-$$ROBOT}" "$${ROBOT%robot}horus" launch examples/robot/robot.json5

install: tools ## installs the command horus into ~/.cargo/bin
	$(CARGO) install --locked --path horus_cli

# Features that all tests are built with at once.
FEATURES = horus_core/async-io$(shell $(HAS_LIBCLANG) && echo ,horus_benchmarks/iceoryx2)

test: test-tools ## runs all tests side by side; lists the skipped ones at the end
	@mkdir -p target && rm -f "$(HORUS_TEST_SKIPS)"
	@$(HAS_LIBCLANG) || echo "bench_check iceoryx2: $(NO_LIBCLANG)" >>"$(HORUS_TEST_SKIPS)"
	CARGO="$(CARGO)" .ci/tests --features "$(FEATURES)" --also "$(MAKE) test-python"
	@if test -s "$(HORUS_TEST_SKIPS)"; then \
	echo "SKIPPED $$(sort -u "$(HORUS_TEST_SKIPS)" | wc -l), which this machine cannot run:"; \
	sort -u "$(HORUS_TEST_SKIPS)" | sed 's/^/  /'; else echo "no test was skipped"; fi

# WHY less optimised than what users install, except in the long form: the tests are to see the same,
# and optimisation takes half of the build.
test-python: export CARGO_PROFILE_RELEASE_LTO = off
test-python: export CARGO_PROFILE_RELEASE_CODEGEN_UNITS = 16
test-python: export CARGO_PROFILE_RELEASE_DEBUG = none
test-python: export CARGO_PROFILE_RELEASE_OPT_LEVEL = $(if $(filter 1,$(HORUS_TORTURE)),3,1)
test-python: install-python
	$(VENV)/bin/pytest --quiet horus_py/tests

test-aarch64: tools ## runs tests of a build for aarch64, emulated by QEMU; lists those left out
	CARGO="$(CARGO)" .ci/aarch64

bench-python: install-python ## runs only the Python benchmarks, and records them
	record="$(call record-of,*.json)" && mkdir -p "$$record" && \
	record=$$(cd "$$record" && pwd) && cd horus_py && \
	PYTHONPATH=. "$(CURDIR)/$(VENV)/bin/python" benchmarks/research_bench_python.py \
		--json "$$record/research_bench_python.json"

bench-peers: install-python ## compares Python packages from PyPI with this one, and records it
	record="$(call record-of,compare_peers.json)" && mkdir -p "$$record" && \
	"$(VENV)/bin/python" horus_py/benchmarks/compare_peers.py --json "$$record/compare_peers.json"

# WHY CARGO_TARGET_DIR: this directory is kept between runs, and pip's own is not.
install-python: test-tools
	test -x $(VENV)/bin/pytest || { rm -rf $(VENV) && python3 -m venv $(VENV); }
	CARGO_TARGET_DIR="$(CURDIR)/target" $(VENV)/bin/pip install --quiet \
		--disable-pip-version-check './horus_py[test]'

torture: test-tools ## runs the long versions of all tests, then sanitizers; records the results
	CARGO="$(CARGO)" .ci/torture "$(call record-of,torture.txt)"

mutants: test-tools ## runs the tests against mutants, of which 95 % must be killed
	CARGO="$(CARGO)" .ci/mutants

# The crates with library tests whose files differ from the last commit, or all of them.
CHANGED = $(or $(addprefix -p ,$(filter $(filter-out horus_py robot,$(CRATES)) horus_testing,$(sort $(foreach file,$(shell \
	git status --porcelain --no-renames 2>/dev/null | cut -c 4-),$(firstword $(subst /, ,$(file))))))),\
	--workspace --exclude horus_py)

quick: lint-tools ## checks formatting and lints, and runs the library tests of what changed
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) test --locked --lib $(CHANGED)
	$(CARGO) test --locked -p horus_core --test tidy

lint: lint-tools ## checks formatting, lints, documentation and, with cargo-deny, dependencies
	$(CARGO) fmt --all --check
	.ci/mutants --check
	@$(HAS_LIBCLANG) || echo "SKIP clippy with iceoryx2: $(NO_LIBCLANG)"
	@# With the runtimes that actors are compared with, which no test needs.
	$(CARGO) clippy --workspace --all-targets --features "$(FEATURES),horus_benchmarks/actor_peers" \
		--locked -- -D warnings
	$(CARGO) clippy -p horus_core --no-default-features --locked -- -D warnings
	$(CARGO) clippy -p horus_py --no-default-features --locked -- -D warnings
	@# These compile only with a sanitizer's setting, so no other step notices if they do not.
	for tool in address thread realtime; do RUSTC_BOOTSTRAP=1 $(CARGO) rustc -p horus_shm --test sanitizer_teeth \
		--profile check --locked -- --cfg "horus_sanitizer=\"$$tool\"" || exit 1; done
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps \
		--features "$(FEATURES),horus_benchmarks/actor_peers" --locked
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny --locked check; \
	else echo "SKIP cargo deny: not installed (cargo install --locked cargo-deny)"; fi
	@if $(OLDEST_INSTALL); then $(MAKE) oldest; \
	else echo "SKIP oldest: rustup cannot install Rust $(OLDEST)"; $(call check-alone,); fi

# WHY quiet: on a machine without rustup or network this fails, and that is no error.
OLDEST_INSTALL = timeout 300 rustup toolchain install $(OLDEST) --profile minimal \
	--no-self-update >/dev/null 2>&1

# Checks each package alone, with this cargo or the usual one. WHY a directory of its own
# for all of them: each has other features of the dependencies.
check-alone = for crate in $(CRATES); do \
	CARGO_TARGET_DIR=target/alone $(or $1,$(CARGO)) check -p $$crate --locked || exit 1; done

oldest: tools ## checks that each package compiles alone with the oldest supported Rust
	$(OLDEST_INSTALL)
	$(call check-alone,cargo +$(OLDEST))

bench: tools ## runs all benchmarks, and records them with a page in benchmarks/record
	CARGO="$(CARGO)" benchmarks/research/run_all.sh $(if $(RECORD),--output "$(RECORD)") $(BENCH)

page: tools ## makes the page and the CSV of a record: make page RECORD=benchmarks/record/...
	$(CARGO) run --release --locked -p horus_benchmarks --bin research_report -- "$(RECORD)"

readme: tools ## writes the tables of the documents from the newest record of this machine's CPU
	$(CARGO) run --release --locked -p horus_benchmarks --bin readme_table -- \
		"$(or $(RECORD),$(dir $(shell benchmarks/research/record_dir.sh torture.txt)))"

# Checks for tools that a bare Debian with rustup's stable toolchain may lack.
tools:
	@command -v $(CARGO) >/dev/null || { echo "error: no cargo: install Rust from \
	https://rustup.rs" >&2; exit 1; }
	@found=$$($(CARGO) --version | cut -d ' ' -f 2); \
	printf '%s\n%s\n' "$(OLDEST)" "$$found" | sort -C -V || { echo "error: $(CARGO) is Rust \
	$$found, and at least $(OLDEST) is needed: install Rust from https://rustup.rs (or \
	'rustup update stable'), and have ~/.cargo/bin before /usr/bin in PATH" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "error: no C compiler to link with: \
	apt-get install gcc libc6-dev" >&2; exit 1; }

# Checks for tools that only the tests need.
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
	older than 3.11, which the tests need" >&2; exit 1; }

lint-tools: tools
	@$(CARGO) fmt --version >/dev/null 2>&1 || { echo "error: no rustfmt: \
	rustup component add rustfmt" >&2; exit 1; }
	@$(CARGO) clippy --version >/dev/null 2>&1 || { echo "error: no clippy: \
	rustup component add clippy" >&2; exit 1; }
