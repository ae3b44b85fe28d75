# SPDX-License-Identifier: Apache-2.0
"""DuckDB answers the queries on a Spark batch: the same SQL is counted without a Java of its own.

Spark itself is tested in `test_expectations.py` and `test_checkpoints.py`.
"""

from __future__ import annotations

from datetime import date
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from anonkit.checks.counted_as import ReadValues
from anonkit.checks.disclosure import measure
from tests.integrations.great_expectations.gx_batches import COLUMNS, two_regions

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.usefixtures("great_expectations_is_there"),
]


class InDuckDB:
    """A frame as the metrics of Spark see it: types of columns, the number of rows, and a session that takes SQL."""

    def __init__(self, rows: pa.Table, collated: str | None = None) -> None:
        self.rows = rows
        self.collated = collated
        self.columns = list(rows.column_names)
        self.dtypes = [(name, "string collate UTF8_LCASE" if name == collated else "string") for name in self.columns]
        self.sparkSession = self

    def toDF(self, *names: str) -> InDuckDB:
        """Return the rows under other names, by place."""
        collated = None if self.collated is None else names[self.columns.index(self.collated)]
        return InDuckDB(self.rows.rename_columns(list(names)), collated)

    def count(self) -> int:
        """Return the number of rows."""
        return int(self.rows.num_rows)

    def sql(self, query: str, batch: InDuckDB) -> _Answer:
        """Answer a query of Spark's SQL, of which DuckDB writes two words in its own way."""
        asked = query.format(batch="batch").replace("double('NaN')", "'NaN'::DOUBLE")
        cells = ", ".join(
            f'"{name}"{" COLLATE NOCASE" * (name == batch.collated)} AS "{name}"' for name in batch.columns
        )
        with duckdb.connect() as opened:
            opened.register("rows", batch.rows)
            opened.execute(f"CREATE TABLE batch AS SELECT {cells} FROM rows")
            if batch.collated is not None:
                opened.execute(f'ALTER TABLE batch ALTER "{batch.collated}" TYPE VARCHAR COLLATE NOCASE')
            return _Answer(opened.execute(asked.replace("AS BINARY", "AS BLOB")).fetchall())


class _Answer:
    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self._rows = rows

    def collect(self) -> list[tuple[Any, ...]]:
        return self._rows


class _Engine:
    def __init__(self, frame: InDuckDB) -> None:
        self._frame = frame

    def get_compute_domain(self, *_: Any, **__: Any) -> tuple[InDuckDB, dict[str, Any], dict[str, Any]]:
        return self._frame, {}, {}


def counted(metric: str, frame: InDuckDB, **asked: Any) -> Any:
    """Return what a metric of a Spark batch counts."""
    from anonkit.integrations.great_expectations import batch_counts

    values = {"columns": COLUMNS, "unit": None, **asked}
    names: dict[str, Any] = {batch_counts.COLUMNS: frame.columns}
    metric_arguments: dict[str, Any] = {"execution_engine": _Engine(frame), "metric_domain_kwargs": {}}
    alike = batch_counts.AlikeColumns
    names[batch_counts.ALIKE] = alike._spark(alike, metric_value_kwargs={}, metrics=names, **metric_arguments)
    provider = getattr(batch_counts, metric)
    return provider._spark(provider, metric_value_kwargs=values, metrics=names, **metric_arguments)


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    """A thousand rows."""
    return pa.Table.from_pandas(two_regions(), preserve_index=False)


@pytest.mark.quick_cases("who")
@pytest.mark.parametrize("unit", [None, "who"])
def test_classes_and_values_are_those_of_the_recount(unit: str | None, rows: pa.Table) -> None:
    """Sizes of classes, l, entropy l and t as the independent recount has them, of rows and of people."""
    batch = InDuckDB(rows)
    own = measure(rows, COLUMNS, sensitive=["illness", "income"], missing_is_value=["income"], unit=unit)
    assert counted("BatchClassSizes", batch, unit=unit) == list(own.sizes)
    for name, is_value in (("illness", False), ("income", True)):
        found = counted("SensitivePairs", batch, sensitive=name, missing_is_value=is_value, unit=unit)
        told = own.sensitive[name]
        assert [found["l"], found["entropy_l"], found["t"]] == pytest.approx([told["l"], told["entropy_l"], told["t"]])
    assert counted("BatchRowCount", batch) == 1000


@pytest.mark.parametrize(("missing_is_value", "different"), [(False, 2), (True, 3)])
def test_not_a_number_is_a_missing_value_there(missing_is_value: bool, different: int) -> None:
    """It is none of the values of its class, and one beside missing cells where those are declared to be one."""
    cells = [1.0, 2.0, float("nan"), None] * 2
    batch = InDuckDB(pa.table({"q": ["x"] * 4 + ["y"] * 4, "v": pa.array(cells, from_pandas=False)}))
    asked = {"columns": ["q"], "sensitive": "v", "missing_is_value": missing_is_value}
    assert counted("SensitivePairs", batch, **asked)["l"] == different


@pytest.mark.quick_cases("who")
@pytest.mark.parametrize("unit", [None, "who"])
def test_spellings_marks_and_close_numbers_are_counted_as_in_the_recount(unit: str | None) -> None:
    """Of texts and of numbers, dates among them, of rows and of people."""
    ill = ["hiv", "HIV", "hiv ", "unknown", "Flu", "flu", None, "cold"]
    cells = {
        "q": list("xxxxyyyy"),
        "ill": ill,
        "pay": [1.0, 1.5, 9.0, 9.5, 4.0, 90.0, None, 4.1],
        "who": [1, 1, 2, 3, 4, 5, 6, 7],
    }
    days = [date(2020, 1, day) for day in (1, 2, 2, 3, 4, 5, 6, 7)]
    rows = pa.table({**cells, "day": days})
    reading = ReadValues(widths={"pay": 0.6})
    for missing in (False, True):
        names = ["ill", "pay", "day"]
        own = measure(
            rows, ["q"], sensitive=names, missing_is_value=names if missing else [], unit=unit, reading=reading
        ).sensitive
        for name in names:
            asked = {"columns": ["q"], "sensitive": name, "missing_is_value": missing, "unit": unit, "width": 0.6}
            found = counted("SensitivePairs", InDuckDB(rows), **asked)
            assert {key: found[key] for key in ("l", "t")} == pytest.approx({key: own[name][key] for key in ("l", "t")})


def test_names_that_spark_takes_for_one_are_counted_each_by_itself() -> None:
    """Two values of `Age`, four of `age`; a person is an `AGE`."""
    cells = {"Age": [0, 1] * 4, "age": [0, 1, 2, 3] * 2, "AGE": list(range(8)), "{a`b}": [0] * 8}
    batch = InDuckDB(pa.table(cells))
    assert counted("BatchClassSizes", batch, columns=["Age"]) == [(4, 2)]
    assert counted("BatchClassSizes", batch, columns=["age", "{a`b}"], unit="AGE") == [(2, 4)]
    asked = {"columns": ["Age"], "sensitive": "age", "missing_is_value": False}
    assert counted("SensitivePairs", batch, **asked)["l"] == 2
    assert counted("SensitivePairs", batch, **asked, unit="AGE")["l"] == 2


def test_a_column_that_is_not_there_is_counted_by_nothing(rows: pa.Table) -> None:
    """No size and no figure: the expectation says which column it is."""
    assert counted("BatchClassSizes", InDuckDB(rows), columns=["nowhere"]) == []
    asked = {"sensitive": "nowhere", "missing_is_value": False}
    assert counted("SensitivePairs", InDuckDB(rows), **asked) == {}


def test_classes_are_told_apart_to_the_letter_whatever_the_collation() -> None:
    """Two classes where the column itself takes the two words for one."""
    batch = InDuckDB(pa.table({"a town": ["Bern", "bern"]}), collated="a town")
    together = batch.sql('SELECT count(1) FROM {batch} GROUP BY "a town"', batch)
    assert together.collect() == [(2,)]
    assert counted("BatchClassSizes", batch, columns=["a town"]) == [(1, 2)]
