"""Fixtures shared by the tests: the repository, the real tables, the paper's simulated customers."""

from __future__ import annotations

import atexit
import gc
import importlib.util
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pytest
from brief_guides import BriefGuides
from compiled_ahead import compile_ahead
from hypothesis import HealthCheck, settings
from memory_folder import keep_files_in_memory
from own_ledgers import OwnLedgers
from postgresql import Server, programs
from quick_cases import QuickCases
from remembered_forests import remember_forests
from repeatable_draws import MARK, RepeatableDraws
from traced_tests import listed

# a deadline is a timed assertion, and so is the check of slow draws; the gate draws the same examples each time, a
# sixth of what a developer has who runs one file, and `make test-random` draws others, as many as he
settings.register_profile("anonkit", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fewer", settings.get_profile("anonkit"), max_examples=10)
settings.register_profile("random", settings.get_profile("anonkit"), derandomize=False)
settings.load_profile("anonkit")

for _name in ("ANONKIT_LEDGER", "ANONKIT_LEDGER_REQUIRED", "ANONKIT_LEDGER_KEY", "ANONKIT_LEDGER_KEY_FILE"):
    os.environ.pop(_name, None)  # what a developer has set must not decide a test, nor a test be booked there
# private records of files that are being written: not among the developer's own
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="anonkit-test-state-")
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)


def pytest_configure(config: pytest.Config) -> None:
    """Let noise be the same each time, as the generated examples are, files be in memory, and garbage be looked for
    less often: twelve thousand tests are 600,000 objects, and looking through them took 8 % of the processor time.
    """
    keep_files_in_memory(config)
    config.pluginmanager.register(OwnLedgers(), "own-ledgers")
    compile_ahead(config, REPOSITORY / "tests", REPOSITORY / "anonkit")
    config.pluginmanager.register(QuickCases(), "quick-cases")
    remember_forests(config, REPOSITORY / "tests")
    config.pluginmanager.register(BriefGuides(REPOSITORY / "tests"), "brief-guides")
    gc.set_threshold(20_000, 20, 20)
    config.addinivalue_line("markers", f"{MARK}: draws from the operating system, as a release does")
    profile = config.getoption("--hypothesis-profile", default=None)
    if profile != "random":
        config.pluginmanager.register(RepeatableDraws(), "repeatable-draws")
    if profile == "fewer":
        _leave_out_constants_of_modules()


def _leave_out_constants_of_modules() -> None:
    """Let examples not depend on which modules a process has imported: hypothesis parses all of them for constants.

    This took each process of the gate a quarter of a minute of the processor. Other profiles draw these constants, too.
    """
    from hypothesis.internal.conjecture import providers

    if hasattr(providers, "is_local_module_file"):
        providers.is_local_module_file = lambda path: False


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the gate run in two parts: a few tests while branches are measured, and all others."""
    parser.addoption("--traced", action="store_true", help="only the tests of tests/traced_tests.txt")
    parser.addoption("--untraced", action="store_true", help="all tests but those of tests/traced_tests.txt")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import a file of which no test runs."""
    if collection_path.suffix != ".py" or not config.getoption("--traced"):
        return None
    file = collection_path.relative_to(REPOSITORY).as_posix()
    return not any(test.startswith(f"{file}::") for test in listed()) or None


def _leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the other part of the gate runs, and refuse a list with tests that are not there."""
    traced = config.getoption("--traced")
    if not traced and not config.getoption("--untraced"):
        return
    chosen = listed()
    if traced and (absent := chosen - {item.nodeid for item in items}):
        raise pytest.UsageError(f"not there: {sorted(absent)[:3]}; run python tests/traced_tests.py")
    gone = [item for item in items if (item.nodeid in chosen) != traced]
    config.hook.pytest_deselected(items=gone)
    items[:] = [item for item in items if (item.nodeid in chosen) == traced]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let the longest test be the first, then those of Spark, side by side, so that one process starts one Java.

    So with those of Great Expectations, whose import takes longer than most of them. What was at the end of the run
    kept one core busy for a minute while the others had nothing left to do.
    """
    _leave_out(config, items)

    def is_without_spark(item: pytest.Item) -> bool:
        fixtures = getattr(item, "fixturenames", ())
        chosen = item.callspec.params.values() if hasattr(item, "callspec") else ()
        return "spark" not in fixtures and not any(isinstance(value, str) and value == "spark" for value in chosen)

    def is_without_expectations(item: pytest.Item) -> bool:
        return "great_expectations_is_there" not in getattr(item, "fixturenames", ())

    items.sort(key=lambda item: (item.name != LONGEST, is_without_spark(item), is_without_expectations(item)))


def pytest_collection_finish() -> None:
    """Look no more for garbage among the tests themselves."""
    gc.freeze()


LONGEST = "test_both_engines_make_one_release[ppnb]"


REPOSITORY = Path(__file__).parents[1]
REAL_TABLES = REPOSITORY.parent / "shared" / "data"

USUAL_EIGHT = (
    "age",
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "race",
    "sex",
    "native-country",
)
"""The eight quasi-identifiers of Adult that the literature uses."""


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the repository."""
    return REPOSITORY


@pytest.fixture(scope="session")
def real_tables() -> Path:
    """The folder of real tables; tests skip where it is absent, and must not in CI unless its workflow says so."""
    if not REAL_TABLES.exists():
        _absent("the folder of real tables (../shared/data)", name="real-tables")
    return REAL_TABLES


@pytest.fixture(scope="session")
def adult(real_tables: Path) -> pa.Table:
    """Adult, 48,842 rows."""
    from anonkit.engines.local.local_engine import LocalEngine
    from anonkit.policy.declaration import Policy

    engine = LocalEngine()
    source = engine.scan(real_tables / "adult.csv.gz", Policy())
    return pa.Table.from_batches(source.batches(), schema=source.schema)


@pytest.fixture(scope="session")
def small_customers() -> pa.Table:
    """400 simulated bank customers."""
    from anonkit.datasets import bank_customers

    return bank_customers(400, seed=1)


@pytest.fixture(scope="session")
def great_expectations_is_there() -> None:
    """Great Expectations, which CI has."""
    _require("great_expectations", "Great Expectations")


@pytest.fixture(scope="session")
def duckdb_engine_is_there() -> None:
    """DuckDB's dialect for SQLAlchemy, which CI has."""
    _require("duckdb_engine", "duckdb-engine")


@pytest.fixture(scope="session")
def pandera_is_there() -> None:
    """The pandera package, which CI has."""
    _require("pandera", "pandera")


@pytest.fixture(scope="session")
def spark_is_there() -> None:
    """PySpark and Java: tests skip where they are absent, which must not be in CI."""
    _require("pyspark", "PySpark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        _absent("Java")


def _java_of_spark() -> Any:
    context = sys.modules.get("pyspark.core.context")
    return getattr(getattr(context, "SparkContext", None), "_gateway", None)


@pytest.fixture(autouse=True)
def spark_is_started_by_its_fixture(request: pytest.FixtureRequest) -> Iterator[None]:
    """Refuse a test that starts Spark in this process without `spark`: Java keeps the environment it was started in.

    The executors of later tests would not find the modules of the tests, in whatever order these happen to run.
    """
    was_there = _java_of_spark() is not None
    yield
    if not was_there and _java_of_spark() is not None:
        assert request.config.stash.get(SPARK_IS_OURS, False), "use the fixture `spark`"


@pytest.fixture(scope="session")
def spark(spark_is_there: None, request: pytest.FixtureRequest) -> Iterator[Any]:
    """One small Spark on this machine for all tests that need it."""
    import pyspark.sql

    assert _java_of_spark() is None, "a test has started Spark without this fixture"
    request.config.stash[SPARK_IS_OURS] = True

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "tests")])
    builder = pyspark.sql.SparkSession.builder.master("local[1]").appName("tests")
    for key, value in SMALL_SPARK.items():
        builder = builder.config(key, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """One PostgreSQL server for all tests of this process that need one."""
    if importlib.util.find_spec("psycopg") is None:
        _absent("psycopg")
    if programs() is None:
        _absent("PostgreSQL")
    server = Server.start()
    yield server
    server.remove()


SPARK_IS_OURS = pytest.StashKey[bool]()
"""Set where the fixture `spark` has started Java."""

SMALL_SPARK = {
    "spark.log.level": "OFF",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "1g",
    "spark.python.authenticate.socketTimeout": "300s",  # 15 otherwise: Java gives up a Python that gets no processor
    # Java lives for minutes here: compiling what it runs a second time, and collecting garbage beside it, took
    # three eighths of its processor time
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",  # small tables: compiling takes longer than counting
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def _require(module: str, what: str) -> None:
    if importlib.util.find_spec(module) is None:
        _absent(what)


def _absent(what: str, name: str | None = None) -> NoReturn:
    """Skip, or fail in CI: there nothing may be absent but what its workflow names in ANONKIT_TESTS_WITHOUT."""
    if os.environ.get("CI") and name not in os.environ.get("ANONKIT_TESTS_WITHOUT", "").split():
        pytest.fail(f"{what} is absent in CI")
    pytest.skip(f"{what} is not there")


@pytest.fixture
def ledger_beside(tmp_path: Path) -> Path:
    """A new ledger beside the releases of this test, which is used before the user's."""
    from anonkit.ledger import NAME, Ledger

    Ledger.create(tmp_path / NAME)
    return tmp_path / NAME


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files of this test alone."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder
