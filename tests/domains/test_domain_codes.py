"""Cells as codes of public domains: the same codes for texts, dictionaries and other types; nothing is refused."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from anonkit.domains.attribute_domains import UNKNOWN, Categories, Grid
from anonkit.domains.domain_codes import codes_of_cells, labels_of_cells, numbers_of_cells, refuse_kinds
from anonkit.errors import PolicyError

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
def test_a_stranger_is_missing(array: pa.Array) -> None:
    """A refusal would disclose that somebody has it."""
    assert codes_of_cells(_batch(array), "c", LETTERS).tolist() == [1, 2]


def test_a_category_of_a_dictionary_that_no_cell_holds_is_no_stranger() -> None:
    """Only cells count."""
    array = pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array(["a", "other"]))
    assert codes_of_cells(_batch(array), "c", LETTERS).tolist() == [1, 1]


NUMBERED = Categories(values=("1", "2.5", "x"), has_missing=True)


@pytest.mark.parametrize(
    ("array", "codes"),
    [
        (pa.array(["1", "1.0", " 01", "2.50", "x", "x ", "3", None]), [0, 0, 0, 1, 2, 2, 3, 3]),
        (pa.array([1, 2, None]), [0, 3, 3]),
        (pa.array([1.0, 2.5, float("nan"), None]), [0, 1, 3, 3]),
        (pa.array([Decimal("1.00"), Decimal("2.50")]), [0, 1]),
        (pa.array(["1.0", "x"]).dictionary_encode(), [0, 2]),
        (pa.array([True]), [3]),
    ],
    ids=["texts", "integers", "floats", "decimals", "dictionary", "truth values"],
)
def test_a_category_is_known_by_its_text_or_its_decimal(array: pa.Array, codes: list[int]) -> None:
    """1, "1.0" and 1.0 find a declared "1", in every type; blanks around words do not count."""
    assert codes_of_cells(_batch(array), "c", NUMBERED).tolist() == codes


def test_texts_alone_may_be_compared() -> None:
    """A column of codes: 1 and 01 are two; an integer is 1 in a column of floats too."""
    domain = Categories(values=("1", "01"), has_missing=True, texts_alone=True)
    assert codes_of_cells(_batch(pa.array(["1", "01", "1.0"])), "c", domain).tolist() == [0, 1, 2]
    assert codes_of_cells(_batch(pa.array([1.0, None])), "c", domain).tolist() == [0, 2]


@pytest.mark.parametrize("array", [pa.array(["b", None]), pa.array(["b", "SECRET"]).dictionary_encode()])
def test_a_domain_without_missing_takes_the_first(array: pa.Array) -> None:
    """That is what `missing = "first"` declares."""
    assert codes_of_cells(_batch(array), "c", Categories(values=("a", "b"))).tolist() == [1, 0]
    assert codes_of_cells(_batch(pa.array([3.0, None])), "c", Grid(lower=1, upper=4, cells=3)).tolist() == [2, 0]


def test_rows_without_a_class_have_no_label() -> None:
    """Unless missing is declared a class."""
    array = _batch(pa.array(["b", None, "SECRET"]))
    assert labels_of_cells(array, "c", Categories(values=("a", "b"))).tolist() == [1, UNKNOWN, UNKNOWN]
    assert labels_of_cells(array, "c", Categories(values=("a", "b"), has_missing=True)).tolist() == [1, 2, 2]


@pytest.mark.parametrize(
    "array", [pa.array([1.0, None, -7.0, 99.0]), pa.array(["1", "many", "-1e400", "99"]), pa.array([1, None, -7, 99])]
)
def test_numbers_are_clamped_and_texts_among_them_are_missing(array: pa.Array) -> None:
    """Null, not-a-number and words are missing; what is beyond a bound is at the bound."""
    grid = Grid(lower=0, upper=4, cells=4, has_missing=True)
    assert codes_of_cells(_batch(array), "c", grid).tolist() == [1, 4, 0, 3]
    assert np.array_equal(numbers_of_cells(_batch(array), "c", (0, 4)), [1, np.nan, 0, 4], equal_nan=True)


def test_integers_beyond_floats_are_rounded() -> None:
    """A number of 19 digits is a number all the same, and no error quotes it."""
    array = pa.array([2**63 - 1, None, -(2**63), 2**53 + 1])
    assert numbers_of_cells(_batch(array), "c", None).tolist()[::2] == [2.0**63, -(2.0**63)]
    assert numbers_of_cells(_batch(pa.array([2**64 - 1], pa.uint64())), "c", None).tolist() == [2.0**64]


@pytest.mark.parametrize("kind", [pa.bool_(), pa.date32(), pa.timestamp("us")])
def test_bounds_on_another_type_are_refused(kind: pa.DataType) -> None:
    """By the type alone, which is no cell's."""
    with pytest.raises(PolicyError, match="column 'c' has bounds but its cells are not numbers"):
        refuse_kinds(pa.schema([("c", kind)]), ["c"])


@pytest.mark.parametrize("kind", [np.uint8, np.int32])
@pytest.mark.parametrize("listed", [["b", "a"], ["a", "b"], ["b", "a", "other"], []])
def test_a_code_does_not_depend_on_the_dictionary_that_brings_its_cell(listed: list[str], kind: type) -> None:
    """In the declared order, in another, with strangers, with missing cells, or with no entry at all."""
    for cells in (listed * 3, [*listed, None, *listed]):
        array = pa.DictionaryArray.from_arrays(
            pa.array([None if cell is None else listed.index(cell) for cell in cells], pa.int32()),
            pa.array(listed, pa.string()),
        )
        codes = codes_of_cells(_batch(array), "c", LETTERS, kind)
        assert codes.tolist() == [LETTERS.codes_of.get(cell, 2) for cell in cells]
        assert codes.dtype == kind
