# Plain make: GNU make 3.81, as on macOS, is enough.

VENV := .venv
BIN := $(VENV)/bin
# Twice quiet: errors only.
PIP := python -m pip -qq --disable-pip-version-check --no-input
LOCKED := $(BIN)/$(PIP) install --require-hashes
BENCH := .venv-bench
UV_VERSION := 0.13.9
UV := .venv-uv/bin/uv

# The first that works; `make PYTHON=/path/to/python ...` names another.
PYTHONS := python3.13 python3.12 python3.11 python3
USABLE := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in $(PYTHONS); do $$p -c '$(USABLE)' 2>/dev/null && echo $$p && break; done)

# Playwright's own browser is not downloaded; the tests start this one.
CHROMIUM ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)

.DEFAULT_GOAL := help
.PHONY: help demo test test-browser lint check coverage proof bench format lock check-wheels clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.runtime ## the whole story on this machine (DECIDE=approve answers for you; or deny, ignore)
	@$(BIN)/python -m bot demo $(if $(DECIDE),--decide $(DECIDE))

test: $(VENV)/.dev ## the tests
	@$(BIN)/python -m pytest -n auto --dist loadscope $(ARGS)

test-browser: $(VENV)/.browser ## the tests that click in a real browser
	@test -n '$(CHROMIUM)' || { echo 'make test-browser needs Chromium: install it, or name it with CHROMIUM=' >&2; exit 1; }
	@CHROMIUM='$(CHROMIUM)' $(BIN)/python -m pytest -m browser $(ARGS)

lint: $(VENV)/.dev ## formatting, lint, types, import rules
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo

check: lint test ## all that must hold before a commit

coverage: ## the same tests, measured: engine and notifiers 95 %, all 90 %
	@$(MAKE) --no-print-directory test ARGS='--cov --cov-report= $(ARGS)'
	@$(BIN)/coverage report --include='engine/*,notifiers/*' --fail-under=95
	@$(BIN)/coverage report --fail-under=90

proof: $(VENV)/.dev ## the long forms of the tests, many minutes
	@$(BIN)/python -m pytest -m proof --timeout 1800 $(ARGS)

bench: $(BENCH)/.installed ## what a cycle costs, beside others, into docs/bench (ARGS=--quick for a look)
	@$(BENCH)/bin/python -m tests.bench $(ARGS)

format: $(VENV)/.dev ## format, and repair what ruff can
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix .

clean: ## remove environments, caches and build output
	rm -rf .venv .venv-bench .venv-uv build dist *.egg-info .coverage* htmlcov
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Environments. A stamp is newer than its lock when the lock is installed.

$(VENV)/.python:
	@test -n '$(PYTHON)' && $(PYTHON) -c '$(USABLE)' 2>/dev/null || { \
	  echo 'Holdshort needs Python 3.11 or newer with its venv module: install it, or name it with PYTHON=' >&2; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.runtime: requirements.txt $(VENV)/.python
	@echo 'Installing $< into $(VENV)' >&2
	@$(LOCKED) -r requirements.txt
	@touch $@

# requirements-dev.txt holds all of requirements.txt, with the same pins.
$(VENV)/.dev: requirements-dev.txt $(VENV)/.python
	@echo 'Installing $< into $(VENV)' >&2
	@$(LOCKED) -r requirements-dev.txt
	@touch $@ $(VENV)/.runtime

$(VENV)/.browser: requirements-browser.txt $(VENV)/.dev
	@echo 'Installing $< into $(VENV)' >&2
	@$(LOCKED) -r requirements-browser.txt
	@touch $@

# Apart from the others: what we are measured against brings plugins for pytest along.
$(BENCH)/.installed: requirements-bench.txt
	@test -n '$(PYTHON)' || { echo 'make bench needs Python 3.11 or newer: name it with PYTHON=' >&2; exit 1; }
	@echo 'Installing $< into $(BENCH)' >&2
	@$(PYTHON) -m venv --clear $(BENCH)
	@$(BENCH)/bin/$(PIP) install --require-hashes -r requirements-bench.txt
	@touch $@

# Locks.

$(UV):
	@$(PYTHON) -m venv --clear .venv-uv
	@.venv-uv/bin/$(PIP) install uv==$(UV_VERSION)

COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --custom-compile-command 'make lock' $(ARGS)

lock: $(UV) ## write the hashed requirements*.txt anew (ARGS=--upgrade for newer versions)
	@$(COMPILE) pyproject.toml -o requirements.txt
	@$(COMPILE) pyproject.toml --group dev -c requirements.txt -o requirements-dev.txt
	@$(COMPILE) --group browser -c requirements-dev.txt -o requirements-browser.txt
	@$(COMPILE) pyproject.toml --group test --group bench -c requirements-dev.txt -o requirements-bench.txt

PLATFORMS := x86_64-manylinux_2_28 aarch64-manylinux_2_28 x86_64-apple-darwin aarch64-apple-darwin

check-wheels: $(UV) ## every pin has a wheel for every platform and Python that we name
	@for lock in requirements-dev.txt requirements-browser.txt; do \
	  for platform in $(PLATFORMS); do for python in 3.11 3.12 3.13 3.14; do \
	    $(UV) pip compile --quiet --no-build --python-platform $$platform --python-version $$python \
	      $$lock -o /dev/null || exit 1; \
	    echo "$$lock $$platform $$python: wheels for all"; \
	  done; done; done
