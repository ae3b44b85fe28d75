# SPDX-License-Identifier: Apache-2.0
"""The verdict of an audit on a claimed epsilon: a lower bound with its confidence, and the largest provable one.

Whether each of some records was put into a table is decided by a fair coin, and guessed from what was released. Under
epsilon-differential privacy a guess is right with probability e^ε / (1 + e^ε) at most, whatever the other coins and
guesses, so that the number of right ones is no larger than a binomial one, also when many records share a table and
when the attacker may keep silent (Steinke, Nasr, Jagielski: Privacy auditing with one (1) training run, 2023). At a
delta any coin may be shown with that probability, so that a bound on epsilon needs more right guesses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anonkit.auditing.attacks.rates import WEAK
from anonkit.auditing.epsilon_audit import clopper_pearson
from anonkit.domains.array_types import BoolArray, FloatArray

ALPHA = 0.05
"""Probability that a bound is above the true epsilon."""
REFUTED_ALPHA = 1e-3
"""A claim is refuted only by a bound that is wrong with this probability."""
_HALVINGS = 40
BELOW, REFUTED, UNCLAIMED = "below the claim", "claim refuted", "no bound is claimed"
_SHARES = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02)
"""Shares of the records that the attacker is tried with guessing about, on either side."""


@dataclass(frozen=True, kw_only=True)
class LossBound:
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
    columns: Sequence[Mapping[str, Any]] = ()
    """Name, claim and bound of every column taken alone, for randomized response; of every part, for drawn rows."""
    delta: float = 0.0
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

    def to_dict(self) -> dict[str, Any]:
        """Return the bound for JSON."""
        return {
            "claimed": "inf" if math.isinf(self.claimed) else self.claimed,
            "lower_bound": self.lower_bound,
            "confidence": 1 - ALPHA,
            "verdict": self.verdict,
            "most_measurable": self.most_measurable,
            **({"delta": self.delta} if self.delta else {}),
            "neighbours": self.neighbours,
            "how": self.how,
            **self.counts,
            **({"columns": [dict(column) for column in self.columns]} if self.columns else {}),
        }


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
    says_in = scores >= above
    says_out = (scores <= below) & ~says_in
    return int((says_in & inside).sum() + (says_out & ~inside).sum()), int(says_in.sum() + says_out.sum())


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
