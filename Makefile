# Each target is complete on a machine that has only Python 3.11+, pip and make.
PY ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
CORE = $(VENV)/.installed
STAMP = $(VENV)/.installed-dev

# rooms whose every branch must be reached, and the tests that reach them: tracing makes tests 40 to 60 % slower, so
# that the others run without it
EVERY_BRANCH = anonkit/checks anonkit/mechanisms anonkit/published/channels
MEASURED = tests/auditing tests/bundle/test_signing.py tests/checks tests/mechanisms tests/promises tests/published \
  tests/randomized_response

INTEGRATIONS = airflow dagster dbt dvc prefect snakemake

.PHONY: demo test coverage test-random test-slow test-integrations audit bench lint wheel-test matrix release-ready clean

$(CORE): pyproject.toml constraints.txt
	$(PY) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(STAMP): $(CORE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

demo: $(CORE)  ## release simulated bank customers, then print where the release and its report are
	$(BIN)/anonkit demo --folder demo

test: $(STAMP)  ## everything a change must pass
	$(BIN)/python -m pytest -q -p no:cacheprovider -n auto --dist worksteal --durations 40 \
	  --hypothesis-profile fewer $(MEASURED:%=--ignore=%)
	$(BIN)/python -m pytest -q -p no:cacheprovider -n auto --dist worksteal --durations 5 $(MEASURED) \
	  $(EVERY_BRANCH:%=--cov=%) --cov-report=term-missing --cov-fail-under=100

coverage: $(STAMP)  ## the branches of the whole package that the quick tests reach; 40 to 60 % slower than the gate
	$(BIN)/python -m pytest -q -p no:cacheprovider -n auto --dist worksteal --cov=anonkit --cov-report=term-missing

test-random: $(STAMP)  ## the same tests on other generated examples each time
	$(BIN)/python -m pytest -q -p no:cacheprovider -n auto --dist worksteal --hypothesis-profile random

test-slow: $(STAMP)  ## the long audits and utility targets
	$(BIN)/python -m pytest -q -m slow --hypothesis-profile random

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

bench: $(STAMP)  ## measure against the named baselines; needs ../shared/data
	$(BIN)/python tests/benchmarks/rfka_adult.py
	$(BIN)/python tests/benchmarks/selection_loop.py
	$(BIN)/python -W ignore tests/benchmarks/tree_times.py
	$(BIN)/python tests/benchmarks/randomized_speed.py
	$(BIN)/python tests/benchmarks/randomized_evidence.py
	$(BIN)/python tests/benchmarks/randomized_figures.py

lint: $(STAMP)  ## what `make test` checks of the text of the code
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
	rm -rf $(VENV) .integrations .nox .coverage .coverage.* demo dist build
