# make            lists the targets
# PYTHON=...      the Python that builds the environment (3.11 or newer)

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
PROJECT := pyproject.toml constraints.txt
DEMO_OUT ?= demo-output
BUDGET ?= quick
ALERTS_OUT ?= alerts-output
LIVE_OUT ?= live-trial-output
# One more than there are processors: many tests wait for real servers and browsers.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(1 + (os.cpu_count() or 1))')

.DEFAULT_GOAL := help
.PHONY: help install demo test test-slow coverage test-processors live-trial check format speed alerts tables docs clean clean-jit

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(VENV)/.with-all ## create .venv and install smkc with all extras

demo: $(VENV)/.with-demo ## find four planted incidents in a fleet's telemetry; writes demo-output/report.html
	$(BIN)/smkc demo --out $(DEMO_OUT)

test: $(VENV)/.with-test ## run the tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "not slow" --durations=10

# Whole systems in real time can fail on a machine that is busy: a failure is tried once more and counted.
test-slow: $(VENV)/.with-test ## run the long tests: fuzzers, large files, whole systems
	HYPOTHESIS_PROFILE=slow $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m slow --reruns 1 --durations=10

coverage: $(VENV)/.with-test ## run the tests and list the statements that none of them runs, compiled loops apart
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "not slow" --cov --cov-report=term

test-processors: $(VENV)/.with-test ## run the tests of what scores promise as on other processors; all with TESTS=tests
	PYTHON=$(BIN)/python .ci/processors $(TESTS)

live-trial: $(VENV)/.with-test ## plant 12 faults on real software, 49 minutes; LIVE_OUT must be a new folder
	$(BIN)/python -m tools.livetrial run $(LIVE_OUT)

check: $(VENV)/.with-test ## style, types and the order of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.with-test ## rewrite the code in the project's style
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

speed: $(VENV)/.with-test ## time smkc beside a plain NumPy reading of the paper
	$(BIN)/python -m benchmarks speed

alerts: $(VENV)/.with-test ## count faults alerted and false alerts on the recordings in SMKC_DATA
	$(BIN)/python -m benchmarks alerts --out $(ALERTS_OUT)

tables: $(VENV)/.with-test ## make the paper's tables anew: BUDGET=smoke, quick or paper
	$(BIN)/python -m benchmarks paper --table all --budget $(BUDGET)

docs: $(VENV)/.with-docs ## build the documentation without a network: site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

clean-jit: ## forget compiled loops: numba does not see changes in what they call
	find src benchmarks -name '*.nb[ic]' -delete

clean: ## remove the environment and all caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis $(DEMO_OUT) $(LIVE_OUT) $(ALERTS_OUT) site

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "smkc needs Python 3.11 or newer; run: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade "pip>=25.1"
	@touch $@

$(VENV)/.with-demo: $(VENV)/.created $(PROJECT)
	$(PIP) install -c constraints.txt -e ".[plot]"
	@touch $@

$(VENV)/.with-test: $(VENV)/.with-demo $(PROJECT)
	$(PIP) install -c constraints.txt -e ".[deep,mcp,plot,ray,serve]" --group test --group check --group benchmarks
	@touch $@

$(VENV)/.with-docs: $(VENV)/.with-demo $(PROJECT)
	$(PIP) install -c constraints.txt --group docs
	@touch $@

$(VENV)/.with-all: $(VENV)/.with-test $(PROJECT)
	$(PIP) install -c constraints.txt -e ".[all]"
	@touch $@
