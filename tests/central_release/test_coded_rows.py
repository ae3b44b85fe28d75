"""Rows as codes: batches that can be opened again, and the cap on the rows of a unit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from anonkit.central_release import coded_rows
from anonkit.central_release.coded_rows import CodedRows, first_rows_of_units, kept_in_memory
from anonkit.engines.local import LocalEngine
from anonkit.errors import PolicyError
from anonkit.policy import Policy
from anonkit.trees.attributes import Split
from tests.trees.tables import attribute, schema_of

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
    """What a row draws does not depend on rows that are not used."""
    (batch,) = rows_of(TABLE, np.array([False, True, False, True]))()
    assert batch.codes.tolist() == [[2, 2], [3, 0]]
    assert batch.first_row == 0


@pytest.mark.parametrize("room", [0, 1 << 20])
def test_batches_are_the_same_each_time_whether_kept_or_not(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that does not fit is coded anew for each pass."""
    monkeypatch.setattr(coded_rows, "KEPT_BYTES", room)
    opened = kept_in_memory(rows_of(TABLE))
    first, second = list(opened()), list(opened())
    assert (first[0] is second[0]) == (room > 0)
    assert np.array_equal(first[0].codes, second[0].codes)


@pytest.mark.parametrize(
    ("column", "cells", "words"),
    [
        ("a", ["a0", "MARKER", "a1", "a2"], "outside its declared categories"),
        ("n", [1.0, None, 2.0, 3.0], "missing values"),
        ("n", ["MARKER", "1", "2", "3"], "not numbers"),
        ("y", ["c0", None, "c1", "c0"], "missing values"),
    ],
)
def test_cells_outside_the_domain_are_refused_without_being_shown(column: str, cells: list, words: str) -> None:  # type: ignore[type-arg]
    """The column and the rule."""
    table = TABLE.set_column(TABLE.schema.get_field_index(column), column, pa.array(cells))
    with pytest.raises(PolicyError, match=words) as caught:
        list(rows_of(table)())
    assert "MARKER" not in str(caught.value)
    assert repr(column) in str(caught.value)


def test_a_unit_keeps_its_first_rows_whatever_the_others_do() -> None:
    """Leaving out a whole unit moves no other row in or out; rows without a unit are one."""
    people = pa.array(["p", "q", "p", None, "p", "q", None, None])
    engine = LocalEngine()

    def kept(column: pa.Array) -> np.ndarray:
        return first_rows_of_units(engine, engine.scan(pa.table({"who": column}), Policy()), "who", 2)

    found = kept(people)
    assert found.tolist() == [True, True, True, True, False, True, True, False]
    others = np.array([one != "p" for one in people.to_pylist()])
    assert kept(people.filter(pa.array(others))).tolist() == found[others].tolist()
