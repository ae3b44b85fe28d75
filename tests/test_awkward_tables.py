"""Awkward tables end to end: a clear refusal or a correct release, by every k-anonymous method."""

from __future__ import annotations

import gzip
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.errors import AnonkitError
from anonkit.policy.declaration import Policy

METHODS: dict[str, dict[str, Any]] = {
    "rfka": {"trees": 5},
    "rfka-paper": {"preset": "paper", "trees": 5},
    "mondrian": {},
    "greedy-hamdist": {},
}


@pytest.fixture(params=METHODS)
def method(request: pytest.FixtureRequest) -> dict[str, Any]:
    """A method that is quick on small tables."""
    name = str(request.param)
    return {"method": name.removesuffix("-paper"), **METHODS[name]}


def _ok(table: Any, method: dict[str, Any], **more: Any) -> anonkit.Release:
    release = anonkit.release(table, k=3, **method, **more)
    assert release.report["disclosure_risk"]["k_anonymity"]["k"] >= 3
    assert all(check["passed"] for check in release.report["verification"]["checks"])
    return release


@pytest.mark.quick_cases("mondrian-*", "rfka-2", "greedy-hamdist-0")
@pytest.mark.parametrize("n_rows", [0, 1, 2])
def test_fewer_rows_than_k_are_refused(method: dict[str, Any], n_rows: int) -> None:
    """No row, one row, two rows: k = 3 cannot be reached."""
    table = pa.table({"q": pa.array(["a"] * n_rows, pa.string()), "y": pa.array(["u"] * n_rows, pa.string())})
    with pytest.raises(AnonkitError, match=f"the table has {n_rows or 'no'} rows"):
        anonkit.release(table, k=3, target="y", **method)


AWKWARD: dict[str, dict[str, Any]] = {
    "one class": {"q": ["a", "b"] * 10, "y": ["same"] * 20},
    "a constant column": {"q": ["a"] * 20, "y": ["u", "v"] * 10},
    "all missing": {"q": pa.nulls(20), "r": ["a", "b"] * 10, "y": ["u", "v"] * 10},
    "all targets missing": {"q": ["a", "b"] * 10, "y": pa.nulls(20, pa.string())},
    "every value once": {"q": [f"v{at}" for at in range(40)], "y": ["u", "v"] * 20},
    "a number in every row": {"q": list(range(40)), "y": ["u", "v"] * 20},
    "Unicode": {"年齢 \u202e": ["東京", "Ω≈ç", "\u0000", "e\u0301", "é"] * 8, "y": ["да", "нет"] * 20},
    "SQL in names": {'q"; DROP TABLE x; --': ["a", "b"] * 10, "y": ["u", "v"] * 10},
    "HTML in names and cells": {"<script>alert(1)</script>": ["<b>", "&amp;"] * 10, "y": ["u", "v"] * 10},
    "labels among the cells": {"q": ["*", "other", "missing", "a|b", "a", "b"] * 6, "y": ["u", "v"] * 18},
    "not finite": {"q": [np.nan, np.inf, -np.inf, -0.0, 0.0] * 8, "y": ["u", "v"] * 20},
    "huge and tiny": {"q": [1e300, -1e300, 1e-300, 2**53 + 1.0, 5.0] * 8, "y": ["u", "v"] * 20},
    "dates": {"q": [date(1999, 12, 1) + timedelta(days=at) for at in range(40)], "y": ["u", "v"] * 20},
    "timestamps": {
        "q": pa.array([at * 10**9 for at in range(40)], pa.timestamp("ns")),
        "y": ["u", "v"] * 20,
    },
    "decimals": {"q": [Decimal(at) / 4 for at in range(40)], "y": ["u", "v"] * 20},
    "booleans": {"q": [True, False, None, True] * 10, "y": [True, False] * 20},
    "a numeric target": {"q": list(range(60)), "y": [float(at) for at in range(60)]},
    "an integer target": {"q": ["a", "b"] * 20, "y": [0, 1, 1, 0] * 10},
}


DECLARED = {"columns": {"q": {"role": "quasi_identifier"}, "y": {"role": "target", "release_as_is": True}}}
LIKE_IDENTIFIERS = ("every value once", "a number in every row", "a numeric target")
"""Tables whose columns look like identifiers: they are released when their roles are declared."""


@pytest.mark.quick_cases(
    "rfka-paper-*",
    "mondrian-one class",
    "mondrian-all missing",
    "mondrian-timestamps",
    "greedy-hamdist-not finite",
    "greedy-hamdist-all missing",
)
@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_columns_are_released(method: dict[str, Any], name: str) -> None:
    """Each table gives a release whose k was recounted."""
    declared = {"policy": Policy.from_dict(DECLARED)} if name in LIKE_IDENTIFIERS else {"target": "y"}
    _ok(pa.table(AWKWARD[name]), method, **declared)


@pytest.mark.quick_cases("rfka-paper-*", "mondrian-*")
@pytest.mark.parametrize("name", LIKE_IDENTIFIERS)
def test_columns_that_look_like_identifiers_are_refused_by_name(method: dict[str, Any], name: str) -> None:
    """Undeclared, nothing of them is released, and the message says what is missing."""
    with pytest.raises(AnonkitError, match=r"no column is a quasi-identifier|a target"):
        _ok(pa.table(AWKWARD[name]), method)


@pytest.mark.slow
def test_ten_thousand_categories(method: dict[str, Any]) -> None:
    """A column with as many values as rows does not stop a release, and none of its values is published."""
    table = pa.table({"q": [f"value-{at}" for at in range(10_000)], "r": ["a", "b"] * 5_000, "y": ["u", "v"] * 5_000})
    limit = {} if method["method"] == "mondrian" else {"max_suppression": 0.0}
    release = _ok(table, method, target="y", **limit)
    assert "value-" not in str(release.params)


def test_every_input_gives_the_same_release(tmp_path: Path, small_customers: pa.Table) -> None:
    """CSV, gzip, TSV, JSON Lines, Parquet file and folder, pandas, Polars, Arrow: one table, one recoding."""
    plain = pa.table(
        {
            name: small_customers.column(name).cast(pa.string())
            if pa.types.is_dictionary(field.type)
            else small_customers.column(name)
            for name, field in zip(small_customers.column_names, small_customers.schema, strict=True)
        }
    )
    frame = plain.to_pandas()
    frame.to_csv(tmp_path / "in.csv", index=False)
    (tmp_path / "zipped.csv.gz").write_bytes(gzip.compress((tmp_path / "in.csv").read_bytes()))
    frame.to_csv(tmp_path / "in.tsv", index=False, sep="\t")
    frame.to_json(tmp_path / "in.jsonl", orient="records", lines=True, force_ascii=False)
    pq.write_table(plain, tmp_path / "in.parquet")
    (tmp_path / "folder").mkdir()
    pq.write_table(plain.slice(0, 150), tmp_path / "folder" / "0.parquet")
    pq.write_table(plain.slice(150), tmp_path / "folder" / "1.parquet")
    names = ("in.csv", "zipped.csv.gz", "in.tsv", "in.jsonl", "in.parquet", "folder")
    sources = [*(tmp_path / name for name in names), frame, pl.from_arrow(plain), plain]
    recodings = [
        anonkit.release(source, method="rfka", k=5, trees=10, target="customer_value").params["recoding"]
        for source in sources
    ]
    assert all(recoding == recodings[0] for recoding in recodings)


def test_types_nulls_and_category_order_survive() -> None:
    """Columns that are not recoded are unchanged; categories without rows are not written."""
    sizes = pd.Categorical(["M", "S", None, "L"] * 5, categories=["S", "M", "L", "never"], ordered=True)
    frame = pd.DataFrame(
        {
            "q": ["a", "b"] * 10,
            "size": sizes,
            "when": pd.date_range("2026-01-01", periods=20, tz="UTC"),
            "small": pd.array([1, None] * 10, dtype="Int8"),
            "y": ["u", "v"] * 10,
        }
    )
    release = anonkit.release(frame, method="rfka", k=3, trees=5, target="y", insensitive=["size", "when", "small"])
    out = release.to_pandas()

    assert list(out["size"].cat.categories) == ["S", "M", "L"]
    assert out["size"].cat.ordered
    assert out["size"].isna().sum() == 5
    assert release.to_arrow().schema.field("small").type == pa.int8()
    assert sorted(out["when"]) == list(frame["when"])


def test_codes_with_leading_zeros_stay_texts(tmp_path: Path) -> None:
    """01234 is a postcode, not a number."""
    path = tmp_path / "in.csv"
    path.write_text("zip,y\n" + "01234,u\n01235,v\n" * 10)
    release = anonkit.release(path, method="rfka", k=3, trees=5)
    assert set(release.to_pandas()["zip"]) <= {"01234", "01235", "*"}
