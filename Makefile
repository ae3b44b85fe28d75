# Each target is complete on a machine that has only Python 3.11+, pip and make.
PY ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
CORE = $(VENV)/.installed
STAMP = $(VENV)/.installed-dev

# packages whose every branch must be reached, and the tests that reach them: tracing makes tests 40 to 60 % slower, so
# that only those of tests/traced_tests.txt run with it (tests/traced_tests.py writes the list)
EVERY_BRANCH = anonkit/budget_rules anonkit/checks anonkit/integrations/great_expectations anonkit/mechanisms \
  anonkit/published/channels anonkit/utility
MEASURED = tests/auditing tests/budget_rules tests/bundle/test_signing.py tests/bundle/test_statistics_tables.py \
  tests/bundle/test_store_workers.py tests/checks tests/integrations/great_expectations tests/mechanisms \
  tests/promises tests/published tests/randomized_response tests/utility

INTEGRATIONS = airflow dagster dbt dvc prefect snakemake
PEERS = $(notdir $(wildcard recipes/benchmarks/peers/*))

.PHONY: demo docs test coverage test-random test-slow test-docs test-experiments test-integrations audit bench bench-compare lint wheel-test matrix release-ready clean

$(CORE): pyproject.toml constraints.txt
	$(PY) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

# modules are compiled as they are imported: most of these packages never are, and compiling all took a third of the time
$(STAMP): pyproject.toml constraints.txt
	$(PY) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-compile -e ".[dev]"
	touch $(CORE) $@

demo: $(CORE)  ## release simulated bank customers, then print where the release and its report are
	$(BIN)/anonkit demo --folder demo

docs: $(STAMP)  ## the documentation site, in site/: open site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# packages are not compiled as they are installed: an environment that forbids to write byte code, too, has every process
# that a test starts compile all that it imports, and that was a third of the gate
unexport PYTHONDONTWRITEBYTECODE

# each of the tests' processes has a core of its own: linear algebra on more threads than that waits for itself, and
# four fifths of the processor time of some tests were this waiting
test coverage test-random test-docs: export OMP_NUM_THREADS = 1

# half as many processes again as there are cores: tests wait for servers, clusters and locks a fifth of their time
WORKERS ?= $(shell $(PY) -c "import os; print((os.cpu_count() or 1) * 3 // 2)")

test: $(STAMP)  ## everything a change must pass
	$(BIN)/python -m pytest -q -p no:cacheprovider -n $(WORKERS) --dist worksteal --durations 40 \
	  --hypothesis-profile fewer --untraced
	$(BIN)/python -m pytest -q -p no:cacheprovider -n $(WORKERS) --dist worksteal --durations 5 \
	  --hypothesis-profile fewer --traced $(MEASURED) \
	  $(EVERY_BRANCH:%=--cov=%) --cov-report=term-missing --cov-fail-under=100

coverage: $(STAMP)  ## the branches of the whole package that the quick tests reach; 40 to 60 % slower than the gate
	$(BIN)/python -m pytest -q -p no:cacheprovider -n auto --dist worksteal --cov=anonkit --cov-report=term-missing

test-random: $(STAMP)  ## the same tests on other generated examples and other noise each time
	$(BIN)/python -m pytest -q -p no:cacheprovider -n auto --dist worksteal --hypothesis-profile random

test-slow: $(STAMP)  ## the long audits, utility targets, and all that has a lighter sibling in the gate; TESTS="PATH …" a part
	$(BIN)/python -m pytest -q -m slow --hypothesis-profile random $(TESTS)

test-experiments: $(STAMP)  ## the quick form of the experiments of recipes/papers that the gate does not run; needs ../shared/data
	$(BIN)/python -m pytest -q -p no:cacheprovider -m experiments tests/experiments

test-docs: $(STAMP)  ## every page by the letter: its code blocks in order, by real programs; every example, cell by cell
	$(BIN)/python -m pytest -q -p no:cacheprovider -n auto --dist worksteal --durations 10 -m docs tests/pages tests/documentation \
	  tests/test_examples.py

.integrations/%/.installed: pyproject.toml tests/integrations/%/requirements.txt tests/integrations/%/constraints.txt
	$(PY) -m venv .integrations/$*
	.integrations/$*/bin/python -m pip install --quiet --disable-pip-version-check \
	  -c tests/integrations/$*/constraints.txt -r tests/integrations/$*/requirements.txt
	touch $@

test-integrations: $(INTEGRATIONS:%=.integrations/%/.installed)  ## the pipeline tools, each in its own environment
	for tool in $(INTEGRATIONS); do \
	  .integrations/$$tool/bin/python -m pytest -q -p no:cacheprovider -W default -m integrations tests/integrations/$$tool \
	  || exit 1; done
	$(PY) tests/integrations/second_runs.py $(INTEGRATIONS)

audit: $(STAMP)  ## try to refute the privacy claims, for half an hour
	$(BIN)/python -m pytest -q -m slow tests/privacy tests/mechanisms

# a peer that cannot be installed is no reason to measure nothing: the page names it, with the last line of its pip.log
.benchmarks/%/.installed: recipes/benchmarks/peers/%/requirements.txt recipes/benchmarks/peers/%/constraints.txt
	rm -f $@
	$(PY) -m venv .benchmarks/$* && .benchmarks/$*/bin/python -m pip install --quiet --disable-pip-version-check \
	  -c recipes/benchmarks/peers/$*/constraints.txt -r recipes/benchmarks/peers/$*/requirements.txt \
	  > .benchmarks/$*/pip.log 2>&1 && touch $@ || echo "$* cannot be installed: .benchmarks/$*/pip.log says why"

bench: $(STAMP) $(PEERS:%=.benchmarks/%/.installed)  ## docs/benchmarks.md; ONLY="NAME …", LARGE=1, QUICK=1; needs ../shared/data
	$(BIN)/python recipes/benchmarks/bench.py $(if $(LARGE),--large) $(if $(QUICK),--quick) $(if $(ONLY),--only $(ONLY))

bench-compare: $(STAMP)  ## speed of this tree against the last tag; AGAINST=REF, ONLY="NAME …", QUICK=1, ROUNDS=3
	$(BIN)/python recipes/benchmarks/bench_compare.py $(if $(AGAINST),--against $(AGAINST)) $(if $(QUICK),--quick) \
	  $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(ONLY),--only $(ONLY))

lint: $(STAMP)  ## style, format and types; a minute
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

wheel-test: $(STAMP)  ## build the distributions, install the wheel into an empty environment, run it
	$(BIN)/nox -s build wheel

matrix: $(STAMP)  ## the newest and the oldest dependencies, on every Python that is here
	$(BIN)/nox -s tests_newest tests_oldest

release-ready:  ## what keeps TAG=v1.2.3 from being published
	$(PY) tests/release_ready.py "$(TAG)"

clean:
	rm -rf $(VENV) .integrations .benchmarks .nox .coverage .coverage.* demo dist build site
