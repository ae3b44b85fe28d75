# SPDX-License-Identifier: Apache-2.0
"""Success rates of an attack and of its control, with intervals, and the risk that follows from the two.

The verdict of an audit on a claimed epsilon: a lower bound with its confidence, and the largest provable one.

Whether each of some records was put into a table is decided by a fair coin, and guessed from what was released. Under
epsilon-differential privacy a guess is right with probability e^ε / (1 + e^ε) at most, whatever the other coins and
guesses, so that the number of right ones is no larger than a binomial one, also when many records share a table and
when the attacker may keep silent (Steinke, Nasr, Jagielski: Privacy auditing with one (1) training run, 2023). At a
delta any coin may be shown with that probability, so that a bound on epsilon needs more right guesses.

Advice on an audit, in one sentence: the gravest finding, and its remedy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from anonkit.auditing.epsilon_audit import clopper_pearson
from anonkit.documents import ReportPart, left_out
from anonkit.domains.coded_columns import BoolArray, FloatArray
from anonkit.errors import spoken

RISK, NONE, WEAK, FEW = "risk", "none measurable", "attack too weak", "not enough attacks"
TOLERATED = 0.2
"""Largest upper limit of a risk that is called none measurable: a convention, that of the report."""
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
class Attack(
    ReportPart,
    keys=(
        "attack_rate=attack.value",
        "control_rate=control.value",
        "risk",
        "ci",
        "n_attacks=attack.attacks",
        "least_detectable_risk",
        "verdict",
        "controls",
        "**details",
        "note?",
    ),
):
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

    @property
    def ci(self) -> tuple[float, float]:
        """95 % interval of the risk."""
        return excess(self.attack, self.control)[1]

    @property
    def controls(self) -> dict[str, float | None]:
        """Rate of each further control; None where it was not made."""
        made = {"identity": self.identity, "renamed": self.renamed, "shuffled": self.shuffled}
        return {name: None if rate is None or rate.attacks == 0 else rate.value for name, rate in made.items()}


ALPHA = 0.05
"""Probability that a bound is above the true epsilon: a convention."""
REFUTED_ALPHA = 1e-3
"""A claim is refuted only by a bound that is wrong with this probability: a convention."""
_HALVINGS = 40
BELOW, REFUTED, UNCLAIMED = "below the claim", "claim refuted", "no bound is claimed"
_SHARES = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02)
"""Shares of the records that the attacker is tried with guessing about, on either side: conventions."""


@dataclass(frozen=True, kw_only=True)
class LossBound(
    ReportPart,
    keys=(
        "claimed",
        "lower_bound",
        "confidence",
        "verdict",
        "most_measurable",
        "delta",
        "neighbours",
        "how",
        "**counts",
        "columns",
    ),
):
    """A lower bound on the epsilon of a release, found by running its randomization again.

    Privacy
    -------
    Computed from records of the source: for the owner.
    """

    claimed: float
    """In (0, inf]."""
    lower_bound: float
    """Epsilon is at least this, with confidence 1 - ALPHA; 0 when nothing was distinguished."""
    surest: float
    """The same at REFUTED_ALPHA."""
    most_measurable: float
    """Largest bound that this many answers can show."""
    neighbours: str
    """The distinguished inputs."""
    how: str
    counts: Mapping[str, Any]
    """Runs, records, guesses and the like."""
    columns: Sequence[Mapping[str, Any]] = field(default=(), metadata=left_out())
    """Name, claim and bound of every column taken alone, for randomized response; of every part, for drawn rows."""
    delta: float = field(default=0.0, metadata=left_out())
    """At which the bound holds: the claim's."""

    @property
    def verdict(self) -> str:
        """Return the meaning of the bound; a bound below a claim proves nothing, it only does not refute it."""
        refuted = [column for column in self.columns if column["verdict"] == REFUTED]
        if refuted or self.surest > self.claimed:
            return REFUTED
        if self.lower_bound <= 0:
            return WEAK
        return UNCLAIMED if math.isinf(self.claimed) else BELOW

    @property
    def confidence(self) -> float:
        """Probability with which the bound holds."""
        return 1 - ALPHA


def epsilon_of_guesses(
    right: int, guesses: int, alpha: float = ALPHA, *, delta: float = 0.0, coins: int | None = None
) -> float:
    """Return the lower bound on epsilon that so many right guesses about fair coins give.

    Parameters
    ----------
    right, guesses : int
    alpha : float
        Probability that the bound is wrong.
    delta : float
        At which the bound holds, in [0, 1]: each coin may be shown with so small a probability, whatever epsilon is.
    coins : int, optional
        Coins that could have been guessed, those without a guess too; `guesses` by default. It is over
        these that delta adds up.
    """
    if guesses == 0:
        return 0.0
    low = clopper_pearson(right, guesses, alpha)[0]
    pure = max(0.0, math.log(low / (1 - low))) if 0 < low < 1 else 0.0
    if not delta or not pure:
        return pure
    shown = 2 * delta * (guesses if coins is None else coins)
    if _chance_of_guesses(right, guesses, 0.0, shown) > alpha:
        return 0.0
    below, above = 0.0, pure
    for _ in range(_HALVINGS):
        middle = (below + above) / 2
        if _chance_of_guesses(right, guesses, middle, shown) > alpha:
            above = middle
        else:
            below = middle
    return below


def _chance_of_guesses(right: int, guesses: int, epsilon: float, shown: float) -> float:
    """Bound the probability of so many right guesses, or more, under (epsilon, delta)-differential privacy.

    Theorem 5.2 of Steinke, Nasr and Jagielski: the tail of the binomial law, and beside it 2 m delta times the largest
    mean probability of the numbers of right guesses right below it.
    """
    from scipy.stats import binom  # slow to import

    law = binom(guesses, 1 / (1 + math.exp(-epsilon)))
    below = np.cumsum(law.pmf(np.arange(right - 1, -1, -1)))
    means = below / np.arange(1, right + 1)
    return float(law.sf(right - 1) + shown * means.max(initial=0.0))


@dataclass(frozen=True, kw_only=True, eq=False)
class Guesser:
    """Guesses `in` above one score, `out` below another, and keeps silent between them."""

    weights: FloatArray
    above: float
    below: float

    @classmethod
    def trained(
        cls, features: FloatArray, inside: BoolArray, answers: int, effects: FloatArray | None = None
    ) -> Guesser:
        """Learn from records whose coins are known: one half gives the weights, the other the thresholds.

        Parameters
        ----------
        features : array, shape (n, n_features)
        inside : array, shape (n,)
        answers : int
            Records that will be guessed about.
        effects : array, shape (n_features,), optional
            By how much a record moves each feature, where that is known; 0 elsewhere. The filter matched to it is tried
            beside what is learned.
        """
        half = len(features) // 2
        directions = [_direction(features[:half], inside[:half])]
        directions += [_matched(features[:half], effects)] if effects is not None and effects.any() else []
        truth, choices = inside[half:], []
        for weights in directions:
            scores = features[half:] @ weights
            for share in _SHARES:
                high, low = float(np.quantile(scores, 1 - share)), float(np.quantile(scores, share))
                for above, below in ((high, low), (high, -math.inf), (math.inf, low)):
                    guesser = cls(weights=weights, above=above, below=below)
                    choices.append((_promise(*_score(scores, truth, above, below), scores.size, answers), guesser))
        return max(choices, key=lambda choice: choice[0])[1]

    def judge(self, features: FloatArray, inside: BoolArray) -> tuple[int, int]:
        """Return the number of right guesses and that of all guesses."""
        return _score(features @ self.weights, inside, self.above, self.below)


def _score(scores: FloatArray, inside: BoolArray, above: float, below: float) -> tuple[int, int]:
    is_in = scores >= above
    is_out = (scores <= below) & ~is_in
    return int((is_in & inside).sum() + (is_out & ~inside).sum()), int(is_in.sum() + is_out.sum())


def _promise(right: int, releases: int, looked_at: int, answers: int) -> float:
    """Return the bound to expect, half a standard error of the rate lower: a good rate of few is often luck."""
    if releases == 0:
        return -1.0
    size = max(round(answers * releases / looked_at), 1)
    likely = (right + 0.5) / (releases + 1) - 0.5 / math.sqrt(releases + 1)
    return epsilon_of_guesses(round(size * max(likely, 0.0)), size) + 1e-6 * likely


def _matched(features: FloatArray, effects: FloatArray) -> FloatArray:
    """Return the filter that finds a known move best in correlated noise."""
    moved = np.flatnonzero(effects)
    noise = np.atleast_2d(np.cov(features[:, moved], rowvar=False))
    weights = np.zeros(len(effects))
    weights[moved] = np.linalg.solve(noise + np.diag(0.05 * np.diagonal(noise) + 1e-9), effects[moved])
    return weights


def _direction(features: FloatArray, inside: BoolArray) -> FloatArray:
    """Return the linear discriminant of records that were in and records that were not."""
    spread = features.std(axis=0)
    scaled = features / np.where(spread > 0, spread, 1.0)
    if inside.all() or not inside.any():
        return np.zeros(features.shape[1])
    apart = scaled[inside].mean(axis=0) - scaled[~inside].mean(axis=0)
    common = np.cov(scaled, rowvar=False).reshape(len(apart), len(apart)) + 0.05 * np.eye(len(apart))
    return np.asarray(np.linalg.solve(common, apart) / np.where(spread > 0, spread, 1.0), dtype=np.float64)


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
