"""Promises answer for themselves: what they cost, what is counted, and how a table must be read under them."""

from __future__ import annotations

import json
import math

import pytest

from anonkit.errors import ParameterError
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.promises.guarantee import Guarantee, PrivacyLoss
from anonkit.promises.no_guarantee import NoGuarantee
from anonkit.promises.pure_central_dp import CentralDP
from anonkit.promises.pure_local_dp import LocalDP

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
