# Two commands do everything from a bare machine: `make demo` and `make test`. The others are for work on Pliant.

SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
ifndef PYTHON
PYTHON := $(shell for name in python3 python3.13 python3.12 python3.11; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$name; break; }; done)
endif
PEERS := mujoco drake felupe cvxopt numpy scipy pyelastica soromox

# Tests and demos start many processes: without bytecode on disk each would translate the package anew (0.8 s).
unexport PYTHONDONTWRITEBYTECODE

GMSH_LIBRARIES := libglu1-mesa libxcursor1 libxft2 libxinerama1 libxfixes3 libxrender1 libgl1 libfontconfig1 libgomp1

.PHONY: demo test test-all test-debug test-minimum test-setup system lock lint kernels docs wheel wheel-check bench bench-all bench-peers soak faults fuzz mutate clean gmsh-libraries

demo: $(VENV)/.demo gmsh-libraries
	$(BIN)/pliant warmup "inverse problems" "rigid bodies and supports"
	$(BIN)/pliant demo tour --out out

# Three processes on two cores: some tests wait, for a browser or for programs that they start. Tests of a file go to
# one process, which makes what they share once ("worksteal").
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist worksteal

test: test-setup
	$(PYTEST) -m "not slow"

test-all: test-setup
	$(PYTEST)
	$(MAKE) --no-print-directory test-debug

# All tests but the slow ones with kernels that check the bounds of arrays: an index outside of one is an IndexError.
test-debug: system $(VENV)/.all
	PLIANT_DEBUG=1 $(BIN)/pliant warmup
	PLIANT_DEBUG=1 $(PYTEST) -m "not slow"

# Tests of each room with the lowest versions that pyproject.toml allows, in an environment of their own.
MINIMUM := .venv-minimum
SMOKE := tests/core tests/hybrid/test_fmu.py tests/hybrid/test_integrate.py tests/hybrid/test_design.py tests/sweep \
	tests/control/test_stream.py tests/control/test_inverse.py tests/recordings tests/mesh/test_io.py \
	tests/mesh/test_filling.py tests/mesh/test_structured.py tests/viewer/test_export.py tests/viewer/test_page.py \
	tests/viewer/test_live.py tests/cli/test_app.py tests/cli/test_sweep.py tests/record tests/world/test_storage.py \
	tests/stepping/test_steppers.py tests/solvers/inverse tests/materials/test_fitting.py

test-minimum: gmsh-libraries $(VENV)/.all
	mkdir -p out
	$(BIN)/uv pip compile --quiet --resolution lowest-direct --extra all --output-file out/minimum.txt pyproject.toml
	test -x $(MINIMUM)/bin/python || $(BIN)/python -m venv $(MINIMUM)
	$(BIN)/uv pip sync --quiet --python $(MINIMUM)/bin/python out/minimum.txt
	$(BIN)/uv pip install --quiet --python $(MINIMUM)/bin/python --constraint out/minimum.txt pytest hypothesis piqp
	$(BIN)/uv pip install --quiet --python $(MINIMUM)/bin/python --no-deps --editable .
	OPENBLAS_NUM_THREADS=1 PLIANT_CACHE_DIR=out/minimum $(MINIMUM)/bin/python -m pytest $(SMOKE) -m "not slow"

# The versions and hashes of all that development needs, as they are on the index today.
lock: $(VENV)/.all
	$(BIN)/uv pip compile --quiet --upgrade --universal --generate-hashes --no-annotate --extra all --extra dev --extra docs \
	  --custom-compile-command "make lock" --output-file requirements-dev.lock pyproject.toml

# Debian's packages and Python's are fetched beside each other, as are lint and compilation.
test-setup:
	$(MAKE) --no-print-directory -j 2 system $(VENV)/.all
	$(MAKE) --no-print-directory -j 2 lint kernels

# What the tests take from Debian: Gmsh's libraries and a browser.
system:
	@$(call apt,$(GMSH_LIBRARIES) $$(command -v chromium >/dev/null || echo chromium))

kernels: $(VENV)/.all
	$(BIN)/pliant warmup

lint: $(VENV)/.all
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

docs: $(VENV)/.all gmsh-libraries
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	$(BIN)/sphinx-build --fail-on-warning --keep-going -b html docs out/docs
	@echo "the documentation is in out/docs/index.html"

# The wheel with all kernels compiled, for processors of the level x86-64-v3 and this version of Python.
wheel: $(VENV)/.all gmsh-libraries
	rm -rf build dist
	set -- $$($(BIN)/python -c 'from pliant.core.kernels import PORTABLE; print(*PORTABLE)'); \
	  NUMBA_CPU_NAME=$$1 NUMBA_CPU_FEATURES=$$2 PLIANT_CACHE_DIR=build $(BIN)/pliant warmup
	PLIANT_KERNELS=build/kernels $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	@ls -sh dist

# Installs that wheel into a new environment, read-only, and times the first starts there.
wheel-check: wheel
	$(BIN)/python -m benchmarks.start

bench: $(VENV)/.all
	mkdir -p out
	$(BIN)/pliant bench beam --json out/bench-beam.json

# Runs every command named in docs/results.md and writes what it prints there; peers where `make bench-peers` made them.
bench-all: $(VENV)/.all gmsh-libraries
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.results

# Ten simulated minutes of every robot, hours by the clock; `make soak` again continues where it was ended.
soak: $(VENV)/.all gmsh-libraries
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.soak --folder out/soak --write docs/reliability.md

# Two hundred times each: killed, interrupted, out of disk, damaged caches…; `make faults` again makes what is missing.
faults: $(VENV)/.all
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.faults --folder out/faults --write docs/reliability.md

# Ten thousand mutated files for each reader, hours by the clock; `make fuzz` again continues where it was ended.
fuzz: $(VENV)/.all gmsh-libraries
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.fuzz --folder out/fuzz --write docs/reliability.md

# Deliberate faults, then mutations at random, against the tests that can notice; continues where it was ended.
mutate: $(VENV)/.all gmsh-libraries kernels
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.mutate --write docs/reliability.md

# Each peer on its own: one that has no wheel for this machine must not keep the others away.
bench-peers: $(VENV)/.venv
	test -x .venv-peers/bin/python || $(BIN)/python -m venv .venv-peers
	@failed=""; for peer in $(PEERS); do \
	  .venv-peers/bin/python -m pip install --quiet $$peer || failed="$$failed $$peer"; \
	done; \
	if [ -n "$$failed" ]; then echo "could not be installed, left out of the comparison:$$failed"; fi

clean:
	rm -rf build dist out .venv-minimum .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests examples benchmarks demos experiments validation -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.venv:
	@if [ -z "$(PYTHON)" ]; then echo "Pliant needs Python 3.11 or newer; none was found"; exit 1; fi
	@if ! $(PYTHON) -c 'import ensurepip' 2>/dev/null; then $(call apt,python3-venv); fi
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.demo: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[mesh,plot,viewer]'
	touch $@

$(VENV)/.all: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[all,dev]'
	touch $@ $(VENV)/.demo

gmsh-libraries:
	@$(call apt,$(GMSH_LIBRARIES))

# Install Debian packages that are missing, one call at a time: as root; else say the command, and what needs them is skipped.
define apt
missing=""; \
for package in $(1); do dpkg -s $$package >/dev/null 2>&1 || missing="$$missing $$package"; done; \
if [ -n "$$missing" ]; then \
  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
    flock Makefile sh -c "apt-get update -qq && \
      DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $$missing"; \
  else \
    echo "missing system packages; what needs them is skipped. To have it: sudo apt-get install -y$$missing"; \
  fi; \
fi
endef
