# Every target prepares .venv by itself, and leaves it unchanged unless pyproject.toml or
# constraints.txt have changed. `make` alone lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
PYTEST_ARGS ?=
PIP_ARGS ?=
TIMES ?= 20
DEMO_ARGS ?=
BENCH_ARGS ?=
EXAMPLES_ARGS ?=
MATRIX_ARGS ?=

PIP_INSTALL = $(BIN)/python -m pip install --disable-pip-version-check --quiet \
	--constraint constraints.txt $(PIP_ARGS)

# torch uses all cores in every process, and is many times slower if processes share them. Without
# files of bytecode every process that a test starts would compile the package's sources again.
PYTEST = PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) \
	--dist worksteal

.DEFAULT_GOAL := help
.PHONY: help install demo test test-slow test-all lint format types verify mutants matrix bench \
	examples docs docs-tables dist clean distclean

help: ## list the targets
	@echo "hearts-env: Hearts for reinforcement learning. From a fresh clone:"
	@echo
	@echo "  make demo     see it: train a two-player policy in two minutes and evaluate it"
	@echo "  make test     trust it: the test suite; make test-all has the slow tests too"
	@echo
	@echo "All targets:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "Each installs into $(VENV) what it needs. Variables, as in 'make test WORKERS=4':"
	@echo "  PYTHON=python3.12     the Python for $(VENV) (now: $(PYTHON)); 3.11 or later"
	@echo "  WORKERS=4             processes that run the tests (now: $(WORKERS))"
	@echo "  TIMES=100             how much more verify does than test-all (now: $(TIMES))"
	@echo "  PYTEST_ARGS='-k moon' arguments for pytest; also DEMO_ARGS, BENCH_ARGS, MATRIX_ARGS,"
	@echo "                        EXAMPLES_ARGS, PIP_ARGS"
	@echo
	@echo "Afterwards: $(BIN)/hearts --help"

install: $(VENV)/.installed ## create .venv with everything but the libraries for bench

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "hearts-env needs Python 3.11 or later; $(PYTHON) is not. Name one: make PYTHON=python3.12" >&2; \
		exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing into $(VENV) (a few minutes the first time) ..."
	$(PIP_INSTALL) --editable ".[test,dev]"
	@echo "Compiling, once for this installation (half a minute) ..."
	$(BIN)/hearts warmup
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed
	@echo "Installing the libraries to compare with ..."
	$(PIP_INSTALL) --editable ".[test,dev,bench]"
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	@echo "Installing what the site is built with ..."
	$(PIP_INSTALL) --editable ".[test,dev,docs]"
	@touch $@

demo: install ## train a two-player policy in two minutes on two cores and evaluate it
	$(BIN)/hearts train demo $(DEMO_ARGS)

test: install ## run the tests but the slow ones (three minutes on two cores)
	$(PYTEST) $(PYTEST_ARGS)

test-slow: install ## run the slow tests: pages, browsers, kills, every game
	$(PYTEST) -m slow $(PYTEST_ARGS)

test-all: install ## run all tests
	$(PYTEST) -m "" $(PYTEST_ARGS)

lint: install ## check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: install ## format, and fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: install ## check types
	$(BIN)/mypy

# Deals against the second implementation, what is hidden, damaged files, killed commands.
verify: install ## run the random tests TIMES times as long as test-all does (hours)
	HEARTS_TIMES=$(TIMES) $(PYTEST) -m "" $(addprefix tests/test_,$(addsuffix .py,lockstep view \
		infos double_dummy fuzz kills)) $(PYTEST_ARGS)

mutants: install ## put faults into copies of the code; tests must catch each (an hour; continues where it stopped)
	nice $(BIN)/python tests/mutants.py --workers $(WORKERS)

matrix: install ## try the lowest, pinned and newest dependencies under each Python (long)
	$(BIN)/nox $(MATRIX_ARGS)

bench: $(VENV)/.installed-bench ## measure speed, and that of comparable libraries
	$(BIN)/python -m bench speed $(BENCH_ARGS)

examples: install ## run every example with its library, each in its own environment (half an hour)
	nice $(BIN)/python docs/libraries.py $(EXAMPLES_ARGS); status=$$?; \
		$(BIN)/python docs/tables.py && exit $$status

docs: $(VENV)/.installed-docs ## build the documentation site, offline; warnings and dead links are errors
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet docs docs/_site
	@echo "The site: $(CURDIR)/docs/_site/index.html"

dist: install ## build the wheel in dist/, which pip can install anywhere
	$(BIN)/python -m build --wheel .

docs-tables: install ## regenerate the tables in docs/ from the code
	$(BIN)/python docs/tables.py

clean: ## remove caches and builds; runs/ and .venv stay
	rm -rf build dist docs/_site docs/reference .nox .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

distclean: clean ## remove .venv too; runs/ stays
	rm -rf $(VENV)
