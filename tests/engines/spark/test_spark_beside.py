"""Counts that Spark makes while the driver searches: made once, given out alike, and ended with the search.

Sessions of Spark: settings are heeded where they are made, and what fails is said in one line without a cell.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from customer_files import write_customers

import anonkit
from anonkit.engines import LocalEngine
from anonkit.errors import (
    AnonkitError,
    EngineError,
    GuaranteeError,
    MissingDependencyError,
    ParameterError,
    PolicyError,
)
from anonkit.methods.mondrian import Mondrian
from anonkit.methods.rfka import RFKA
from anonkit.policy.declaration import Policy
from anonkit.protocols import counted_later, counting_beside

SCRATCH, TASK_ROWS = "spark.anonkit.scratch", "spark.anonkit.taskRows"


@pytest.fixture
def settings(spark: Any) -> Iterator[Any]:
    """The settings of a session that runs; ours are taken back."""
    yield spark.conf
    for name in (SCRATCH, TASK_ROWS):
        spark.conf.unset(name)


def test_settings_of_a_running_session_are_heeded(spark: Any, settings: Any, tmp_path: Path) -> None:
    """Copies go to the scratch the session names, and tasks read as many rows as it says."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    settings.set(SCRATCH, str(tmp_path))
    settings.set(TASK_ROWS, "3")
    with SparkEngine(session=spark) as engine:
        source = engine.scan(pa.table({"a": list(range(10))}), Policy())
        assert source.splits.n_splits == 4
        assert len(list(tmp_path.glob("*/*/rows.parquet"))) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.quick_cases("0", "many")
@pytest.mark.parametrize("rows", ["many", "0", "-3", "1.5"])
def test_a_task_reads_a_number_of_rows(spark: Any, settings: Any, rows: str) -> None:
    """The setting is named, before anything is read."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    settings.set(TASK_ROWS, rows)
    with pytest.raises(ParameterError, match=f"{TASK_ROWS} .* must be a whole number above 0"):
        SparkEngine(session=spark)


def test_a_scratch_that_is_not_there_is_named(spark: Any, settings: Any, tmp_path: Path) -> None:
    """It is the scratch that is to be corrected, not the temporary folder of this machine."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    settings.set(SCRATCH, str(tmp_path / "none"))
    with SparkEngine(session=spark) as engine, pytest.raises(EngineError, match=r"none'.*No such file") as refused:
        engine.scan(pa.table({"a": [1]}), Policy())
    assert "TMPDIR" not in str(refused.value)


def test_a_master_has_one_of_a_few_forms(spark_is_there: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark itself would print a traceback of Java."""
    from pyspark.sql import SparkSession

    from anonkit.engines.spark.spark_beside import open_session

    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    with pytest.raises(ParameterError, match="no master of the form 'sparc://host'"):
        open_session("sparc://host", {}, None)


def _failing(spark_is_there: None, error: Exception, doing: str) -> AnonkitError:
    from anonkit.engines.spark.spark_beside import during

    def action() -> None:
        raise error

    with pytest.raises(AnonkitError) as refused:
        during(doing, action)
    return refused.value


def test_why_spark_does_not_start_is_told_apart(
    spark_is_there: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No Java; a Java that ended; a master that does not answer; a session that somebody stopped."""
    from pyspark.errors import PySparkRuntimeError

    from anonkit.engines.spark.spark_beside import STARTING

    exited = PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert isinstance(_failing(spark_is_there, exited, STARTING), MissingDependencyError)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").touch(mode=0o755)
    assert _failing(spark_is_there, exited, STARTING).message == "Java ended before Spark had started"
    stopped = RuntimeError("Cannot call methods on a stopped SparkContext. SECRET")
    assert "master of the Spark cluster does not answer" in _failing(spark_is_there, stopped, STARTING).message
    for error in (stopped, AttributeError("'NoneType' object has no attribute 'sc'")):
        said = _failing(spark_is_there, error, "counting")
        assert said.message == "counting failed: the Spark session was stopped"
        assert said.__cause__ is said.__context__ is None


def test_pyspark_does_not_print_the_cell_that_failed(spark: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """A cast in the owner's own data frame fails: not even the log of PySpark quotes the cell."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    frame = spark.sql("SELECT int('MARKER' || id) AS a FROM range(3)")
    with SparkEngine(session=spark) as engine, pytest.raises(EngineError, match="CAST_INVALID_INPUT") as refused:
        engine.scan(frame, Policy())
    out, err = capfd.readouterr()
    assert "MARKER" not in out + err + str(refused.value)


@pytest.mark.slow
def test_java_says_nothing_to_the_user(spark_is_there: None, tmp_path: Path) -> None:
    """Neither its log4j profile, nor its warnings: all that is on stderr is ours."""
    (tmp_path / "in.csv").write_text("zip,y\n" + "1,a\n2,b\n" * 20, encoding="utf-8")
    options = "--engine spark --spark-master local[1] --method mondrian --k 5 --no-ledger in.csv out.parquet"
    done = subprocess.run(
        [sys.executable, "-m", "anonkit", "release", *options.split()],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if not line.startswith(("Note:", "Hint:"))] == []


HELD, N = 300, 1_000


@pytest.fixture
def engine(spark: Any) -> Iterator[Any]:
    """The Spark engine, which lets a search hold fewer rows than there are."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    with SparkEngine(session=spark, search_rows=HELD) as opened:
        yield opened


@pytest.fixture(scope="module")
def customers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Customers in two Parquet files, categories as texts."""
    return write_customers(tmp_path_factory.mktemp("customers"), N, 2)


def _counts_rows(batch: pa.RecordBatch, row: int, *, began: str, seconds: float) -> np.ndarray[Any, Any]:
    Path(began).touch()
    time.sleep(seconds)
    return np.array([batch.num_rows])


def _counted(engine: Any, customers: Path, began: Path, seconds: float = 0.0) -> Callable[[], Any]:
    source = engine.scan(customers, Policy())
    function = partial(_counts_rows, began=str(began), seconds=seconds)
    return lambda: engine.add_up(source, function, ["age"], 1)


def _wait_for(there: Callable[[], bool]) -> None:
    while not there():  # the test's own time limit ends a wait in vain
        time.sleep(0.02)


@pytest.mark.slow
def test_executors_count_while_the_driver_searches(engine: Any, customers: Path, tmp_path: Path) -> None:
    """A count is begun within the search, over at its end, and not made again."""
    began = tmp_path / "began"
    taken = counted_later(engine, _counted(engine, customers, began))
    with counting_beside(engine):
        _wait_for(began.exists)
    began.unlink()
    assert taken().tolist() == [N]
    assert taken().tolist() == [N]
    assert not began.exists()


@pytest.mark.parametrize("kind", ["spark", "local"])
def test_where_nothing_is_searched_a_count_is_made_when_it_is_asked_for(
    kind: str, engine: Any, customers: Path, tmp_path: Path
) -> None:
    """Once, and not before; on one machine always so."""
    chosen, began = engine if kind == "spark" else LocalEngine(), tmp_path / "began"
    taken = counted_later(chosen, _counted(chosen, customers, began))
    assert not began.exists()
    if kind == "local":
        with counting_beside(chosen):
            assert not began.exists()
    assert taken().tolist() == [N]
    began.unlink()
    assert taken().tolist() == [N]
    assert not began.exists()


def test_what_nobody_can_ask_for_any_more_is_not_counted(engine: Any, customers: Path, tmp_path: Path) -> None:
    """An engine that stays open keeps nothing of a release that came to nothing."""
    began = tmp_path / "began"
    taken = counted_later(engine, _counted(engine, customers, began))
    del taken
    with counting_beside(engine):
        pass
    assert not began.exists()


def _fails(batch: pa.RecordBatch, row: int) -> np.ndarray[Any, Any]:
    raise ValueError("MARKER-7f3 a cell")


@pytest.mark.slow
def test_an_error_is_told_where_the_count_is_asked_for(
    engine: Any, customers: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The search goes on; the error is that of a count made there, without a cell, and nothing is printed."""
    source = engine.scan(customers, Policy())
    taken = counted_later(engine, lambda: engine.add_up(source, _fails, ["age"], 1))
    with counting_beside(engine):
        searched = True
    assert searched
    with pytest.raises(EngineError) as beside:
        taken()
    with pytest.raises(EngineError) as directly:
        engine.add_up(source, _fails, ["age"], 1)
    assert str(beside.value) == str(directly.value)
    assert "MARKER" not in str(beside.value)
    assert not any(capfd.readouterr())


@pytest.mark.slow
@pytest.mark.parametrize(
    "raised",
    [
        pytest.param(GuaranteeError("too few rows"), id="error", marks=pytest.mark.slow),
        pytest.param(KeyboardInterrupt(), id="interrupt"),
    ],
)
def test_a_search_that_ends_early_ends_the_jobs(
    raised: BaseException, engine: Any, customers: Path, spark: Any, tmp_path: Path
) -> None:
    """No job and no thread is left; a count that is requested all the same is made anew."""
    began = tmp_path / "began"
    slow = counted_later(engine, _counted(engine, customers, began, seconds=1.0))
    never = counted_later(engine, _counted(engine, customers, tmp_path / "never"))

    def searched() -> None:
        with counting_beside(engine):
            _wait_for(began.exists)
            raise raised

    with pytest.raises(type(raised)) as told:
        searched()
    assert told.value is raised
    assert told.value.__context__ is None
    assert not [each for each in threading.enumerate() if each.name.startswith("anonkit-beside")]
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()
    assert not (tmp_path / "never").exists()
    assert slow().tolist() == never().tolist() == [N]


@pytest.mark.slow
def test_warnings_and_loggers_stay_as_they_are(engine: Any, customers: Path, tmp_path: Path) -> None:
    """A thread beside changes no filter of the search; what PySpark must not print stays unsaid until both are over."""
    from pyspark.logger import PySparkLogger

    from anonkit.engines.spark.spark_beside import _TALKATIVE, during

    loggers = [PySparkLogger.getLogger(name) for name in _TALKATIVE]
    filters, began = list(warnings.filters), tmp_path / "began"
    taken = counted_later(engine, _counted(engine, customers, began, seconds=1.0))
    with counting_beside(engine):
        _wait_for(began.exists)
        with pytest.warns(UserWarning, match="of the search"):
            warnings.warn("of the search", stacklevel=1)
        assert during("looking", lambda: [logger.disabled for logger in loggers]) == [True] * len(loggers)
        assert [logger.disabled for logger in loggers] == [True] * len(loggers)
    assert [logger.disabled for logger in loggers] == [False] * len(loggers)
    assert list(warnings.filters) == filters
    assert taken().tolist() == [N]


def _release(customers: Path, engine: Any, method: str, **more: Any) -> anonkit.Release:
    given = {"trees": 10} if method == "rfka" else {}
    return anonkit.release(
        customers, method=method, k=5, engine=engine, target="customer_value", seed=3, ledger=None, **given, **more
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rfka", pytest.param("mondrian", marks=pytest.mark.slow)])
def test_the_owner_is_told_what_one_machine_tells(
    method: str, engine: Any, customers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Classes of the source, its target and the rows of the models are counted beside the search, to the same sums."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    where = {}
    for verb in ("class_sizes", "count_sets", "sample"):
        plain = getattr(SparkEngine, verb)

        def told(self: Any, *given: Any, plain: Any = plain, verb: str = verb, **named: Any) -> Any:
            where.setdefault(verb, set()).add(threading.current_thread().name.startswith("anonkit-beside"))
            return plain(self, *given, **named)

        monkeypatch.setattr(SparkEngine, verb, told)
    one = _release(customers, engine, method)
    with LocalEngine(search_rows=HELD) as local:
        other = _release(customers, local, method)
    assert where["class_sizes"] == {True}
    for verb in ("count_sets", "sample"):  # the search may request others itself
        assert True in where[verb], verb
    assert one.owner["source"] == other.owner["source"]
    assert one.owner["rows_left_out"] == other.owner["rows_left_out"]
    assert one.owner["prediction_for_all_rows"] == other.owner["prediction_for_all_rows"]
    assert one.report["rows"] == other.report["rows"]


@pytest.mark.quick_cases("rfka-*")
@pytest.mark.parametrize(("method", "kind"), [("rfka", RFKA), ("mondrian", Mondrian)])
def test_a_search_that_fails_leaves_nothing_behind(
    method: str, kind: type, engine: Any, customers: Path, tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its error is the one that is raised; no file, no thread and no job stays."""

    def refuses(*_: Any, **__: Any) -> None:
        raise GuaranteeError("the promise cannot be reached")

    monkeypatch.setattr(kind, "find_recoding", refuses)
    with pytest.raises(GuaranteeError, match="the promise cannot be reached"):
        _release(customers, engine, method, output=tmp_path / "out.parquet", part_rows=250)
    assert not list(tmp_path.iterdir())
    assert not [each for each in threading.enumerate() if each.name.startswith("anonkit-beside")]
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()


@pytest.mark.slow
def test_what_the_policy_refuses_is_told_before_anything_is_searched(
    engine: Any, customers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that may not be there are counted first: an error of the search would hide them."""
    searched: list[bool] = []
    monkeypatch.setattr(RFKA, "find_recoding", lambda *_, **__: searched.append(True))
    refusing = Policy.from_dict(
        {"columns": {"age": {"role": "quasi_identifier", "bounds": [18, 30], "outside": "refuse"}}}
    )
    with pytest.raises(PolicyError, match="outside its declared bounds"):
        _release(customers, engine, "rfka", policy=refusing)
    assert not searched
