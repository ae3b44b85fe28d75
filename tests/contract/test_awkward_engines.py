"""Tables that clusters are bad at: the release on Spark is that of one machine all the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.policy.declaration import Policy

METHODS: dict[str, dict[str, Any]] = {
    "rfka": {"k": 5, "trees": 10, "max_suppression": 0.2},
    "ppnb": {"p_keep": 0.5},
    "dp-forest": {"epsilon": 2.0},
    "dp-marginals": {"epsilon": 9.0},
    "c45-arithmetic": {"epsilon": 2.0, "depth": 2},
}
IN_THE_GATE = ("ppnb", "c45-arithmetic")
"""A map and counts by level; the others take longer."""
MANY = 10_000
HELD = 1_000
"""Rows that Spark's driver may hold: fewer than there are."""
OF_EVERY_KIND = "all of it in many files"


def _table(n: int, kind: str) -> tuple[pa.Table, dict[str, Any]]:
    """Return a table of one kind, or of all kinds at once, and its policy."""
    draw = np.random.default_rng(1)
    whole = kind == OF_EVERY_KIND
    skewed = np.where(draw.random(n) < (0.99 if whole or kind == "skewed" else 0.3), "everybody", "others")
    rarely = draw.random(n) < (0.999 if whole or kind == "hardly any cell" else 0.1)
    many = [f"v{code:05d}" for code in range(MANY if whole or kind == "many categories" else 4)]
    age = draw.integers(0, 100, n)
    table = pa.table(
        {
            "group": skewed,
            "rare": pa.array(draw.integers(0, 3, n).astype(str), mask=rarely),
            "empty": pa.nulls(n, pa.string()),
            "code": np.array(many)[np.minimum(draw.zipf(1.3, n), len(many)) - 1],
            "age": pa.array(age.astype(float), mask=rarely),
            "label": np.where((age > 50) ^ (draw.random(n) < 0.2), "yes", "no"),
        }
    )
    columns = {
        "group": {"role": "quasi_identifier", "categories": ["everybody", "others"]},
        "rare": {"role": "quasi_identifier", "categories": ["0", "1", "2"], "missing": "category"},
        "empty": {"role": "quasi_identifier", "categories": ["a", "b"], "missing": "category"},
        "code": {"role": "quasi_identifier", "categories": many},
        "age": {"role": "quasi_identifier", "bounds": [0, 100], "missing": "category"},
        "label": {"role": "target", "categories": ["no", "yes"]},
    }
    return table, {"columns": columns}


@pytest.fixture(scope="module")
def on_spark(spark: Any) -> Iterator[Any]:
    """An engine that holds a few rows only."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    with SparkEngine(session=spark, search_rows=HELD) as opened:
        yield opened


def _both(folder: Path, policy: dict[str, Any], method: str, on_spark: Any) -> list[anonkit.Release]:
    from anonkit.engines import LocalEngine

    made = []
    with LocalEngine() as local:
        local.search_rows = on_spark.search_rows
        for engine in (on_spark, local):
            made.append(
                anonkit.release(
                    folder,
                    method=method,
                    policy=Policy.from_dict(policy),
                    engine=engine,
                    seed=3,
                    ledger=None,
                    **METHODS[method],
                )
            )
    return made


def _same(one: anonkit.Release, other: anonkit.Release) -> None:
    rows, wanted = (
        sorted(zip(*(column.to_pylist() for column in made.to_arrow().columns), strict=True), key=repr)
        for made in (one, other)
    )
    assert len(rows) > 0
    assert rows == wanted
    assert one.params == other.params


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "kind"),
    [
        pytest.param(method, kind, marks=() if kind == OF_EVERY_KIND and method in IN_THE_GATE else pytest.mark.slow)
        for method in METHODS
        for kind in (OF_EVERY_KIND, "skewed", "hardly any cell", "many categories")
    ],
)
def test_awkward_tables_are_released_alike(method: str, kind: str, on_spark: Any, tmp_path: Path) -> None:
    """One group of 99 rows in 100; columns with hardly a cell; ten thousand categories; and all of it in many files."""
    table, policy = _table(3_000, kind)
    pieces = 50 if kind == OF_EVERY_KIND else 3
    for at in range(pieces):
        start, stop = (table.num_rows * place // pieces for place in (at, at + 1))
        pq.write_table(table.slice(start, stop - start), tmp_path / f"{at:05d}.parquet")
    _same(*_both(tmp_path, policy, method, on_spark))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("n", "files", "held"),
    [
        pytest.param(6_000, 3_000, HELD, id="three thousand files of two rows"),
        pytest.param(1_200_000, 4, 100_000, id="several tasks, parts of the secret order, pieces of drawn rows"),
    ],
)
def test_large_awkward_tables_are_released_alike(
    method: str, n: int, files: int, held: int, on_spark: Any, tmp_path: Path
) -> None:
    """Of every awkward kind, in many files or in large ones."""
    table, policy = _table(n, OF_EVERY_KIND)
    size = n // files
    for at in range(files):
        pq.write_table(table.slice(size * at, size), tmp_path / f"{at:05d}.parquet", row_group_size=100_000)
    on_spark.search_rows = held
    try:
        _same(*_both(tmp_path, policy, method, on_spark))
    finally:
        on_spark.search_rows = HELD
