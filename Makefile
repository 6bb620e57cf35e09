# Two commands matter: `make demo` and `make test`. Everything they need is installed into this folder.
SHELL := /bin/bash
.DEFAULT_GOAL := help
BIN := .venv/bin
export PYTHON
# Hundreds of Python processes are started here: what one has compiled, the next ones read.
unexport PYTHONDONTWRITEBYTECODE
FLOORS := wire numerics protocols
# They play hundreds of whole runs. What they pass through is covered by the others; watched, they would take twice as long.
SCHEDULES := $(wildcard tests/protocols/test_*_schedules.py) $(addprefix tests/protocols/,test_secagg_dropouts.py workunits/test_schedules.py)
# Two targets at a time, what each prints in one piece (where make can do that).
SIDE_BY_SIDE := $(MAKE) --no-print-directory -j 2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

.PHONY: help setup demo build test lint types test-ts test-py test-floors gallery zoo test-rest conformance bench explore fuzz fuzz-api kills format wheel clean

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: ## train handwritten digits here: server, one TensorFlow peer, and every browser you open
	@scripts/setup.sh python all
	@scripts/setup.sh web
	@$(BIN)/minga build models/digits --docs
	@$(BIN)/minga demo $(ARGS)

setup:
	@scripts/setup.sh web & web=$$!; scripts/setup.sh python dev && wait $$web
	@scripts/setup.sh chromium
	@scripts/setup.sh databases
	@scripts/setup.sh networks

build: ## web app and gallery bundles
	@scripts/setup.sh python all
	@scripts/setup.sh web
	@$(BIN)/minga build

wheel: build ## a wheel that holds the built web app and gallery
	@scripts/setup.sh python dev
	@$(BIN)/python -m build --wheel --no-isolation --outdir dist .

test: setup ## set everything up, check and test everything
	@$(SIDE_BY_SIDE) lint types test-ts test-floors gallery zoo
	@$(MAKE) --no-print-directory test-rest

lint: setup ## style, floors of the architecture
	@echo "== Style and floors"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@npm run --silent lint
	@$(BIN)/lint-imports --no-logo

types: setup ## strict types of both languages
	@echo "== Types"
	@$(BIN)/mypy
	@npm run --silent types

test-ts: setup ## TypeScript's unit tests
	@echo "== TypeScript tests"
	@npm run --silent test

test-py: setup ## Python's tests, browsers and conformance included
	@$(SIDE_BY_SIDE) test-floors gallery zoo
	@$(MAKE) --no-print-directory test-rest

test-floors: setup
	@echo "== Tests of the pure floors, with their coverage"
	@$(BIN)/coverage run -m pytest -q $(addprefix --ignore=,$(SCHEDULES)) $(addprefix tests/,$(FLOORS))
	@$(BIN)/coverage report --skip-covered
	@echo "== Schedules of the pure floors"
	@$(BIN)/python -m pytest -q $(SCHEDULES)

gallery: setup
	@echo "== Building the gallery"
	@$(BIN)/minga build

zoo: setup
	@echo "== Training the zoo's models with Keras, for the others to be held to"
	@$(BIN)/python -m tests.browser.references

# The converter's tests keep both cores busy. Most of the others wait for servers, rounds and pages: four at a time,
# folder after folder, so that those of stores, web and wire, which are short, fill up the end.
test-rest: setup
	@echo "== Tests of the converter"
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal --durations=10 tests/converter tests/conformance
	@echo "== Tests of everything else"
	@$(BIN)/python -m pytest -q -n 4 --dist loadfile --no-loadscope-reorder --durations=40 \
		$(addprefix --ignore=tests/,$(FLOORS) converter conformance)

conformance: setup ## every op and model on every backend, into docs/reference/
	@$(BIN)/python -m tests.browser.ops_report
	@$(BIN)/python -m tests.browser.conformance

bench: setup ## one training step on every backend, what whole rounds cost a server and what averaging costs peers, as JSON
	@$(BIN)/minga build
	@$(BIN)/python -m benchmarks.steps --json
	@$(BIN)/python -m benchmarks.rounds --json
	@$(BIN)/python -m benchmarks.secagg --json
	@$(BIN)/python -m benchmarks.allreduce --json

explore: setup ## 10,000 seeded runs of clients, network and server on virtual time, of masked rounds, and of groups of peers; the failing seed is told
	@$(BIN)/python -m tests.simulation.explore --seeds 0 10000 --jobs 2
	@$(BIN)/python -m tests.protocols.masking.explore --seeds 0 10000 --jobs 2
	@$(BIN)/python -m tests.protocols.allreducing.explore --seeds 0 10000 --jobs 2
	@$(BIN)/python -m tests.protocols.allreducing.explore --seeds 0 10000 --jobs 2 --masked

fuzz: setup ## a million bad inputs for every decoder of both languages
	@$(BIN)/python -m tests.fuzzing --inputs 1000000
	@FUZZ_INPUTS=1000000 npx vitest run tests/ts/fuzzing

fuzz-api: setup ## schemathesis over the whole API, with 200 cases for each operation
	@$(BIN)/python -m tests.web.explore_api --cases 200

kills: setup ## kill -9 servers at 100 random instants, and look at what they leave behind
	@$(BIN)/python -m pytest -q tests/crash --kills 100

format: setup ## put every file into the house style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@npm run --silent format

clean: ## remove what was built and installed here
	@rm -rf .venv node_modules .make .cache dist webapp/static/dist models/*/built .mypy_cache .ruff_cache .pytest_cache
