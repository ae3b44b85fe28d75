"""Reasons in a public report are words: what was counted in the source row by row is the owner's."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonkit

METHODS: dict[str, dict[str, Any]] = {
    "rfka": {"method": "rfka", "trees": 20},
    "rfka, paper": {"method": "rfka", "preset": "paper", "trees": 20},
    "greedy-hamdist": {"method": "greedy-hamdist"},
}


def table(seed: int, rows: int = 120) -> pa.Table:
    """A table with informative, useless and near-unique columns."""
    draw = np.random.default_rng(seed)
    label = draw.integers(0, 2, rows)
    return pa.table(
        {
            "strong": np.where(draw.random(rows) < 0.9, label, 1 - label) * 3 + draw.integers(0, 3, rows),
            "weak": [f"w{code}" for code in draw.integers(0, 9, rows)],
            "amount": np.round(draw.lognormal(5, 1, rows), 2),
            "same": ["x"] * rows,
            "label": [f"c{code}" for code in label],
        }
    )


@pytest.mark.quick_cases("rfka")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "rfka, paper" else ()) for name in METHODS]
)
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 1000))
def test_no_reason_counts_rows_of_the_source(name: str, seed: int) -> None:
    """No digit is in a reason but those of k; importances have two digits; the owner has the figures in full."""
    release = anonkit.release(table(seed), k=7, target="label", seed=seed, **METHODS[name])

    for column in release.report["columns"]:
        assert set(re.findall(r"\d+", column.get("reason", ""))) <= {"7"}, column
        if "importance" in column:
            assert float(f"{column['importance']:.2g}") == column["importance"]
            exact = release.owner["search"]["importance"].get(column["name"], 0.0)
            assert column["importance"] == pytest.approx(exact, rel=0.06)
    search = release.report["search"]
    assert "features" not in search
    assert search.get("explained") in (None, round(search.get("explained", 0), 2))


def test_a_column_of_rare_values_is_not_called_constant() -> None:
    """A column of many values that few rows share says so; a constant one says that it has one value."""
    rows = table(3).append_column("rare", [[f"r{at // 3}" for at in range(120)]])
    release = anonkit.release(rows, method="rfka", k=7, trees=20, target="label", seed=1)
    reasons = {column["name"]: column.get("reason") for column in release.report["columns"]}

    assert reasons["rare"] == "fewer than two of its values are shared by 7 or more"
    assert reasons["same"] == "it has one value"
