# Every target sets up what it needs: a virtual environment in .venv with the exact versions of requirements/*.lock.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --no-deps

.PHONY: help test types tests reproduce format docs bench prove coverage wheel-test lock clean
help: ## show this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("pdrm needs Python 3.11 or newer, not " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv

.venv/core.done: requirements/core.lock pyproject.toml | $(BIN)/python
	$(PIP) -r requirements/core.lock
	$(PIP) --no-build-isolation --editable .
	@touch $@

.venv/dev.done: requirements/dev.lock .venv/core.done
	$(PIP) -r requirements/dev.lock
	@touch $@

test: .venv/dev.done ## set up, lint, type-check, test
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(MAKE) --no-print-directory --jobs=2 types tests

types:
	$(BIN)/mypy

tests:
	$(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder

reproduce: .venv/core.done ## set up, run the paper's tabular experiments, judge its claims, write the report
	$(BIN)/python -m pdrm reproduce

format: .venv/dev.done ## format and fix the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: .venv/dev.done ## draw the pictures of the documentation, build it strictly into site/
	$(BIN)/python -m docs.scripts.pictures
	$(BIN)/python -m zensical build --strict --clean

bench: .venv/dev.done ## measure next to the peers, for about six minutes; records go to docs/benchmarks
	$(BIN)/python -m benchmarks --seconds 40 --record docs/benchmarks

PROVE ?= 5m
prove: .venv/dev.done ## check the properties with new random seeds until the time is up (PROVE=30m)
	$(BIN)/python -m tests.properties.prove $(PROVE)

# Compiled kernels are invisible to coverage: a second run has them as plain Python, on the tests that compare them with their twins.
TWINS := $(addprefix tests/, machines/test_step_kernel.py product/test_counters.py product/test_exploring.py product/test_finite.py \
	product/test_potentials.py properties/test_properties.py analysis)
coverage: .venv/dev.done ## count the lines and branches that the tests take; fails below 95 %
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest
	NUMBA_DISABLE_JIT=1 $(BIN)/coverage run -m pytest -m 'not compiled' -W 'ignore:overflow encountered in scalar' $(TWINS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

wheel-test: .venv/dev.done ## build the wheel, install it with the core alone, use it
	$(BIN)/python requirements/wheel_test.py

lock: ## resolve the newest versions and write requirements/*.lock
	$(PYTHON) requirements/lock.py

clean: ## remove what the targets made
	rm -rf .venv .cache .measured site report build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
