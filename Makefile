# make demo   an environment, then the findings in the examples and the fixes for them
# make test   an environment with everything the tests run, then all checks and tests
# make programs   the fixes of 2,000 generated programs, which are run as each rank
# make docs   the documentation site, in build/site
# make bench  ckptlint timed beside other tools on 2.2 million lines; needs a quiet machine
# make corpus   real training code checked, and how it differs from what was read and marked
# make faults   faults planted in that code, and how many of them are found
# make browser   the report and the pictures opened in a real browser

PYTHON ?= python3
VENV ?= .venv
# The runtime and the executed fixtures need torch; a CPU build is enough.
TORCH ?= torch==2.13.0

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test lint programs docs bench corpus faults browser chaos clean

demo: $(VENV)/.demo
	@echo '== What ckptlint finds in examples/'
	@$(BIN)/ckptlint check examples --exit-zero
	@echo
	@echo '== What --fix would change'
	@$(BIN)/ckptlint check examples --diff || test $$? -eq 1

test: $(VENV)/.test lint
	$(BIN)/python -m pytest

programs: $(VENV)/.test
	CKPTLINT_PROGRAMS=2000 $(BIN)/python -m pytest tests/unit/test_fixing_programs.py

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/mypy
	cd runtime_shim && ../$(BIN)/mypy --strict ckptlint_runtime
	$(BIN)/lint-imports

docs: $(VENV)/.test
	$(BIN)/mkdocs build --strict

bench: $(VENV)/.test
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python benchmarks/bench.py

# Downloads 52 source distributions once, and takes about half an hour.
corpus: $(VENV)/.demo
	$(BIN)/python corpus/fetch.py corpus/packages.toml build/corpus
	$(BIN)/python corpus/fetch.py corpus/harmless.toml build/corpus
	$(BIN)/python corpus/compare.py build/corpus

faults: $(VENV)/.demo
	$(BIN)/python corpus/fetch.py corpus/packages.toml build/corpus
	$(BIN)/python corpus/inject.py build/corpus

# The pages in a real browser; needs a chromium (Debian: apt-get install chromium).
browser: $(VENV)/.test
	$(BIN)/python -m pytest tests/browser

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --editable .
	@touch $@

# torch comes first and alone, so that nothing else chooses another build of it.
$(VENV)/.test: pyproject.toml runtime_shim/pyproject.toml | $(VENV)/bin/python
	$(PIP) install setuptools wheel '$(TORCH)'
	$(PIP) install --editable '.[dev,docs]' --editable ./runtime_shim
	$(PIP) install lightning accelerate transformers
	DS_BUILD_OPS=0 $(PIP) install deepspeed --no-build-isolation
	@touch $@ $(VENV)/.demo

# Kills the runtime's examples at every file-system event of their saves. Takes half an hour.
chaos: $(VENV)/.test
	$(PIP) install ckpt-chaos
	$(BIN)/python -m pytest tests/runtime/test_chaos.py -m slow

clean:
	rm -rf $(VENV)
