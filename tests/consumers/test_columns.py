"""Columns of a table, whatever frame it comes in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from anonkit.consumers.columns import Columns
from anonkit.domains.number_bins import UNKNOWN, Categories
from anonkit.errors import SourceError

DOMAIN = Categories(values=("a", "b"), has_missing=True)
CELLS: dict[str, Any] = {"letter": ["b", None, "a", "zzz"], "number": [1.5, None, 3.0, -0.0]}


@pytest.mark.parametrize(
    "frame",
    [
        CELLS,
        pa.table(CELLS),
        pa.table(CELLS).to_batches()[0],
        pd.DataFrame(CELLS),
        pd.DataFrame(CELLS).astype({"letter": "category"}),
        pl.DataFrame(CELLS),
        pa.table(
            {"letter": pa.chunked_array([["b", None], ["a", "zzz"]]).dictionary_encode(), "number": CELLS["number"]}
        ),
    ],
    ids=["mapping", "arrow", "batch", "pandas", "pandas categorical", "polars", "dictionary"],
)
def test_every_frame_gives_the_same_columns(frame: Any) -> None:
    """Codes by value, missing its own code, unknown values marked, numbers with NaN for missing."""
    columns = Columns(frame)
    assert columns.n_rows == 4
    assert columns.codes("letter", DOMAIN).tolist() == [1, 2, 0, UNKNOWN]
    assert np.array_equal(columns.numbers("number"), [1.5, np.nan, 3.0, 0.0], equal_nan=True)
    assert "letter" in columns


def test_missing_without_a_code_is_unknown() -> None:
    """A domain that has no missing knows no missing cell."""
    assert Columns(CELLS).codes("letter", Categories(values=("a", "b"))).tolist() == [1, UNKNOWN, 0, UNKNOWN]


def test_a_column_of_nothing_is_missing_numbers() -> None:
    """A column without any value has no type and holds no number."""
    assert np.isnan(Columns({"x": [None, None]}).numbers("x")).all()


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"colour": ["marker-1"]}, "column 'color' is not in the table"),
        ({"color": ["marker-1", 2]}, "mixed types"),
        ({"color": ["marker-1"]}, "must hold numbers"),
    ],
)
def test_unreadable_columns_are_named_and_no_cell_is_shown(frame: Any, message: str) -> None:
    """The error names the column, never a value."""
    with pytest.raises(SourceError, match=message) as caught:
        Columns(frame).numbers("color")
    assert "marker" not in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [pd.Series([1]), [[1, 2]], 3, pd.DataFrame([[1, 2]], columns=["x", "x"])],
    ids=["series", "list", "int", "twice"],
)
def test_what_is_no_table_with_named_columns_is_refused(data: Any) -> None:
    """A single column, nested lists, a number, and two columns of one name."""
    with pytest.raises(SourceError):
        Columns(data)
