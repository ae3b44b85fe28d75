"""Codes of columns over batches: the same as of the whole column, in the order of its values."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from anonkit.engines.reading.encoding import CategoryColumns, CategoryNumbering, coded_column, encode

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
