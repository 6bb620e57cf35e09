# Two commands matter: `make demo` and `make test`. Everything they need is installed into this folder.
SHELL := /bin/bash
.DEFAULT_GOAL := help
BIN := .venv/bin
export PYTHON
# Node.js is installed there where the system has none.
export PATH := $(CURDIR)/$(BIN):$(PATH)
# What this machine lacks, for tests to do without: make test WITHOUT="networks mounts".
export MINGA_TEST_WITHOUT := $(WITHOUT)
# Hundreds of Python processes are started here: what one has compiled, the next ones read.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help setup demo build test test-fast test-long lint types conformance bench explore fuzz fuzz-api kills format wheel clean

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: ## train handwritten digits here: server, one TensorFlow peer, and every browser you open
	@scripts/setup.sh python all
	@scripts/setup.sh web
	@$(BIN)/minga build models/digits --docs
	@$(BIN)/minga demo $(ARGS)

setup:
	@scripts/setup.sh tests
	@scripts/setup.sh check

build: ## web app and gallery bundles
	@scripts/setup.sh python all
	@scripts/setup.sh web
	@$(BIN)/minga build

wheel: build ## a wheel that holds the built web app and gallery
	@scripts/setup.sh python dev
	@$(BIN)/python -m build --wheel --no-isolation --outdir dist .

test: setup ## set everything up, check and test all that must hold; ARGS are pytest's
	@$(BIN)/python -m tests.support.ci.lanes short $(ARGS)

test-fast: setup ## pure floors, contracts and TypeScript, for every save (two or three minutes)
	@$(BIN)/python -m tests.support.ci.lanes fast

test-long: setup ## what takes longer: trainings, full conformance, schedules, fuzzing, benchmarks (up to 72 minutes)
	@scripts/setup.sh arm64
	@$(BIN)/python -m tests.support.ci.lanes long $(ARGS)

lint: setup ## style, floors of the architecture
	@$(BIN)/python -m tests.support.ci.lanes style

types: setup ## strict types of both languages
	@$(BIN)/python -m tests.support.ci.lanes types

conformance: setup ## every op and model on every backend, into docs/reference/
	@$(BIN)/python -m tests.conformance.ops_report
	@$(BIN)/python -m tests.conformance.models_report
	@$(BIN)/python -m tests.conformance.applications_report
	@$(BIN)/python -m tests.conformance.examples_report
	@$(BIN)/minga build
	@$(BIN)/python -m tests.conformance.browsers_report

bench: setup ## one training step on every backend, what whole rounds cost a server and what averaging costs peers, as JSON
	@$(BIN)/minga build
	@$(BIN)/python -m benchmarks.steps --json
	@$(BIN)/python -m benchmarks.rounds --json
	@$(BIN)/python -m benchmarks.secagg --json
	@$(BIN)/python -m benchmarks.allreduce --json

explore: setup ## 10,000 seeded runs of clients, network and server on virtual time, of masked rounds, and of groups of peers; the failing seed is told
	@$(BIN)/python -m tests.property.simulation.explore --seeds 0 10000 --jobs 2
	@$(BIN)/python -m tests.property.protocols.secagg.explore_secagg --seeds 0 10000 --jobs 2
	@$(BIN)/python -m tests.property.protocols.mesh.explore_allreduce --seeds 0 10000 --jobs 2
	@$(BIN)/python -m tests.property.protocols.mesh.explore_allreduce --seeds 0 10000 --jobs 2 --masked
	@$(BIN)/python -m tests.property.protocols.mesh.explore_byzantine --seeds 0 10000 --jobs 2

fuzz: setup ## a million bad inputs for every decoder of both languages
	@$(BIN)/python -m tests.property.fuzzing --inputs 1000000
	@FUZZ_INPUTS=1000000 npx vitest run tests/property/webapp

fuzz-api: setup ## schemathesis over the whole API, with 200 cases for each operation
	@$(BIN)/python -m tests.integration.web.openapi.explore_api --cases 200

kills: setup ## kill -9 servers at 100 random instants, and look at what they leave behind
	@$(BIN)/python -m pytest -q tests/integration/crash --kills 100

format: setup ## put every file into the house style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@npm run --silent format

clean: ## remove what was built and installed here
	@rm -rf .venv node_modules .make .cache dist webapp/static/dist models/*/built .mypy_cache .ruff_cache .pytest_cache
