# Two commands matter: `make demo` and `make test`. Everything they need is installed into this folder.
SHELL := /bin/bash
.DEFAULT_GOAL := help
BIN := .venv/bin
export PYTHON

.PHONY: help setup demo build test lint types test-ts test-py conformance bench explore fuzz kills format wheel clean

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: ## train handwritten digits here: server, one TensorFlow peer, and every browser you open
	@scripts/setup.sh python all
	@scripts/setup.sh web
	@$(BIN)/minga build
	@$(BIN)/minga demo $(ARGS)

setup:
	@scripts/setup.sh python dev
	@scripts/setup.sh web
	@scripts/setup.sh chromium

build: ## web app and gallery bundles
	@scripts/setup.sh python all
	@scripts/setup.sh web
	@$(BIN)/minga build

wheel: build ## a wheel that holds the built web app and gallery
	@scripts/setup.sh python dev
	@$(BIN)/python -m build --wheel --no-isolation --outdir dist .

test: setup ## set everything up, check and test everything
	@$(MAKE) --no-print-directory lint types test-ts test-py

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
	@echo "== Building the gallery"
	@$(BIN)/minga build
	@echo "== Tests of the pure floors, with their coverage"
	@$(BIN)/coverage run -m pytest -q tests/wire tests/numerics tests/protocols
	@$(BIN)/coverage report --skip-covered
	@echo "== Training the zoo's models with Keras, for the others to be held to"
	@$(BIN)/python -m tests.browser.references
	@echo "== Tests of the converter, on two cores"
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal tests/converter tests/conformance
	@echo "== Tests of everything else"
	@$(BIN)/python -m pytest -q $(addprefix --ignore=tests/,wire numerics protocols converter conformance)

conformance: setup ## every op and model on every backend, into docs/reference/
	@$(BIN)/python -m tests.browser.ops_report
	@$(BIN)/python -m tests.browser.conformance

bench: setup ## one training step on every backend, and what whole rounds cost a server, as JSON
	@$(BIN)/minga build
	@$(BIN)/python -m benchmarks.steps --json
	@$(BIN)/python -m benchmarks.rounds --json

explore: setup ## 10,000 seeded runs of clients, network and server on virtual time; the failing seed is told
	@$(BIN)/python -m tests.simulation.explore --seeds 0 10000 --jobs 2

fuzz: setup ## a million bad inputs for every decoder of both languages
	@$(BIN)/python -m tests.fuzzing --inputs 1000000
	@FUZZ_INPUTS=1000000 npx vitest run tests/ts/fuzzing

kills: setup ## kill -9 servers at 100 random instants, and look at what they leave behind
	@$(BIN)/python -m pytest -q tests/crash --kills 100

format: setup ## put every file into the house style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@npm run --silent format

clean: ## remove what was built and installed here
	@rm -rf .venv node_modules .make .cache dist webapp/static/dist models/*/built .mypy_cache .ruff_cache .pytest_cache
