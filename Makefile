# make demo    from nothing to a verified kernel
# make test    lint, types and the fast tests; those on a small model too, where it can be fetched
# Both build what they need in .venv and leave it there: a second run is quick.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
# The first Python that is new enough and runs; name another with PYTHON=...
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3; do \
	$$python -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)

PIP := $(BIN)/python -m pip --disable-pip-version-check
# llama.cpp is compiled here. GCC before 13 breaks its AMX kernels, and without them its repacked ones are used.
AMX_OFF := -mno-amx-tile -mno-amx-int8 -mno-amx-bf16
NATIVE := $(shell grep -qs amx_tile /proc/cpuinfo && echo | c++ $(AMX_OFF) -E -x c++ - >/dev/null 2>&1 && echo '$(AMX_OFF)')

SPEC ?= examples/saxpy.toml
OUT ?= out/$(basename $(notdir $(SPEC))).ptx

.PHONY: help
help:
	@sed -n 's/^# \(make .*\)/\1/p' $(MAKEFILE_LIST)

$(VENV)/made:
	@if [ -z "$(PYTHON)" ]; then echo 'error: no Python 3.11 or newer with venv was found' >&2; \
		echo '  fix: install python3.11 and python3.11-venv, or name one: make PYTHON=/path/to/python' >&2; exit 2; fi
	$(PYTHON) -m venv $(VENV)
	touch $@

# Its own step, so that a changed dependency does not compile it again.
$(VENV)/llama: constraints.txt | $(VENV)/made
	@command -v c++ >/dev/null || { echo 'error: no C++ compiler was found (c++)' >&2; \
		echo '  fix: install g++ or clang' >&2; exit 2; }
	@echo 'llama.cpp is compiled once, which takes some minutes ...'
	CFLAGS="$(NATIVE)" CXXFLAGS="$(NATIVE)" $(PIP) install --quiet -c constraints.txt llama-cpp-python
	touch $@

$(VENV)/package: pyproject.toml constraints.txt $(VENV)/llama
	$(PIP) install --quiet -c constraints.txt -e .
	touch $@

$(VENV)/tools: $(VENV)/package
	$(PIP) install --quiet -c constraints.txt -e '.[dev]'
	touch $@

.PHONY: demo
demo: $(VENV)/package
	$(BIN)/ptxgen-local models fetch
	mkdir -p $(dir $(OUT))
	$(BIN)/ptxgen-local generate $(SPEC) -o $(OUT) || { status=$$?; cat $(OUT) 2>/dev/null; exit $$status; }
	@echo; cat $(OUT)

.PHONY: lint
lint: $(VENV)/tools
	$(BIN)/ruff check
	$(BIN)/mypy

# A small model for the tests marked `model`; without a network they are skipped, and say so.
.PHONY: small-model
small-model: $(VENV)/package
	@$(BIN)/ptxgen-local models fetch smollm2 >/dev/null || \
		echo 'the tests on a model will be skipped; later: $(BIN)/ptxgen-local models fetch smollm2' >&2

.PHONY: test
test: lint small-model
	$(BIN)/pytest -m 'not slow and not gpu' -ra -n auto --dist worksteal

.PHONY: bench
bench: $(VENV)/package
	$(BIN)/ptxgen-local models fetch
	$(BIN)/python -m bench.examples

.PHONY: clean
clean:
	rm -rf $(VENV) out build dist
