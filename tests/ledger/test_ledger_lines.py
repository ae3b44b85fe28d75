"""Lines of a ledger: read back as they were written, of older versions too, and refused where they are damaged."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing

import pytest
from ledger.claims import as_version_4, claim, free

from anonkit.errors import LedgerError
from anonkit.ledger import Ledger
from anonkit.ledger.booked_releases import Allowance
from anonkit.promises.guarantee import REPLACE, Neighbours

FILE = pytest.mark.parametrize("where", ["file"], indirect=True)
"""Tests that change the file itself."""


@FILE
@pytest.mark.parametrize(
    ("cell", "content"),
    [
        *((cell, b"\x80") for cell in ("sketch", "epsilon", "state")),
        *(("sketch", sketch) for sketch in (b"[]", b"{}", b'{"exact": 3}', b'{"exact": "31", "whole": "zz"}')),
    ],
)
def test_a_line_that_cannot_be_read_is_an_error_of_the_ledger(where: str, cell: str, content: bytes) -> None:
    """It is no defect of the program, and nothing is spent beside it."""
    Ledger(where).reserve(claim(), free)
    with closing(sqlite3.connect(where)) as connection:
        connection.execute(f"UPDATE release SET {cell} = ?", (content,))
        connection.commit()
    for act in (lambda: Ledger(where).datasets(), lambda: Ledger(where).reserve(claim(), free)):
        with pytest.raises(LedgerError, match="is damaged"):
            act()


@FILE
def test_a_ledger_of_version_2_is_brought_to_this_one(ledger: Ledger, where: str) -> None:
    """Its releases stay, with their losses; their requests are unknown, and of later ones it is."""
    ledger.commit(ledger.reserve(claim(), free))
    with sqlite3.connect(where) as connection:
        connection.execute("ALTER TABLE release DROP COLUMN request")
        connection.execute("ALTER TABLE dataset DROP COLUMN budget_delta")
        as_version_4(connection.execute)
        connection.execute("DROP TABLE ledger")
        connection.execute("PRAGMA user_version = 2")
    reopened = Ledger(where)
    reopened.publishing(reopened.reserve(claim(request=b"asked"), free), "digest", b"sealed")
    entries = Ledger(where).standing("d").entries
    assert [(entry.request, entry.data_sha256) for entry in entries] == [(None, None), (b"sealed", "digest")]
    assert Ledger(where).standing("d").epsilon == 0.2


@FILE
def test_a_ledger_of_version_3_gets_budgets_of_delta(ledger: Ledger, where: str) -> None:
    """Its own budgets and losses stay; none of delta is remembered."""
    ledger.reserve(claim(delta=1e-6), free, budget=Allowance(epsilon=2.0, delta=1e-5))
    with sqlite3.connect(where) as connection:
        connection.execute("ALTER TABLE dataset DROP COLUMN budget_delta")
        as_version_4(connection.execute)
        connection.execute("DROP TABLE ledger")
        connection.execute("PRAGMA user_version = 3")
    reopened = Ledger(where)
    assert (reopened.standing("d").allowance, reopened.standing("d").delta) == (Allowance(epsilon=2.0), 1e-6)
    reopened.reserve(claim(delta=1e-6), free, budget=Allowance(delta=1e-5))
    kind = Neighbours(adjacency=REPLACE)
    assert Ledger(where).standing("d").allowance == Allowance(epsilon=2.0, delta=1e-5, neighbours=kind)


def test_the_budgets_of_epsilon_and_delta_are_remembered_apart(ledger: Ledger) -> None:
    """A release that gives one leaves the other as it was, and a budget of no delta is a budget."""
    for budget in (Allowance(delta=0.0), Allowance(epsilon=2.0), Allowance(epsilon=3.0)):
        ledger.reserve(claim(), free, budget=budget)
    kind = Neighbours(adjacency=REPLACE)
    assert ledger.standing("d").allowance == Allowance(epsilon=3.0, delta=0.0, neighbours=kind)


def test_names_and_marks_are_read_back_as_they_were_written(ledger: Ledger) -> None:
    """In one order, letters of any alphabet and quotes in names, no bound as a loss."""
    names = ["b", "a", "Z", "é'\"?%s", "数"]
    for name in names:
        drawn = claim(math.inf, dataset=name, params=b"\x00\xff", request=b"?")
        ledger.reserve(drawn, free, budget=Allowance(epsilon=math.inf))
    assert [standing.dataset for standing in ledger.datasets()] == sorted(names)
    assert [dataset for dataset, _ in ledger.marks()] == sorted(names)
    entry = ledger.standing("数").entries[0]
    assert (entry.epsilon, entry.params, entry.request, entry.redrawn) == (math.inf, b"\x00\xff", b"?", True)
    assert ledger.standing("a").budget == math.inf
