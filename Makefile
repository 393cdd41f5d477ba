# make setup | demo | test | check | bench      (Python 3.11 or later and git are all that is needed)
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test check bench lock clean bench-logs bench-github bench-webhooks bench-triage bench-deploy bench-ask likeness weights webhook-examples

setup: .venv/.installed

.venv/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "build-eye needs Python 3.11 or later; set PYTHON=/path/to/python3.11"; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: setup
	@$(BIN)/build-eye demo

test: setup
	$(BIN)/pytest

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest

bench: bench-logs bench-github bench-webhooks bench-triage bench-deploy bench-ask

bench-logs: setup
	$(BIN)/python benchmarks/logs.py

likeness: setup
	$(BIN)/python benchmarks/likeness.py

bench-github: setup
	$(BIN)/python benchmarks/github.py

bench-webhooks: setup
	$(BIN)/python benchmarks/webhooks.py

bench-triage: setup
	$(BIN)/python benchmarks/triage.py

bench-deploy: setup
	$(BIN)/python benchmarks/deploy.py

bench-ask: setup
	$(BIN)/python benchmarks/ask.py

weights: setup
	$(BIN)/python benchmarks/weights.py --write

webhook-examples: .cache/octokit-webhooks-examples/package/package.json

.cache/octokit-webhooks-examples/package/package.json:
	mkdir -p .cache/octokit-webhooks-examples
	npm pack --silent --pack-destination .cache/octokit-webhooks-examples @octokit/webhooks-examples@7.6.1
	tar -xzf .cache/octokit-webhooks-examples/octokit-webhooks-examples-7.6.1.tgz -C .cache/octokit-webhooks-examples

lock:
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -o requirements.lock

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .cache demo
