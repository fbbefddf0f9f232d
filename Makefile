# `make run` runs the main comparison, `make test` all checks, `make soak` the long tests,
# `make docs` builds the site and `make docs-serve` shows it, `make dist` builds wheel and sdist.
# Each installs what it needs into .venv and skips what is already there.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: run test soak docs docs-serve dist format clean

run: .venv/run.stamp
	$(BIN)/procurl compare pointmass-s --strategies procurl iid --seeds 8 --out results/pointmass-s

test: .venv/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@# These checks use one core for half a minute. They run beside the tests and report after them.
	($(BIN)/lint-imports && $(BIN)/mypy) > .venv/checks.txt 2>&1 & checks=$$!; \
	  $(BIN)/pytest -q -n auto --dist worksteal -m "not soak"; tests=$$?; \
	  wait $$checks; checks=$$?; cat .venv/checks.txt; exit $$((tests | checks))

soak: .venv/soak.stamp
	$(BIN)/pytest -q -m soak

docs: .venv/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "build/site/index.html"

docs-serve: .venv/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

dist: .venv/dist.stamp
	rm -rf dist
	$(BIN)/python -m build --outdir dist .

format: .venv/test.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.venv/run.stamp: pyproject.toml constraints.txt | .venv/bin/python
	$(PIP) --editable ".[jax,report]"
	@touch $@

.venv/test.stamp: .venv/run.stamp
	$(PIP) torch
	$(PIP) --editable ".[dev,docs,jax,mujoco,ray,report,sb3]"
	@touch $@

.venv/docs.stamp: pyproject.toml constraints.txt | .venv/bin/python
	$(PIP) --editable ".[docs]"
	@touch $@

.venv/dist.stamp: pyproject.toml constraints.txt | .venv/bin/python
	$(PIP) --editable ".[release]"
	@touch $@

.venv/soak.stamp: .venv/test.stamp
	$(PIP) --editable ".[release,trl]"
	@touch $@

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "procurl needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv .venv

clean:
	rm -rf .venv results build dist .mypy_cache .pytest_cache .ruff_cache
