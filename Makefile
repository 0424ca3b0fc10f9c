# Everything here sets up what it needs: a fresh clone and `make test` is enough.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# The rooms of the house are the folders at the top that are packages.
ROOMS := $(patsubst %/__init__.py,%,$(wildcard */__init__.py))
# The rooms whose sources end up in compiled code (KERNEL_ROOMS in compiled/rules.py).
KERNEL := $(filter compiled replication simulation clients traces controller actors engine,$(ROOMS))
KERNEL_SOURCES = $(shell find $(KERNEL) -name '*.py')

# Looked up only when .venv is made: the first Python that is new enough, else `python3`.
PYTHON = $(or $(shell for python in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$python -c $(NEW_ENOUGH) 2>/dev/null && echo $$python && break; done),python3)
NEW_ENOUGH = 'import sys; sys.exit(sys.version_info < (3, 11))'

BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Two workers, each with whole files, in the order that tests/conftest.py gives.
TOGETHER := -n 2 --dist loadgroup --no-loadscope-reorder

.PHONY: help
help: ## Say what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: env
env: .venv/compiled ## Set up .venv and compile the rules

.PHONY: demo
demo: env ## Show what Tidegauge does
	@$(BIN)/tidegauge demo

.PHONY: test
test: env ## Run the tests, without the long ones: some six minutes on two cores
	@$(BIN)/python -m pytest $(TOGETHER)

.PHONY: test-long
test-long: env ## Run all tests
	@$(BIN)/python -m pytest $(TOGETHER) -m 'long or not long'

.PHONY: checked
checked: env ## Validate the state of quickstart and thirty schedules of faults after every event
	@TIDEGAUGE_CHECKED=1 $(BIN)/python -m pytest -n 2 -m long tests/tidegauge/test_checked_runs.py

.PHONY: check
check: .venv/installed typed-house ## Check style, types and the floors of the house
	@echo 'ruff: rules and format'
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo 'mypy: all rooms, tests, bench'
	@cd .venv/house && ../bin/mypy --config-file ../../pyproject.toml .
	@$(BIN)/python -m pytest tests/house

.PHONY: wheel
wheel: env ## Install the wheel into a fresh environment and use it
	@.ci/wheel

.PHONY: schema
schema: .venv/installed ## Write the JSON schema of scenario files
	@$(BIN)/tidegauge schema > .venv/scenario.schema.json
	@mv .venv/scenario.schema.json scenarios/

.PHONY: docs
docs: .venv/installed ## Write the generated pages of the manual
	@$(BIN)/python -m tidegauge.laboratory.manual

.PHONY: bench
bench: env .venv/bench ## Measure the speed of all parts, and of other simulators beside it
	@$(BIN)/python bench/rules.py
	@$(BIN)/python bench/kernel.py --compile
	@$(BIN)/python bench/metrics.py
	@$(BIN)/python bench/analysis.py
	@$(BIN)/python bench/logs.py
	@$(BIN)/python -m bench.alternatives.compare

.PHONY: failover
failover: env ## Compare failovers of the controller at 100 to 200,000 partitions, in both modes
	@$(BIN)/python bench/failover.py

.PHONY: size
size: env ## Measure memory and time of up to a million partitions, in both modes, and fit their growth
	@$(BIN)/python -m bench.size --all
	@$(BIN)/python -m bench.growth

.PHONY: lock
lock: .venv/created ## Lock the dependencies of pyproject.toml (UPGRADE=1: newest versions)
	@$(PIP) install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --all-extras \
		--generate-hashes --no-header --no-annotate $(if $(UPGRADE),--upgrade) \
		--output-file requirements.lock pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --group bench \
		--constraint requirements.lock --generate-hashes --no-header --no-annotate \
		$(if $(UPGRADE),--upgrade) --output-file bench/requirements.lock

.PHONY: clean
clean: ## Remove all that was made here
	rm -rf .venv build *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find $(ROOMS) $(wildcard tests bench) -name __pycache__ -prune -exec rm -rf {} +

# mypy does not see through an editable install, so it gets the house as installed: links.
.PHONY: typed-house
typed-house: .venv/created
	@rm -rf .venv/house/tidegauge
	@mkdir -p .venv/house/tidegauge
	@ln -s $(addprefix ../../../,$(wildcard tidegauge/*) $(filter-out tidegauge,$(ROOMS))) \
		.venv/house/tidegauge/
	@ln -sfn ../../tests ../../bench .venv/house/

# The steps of the set-up, each with a file that says when it was done.

.venv/created:
	@$(PYTHON) -c $(NEW_ENOUGH) 2>/dev/null || { echo 'Tidegauge needs Python 3.11 or later:' \
		'apt install python3-venv on Debian, or name one with make PYTHON=...' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$$($(PYTHON) --version) cannot make a virtual environment:" \
		'apt install python3-venv on Debian' >&2; exit 1; }
	@echo "Making .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv .venv
	@touch $@

# Some packages are built from source, and a build takes its setuptools from wherever it
# likes, unless there is one already: so the locked one goes first.
.venv/dependencies: .venv/created requirements.lock
	@echo 'Installing what requirements.lock lists: some 800 MB and minutes, once'
	@awk '/^setuptools==/, !/\\$$/' requirements.lock > .venv/setuptools.lock
	@$(PIP) install --quiet --require-hashes -r .venv/setuptools.lock
	@$(PIP) install --progress-bar off --no-build-isolation --require-hashes \
		-r requirements.lock | while read -r step what _; do case "$$step $$what" in \
		Collecting*) echo "  $$what";; 'Building wheels') echo '  building ...';; \
		'Installing collected') echo '  unpacking ...'; esac; done
	@touch $@

.venv/installed: .venv/dependencies pyproject.toml
	@echo 'Installing the project in place'
	@$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

.venv/bench: .venv/dependencies bench/requirements.lock
	@echo 'Installing other simulators'
	@$(PIP) install --quiet --require-hashes -r bench/requirements.lock
	@touch $@

# A link to the cache: it leads nowhere once the cache is deleted, and so is made again.
.venv/compiled: .venv/installed $(KERNEL_SOURCES)
	@$(BIN)/tidegauge compile
	@ln -sfn "$$($(BIN)/python -c 'import tidegauge.compiled.kept_code as kept_code; \
		print(kept_code.cache_folder())')" $@
	@touch -c $@
