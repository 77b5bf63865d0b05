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

# Compiled kernels are invisible to coverage: a second run has them as plain Python, on the tests that are small enough.
COVERED := machines language product analysis
DOSES := shaping sufficient_k summaries task_findings values
BESIDE := tests/cli/test_check_k.py tests/cli/test_solve.py $(DOSES:%=tests/properties/test_properties.py::test_%)
PLAIN := tests/machines/test_kernels.py tests/product/test_counters.py tests/product/test_exploring.py tests/product/test_finite.py \
	tests/product/test_potentials.py::test_kernels_keep_the_same_values_on_stacks tests/product/test_summaries.py tests/analysis \
	tests/properties/test_properties.py::test_summaries
coverage: .venv/dev.done ## which branches of machines/, language/, product/ and analysis/ the tests take; fails below 95 % of any of them
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest $(wildcard $(COVERED:%=tests/%)) $(COVERED:%=src/pdrm/%) $(BESIDE)
	NUMBA_DISABLE_JIT=1 $(BIN)/coverage run -m pytest -m 'not compiled' -W 'ignore:overflow encountered in scalar' $(PLAIN)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report
	$(BIN)/coverage json --quiet -o .measured/coverage/report.json
	$(BIN)/python -m tests.branches .measured/coverage/report.json

wheel-test: .venv/dev.done ## build the wheel, install it with the core alone, use it
	$(BIN)/python requirements/wheel_test.py

lock: ## resolve the newest versions and write requirements/*.lock
	$(PYTHON) requirements/lock.py

clean: ## remove what the targets made
	rm -rf .venv .cache .measured site report build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
