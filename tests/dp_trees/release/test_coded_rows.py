"""Rows as codes: batches that can be opened again, and the cap on the rows of a unit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from anonkit.dp_trees.release import coded_rows
from anonkit.dp_trees.release.coded_rows import CodedRows, cached_in_memory, first_rows_of_units
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.policy.declaration import Policy
from anonkit.published.tree_model import Split
from tests.dp_trees.tables import attribute, schema_of

SCHEMA = schema_of(attribute("a", 3), attribute("n", 4, Split.CUT))
TABLE = pa.table({"a": ["a0", "a2", "a1", "a2"], "n": [0.5, 3.9, 9.0, -1.0], "y": ["c0", "c1", "c1", "c0"]})


def rows_of(table: pa.Table, keep: np.ndarray | None = None) -> CodedRows:
    """The rows through the local engine."""
    return CodedRows(source=LocalEngine().scan(table, Policy()), schema=SCHEMA, keep=keep)


def test_cells_become_codes_of_the_public_domains() -> None:
    """Numbers outside their bounds count as the nearest bound."""
    (batch,) = rows_of(TABLE)()
    assert batch.codes.tolist() == [[0, 2, 1, 2], [0, 3, 3, 0]]
    assert batch.labels.tolist() == [0, 1, 1, 0]


def test_rows_that_are_left_out_are_not_numbered() -> None:
    """The draw of a row does not depend on rows that are not used."""
    (batch,) = rows_of(TABLE, np.array([False, True, False, True]))()
    assert batch.codes.tolist() == [[2, 2], [3, 0]]
    assert batch.first_row == 0


@pytest.mark.parametrize("room", [0, 1 << 20])
def test_batches_are_the_same_each_time_whether_kept_or_not(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that does not fit is coded anew for each pass."""
    monkeypatch.setattr(coded_rows, "CACHED_BYTES", room)
    opened = cached_in_memory(rows_of(TABLE))
    first, second = list(opened()), list(opened())
    assert (first[0] is second[0]) == (room > 0)
    assert np.array_equal(first[0].codes, second[0].codes)


@pytest.mark.parametrize(
    ("column", "cells", "codes"),
    [
        ("a", ["a0", "MARKER", None, "a2"], [[0, 3, 3, 2], [0, 3, 3, 0]]),
        ("n", [0.5, None, 9.0, -1.0], [[0, 2, 1, 2], [0, 4, 3, 0]]),
        ("n", ["MARKER", "1", "9", "-1"], [[0, 2, 1, 2], [4, 1, 3, 0]]),
    ],
)
def test_cells_outside_the_domain_are_missing(column: str, cells: list, codes: list) -> None:  # type: ignore[type-arg]
    """A refusal would disclose a row."""
    table = TABLE.set_column(TABLE.schema.get_field_index(column), column, pa.array(cells))
    domains = (attribute("a", 3, missing=True), attribute("n", 4, Split.CUT, missing=True))
    source = LocalEngine().scan(table, Policy())
    (batch,) = CodedRows(source=source, schema=schema_of(*domains))()
    assert batch.codes.tolist() == codes


@pytest.mark.parametrize("label", [None, "MARKER"])
def test_a_row_without_a_class_is_not_used(label: str | None) -> None:
    """The others are coded and numbered as without it."""
    table = TABLE.set_column(2, "y", pa.array(["c0", label, "c1", "c0"]))
    (batch,) = rows_of(table)()
    (without,) = rows_of(TABLE.take([0, 2, 3]))()
    assert batch.codes.tolist() == without.codes.tolist()
    assert batch.labels.tolist() == without.labels.tolist() == [0, 1, 0]


@pytest.mark.parametrize("other", ["x7", "4.5", "", None])
def test_a_unit_keeps_its_first_rows_whatever_the_others_do(other: str | None) -> None:
    """Leaving out a unit moves no other row in or out, however both are spelled; rows without a unit are not used."""
    people = pa.array(["1", "2", "1.0", other, " 01", "2", None, other])
    engine = LocalEngine()

    def kept(column: pa.Array) -> np.ndarray:
        return first_rows_of_units(engine, engine.scan(pa.table({"who": column}), Policy()), "who", 2)

    found = kept(people)
    assert found.tolist() == [True, True, True, bool(other), False, True, False, bool(other)]
    others = np.array([one != other for one in people.to_pylist()])
    assert kept(people.filter(pa.array(others))).tolist() == found[others].tolist()
