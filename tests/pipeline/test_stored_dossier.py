"""Statements about released values are counted in the written table, and no constant is released."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import anonkit
from anonkit.datasets import bank_customers
from anonkit.engines import LocalEngine

METHODS = ("rfka", "mondrian", "greedy-hamdist")


def _table(seed: int) -> pd.DataFrame:
    """Return columns of which some become constant: a value that few have beside one that nearly all have."""
    random = np.random.default_rng(seed)
    n = 400
    return pd.DataFrame(
        {
            "rare": ["a"] * (n - 3) + ["b", "c", "b"],
            "odd": [None if at == 7 else 1 for at in range(n)],
            "age": random.integers(20, 60, n),
            "one": "same",
            "label": random.choice(["y", "n"], n),
        }
    )


def _agrees(made: anonkit.Release, fewest: int = 2) -> None:
    """Compare the report's columns with the table, value by value; each has so many values at least."""
    table = made.to_arrow()
    for entry in made.report["columns"]:
        if entry["role"] != "quasi_identifier":
            continue
        assert (entry["name"] in table.column_names) == (entry["action"] != "dropped")
        if entry["action"] == "dropped":
            assert entry["reason"]
            assert "released_values" not in entry
            continue
        found = set(table.column(entry["name"]).to_pylist())
        assert entry["released_values"] == len(found) >= fewest
        assert "values" not in entry or set(entry["values"]) == found


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rows", [pytest.param(100_000, marks=pytest.mark.slow), 200])
def test_released_values_are_those_of_the_table(method: str, rows: int, tmp_path: Path) -> None:
    """With all rows or a sample, every count and list is that of the table, and no column has one value."""
    for seed in range(3):
        with LocalEngine(search_rows=rows) as engine:
            more: dict[str, Any] = {"trees": 5} if method == "rfka" else {}
            if method != "mondrian":
                more["max_suppression"] = 0.1
            made = anonkit.release(
                _table(seed), method=method, k=5, target="label", engine=engine, ledger=None, force=True,
                output=tmp_path / "out.parquet", **more,
            )  # fmt: skip
        _agrees(anonkit.load(tmp_path / "out.parquet"))
        assert anonkit.validate(made.place.file(".parquet")).passed  # type: ignore[union-attr]


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_a_batch_in_which_a_column_is_constant_keeps_it(method: str, tmp_path: Path) -> None:
    """apply: a column that shows one value in the next batch stays, so that both tables have the same columns."""
    table = bank_customers(2_000, seed=3).select(["age", "education", "customer_value"])
    more: dict[str, Any] = {"trees": 10} if method == "rfka" else {}
    anonkit.release(
        table, method=method, k=5, target="customer_value", output=tmp_path / "a.parquet", ledger=None, **more
    )
    first = anonkit.load(tmp_path / "a.parquet").to_arrow()
    name = next(one for one in first.column_names if one != "customer_value")
    value = table.column(name)[0]
    batch = table.set_column(table.schema.get_field_index(name), name, pa.array([value] * 2_000, value.type))
    made = anonkit.apply(tmp_path / "a.parquet", batch, output=tmp_path / "b.parquet", max_suppression=0.9, ledger=None)
    assert made.to_arrow().column_names == first.column_names
    assert method == "mondrian" or len(set(made.to_arrow().column(name).to_pylist())) == 1
    _agrees(made, fewest=1)
    assert anonkit.validate(tmp_path / "b.parquet").passed


@pytest.mark.slow
def test_values_of_hundreds_of_columns_are_counted() -> None:
    """A release that shows 240 columns fits into the memory of its recount."""
    random = np.random.default_rng(3)
    table = pd.DataFrame({f"c{at}": np.repeat(random.choice(["y", "n"], 12), 10) for at in range(240)})
    made = anonkit.release(table, method="mondrian", k=5, no_target=True, utility=False, ledger=None)
    _agrees(made)
    assert made.to_arrow().num_columns > 230
