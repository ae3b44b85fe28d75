"""An audit ends with what to do about it: the gravest finding decides."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from anonkit.auditing.attacks.loss import BELOW, REFUTED
from anonkit.auditing.attacks.next_step import next_step
from anonkit.auditing.attacks.rates import FEW, NONE, RISK, WEAK, Attack, Rate
from anonkit.errors import in_python, on_command_line


def _attack(name: str, found: float, *, n: int = 200, identity: float | None = 200, **details: Any) -> Attack:
    best = None if identity is None else Rate(successes=identity, attacks=n)
    control = Rate(successes=0, attacks=n)
    return Attack(
        name=name, attack=Rate(successes=found, attacks=n), control=control, identity=best, renamed=None, shuffled=None,
        details=details,
    )  # fmt: skip


def test_a_refuted_claim_comes_first() -> None:
    """A refuted claim comes first, with any other results of the attacks."""
    loss: Any = SimpleNamespace(verdict=REFUTED, surest=2.5, claimed=1.0)
    assert next_step([_attack("linkability", 150)], loss).startswith("Do not hand it out: its epsilon is at least 2.5")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("linkability", "the row of about 1 in 4 people attacked is found"),
        ("singling_out", "about 1 in 4 descriptions taken from the release fit exactly one person"),
        ("membership", "that a person is in the table shows for about 1 in 4 people attacked"),
    ],
)
def test_the_largest_risk_decides(name: str, says: str) -> None:
    """With its share, and with what lessens it, spelled for the reader."""
    loss: Any = SimpleNamespace(verdict=BELOW)
    told = next_step([_attack("inference", 20, secret="illness"), _attack(name, 50)], loss)
    assert _attack(name, 50).verdict == RISK
    assert says in told
    assert "a larger --k or a smaller --epsilon" in on_command_line(told)
    assert "--" not in in_python(told)


def test_a_secret_that_is_inferred_is_named() -> None:
    """The advice names the column and the protection that fits it."""
    told = next_step([_attack("inference", 120, secret="illness"), _attack("linkability", 40)], None)
    assert "gives away 'illness' of about 60% of the people attacked" in told
    assert "--sensitive illness --l 2" in on_command_line(told)
    assert "gives away a secret of" in next_step([_attack("inference", 120)], None)


def test_without_a_risk_the_attempts_decide() -> None:
    """Enough and able: nothing to mend; too few: more of them; unable even on the table: the promise alone."""
    enough, few = _attack("linkability", 0), _attack("linkability", 0, n=12, identity=12)
    weak = _attack("linkability", 0, identity=0)
    assert (enough.verdict, few.verdict, weak.verdict) == (NONE, FEW, WEAK)
    assert next_step([enough, weak], None).startswith("Nothing to mend")
    assert "--attacks 2000" in on_command_line(next_step([enough, few], None))
    assert next_step([weak, _attack("inference", 0, n=0, identity=None)], None).startswith("Rely on the promise alone")
