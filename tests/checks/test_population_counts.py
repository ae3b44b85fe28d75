# SPDX-License-Identifier: Apache-2.0
"""The labels of people of a population, computed from the params alone, are those of the recoding."""

from __future__ import annotations

import random
from collections import Counter
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anonkit
from anonkit.checks.population_counts import labels_of_people, needed_columns
from anonkit.errors import UncheckedError
from anonkit.published.recoding import recoding_from_dict

COLUMNS: dict[str, dict[str, Any]] = {
    "age": {"role": "quasi_identifier"},
    "weight": {"role": "quasi_identifier"},
    "rent": {"role": "quasi_identifier"},
    "born": {"role": "quasi_identifier"},
    "seen": {"role": "quasi_identifier"},
    "woke": {"role": "quasi_identifier"},
    "town": {"role": "quasi_identifier"},
    "moved": {"role": "quasi_identifier"},
}


def people(n_rows: int, seed: int, *, strangers: bool = False) -> pa.Table:
    """Return people with cells of every kind that is cut or grouped; strangers have values that nobody else has."""
    draw = random.Random(seed)
    towns = ["Aa", "Bee", "other", "missing", *(["Zet"] if strangers else [])]
    return pa.table(
        {
            "age": pa.array([draw.choice([None, *range(18, 90)]) for _ in range(n_rows)], pa.int64()),
            "weight": pa.array([draw.choice([40.5, 71.25, 99.9, float(draw.randint(40, 99))]) for _ in range(n_rows)]),
            "rent": pa.array([Decimal(draw.randint(10000, 99999)) / 100 for _ in range(n_rows)], pa.decimal128(9, 2)),
            "born": pa.array([date(1930, 1, 1) + timedelta(days=draw.randint(0, 25000)) for _ in range(n_rows)]),
            "seen": pa.array([datetime(2024, 1, 1) + timedelta(hours=draw.randint(0, 9000)) for _ in range(n_rows)]),
            "woke": pa.array([time(draw.randint(4, 10), draw.randint(0, 59)) for _ in range(n_rows)]),
            "town": pa.array([draw.choice([None, *towns]) for _ in range(n_rows)]),
            "moved": pa.array([draw.choice([True, False]) for _ in range(n_rows)]),
        }
    )


def released(method: str, folder: Path) -> anonkit.Release:
    """Return a release of such people in which few columns are dropped."""
    return anonkit.release(
        people(400, 1),
        method=method,
        k=3,
        policy={"columns": COLUMNS},
        no_target=True,
        output=folder / "out.parquet",
        ledger=None,
        utility=False,
        **({} if method == "mondrian" else {"max_suppression": 0.3}),
    )


@pytest.mark.quick_cases("rfka", "mondrian")
@pytest.mark.parametrize("method", ["mondrian", "rfka"])
def test_labels_are_those_of_the_recoding(tmp_path: Path, method: str) -> None:
    """Of every cell, also of cells that the released table does not have, and of those without a part."""
    recoding = released(method, tmp_path).params["recoding"]
    others = people(600, 2, strangers=True)
    cells = others.select(needed_columns(recoding))
    shown, placed = labels_of_people(cells, recoding)
    batch = cells.combine_chunks().to_batches()[0]
    expected, unknown = recoding_from_dict(recoding).apply(batch)
    assert (placed == ~unknown).all()
    assert set(shown) == set(expected)
    for name, labels in shown.items():
        assert labels.filter(pa.array(placed)).to_pylist() == expected[name].filter(pa.array(placed)).to_pylist()
    assert any(len(Counter(labels.to_pylist())) > 1 for labels in shown.values())


def test_cells_without_a_part_are_nobodys() -> None:
    """A missing cell where no row had one, and a category that is not listed where others are not grouped."""
    recoding = {
        "kind": "global",
        "columns": [
            {"name": "age", "kind": "intervals", "cuts": ["30"], "missing": False, "labels": ["< 30", ">= 30"]},
            {"name": "sex", "kind": "categories", "values": ["f", "m"], "other": False, "missing": False}
            | {"labels": ["f", "m"]},
            {"name": "ward", "kind": "kept"},
        ],
    }
    cells = pa.table({"age": [29, None, 30], "sex": ["f", "f", "x"], "ward": ["n", None, "s"]})
    shown, placed = labels_of_people(cells, recoding)
    assert placed.tolist() == [True, False, False]
    assert shown["age"][0].as_py() == "< 30"
    assert shown["ward"].to_pylist() == ["n", None, "s"]


def test_texts_that_an_engine_holds_as_codes() -> None:
    """Dictionaries of texts, and moments with a zone and of nanoseconds, are read like any other."""
    recoding = {
        "kind": "global",
        "columns": [
            {
                "name": "sex",
                "kind": "categories",
                "values": ["f"],
                "other": True,
                "missing": True,
                "labels": list("abc"),
            }
            | {"other_label": "other", "missing_label": "missing"},
            {"name": "at", "kind": "intervals", "cuts": ["2024-01-01T12:00:00+00:00"], "missing": True}
            | {"labels": ["< 2024-01-01T12:00:00+00:00", ">= 2024-01-01T12:00:00+00:00", None]},
        ],
    }
    noon = 1_704_110_400 * 10**9
    cells = pa.table(
        {
            "sex": pa.array(["f", "x", None]).dictionary_encode(),
            "at": pa.array([noon - 1, noon, None], pa.int64()).cast(pa.timestamp("ns", "UTC")),
        }
    )
    shown, placed = labels_of_people(cells, recoding)
    assert placed.all()
    assert shown["sex"].to_pylist() == ["a", "b", "c"]
    assert shown["at"].to_pylist() == ["< 2024-01-01T12:00:00+00:00", ">= 2024-01-01T12:00:00+00:00", None]


def test_merged_groups_are_not_looked_for() -> None:
    """No file states which groups of a batch show coarser labels."""
    with pytest.raises(UncheckedError, match="coarser labels"):
        needed_columns({"kind": "global", "columns": [], "merged": True})
