"""The copy that Spark reads has the data of the data frame, for any settings of its session."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from anonkit.engines import LocalEngine
from anonkit.errors import SourceError
from anonkit.policy.declaration import Policy

CALENDAR = "spark.sql.parquet.datetimeRebaseModeInWrite"


@pytest.fixture(scope="module")
def engine(spark: Any) -> Iterator[Any]:
    """The engine in the session of the tests."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    with SparkEngine(session=spark) as opened:
        yield opened


@pytest.mark.quick_cases("CORRECTED")
@pytest.mark.parametrize("calendar", ["LEGACY", "EXCEPTION", "CORRECTED"])
def test_old_dates_do_not_depend_on_the_calendar_of_the_session(engine: Any, spark: Any, calendar: str) -> None:
    """Dates before 1582 are copied as they are, where Spark would move them by days or refuse them."""
    usual = spark.conf.get(CALENDAR)
    spark.conf.set(CALENDAR, calendar)
    try:
        frame = spark.sql("SELECT DATE '0001-01-01' AS a, DATE '1500-02-28' AS b, CAST(NULL AS DATE) AS c")
        (batch,) = engine.scan(frame, Policy()).batches()
    finally:
        spark.conf.set(CALENDAR, usual)
    assert batch.schema.types == [pa.date32()] * 3
    assert batch.to_pylist() == [{"a": datetime.date(1, 1, 1), "b": datetime.date(1500, 2, 28), "c": None}]


@pytest.mark.parametrize("name", ["my.data.v1.parquet", "no_catalog.a.b", "x" * 300, "a b.csv", "a\0b", "select"])
def test_a_name_of_nothing_is_refused_in_the_same_words(engine: Any, name: str) -> None:
    """Spark may take a path that is not there for the name of a table: what is said is that there is no file."""
    said = []
    with LocalEngine() as local:
        for each in (engine, local):
            with pytest.raises(SourceError) as refused:
                each.scan(name, Policy())
            said.append(refused.value.message)
    assert said[0] == said[1]


@pytest.mark.parametrize("sql", ["array(1)", "map('a', 1)", "named_struct('a', 1)", "X'00'"])
def test_what_is_no_cell_is_refused_in_the_same_words(engine: Any, spark: Any, sql: str) -> None:
    """A column of a data frame, and the same one in an Arrow table."""
    frame = spark.sql(f"SELECT {sql} AS bad")
    said = []
    with LocalEngine() as local:
        for each, data in ((engine, frame), (local, frame.toArrow())):
            with pytest.raises(SourceError) as refused:
                each.scan(data, Policy())
            said.append((refused.value.message, refused.value.hint))
    assert said[0] == said[1]
