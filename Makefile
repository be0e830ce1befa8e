# Everything starts from a machine with python3.11, make and a C compiler.
# PYTHON=... chooses another interpreter.
PYTHON ?= python3.11
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= auto
PYTEST = $(BIN)/python -m pytest -n $(JOBS) --dist worksteal
# mkdocs prints an advertisement of a successor without the variable
SITE = NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
NATIVE := $(wildcard native/*.[ch] native/*/*.[ch])
# what the build compiles with LLVM
BUILT := $(wildcard codegen/llvm/dense/*.py)
C_SOURCES := $(NATIVE) $(wildcard scripts/*.c)
MACHINES := qemu-user nodejs gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-arm-linux-gnueabihf \
	libc6-dev-armhf-cross gcc-riscv64-linux-gnu libc6-dev-riscv64-cross
export OMP_NUM_THREADS ?= 1

.PHONY: opinfo sanitize other-machines demo quick test test-all lint format bench contents docs clean

demo: $(STAMP)
	$(BIN)/python examples/digits.py
	$(BIN)/python examples/branchy.py

# Unit tests and golden files, at this processor's level.
quick: $(STAMP)
	$(PYTEST) -m "not slow and not sweep"

test: $(STAMP)
	$(PYTEST) -m "not sweep"

# With the sweeps: random programs, CPython's own tests, whole models, a share of the operator database.
test-all: $(STAMP)
	$(PYTEST)

# All of PyTorch's operator database; writes docs/operators.md. Half an hour on two cores.
opinfo: $(STAMP)
	$(BIN)/python scripts/opinfo.py --processes 2

# The tests of the extension under the address and undefined-behaviour sanitizers of gcc; kernels and programs
# with guarded memory.
sanitize: $(STAMP)
	$(BIN)/python scripts/sanitize.py

# Debian's cross compilers, qemu and Node: with them the tests also run exported programs of other machines.
other-machines:
	apt-get update --quiet=2
	DEBIAN_FRONTEND=noninteractive apt-get install --quiet=2 --yes --no-install-recommends \
		$(MACHINES) > /dev/null

lint: $(STAMP)
	$(BIN)/clang-format --dry-run -Werror $(C_SOURCES)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/make_graph_breaks.py --check
	$(BIN)/python scripts/contents.py --check
	$(SITE) --quiet

# Which module has which keys of the tables: `contents.py` of each package with such a table.
contents: $(STAMP)
	$(BIN)/python scripts/contents.py

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(C_SOURCES)

bench: $(STAMP)
	$(BIN)/python -m benchmarks

# The pages that are made, and the site of all pages: build/site/index.html.
docs: $(STAMP)
	$(BIN)/python scripts/make_graph_breaks.py
	$(SITE)

clean:
	rm -rf build *.egg-info _capture.*.so

# torch by its exact pin first: a range would let pip take another build of it. compileall and the digest of
# all files: the environment may forbid writing bytecode later. With whole paths: an import would correct
# others.
$(STAMP): pyproject.toml setup.py $(NATIVE) $(BUILT)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet -e .[dev]
	$(BIN)/python -m compileall -q $(addprefix $(CURDIR)/,capture codegen guards cache capture_records.py)
	$(BIN)/python -m codegen.stored.own_files
	touch $@
