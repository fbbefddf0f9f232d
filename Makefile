# `make run` runs the main comparison, `make test` all checks, `make soak` the long tests.
# Each installs what it needs into .venv and skips what is already there.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: run test soak format clean

run: .venv/run.stamp
	$(BIN)/procurl compare pointmass-s --strategies procurl-val iid --seeds 8 --out results/pointmass-s

test: .venv/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	@# mypy uses one core for half a minute. It runs beside the tests and reports after them.
	$(BIN)/mypy > .venv/mypy.txt 2>&1 & types=$$!; \
	  $(BIN)/pytest -q -n auto --dist worksteal -m "not soak"; tests=$$?; \
	  wait $$types; types=$$?; cat .venv/mypy.txt; exit $$((tests | types))

soak: .venv/test.stamp
	$(BIN)/pytest -q -m soak

format: .venv/test.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.venv/run.stamp: pyproject.toml constraints.txt | .venv/bin/python
	$(PIP) --editable ".[jax,report]"
	@touch $@

.venv/test.stamp: .venv/run.stamp
	$(PIP) torch
	$(PIP) --editable ".[dev,jax,mujoco,ray,report,sb3]"
	@touch $@

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "procurl needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv .venv

clean:
	rm -rf .venv results build .mypy_cache .pytest_cache .ruff_cache
