"""Randomized releases of tables that differ in one cell, with the same secret words: only that row's answers differ.

The lemmas are in docs/proofs/local.md. A row's answers are a function of its cells and of words that are its own. So a
cell that its row does not answer by, or answers blindly, leaves every file as it was, byte for byte.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

import anonkit
from anonkit.methods import method_class, method_names
from anonkit.policy.column_declarations import Column, Missing, Role
from anonkit.policy.declaration import Policy
from anonkit.randomized_response.randomized_method import RandomizedMethod
from tests.proofs.transcripts import standing_clock

POLICY = Policy(
    columns={
        "age": Column(name="age", bounds=(0.0, 8.0)),
        "job": Column(name="job", categories=("cook", "nurse", "clerk")),
        "hue": Column(name="hue", categories=("red", "green"), missing=Missing.FIRST),
        "ill": Column(name="ill", role=Role.TARGET, categories=("no", "yes")),
    }
)
NUMBERS = Policy(columns={"age": POLICY.columns["age"], "pay": Column(name="pay", bounds=(0.0, 4.0))})
ROWS = [
    (0, "cook", "red", "no"), (1, "nurse", "green", "yes"), (5, "clerk", "green", "no"), (7, "cook", "red", "yes"),
    (3, "nurse", "red", "yes"), (8, "clerk", "green", "no"), (2, "cook", "green", "no"), (6, "nurse", "red", "yes"),
]  # fmt: skip
OTHER: dict[str, list[Any]] = {
    "age": [8, None, 999], "job": ["clerk", None, "astronaut"], "hue": ["green", None, "blue"],
    "ill": ["yes", None, "perhaps"], "pay": [4.0, None, -1.0],
}  # fmt: skip
METHODS_AS: dict[str, tuple[str, dict[str, Any]]] = {
    "rr": ("rr", {"epsilon": 1.0}),
    "rr, split": ("rr", {"epsilon": 2.0, "allocation": "split"}),
    "errph": ("errph", {"p_keep": 0.3, "bins": 4, "label": "randomize"}),
    "ppnb": ("ppnb", {"p_keep": 0.3, "label": "randomize"}),
    "trr": ("trr", {"target": "pay"}),
}


def table(name: str) -> pa.Table:
    """The table that a method takes."""
    columns = {
        "age": pa.array([row[0] for row in ROWS], pa.int64()),
        **{key: pa.array([row[at] for row in ROWS], pa.string()) for at, key in ((1, "job"), (2, "hue"), (3, "ill"))},
    }
    if name != "trr":
        return pa.table(columns)
    return pa.table({"age": columns["age"], "pay": pa.array([row[0] / 2 for row in ROWS], pa.float64())})


def with_cell(rows: pa.Table, row: int, column: str, value: Any) -> pa.Table:
    """The table with one cell replaced."""
    cells = rows.column(column).to_pylist()
    cells[row] = value
    at = rows.schema.get_field_index(column)
    return rows.set_column(at, column, pa.array(cells, rows.schema.field(column).type))


def released(name: str, rows: pa.Table) -> anonkit.Release:
    """The release under one secret, at one moment."""
    method, options = METHODS_AS[name]
    with standing_clock():
        return anonkit.release(
            rows, method=method, policy=NUMBERS if name == "trr" else POLICY, seed=9, ledger=None, **options
        )


def differences(name: str, changes: list[tuple[int, str, Any]]) -> list[bool]:
    """Replace one cell after the other; fail where more than its row differs, and name the releases that did."""
    rows = table(name)
    first = released(name, rows)
    shown = Counter(map(repr, first.to_arrow().to_pylist()))
    differ = []
    for row, column, value in changes:
        other = released(name, with_cell(rows, row, column, value))
        left = shown - Counter(map(repr, other.to_arrow().to_pylist()))
        assert sum(left.values()) <= 1, "a cell of one row was seen in another row"
        assert other.contents[".params.json"] == first.contents[".params.json"]
        assert other.report == first.report, "what is reported follows from the declaration and the number of rows"
        assert bool(left) or other.contents == first.contents
        differ.append(bool(left))
    return differ


def test_every_local_method_is_here() -> None:
    """A method that is added is tried, too."""
    local = {name for name in method_names() if issubclass(method_class(name), RandomizedMethod)}
    assert {method for method, _ in METHODS_AS.values()} == local


@pytest.mark.parametrize("name", METHODS_AS)
def test_a_cell_shows_in_the_answers_of_its_row_or_nowhere(name: str) -> None:
    """A cell of each of the first columns replaced: one released row differs, or no byte of any file."""
    names = table(name).column_names[:3]
    changes = [(at, column, OTHER[column][at % 3]) for at, column in enumerate(names)]
    differences(name, changes)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", METHODS_AS)
def test_every_cell_shows_in_the_answers_of_its_row_or_nowhere(name: str) -> None:
    """Every cell of the table by every other kind of cell; some show, and where answers are blind many do not."""
    columns = table(name).column_names
    changes = [
        (row, column, value) for row, column in itertools.product(range(len(ROWS)), columns) for value in OTHER[column]
    ]
    differ = differences(name, changes)
    assert any(differ)
    assert name == "trr" or not all(differ)
