# Every target sets up what it needs in .venv; nothing else on the machine is touched.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --progress-bar off --no-compile --constraint constraints.txt
# Packages are installed without bytecode (--no-compile), so it is written when they are first imported: never again from source.
unexport PYTHONDONTWRITEBYTECODE
LINTERS = $(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["check"])'
# Output of a command only if it fails.
QUIETLY = log=$$(mktemp); if $(1) > $$log 2>&1; then rm -f $$log; else cat $$log; rm -f $$log; exit 1; fi

.PHONY: demo test bench check wheel clean

demo: $(VENV)/.demo
	@$(BIN)/brachiate demo --out demo-output

test: $(VENV)/.test
	$(BIN)/python tests/run.py

bench: $(VENV)/.test
	$(BIN)/python benchmarks/run.py tree --json benchmarks/tree.json
	$(BIN)/python benchmarks/run.py loops --json benchmarks/loops.json
	$(BIN)/python benchmarks/studies.py --json benchmarks/studies.json

check: $(VENV)/.check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright --pythonpath $(BIN)/python

# A wheel for this Python and platform that carries compiled code, in dist/. PLATFORM: its platform tag.
PLATFORM ?= manylinux_2_17_x86_64
wheel: $(VENV)/.demo
	rm -rf build/machine-code
	for level in x86-64-v3 x86-64-v4; do BRACHIATE_CPU=$$level $(BIN)/python -m brachiate.compiled.ship build/machine-code || exit 1; done
	@$(call QUIETLY,$(PIP) hatchling)
	BRACHIATE_MACHINE_CODE=build/machine-code BRACHIATE_PLATFORM=$(PLATFORM) $(BIN)/python -m pip --disable-pip-version-check wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

clean:
	rm -rf $(VENV) demo-output build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "brachiate needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(BIN)/python pyproject.toml constraints.txt
	@echo 'Installing packages into $(VENV) ...'
	@$(call QUIETLY,$(PIP) --editable .)
	@touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml constraints.txt
	@echo 'Installing packages for tests into $(VENV) ...'
	@$(call QUIETLY,$(PIP) --editable '.[test]')
	@touch $@ $(VENV)/.demo

# Only the linters, not the package again: tests may be running.
$(VENV)/.check: $(VENV)/.test
	@echo 'Installing linters into $(VENV) ...'
	@$(call QUIETLY,$(PIP) $$($(LINTERS)))
	@touch $@
