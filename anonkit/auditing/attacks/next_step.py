# SPDX-License-Identifier: Apache-2.0
"""Advice on an audit, in one sentence: the gravest finding, and its remedy."""

from __future__ import annotations

import math
from collections.abc import Sequence

from anonkit.auditing.attacks.loss import REFUTED, LossBound
from anonkit.auditing.attacks.rates import FEW, NONE, RISK, TOLERATED, Attack
from anonkit.errors import spoken

_STRONGER = spoken(
    python="release it with a larger k or a smaller epsilon",
    typed="release it with a larger --k or a smaller --epsilon",
)


def next_step(attacks: Sequence[Attack], loss: LossBound | None) -> str:
    """Return the advice on an audit; a text for either kind of reader (`anonkit.errors.spoken`).

    A claim that is refuted comes first, then the attack with the largest risk, then attempts that were too few or
    attacks that were too weak to rest on.

    Privacy
    -------
    It follows from the figures of the audit, which are the owner's.
    """
    if loss is not None and loss.verdict == REFUTED:
        return (
            f"Do not hand it out: its epsilon is at least {loss.surest:.3g} and the report claims {loss.claimed:.4g}; "
            "report it to the maintainers of the method."
        )
    made = [attack for attack in attacks if attack.attack.attacks]
    risky = [attack for attack in made if attack.verdict == RISK]
    if risky:
        return _about_risk(max(risky, key=lambda attack: attack.risk))
    measured = [attack for attack in made if attack.verdict in (NONE, FEW)]
    if not measured:
        return "Rely on the promise alone: these attacks fail even on the table itself, so they show nothing here."
    if any(attack.verdict == FEW for attack in measured):
        more = spoken(python="attacks=2000", typed="--attacks 2000")
        return f"Attack more people ({more}) before you rely on this: nothing was found, in too few attempts to tell."
    return (
        f"Nothing to mend: no attack shows a risk (95% limits of {TOLERATED:.0%} at most); "
        "decide by what the report lists as not protected."
    )


def _about_risk(worst: Attack) -> str:
    """Return the step that lessens the largest risk."""
    often = f"about {_one_in(worst.risk)}"
    if worst.name == "inference":
        secret = worst.details.get("secret")
        whose = "a secret" if secret is None else repr(secret)
        mend = spoken(
            python='declare it sensitive and ask for l=2, or give it role = "identifier" to leave it out',
            typed=f"--sensitive {secret or 'NAME'} --l 2, or --identifier {secret or 'NAME'} to leave it out",
        )
        return f"Before you hand it out: the release gives away {whose} of {often} people attacked; {mend}."
    if worst.name == "singling_out":
        what = f"{often} descriptions taken from the release fit exactly one person"
    elif worst.name == "membership":
        what = f"that a person is in the table shows for {often} people attacked"
    else:
        what = f"the row of {often} people attacked is found"
    return f"Before you hand it out: {what}; {_STRONGER}, or leave a column out."


def _one_in(risk: float) -> str:
    return f"1 in {max(math.floor(1 / risk + 1e-9), 1):,}" if risk < 0.5 else f"{risk:.0%} of the"
