"""Counts that Spark makes while the driver searches: made once, given out alike, and ended with the search."""

from __future__ import annotations

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
from anonkit.errors import EngineError, GuaranteeError, PolicyError
from anonkit.methods.mondrian import Mondrian
from anonkit.methods.rfka import RFKA
from anonkit.policy.declaration import Policy
from anonkit.protocols import counted_later, counting_beside

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

    from anonkit.engines.spark.spark_sessions import _TALKATIVE, during

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
