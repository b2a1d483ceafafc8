# Every target sets up what it needs in .venv; nothing else on the machine is touched.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

.PHONY: demo test bench check clean

demo: $(VENV)/.demo
	$(BIN)/brachiate demo --out demo-output

test: $(VENV)/.test
	$(BIN)/python tests/run.py

bench: $(VENV)/.test
	$(BIN)/python benchmarks/run.py tree --json benchmarks/tree.json
	$(BIN)/python benchmarks/run.py loops --json benchmarks/loops.json
	$(BIN)/python benchmarks/studies.py --json benchmarks/studies.json

check: $(VENV)/.test $(VENV)/.check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright --pythonpath $(BIN)/python

clean:
	rm -rf $(VENV) demo-output build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "brachiate needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) --editable '.[plots]'
	@touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) --editable '.[test]'
	@touch $@ $(VENV)/.demo

$(VENV)/.check: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) --editable '.[check]'
	@touch $@
