"""Cells as codes of public domains: the same codes for texts, dictionaries and other types; strangers are refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from anonkit.domain_codes import codes_of_cells, numbers_of_cells
from anonkit.errors import PolicyError
from anonkit.mechanisms.domains import Categories, Grid

LETTERS = Categories(values=("b", "a"), has_missing=True)


def _batch(array: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([array], names=["c"])


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("kind", [np.uint8, np.int64])
def test_texts_and_dictionaries_have_the_same_codes(folded: bool, kind: type) -> None:
    """Places in the declared order; missing comes last."""
    array = pa.array(["a", None, "b", "a"])
    codes = codes_of_cells(_batch(array.dictionary_encode() if folded else array), "c", LETTERS, kind)
    assert codes.tolist() == [1, 2, 0, 1]
    assert codes.dtype == kind


def test_other_types_are_known_by_their_texts() -> None:
    """Numbers and truth values are declared as they are written."""
    digits, flags = Categories(values=("2", "1")), Categories(values=("true", "false"))
    assert codes_of_cells(_batch(pa.array([1, 2])), "c", digits).tolist() == [1, 0]
    assert codes_of_cells(_batch(pa.array([True, False])), "c", flags).tolist() == [0, 1]


@pytest.mark.parametrize("array", [pa.array(["a", "SECRET"]), pa.array(["a", "SECRET"]).dictionary_encode()])
def test_a_stranger_is_refused_without_being_shown(array: pa.Array) -> None:
    """The message names the column only."""
    with pytest.raises(PolicyError, match="column 'c' has cells outside its declared categories") as caught:
        codes_of_cells(_batch(array), "c", LETTERS)
    assert "SECRET" not in str(caught.value)


def test_a_category_of_a_dictionary_that_no_cell_holds_is_no_stranger() -> None:
    """Only cells count."""
    array = pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array(["a", "other"]))
    assert codes_of_cells(_batch(array), "c", LETTERS).tolist() == [1, 1]


@pytest.mark.parametrize("array", [pa.array(["a", None]), pa.array(["a", None]).dictionary_encode()])
def test_missing_must_be_declared(array: pa.Array) -> None:
    """Absence is then randomized like any value."""
    with pytest.raises(PolicyError, match="missing values"):
        codes_of_cells(_batch(array), "c", Categories(values=("a", "b")))


@pytest.mark.parametrize("array", [pa.array([1.0, None]), pa.array([1.0, float("nan")])])
def test_missing_numbers_must_be_declared(array: pa.Array) -> None:
    """Null and not-a-number are both missing."""
    grid = Grid(lower=0, upper=4, cells=4)
    with pytest.raises(PolicyError, match="missing values"):
        codes_of_cells(_batch(array), "c", grid)
    assert np.isnan(numbers_of_cells(_batch(array), "c")[1])
    assert codes_of_cells(_batch(array), "c", Grid(lower=0, upper=4, cells=4, has_missing=True)).tolist() == [1, 4]


def test_whole_numbers_beyond_floats_are_rounded() -> None:
    """A number of 19 digits is a number all the same, and no error quotes it."""
    array = pa.array([2**63 - 1, None, -(2**63), 2**53 + 1])
    assert numbers_of_cells(_batch(array), "c").tolist()[::2] == [2.0**63, -(2.0**63)]
    assert numbers_of_cells(_batch(pa.array([2**64 - 1], pa.uint64())), "c").tolist() == [2.0**64]
