# `make deploy` and `make test` set up all that they need on a fresh Debian machine (root, git, python3, make).
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
SITE ?= inventory/lab.yaml
# Two workers: the scenarios are bound by the processor, and each starts containers of its own.
JOBS ?= 2

.PHONY: help setup browser deploy test lint format unit molecule e2e test-faults bench clean

help: ## Show the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /  make \1\t/' | expand -t 20

setup: $(VENV)/.installed ## Install what the control host needs

$(VENV)/.installed: pyproject.toml cli/hatch_build.py tests/setup.sh
	bash tests/setup.sh $(VENV)
	@touch $@

# Only tests need it: 96 MB of packages, 53 MB of wheels.
browser: setup $(VENV)/.browser ## Install the headless browser that the tests of the report drive

$(VENV)/.browser: tests/browser.sh | $(VENV)/.installed
	bash tests/browser.sh $(VENV)
	@touch $@

deploy: setup ## Start the local lab, make it a cluster, and train across it (SITE=… for another site)
	$(BIN)/hpcprov deploy $(SITE)

# Dead hosts are waited for, which takes long: these stand beside the faults.
SLOW := tests/e2e/test_living_faults.py

# The longest group first, so that no worker is left alone with it at the end.
test: setup browser lint ## Pass all tests (except test-faults)
	$(BIN)/pytest tests/e2e tests/molecule tests/unit --ignore $(SLOW) -n $(JOBS) --dist loadgroup -o console_output_style=count --durations=15

lint: setup ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/yamllint --strict .
	PATH="$(CURDIR)/$(BIN):$$PATH" ANSIBLE_LIBRARY=playbooks/library $(BIN)/ansible-lint --offline -q

format: setup ## Format the Python code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

unit: setup browser ## Unit tests: seconds, no root
	$(BIN)/pytest tests/unit -n $(JOBS)

molecule: setup ## Role tests in containers
	$(BIN)/pytest tests/molecule -n $(JOBS)

e2e: setup ## The whole line on a lab of its own
	$(BIN)/pytest tests/e2e

# In one process, because the matrix is collected there.
test-faults: setup ## Each fault injected, named by one command, mended; deploys killed and run again (half an hour)
	$(BIN)/pytest tests/faults tests/recovery $(SLOW)

bench: setup ## Measurements, as ratios in one run
	$(BIN)/pytest tests/bench

clean: ## Remove the lab and what was built here
	-$(BIN)/hpcprov lab down $(SITE)
	rm -rf $(VENV) runs .mypy_cache .ruff_cache .pytest_cache
