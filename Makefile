# Every target sets up what it needs: a virtual environment in .venv with the exact versions of requirements/*.lock.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --no-deps

.PHONY: help test reproduce format docs bench prove wheel-test lock clean
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
	$(BIN)/mypy
	$(BIN)/pytest -n auto

reproduce: .venv/core.done ## set up, run the paper's tabular experiments, judge its claims, write the report
	$(BIN)/python -m pdrm reproduce

format: .venv/dev.done ## format and fix the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: .venv/dev.done ## make the pages that are made, build the documentation strictly into site/
	$(BIN)/python -m pages
	$(BIN)/python -m zensical build --strict --clean

bench: .venv/dev.done ## measure, interleaved with the peers
	$(BIN)/python -m pdrm bench

prove: .venv/dev.done ## the long proofs; interrupt and resume at will
	$(BIN)/python -m proofs

wheel-test: .venv/dev.done ## build the wheel, install it with the core alone, use it
	$(BIN)/python requirements/wheel_test.py

lock: ## resolve the newest versions and write requirements/*.lock
	$(PYTHON) requirements/lock.py

clean: ## remove what the targets made
	rm -rf .venv .cache site report build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
