"""Promises answer for themselves: what they cost, what is counted, and how a table must be read under them.

Words of neighbours and of delta: one place for promises, ledger, page and proofs.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from anonkit.errors import ParameterError
from anonkit.mechanisms.privacy_amplification import default_delta
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.promises.approximate_dp import ApproximateDP
from anonkit.promises.guarantee import (
    ADD_OR_REMOVE,
    MOST_SHOWN,
    REPLACE,
    Guarantee,
    Neighbours,
    NoGuarantee,
    PrivacyLoss,
    fewest_protected,
    is_far_below,
    most_protected,
)
from anonkit.promises.noise_promises import CentralDP, LocalDP

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


CLASSES = KAnonymity(k=5, quasi_identifiers=("q",))
LOCAL = LocalDP(epsilon=1.5, attributes={"a": 1.0, "b": 0.5})
UNBOUNDED = LocalDP(epsilon=math.inf, attributes={"a": math.inf}, unbounded=("a",))
CENTRAL = CentralDP(epsilon=2.0)
NOTHING = NoGuarantee(reason="The published noise has no finite epsilon.")


@pytest.mark.parametrize(
    ("promise", "epsilon"), [(CLASSES, None), (LOCAL, 1.5), (UNBOUNDED, math.inf), (CENTRAL, 2.0), (NOTHING, math.inf)]
)
def test_what_a_promise_costs(promise: Guarantee, epsilon: float | None) -> None:
    """Nothing under k-anonymity, epsilon under differential privacy, and without a bound where nothing is promised."""
    loss = promise.loss()

    assert (None if loss is None else loss.epsilon) == epsilon
    assert loss is None or loss.delta == 0


@pytest.mark.parametrize(
    ("promise", "cell_by_cell", "redraw_costs", "is_counted"),
    [
        (CLASSES, False, False, True),
        (LOCAL, True, True, False),
        (CENTRAL, True, False, False),
        (NOTHING, True, True, False),
    ],
)
def test_what_a_release_has_to_know_of_a_promise(
    promise: Guarantee, cell_by_cell: bool, redraw_costs: bool, is_counted: bool
) -> None:
    """Only k-anonymity is counted, and only under it may cells be read in the light of others."""
    assert promise.cell_by_cell is cell_by_cell
    assert promise.redraw_costs is redraw_costs
    assert (promise.counted_classes is not None) is is_counted


@pytest.mark.parametrize("promise", [CLASSES, LOCAL, UNBOUNDED, CENTRAL, NOTHING], ids=lambda promise: promise.kind)
def test_every_promise_reads_back_from_its_report(promise: Guarantee) -> None:
    """The block of the report is the whole promise, its sentences included."""
    block = json.loads(json.dumps(promise.to_dict()))

    assert type(promise).from_dict(block).to_dict() == promise.to_dict()
    assert block["kind"] == promise.kind


@pytest.mark.parametrize(("epsilon", "delta"), [(-0.1, 0), (math.nan, 0), (1, -1e-9), (1, 1), (1, math.nan)])
def test_a_loss_outside_its_range_is_refused(epsilon: float, delta: float) -> None:
    """Epsilon is not negative, and delta a probability below 1: at 1 everything may be shown."""
    with pytest.raises(ParameterError):
        PrivacyLoss(epsilon=epsilon, delta=delta)


def test_no_guarantee_looks_like_no_promise() -> None:
    """Its sentence says so, and so does its kind."""
    assert NOTHING.to_dict()["kind"] == "none"
    assert "no formal privacy guarantee" in NOTHING.statement()
