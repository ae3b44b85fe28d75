"""Coded tables: what a rule reads from a coded cell is what it reads from the text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from anonkit.domains.domain_codes import category_codes, cell_keys, cell_numbers
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.engines.reading.coded_tables import coded
from anonkit.policy.declaration import Policy
from anonkit.policy.declared_cells import CountCells, declared_cells

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
