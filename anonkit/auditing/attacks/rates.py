# SPDX-License-Identifier: Apache-2.0
"""Success rates of an attack and of its control, with intervals, and the risk that follows from the two."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

RISK, NONE, WEAK, FEW = "risk", "none measurable", "attack too weak", "not enough attacks"
TOLERATED = 0.2
"""Largest upper limit of a risk that is called none measurable: above it, the report counts a record as at risk."""
_Z = 1.959963984540054  # 97.5 % of the normal distribution


@dataclass(frozen=True, kw_only=True)
class Rate:
    """Successes of an attack; an attacker who guesses among m rows has 1/m of one."""

    successes: float
    attacks: int
    """Attacks that were made, not those that were requested."""

    @property
    def value(self) -> float:
        """Share of successes; 0 when there was no attack."""
        return self.successes / self.attacks if self.attacks else 0.0

    def interval(self) -> tuple[float, float]:
        """Return the 95 % interval of Wilson; (0, 1) when there was no attack."""
        n, p = self.attacks, min(self.value, 1.0)
        if n == 0:
            return 0.0, 1.0
        middle = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
        half = _Z * math.sqrt(p * (1 - p) / n + _Z**2 / (4 * n * n)) / (1 + _Z**2 / n)
        return max(0.0, middle - half), min(1.0, middle + half)


def excess(attack: Rate, control: Rate) -> tuple[float, tuple[float, float]]:
    """Return (attack - control) / (1 - control), in [0, 1], with 95 % limits that take both rates as uncertain.

    The limits pair the low end of the one with the high end of the other, so they are wider than they need to be.
    """

    def share(high: float, low: float) -> float:
        return min(1.0, max(0.0, (high - low) / (1 - low))) if low < 1 else 0.0

    (a_low, a_high), (c_low, c_high) = attack.interval(), control.interval()
    return share(attack.value, control.value), (share(a_low, c_high), share(a_high, c_low))


@dataclass(frozen=True, kw_only=True)
class Attack:
    """One attack on the release, with its controls."""

    name: str
    attack: Rate
    control: Rate
    """Rate of the same attacker where nothing of the person can be found."""
    identity: Rate | None
    """On the source itself."""
    renamed: Rate | None
    """On the source with every value renamed."""
    shuffled: Rate | None
    """On the release, every column shuffled by itself."""
    details: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Further figures; values of secrets may be among them, so that no representation shows them."""
    note: str | None = None

    @property
    def risk(self) -> float:
        """Share of the people whom only their own row gives away."""
        return excess(self.attack, self.control)[0]

    @property
    def verdict(self) -> str:
        """Return the meaning of the figures: a risk, none measurable, a weak attack, or too few attempts.

        No risk is called measurable only where the whole 95 % interval lies at or below `TOLERATED`: a few attempts
        that all failed are no evidence of safety.
        """
        if excess(self.attack, self.control)[1][0] > 0:
            return RISK
        if self.identity is not None and excess(self.identity, self.shuffled or self.control)[1][0] <= 0:
            return WEAK
        return FEW if excess(self.attack, self.control)[1][1] > TOLERATED else NONE

    @property
    def least_detectable_risk(self) -> float:
        """The power of the attack: smallest risk, in [0, 1], that so many attempts would have shown; 1 if none would.

        The lower limit of the excess grows with the successes, so the least number is found by halving.
        """
        n = self.attack.attacks

        def shows(successes: int) -> bool:
            return excess(Rate(successes=successes, attacks=n), self.control)[1][0] > 0

        if n == 0 or not shows(n):
            return 1.0
        too_few, enough = -1, n
        while enough - too_few > 1:
            middle = (enough + too_few) // 2
            too_few, enough = (too_few, middle) if shows(middle) else (middle, enough)
        return excess(Rate(successes=enough, attacks=n), self.control)[0]

    def to_dict(self) -> dict[str, Any]:
        """Return the attack for JSON."""
        risk, limits = excess(self.attack, self.control)
        controls = {"identity": self.identity, "renamed": self.renamed, "shuffled": self.shuffled}
        return {
            "attack_rate": self.attack.value,
            "control_rate": self.control.value,
            "risk": risk,
            "ci": list(limits),
            "n_attacks": self.attack.attacks,
            "least_detectable_risk": self.least_detectable_risk,
            "verdict": self.verdict,
            "controls": {
                name: None if rate is None or rate.attacks == 0 else rate.value for name, rate in controls.items()
            },
            **self.details,
            **({} if self.note is None else {"note": self.note}),
        }
