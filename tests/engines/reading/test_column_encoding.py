"""Canonical cells: one type and one value for what every format and library calls the same.

Codes of columns over batches: the same as of the whole column, in the order of its values.

Coded tables: what a rule reads from a coded cell is what it reads from the text.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from anonkit.domains.cell_values import category_codes, cell_keys, cell_numbers
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.engines.reading.column_encoding import (
    CategoryColumns,
    CategoryNumbering,
    canonical_array,
    canonical_batches,
    canonical_schema,
    canonical_type,
    coded,
    coded_column,
    encode,
)
from anonkit.errors import SourceError
from anonkit.policy.declaration import Policy
from anonkit.policy.declared_cells import CountCells, declared_cells

CELLS = st.lists(st.sampled_from(["b", "a", "c", None]), max_size=12)


@given(st.lists(CELLS, min_size=1, max_size=4))
def test_batches_are_coded_as_the_whole_column(parts: list[list[str | None]]) -> None:
    """Ascending values; missing is the code after the last."""
    field = pa.field("x", pa.string())
    batches = [pa.record_batch([pa.array(part, pa.string())], schema=pa.schema([field])) for part in parts]
    (found,) = encode(batches, [field])
    values = [*found.values.to_pylist(), None]
    cells = [cell for part in parts for cell in part]
    assert [values[code] for code in found.codes] == cells
    assert values[:-1] == sorted({cell for cell in cells if cell is not None})


def test_dictionaries_of_batches_have_one_order() -> None:
    """That of each where they agree, that of first sight where they contradict; unused categories are left out."""
    numbering = CategoryNumbering()
    numbering.look(pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["low", "high", "nobody"])))
    numbering.look(pa.DictionaryArray.from_arrays(pa.array([0, 1, None], pa.int8()), pa.array(["low", "mid"])))
    numbering.look(pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), pa.array(["mid", "high"])))
    assert numbering.values == ["low", "mid", "high"]
    contrary = CategoryNumbering()
    for order in (["a", "b"], ["b", "a"]):
        contrary.know(pa.array(order))
    assert contrary.values == ["a", "b"]


def test_categories_are_restored_from_numbers() -> None:
    """On their way they are numbers of the smallest type; missing cells stay so."""
    kind = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema([("n", pa.int64()), ("c", kind)])
    batches = [
        pa.record_batch([pa.array([1, 2]), pa.array(["x", None]).dictionary_encode().cast(kind)], schema=schema),
        pa.record_batch([pa.array([3, 4]), pa.array(["y", "x"]).dictionary_encode().cast(kind)], schema=schema),
    ]
    columns = CategoryColumns(schema)
    moved = list(columns.numbered(batches))
    assert moved[0].schema.field("c").type == pa.int8()
    rows = columns.restored(pa.Table.from_batches(moved))
    assert rows.column("c").to_pylist() == ["x", None, "y", "x"]
    assert rows.column("n").to_pylist() == [1, 2, 3, 4]


def test_a_coded_column_holds_plain_values() -> None:
    """Numbers are ordered; missing is the last of the values."""
    field = pa.field("x", pa.int64())
    batch = pa.record_batch([pa.array([30, None, 10])], schema=pa.schema([field]))
    (found,) = encode([batch], [field])
    column = coded_column("x", field.type, found)
    assert column.values == [10, 30, None]
    assert column.codes.tolist() == [1, 2, 0]
    assert column.ordered


NAMES = ("category", "number", "other", "person")
DECLARED = Policy.from_dict(
    {
        "columns": {
            "category": {"categories": ["a", "1", "2.50", "never"]},
            "number": {"bounds": [0, 9]},
            "other": {},
            "person": {"role": "unit"},
        }
    }
)
BY_CELL = replace(DECLARED, cell_by_cell=True)
TEXTS = st.none() | st.sampled_from(["a", "1", "1.0", "2.50", "2.5", "b", "", " a", "-3", "007", "12"])
PLAIN = st.none() | st.sampled_from(["1", "-0", "2.50", ".5", "5.", "12", "007", "123456789012345678901234567890"])
ROWS = st.tuples(TEXTS, st.one_of(PLAIN, PLAIN, TEXTS), TEXTS, TEXTS)


def _table(chunks: list[list[tuple[str | None, ...]]]) -> pa.Table:
    batches = [[pa.array([row[at] for row in rows], pa.string()) for at in range(4)] for rows in chunks]
    return pa.Table.from_batches([pa.RecordBatch.from_arrays(arrays, NAMES) for arrays in batches])


@given(st.lists(st.lists(ROWS, max_size=6), min_size=1, max_size=3), st.booleans())
def test_a_coded_cell_means_what_its_text_means(chunks: list[list[tuple[str | None, ...]]], sliced: bool) -> None:
    """Categories, numbers, keys and counts of declared columns are those of the texts; other columns stay texts."""
    table = _table(chunks).slice(int(sliced))
    held = coded(table, BY_CELL)
    rules = [declared_cells(BY_CELL.column(name), BY_CELL) for name in NAMES]
    count = CountCells(columns=tuple(rule for rule in rules if rule is not None))
    for plain, read in zip(table.to_batches(), held.to_batches(), strict=True):
        assert np.array_equal(count(plain, 0), count(read, 0))
        assert cell_keys(read.column("category")).to_pylist() == cell_keys(plain.column("category")).to_pylist()
        for name in NAMES[:2]:
            numbers = [cell_numbers(batch.column(name)) for batch in (plain, read)]
            assert np.array_equal(*numbers, equal_nan=True)
        for texts_alone in (False, True):
            codes = [
                category_codes(batch.column("category"), ["a", "2.50", "1"], texts_alone=texts_alone)
                for batch in (plain, read)
            ]
            assert np.array_equal(*codes)
        assert all(read.column(name).equals(plain.column(name)) for name in NAMES[2:])


class _Types:
    """A count that keeps the types of what it is handed."""

    takes_codes: ClassVar[bool]

    def __init__(self, takes_codes: bool) -> None:
        type(self).takes_codes = takes_codes
        self.seen: list[pa.DataType] = []

    def __call__(self, batch: pa.RecordBatch, row: int) -> NDArray[np.int64]:
        self.seen += batch.schema.types
        return np.array([batch.num_rows])


@pytest.mark.parametrize("takes_codes", [False, True])
@pytest.mark.parametrize("policy", [BY_CELL, DECLARED], ids=["by cell", "by column"])
def test_codes_are_handed_to_those_who_take_them(tmp_path: Path, policy: Policy, takes_codes: bool) -> None:
    """Cells that are read one by one come coded to a function that takes codes; the table itself is as it was read."""
    (tmp_path / "t.csv").write_text("category,number\na,1\nb,2.5\n", encoding="utf-8")
    with LocalEngine() as engine:
        source = engine.scan(tmp_path / "t.csv", policy)
        assert source.schema.types == [pa.string(), pa.string() if policy is BY_CELL else pa.float64()]
        function = _Types(takes_codes)
        assert engine.add_up(source, function, ["category", "number"], 1).tolist() == [2]
    coded_types = [pa.dictionary(pa.int32(), pa.string()), pa.float64()]
    assert function.seen == (coded_types if takes_codes and policy is BY_CELL else source.schema.types)


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
