"""Categories on Spark: the order of a column's categories is the one the local engine finds, in all pieces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.engines import LocalEngine
from anonkit.policy.declaration import Policy
from anonkit.randomness import Randomness

FILES = (
    (["mid", "high"], [1, 0, None]),
    (["low", "mid"], [0, 0, 1]),
    (["low", "mid", "high", "never"], [2, 1, 0]),
    (["é", "high"], [1, None, None]),
)
"""The dictionary of each file, and its cells."""


@pytest.fixture(scope="module")
def engine(spark: Any) -> Iterator[Any]:
    """An engine that holds no table of a few rows."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    with SparkEngine(session=spark, search_rows=60) as opened:
        yield opened


def _column(texts: list[str], cells: list[int | None], *, ordered: bool = False) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(cells, pa.int8()), pa.array(texts), ordered=ordered)


@pytest.fixture(params=["folder", "memory"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Files with dictionaries of their own, one file without the column; or one table with all of them."""
    parts = [pa.table({"level": _column(*each), "n": range(3)}) for each in FILES]
    if request.param == "memory":
        return pa.concat_tables(parts)
    for at, part in enumerate([*parts, pa.table({"n": [7]})]):
        pq.write_table(part, tmp_path / f"{at}.parquet")
    return tmp_path


def _whole(source: Any) -> pa.Table:
    return pa.Table.from_batches(source.batches(), source.schema)


@pytest.mark.slow
def test_dictionaries_of_many_files_have_one_order(engine: Any, table: Any, tmp_path: Path) -> None:
    """Types, codes, counts, samples and written files are those of the local engine."""
    files = []
    with LocalEngine() as local:
        one, other = engine.scan(table, Policy()), local.scan(table, Policy())
        assert one.schema == other.schema
        assert _whole(one).to_pylist() == _whole(other).to_pylist()
        ((mine,), (wanted,)) = (engine.encode(one, ["level"]), local.encode(other, ["level"]))
        assert list(mine.values) == list(wanted.values)
        assert "é" not in mine.values  # no cell has it
        assert mine.codes.tolist() == wanted.codes.tolist()
        assert engine.count_sets(one, [("level",)])[0].equals(local.count_sets(other, [("level",)])[0])
        samples = [each.sample(source, 5, Randomness.seeded(1)) for each, source in ((engine, one), (local, other))]
        assert samples[0].schema == samples[1].schema
        assert _whole(samples[0]).to_pylist() == _whole(samples[1]).to_pylist()
        for each, source in ((engine, one), (local, other)):
            mapped = each.map_batches(source, _same, source.schema)
            each.write(mapped, tmp_path / f"_{each.name}", metadata={}, randomness=Randomness.seeded(1))
            files.append((tmp_path / f"_{each.name}").read_bytes())
    assert files[0] == files[1]


def _same(batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
    return batch


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "more"),
    [("mondrian", {}), pytest.param("rfka", {"trees": 5, "max_suppression": 0.5}, marks=pytest.mark.slow)],
)
def test_ordered_categories_are_released_alike(method: str, more: dict[str, Any], engine: Any, tmp_path: Path) -> None:
    """Searched on a sample and in full: kept columns stay categories, and the same rows come out."""
    n = 120
    levels = _column(["low", "mid", "high"], [at * at % 3 for at in range(n)], ordered=True)
    kinds = _column(["z", "a", "m"], [None if at % 11 == 0 else at % 3 for at in range(n)])
    made = {"level": levels, "kind": kinds, "age": [at % 7 for at in range(n)], "label": ["y", "n"] * (n // 2)}
    pq.write_table(pa.table(made), tmp_path / "t.parquet", row_group_size=50)
    with LocalEngine() as local:
        local.search_rows = engine.search_rows
        one, other = (
            anonkit.release(
                tmp_path / "t.parquet", method=method, k=3, seed=1, engine=each, insensitive=["kind"], **more
            )
            for each in (engine, local)
        )
    assert one.to_arrow().schema == other.to_arrow().schema
    assert sorted(map(repr, one.to_arrow().to_pylist())) == sorted(map(repr, other.to_arrow().to_pylist()))
    assert one.params == other.params
