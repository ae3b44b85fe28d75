"""Canonical cells: one type and one value for what every format and library calls the same."""

from __future__ import annotations

from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pytest

from anonkit.engines.reading.canonical import canonical_array, canonical_batches, canonical_schema, canonical_type
from anonkit.errors import SourceError


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (pa.large_string(), pa.string()),
        (pa.string_view(), pa.string()),
        (pa.null(), pa.string()),
        (pa.float16(), pa.float32()),
        (pa.date64(), pa.date32()),
        (pa.timestamp("s", "UTC"), pa.timestamp("ms", "UTC")),
        (pa.time32("s"), pa.time32("ms")),
        (pa.decimal256(20, 2), pa.decimal128(20, 2)),
        (pa.decimal128(5, -2), pa.decimal128(7, 0)),
        (
            pa.dictionary(pa.int8(), pa.large_string(), ordered=True),
            pa.dictionary(pa.int32(), pa.string(), ordered=True),
        ),
        (pa.dictionary(pa.int8(), pa.int64()), pa.int64()),
        (pa.int16(), pa.int16()),
    ],
)
def test_types_that_mean_the_same_are_one(given: pa.DataType, expected: pa.DataType) -> None:
    """And a canonical type is its own."""
    assert canonical_type("a", given) == expected
    assert canonical_type("a", expected) == expected
    assert canonical_schema(pa.schema([("a", given)])) == pa.schema([("a", expected)])


@pytest.mark.parametrize(
    "given", [pa.list_(pa.int64()), pa.struct([("secret", pa.int64())]), pa.binary(), pa.decimal256(60)]
)
def test_what_has_no_cells_of_a_table_is_refused_by_name(given: pa.DataType) -> None:
    """Names of the fields of a struct are data in some tables: they are not shown."""
    with pytest.raises(SourceError, match="column 'a'") as refusal:
        canonical_type("a", given)
    assert "secret" not in str(refusal.value)


def test_zeros_and_numbers_that_are_none_are_one() -> None:
    """-0.0 is 0.0, and NaN is missing."""
    cells = canonical_array("a", pa.array([-0.0, float("nan"), 1.5]), pa.float64())
    assert cells.to_pylist() == [0.0, None, 1.5]
    assert not np.signbit(cells[0].as_py())


def test_repeated_and_missing_categories_leave_a_dictionary() -> None:
    """The order of the others stays."""
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, None], pa.int8()), pa.array(["b", "a", "b", None]))
    cells = canonical_array("a", array, pa.dictionary(pa.int32(), pa.string()))
    assert cells.dictionary.to_pylist() == ["b", "a"]
    assert cells.to_pylist() == ["b", "a", "b", None, None]


def test_a_cell_that_loses_something_refuses_or_is_cut_off() -> None:
    """Under noise no cell may decide: a date loses its time of day by itself."""
    moments = pa.array([datetime(2020, 1, 1, 12)], pa.timestamp("ms")).cast(pa.int64()).cast(pa.date64(), safe=False)
    with pytest.raises(SourceError, match="column 'a'"):
        canonical_array("a", moments, pa.date32())
    assert canonical_array("a", moments, pa.date32(), safe=False).to_pylist() == [date(2020, 1, 1)]
    (batch,) = canonical_batches([pa.record_batch({"a": moments})], pa.schema([("a", pa.date32())]), safe=False)
    assert batch.column(0).to_pylist() == [date(2020, 1, 1)]
