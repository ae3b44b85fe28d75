"""Words of neighbours and of delta: one place for promises, ledger, page and proofs."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from anonkit.mechanisms.shuffle_amplification import default_delta
from anonkit.promises.approximate_dp import ApproximateDP
from anonkit.promises.neighbouring_tables import (
    ADD_OR_REMOVE,
    MOST_SHOWN,
    REPLACE,
    Neighbours,
    fewest_protected,
    is_far_below,
    most_protected,
)

PROOFS = Path(__file__).parents[2] / "docs" / "proofs"
KINDS = {
    Neighbours(adjacency=ADD_OR_REMOVE): ("one record added or removed", "one row added or removed"),
    Neighbours(adjacency=REPLACE): ("one record replaced", "one row replaced"),
    Neighbours(adjacency=ADD_OR_REMOVE, unit="who"): (
        "all records of one value of 'who' added or removed",
        "one value of 'who' added or removed",
    ),
    Neighbours(adjacency=REPLACE, unit="who"): (
        "all records of one value of 'who' replaced",
        "one value of 'who' replaced",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_promise_ledger_and_proofs_name_neighbours_alike(kind: Neighbours) -> None:
    """In the formal sentence, in the lines of a budget, and in the proof."""
    formal, short = KINDS[kind]
    promise = ApproximateDP(epsilon=1.0, delta=1e-9, adjacency=kind.adjacency, unit=kind.unit)
    assert kind.changed == formal
    assert f"D' being D with {formal}," in promise.formal()
    assert kind.in_short == short
    page = " ".join((PROOFS / "central.md").read_text(encoding="utf-8").lower().split())
    assert kind.changed.replace("'who'", "the unit column") in page


def test_no_page_takes_other_rows_of_a_unit_for_a_neighbour_without_replace() -> None:
    """Rows that are replaced are two steps from rows that come or go: an audit finds more than the claim of one."""
    for page in PROOFS.glob("*.md"):
        assert "or with other rows" not in page.read_text(encoding="utf-8"), page.name


@pytest.mark.parametrize("rows", [1, 100, 9_999, 10_000, 10_001, 123_457, 10**6, 10**9])
def test_a_default_delta_keeps_the_rule(rows: int) -> None:
    """Rows times delta is a hundredth at most."""
    assert default_delta(rows) * rows == pytest.approx(min(MOST_SHOWN, 1e-6 * rows))
    assert is_far_below(default_delta(rows), rows)
    assert default_delta(rows) <= 1e-6


@pytest.mark.parametrize("delta", [1e-12, 1e-9, 3e-7, 1e-4, 0.01])
def test_the_most_people_of_a_delta_are_those_the_rule_allows(delta: float) -> None:
    """One more would break it."""
    assert is_far_below(delta, most_protected(delta))
    assert not is_far_below(delta, most_protected(delta) + 1)


def test_people_are_counted_by_the_rows_that_each_may_have() -> None:
    """Of 10 rows with three a person at most there are four people or more."""
    assert fewest_protected(10, 3) == math.ceil(10 / 3)
    assert fewest_protected(10, 1) == 10
    assert Neighbours(adjacency=REPLACE).counted == "rows"
    assert Neighbours(adjacency=REPLACE, unit="who").counted == "people"
