"""The figures of a dataset's budget: spent is rounded up, left is rounded down, and all places agree."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from anonkit.cli import anonkit as commands
from anonkit.cli.boundary import run
from anonkit.ledger import Ledger
from anonkit.ledger.fingerprint import Fingerprint
from anonkit.ledger.standing import Allowance, DatasetState, Entry, PlannedSpending, ReleaseState

LOSSES = st.lists(st.floats(1e-9, 20) | st.just(math.inf), max_size=6)


def _entry(loss: float, number: int = 1, delta: float | None = None) -> Entry:
    return Entry(
        dataset="d", method="rr", kind="local-dp", epsilon=loss, delta=delta, k=None, redrawn=True, output=None,
        params=None,
        fingerprint=Fingerprint(rows=3, exact=b"1" * 16, whole=b"2" * 16),
        number=number, state=ReleaseState.COMMITTED, created="2026-01-01T00:00", process="",
    )  # fmt: skip


@given(losses=LOSSES, budget=st.floats(1e-9, 50) | st.just(math.inf))
@example(losses=[3.9999999795], budget=4.0)
@example(losses=[0.1] * 6, budget=0.7)
@example(losses=[math.inf], budget=math.inf)
@example(losses=[math.inf], budget=2.0)
def test_what_is_left_fits_into_the_budget(losses: list[float], budget: float) -> None:
    """The figure, as its digits say, is never more than the budget less the losses, and hardly less."""
    allowance = Allowance(epsilon=budget)
    left = DatasetState(dataset="d", allowance=allowance, entries=[_entry(loss) for loss in losses]).left
    assert left is not None
    if math.isinf(budget):
        assert left == math.inf
    elif any(map(math.isinf, losses)):
        assert left == 0
    else:
        exact = Decimal(repr(budget)) - sum((Decimal(repr(loss)) for loss in losses), Decimal(0))
        assert Decimal(repr(left)) <= max(exact, Decimal(0))
        assert max(exact, Decimal(0)) - Decimal(repr(left)) <= Decimal("1e-15") * (1 + abs(exact))


def test_without_a_budget_nothing_is_said_to_be_left() -> None:
    """None, and not zero."""
    standing = DatasetState(dataset="d", entries=[_entry(1.0, delta=1e-6)])
    assert (standing.left, standing.left_delta) == (None, None)


def test_what_is_left_of_delta_is_what_its_own_budget_leaves() -> None:
    """Releases without a delta take nothing of it; the figures are exact, as the digits say."""
    entries = [_entry(1.0, delta=1e-6), _entry(1.0, delta=2e-6), _entry(math.inf)]
    standing = DatasetState(dataset="d", allowance=Allowance(delta=1e-5), entries=entries)
    assert (standing.delta, standing.left_delta, standing.left) == (3e-6, 7e-6, None)
    assert DatasetState(dataset="d", allowance=Allowance(delta=2e-6), entries=entries).left_delta == 0


@pytest.mark.parametrize(
    ("spent", "budget", "left"),
    [
        (3.9999999795, 4.0, "2.05e-08"),
        (0.1, 0.3, "0.2"),
        (1.0, 3.00004, "2.00004"),
        (2.0, 1.0, "0"),
        (0.00001, 0.00004, "3e-05"),
    ],
)
def test_the_ledger_says_the_same_to_people_and_machines(
    spent: float, budget: float, left: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Spent, budget and left in the text are those of --json; it was .0001 beside 2.05e-08."""
    path = tmp_path / "l.sqlite"
    ledger = Ledger(path)
    claim = PlannedSpending(
        **{field: getattr(_entry(spent, delta=spent / 100), field) for field in PlannedSpending.__dataclass_fields__}
    )
    number = ledger.reserve(claim, lambda standing: None, budget=Allowance(epsilon=budget, delta=budget / 100))
    ledger.commit(number)
    told = []
    for more in ([], ["--json"]):
        capfd.readouterr()
        assert run(commands, ["ledger", str(path), *more], "anonkit") == 0
        told.append(capfd.readouterr().out)
    (document,) = json.loads(told[1])["datasets"]
    for name, suffix in (("epsilon", ""), ("delta", "_delta")):
        found = re.search(rf"{name} (\S+) spent of (\S+), (\S+) left", told[0])
        assert found
        assert Decimal(found[1]) >= Decimal(repr(document[name]))
        assert Decimal(found[2]) <= Decimal(repr(document[f"budget{suffix}"]))
        assert Decimal(found[3]) <= Decimal(repr(document[f"left{suffix}"]))
        assert suffix or (found[3], Decimal(left)) == (left, Decimal(repr(document["left"])))
