"""Cells of columns of every type: whole columns mean what their cells mean one by one."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.cell_keys import cell_keys, cell_numbers, cell_texts
from anonkit.domains.exact_decimals import key_of_text, number_of_text

SPELLED = st.sampled_from(
    ["12", "12.0", " 12", "1.2e1", "012", "x7", " x7", "", " ", "2.5", "-0", "1e400", "nan", "inf", "0x1F", "+7", "7."]
)
TEXTS = st.none() | SPELLED | st.text(max_size=6) | st.integers().map(str) | st.floats().map(repr)
COLUMNS = st.one_of(
    st.lists(TEXTS).map(lambda cells: pa.array(cells, pa.string())),
    st.lists(TEXTS).map(lambda cells: pa.array(cells, pa.string()).dictionary_encode()),
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)).map(lambda cells: pa.array(cells, pa.int64())),
    st.lists(st.none() | st.integers(0, 2**64 - 1)).map(lambda cells: pa.array(cells, pa.uint64())),
    st.lists(st.none() | st.floats()).map(lambda cells: pa.array(cells, pa.float64())),
    st.lists(st.none() | st.floats(width=32)).map(lambda cells: pa.array(cells, pa.float32())),
    st.lists(st.none() | st.integers(-(10**20), 10**20).map(lambda n: Decimal(n).scaleb(-3))).map(
        lambda cells: pa.array(cells, pa.decimal128(30, 3))
    ),
    st.lists(st.none() | st.booleans()).map(lambda cells: pa.array(cells, pa.bool_())),
    st.lists(st.none() | st.dates()).map(lambda cells: pa.array(cells, pa.date32())),
    st.lists(st.none() | st.datetimes()).map(lambda cells: pa.array(cells, pa.timestamp("us"))),
)


@given(COLUMNS)
def test_a_column_means_what_its_cells_mean(column: pa.Array) -> None:
    """Keys, texts and numbers of a column are those of its cells one by one: no cell looks at another."""
    for read in (cell_keys, cell_texts):
        alone = [read(column[at : at + 1]).to_pylist()[0] for at in range(len(column))]
        assert read(column).to_pylist() == alone
        assert read(column[1:]).to_pylist() == alone[1:]
    numbers = [cell_numbers(column[at : at + 1])[0] for at in range(len(column))]
    assert np.array_equal(cell_numbers(column), np.array(numbers), equal_nan=True)


@given(COLUMNS)
def test_the_fast_way_is_the_rule(column: pa.Array) -> None:
    """Arrow's result for whole columns is the rule's result for the text of each cell."""
    texts = cell_texts(column).to_pylist()
    assert cell_keys(column).to_pylist() == [None if text is None else key_of_text(text) for text in texts]


@given(st.lists(TEXTS))
def test_the_numbers_of_texts_are_the_rule(cells: list[str | None]) -> None:
    """Numbers are rounded once, wherever they are parsed; all else is missing."""
    wanted = [number_of_text(cell) if cell is not None else None for cell in cells]
    floats = np.array([np.nan if number is None else number for number in wanted], dtype=np.float64)
    assert np.array_equal(cell_numbers(pa.array(cells, pa.string())), floats, equal_nan=True)


@given(st.lists(st.none() | st.text("0123456789.-/", max_size=40) | st.integers(0, 400).map(lambda n: "7" * n)))
def test_plain_numbers_are_the_rule(cells: list[str | None]) -> None:
    """Texts of digits, points and signs read the same at the speed of a scan, however many digits they have."""
    wanted = [number_of_text(cell) if cell is not None else None for cell in cells]
    floats = np.array([np.nan if number is None else number for number in wanted], dtype=np.float64)
    assert np.array_equal(cell_numbers(pa.array(cells, pa.string())), floats, equal_nan=True)


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([12], pa.int8()),
        pa.array([12], pa.uint64()),
        pa.array([12.0], pa.float64()),
        pa.array([12.0], pa.float32()),
        pa.array([Decimal("12.00")]),
        pa.array(["012"]),
        pa.array([" 1.2e1"]).dictionary_encode(),
    ],
    ids=lambda cells: str(cells.type),
)
def test_a_number_is_one_key_in_every_type(cells: pa.Array) -> None:
    """Twelve is twelve, whatever file it came from."""
    assert cell_keys(cells).to_pylist() == ["12"]


def test_typed_cells_have_plain_texts() -> None:
    """Truth values, dates, times and floats are spelled as people spell them; NaN is missing."""
    assert cell_texts(pa.array([True, False])).to_pylist() == ["true", "false"]
    assert cell_texts(pa.array([datetime.date(2020, 2, 1)])).to_pylist() == ["2020-02-01"]
    moments = pa.array([datetime.datetime(2020, 2, 1), datetime.datetime(2020, 2, 1, 1, 2, 3, 500_000)])
    assert cell_texts(moments).to_pylist() == ["2020-02-01 00:00:00", "2020-02-01 01:02:03.5"]
    assert cell_texts(pa.array([1.0, 0.1, float("nan")])).to_pylist() == ["1", "0.1", None]
    assert cell_texts(pa.array([Decimal("2.50")])).to_pylist() == ["2.5"]
    assert cell_texts(pa.array([0.1], pa.float32())).to_pylist() == ["0.1"]
    assert cell_keys(pa.array([2**53 + 1, 2**53])).to_pylist() == ["9007199254740993", "9007199254740992"]
