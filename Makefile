SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory --no-builtin-rules

BIN := .venv/bin
ARGS ?=
# How many share the tests, for two cores: most tests wait for something.
PROCESSES ?= 6
CODE := src tests $(wildcard benchmarks examples docs)
# Modules are compiled once and not by each of the processes that tests start, whatever the shell
# around us wants for its own.
export PYTHONDONTWRITEBYTECODE =

# A stamp is named after what it was made from: when a lock changes, its stamp is missing.
digest = $(shell cat $(1) pyproject.toml requirements/setup.sh 2>/dev/null \
	| { sha256sum 2>/dev/null || shasum -a 256; } | cut -c1-16)
SETUP := .venv/.setup-$(call digest,requirements/dev.lock)
RUN_SETUP := .venv/.run-$(call digest,requirements/run.lock)
TYPES_SETUP = .venv/.types-$(call digest,tests/api/http/types/package-lock.json)
BENCH_SETUP = .venv/.bench-$(call digest,requirements/bench.lock)

.PHONY: help up test quick setup check fmt bench oracle docs lock dist clean

help:  ## print these verbs
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Whoever has set up everything has what running needs.
UP_SETUP = $(if $(wildcard $(SETUP)),,$(RUN_SETUP))
# exec: the server takes the shell's place, so a SIGTERM that make passes on reaches it directly.
up: $(UP_SETUP)  ## run Windlass on an embedded PostgreSQL and Valkey; ARGS='--port 5888 --data DIR'
	@exec $(BIN)/windlass up $(ARGS)

# The checks run beside the first tests, which mostly wait; what they say is shown if they fail.
test: $(SETUP) $(TYPES_SETUP)  ## run every check and every test; ARGS go to pytest
	@$(MAKE) check >.venv/check.log 2>&1 & checking=$$!; \
	code=0; PYTHONHASHSEED=0 $(BIN)/python -m tests.run --numprocesses=$(PROCESSES) --dist=loadfile \
		--no-loadscope-reorder --durations=10 $(ARGS) || code=$$?; \
	wait $$checking || { cat .venv/check.log; echo 'make check has failed'; exit 1; }; \
	exit $$code

quick: $(SETUP)  ## lint, the house and the pure parts, in half a minute; ARGS go to pytest
	@$(BIN)/ruff check $(CODE)
	@PYTHONHASHSEED=0 $(BIN)/python -m pytest --quiet --numprocesses=2 -p no:schemathesis \
		--hypothesis-profile=quick -m 'not slow' tests/model tests/house $(ARGS)

setup: $(SETUP)  ## make .venv with everything pinned; afterwards .venv/bin/windlass is the command
	@:

check: $(SETUP)  ## lint, formatting, types, and the conventions of the house
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/ruff format --check $(CODE)
	@$(BIN)/mypy --strict $(CODE)
	@$(BIN)/python -m pytest --quiet tests/house/test_layers.py tests/house/test_rooms.py \
		tests/house/test_step_kinds.py

fmt: $(SETUP)  ## format, and mend what ruff can mend by itself
	@$(BIN)/ruff check --fix-only $(CODE)
	@$(BIN)/ruff format $(CODE)

bench: $(SETUP) $(BENCH_SETUP)  ## measure Windlass beside the bare speeds of the same servers
	@exec $(BIN)/python -m benchmarks $(ARGS)

oracle: $(SETUP)  ## compare the rules of schedules with brute force, over ten years in every zone
	@exec $(BIN)/python -m tests.model.schedule.cron_compare $(ARGS)

docs: $(SETUP)  ## write docs/openapi.json and check every link and every named test
	@$(BIN)/python docs/openapi.py
	@$(BIN)/python docs/check.py

lock:  ## resolve requirements/*.lock again; UPGRADE=1 moves every version
	@test -x $(BIN)/uv || { python3 -m venv .venv && $(BIN)/pip install --quiet uv; }
	@$(COMPILE) --extra server --output-file requirements/run.lock
	@$(COMPILE) --constraint requirements/run.lock --extra dev --output-file requirements/dev.lock
	@$(COMPILE) --constraint requirements/dev.lock --extra dev --extra bench \
		--output-file requirements/bench.lock

dist: $(SETUP)  ## build the wheel and the sdist into dist/
	@rm -rf dist
	@$(BIN)/python -m hatchling build --directory dist
	@ls -1 dist

clean:  ## remove what make made: the virtualenv, caches, builds; data is kept
	@rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-annotate --no-header \
	$(if $(UPGRADE),--upgrade) pyproject.toml

$(RUN_SETUP):
	@requirements/setup.sh run $@

$(SETUP):
	@requirements/setup.sh dev $@

# TypeScript, which tests/api makes of the OpenAPI document as a caller would.
$(TYPES_SETUP): $(SETUP)
	@mkdir -p .venv/types && cp tests/api/http/types/package*.json .venv/types
	@npm ci --prefix .venv/types --ignore-scripts --no-audit --no-fund --silent
	@rm -f .venv/.types-* && touch $@

$(BENCH_SETUP): $(SETUP)
	@requirements/setup.sh bench $@
