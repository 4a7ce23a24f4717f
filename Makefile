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

.PHONY: demo test test-all test-setup system lint kernels docs wheel wheel-check bench bench-all bench-peers soak clean gmsh-libraries

demo: $(VENV)/.demo gmsh-libraries
	$(BIN)/pliant warmup "inverse problems" "rigid bodies and supports"
	$(BIN)/pliant demo tour --out out

# Tests of a file go to one process, which makes what they share once ("worksteal").
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

test: test-setup
	$(PYTEST) -m "not slow"

test-all: test-setup
	$(PYTEST)

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

# Each peer on its own: one that has no wheel for this machine must not keep the others away.
bench-peers: $(VENV)/.venv
	test -x .venv-peers/bin/python || $(BIN)/python -m venv .venv-peers
	@failed=""; for peer in $(PEERS); do \
	  .venv-peers/bin/python -m pip install --quiet $$peer || failed="$$failed $$peer"; \
	done; \
	if [ -n "$$failed" ]; then echo "could not be installed, left out of the comparison:$$failed"; fi

clean:
	rm -rf build dist out .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
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
