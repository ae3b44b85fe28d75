# SPDX-License-Identifier: Apache-2.0
"""Rows drawn with one probability each and shown where k alike were drawn: the exact delta of that, for an epsilon.

Each row of a table is drawn by a coin of its own, with probability beta. A class of m alike rows is then shown as often
as it was drawn, J ~ Bin(m, beta), if J >= k; else not at all. A row more or less changes one class, and in it m by one.
Two facts follow from the binomial law, f(j; m) = C(m, j) beta^j (1 - beta)^(m - j), for epsilon >= -ln(1 - beta):

- a row that goes makes no outcome more than e^epsilon times as likely: f(j; m - 1) / f(j; m) = (m - j) / (m (1 - beta))
  is 1 / (1 - beta) at most;
- a row that comes makes an outcome more than e^epsilon times as likely only where j > gamma m, with
  gamma = 1 - (1 - beta) e^-epsilon. What exceeds e^epsilon there, added up over j >= k, is delta:

      delta = max over m of  sum over j >= k, j > gamma m  of  f(j; m) - e^epsilon f(j; m - 1).

That is the smallest delta there is. Bild, Kuhn, Prasser ("SafePub", PoPETs 2018) and Li, Qardaji, Su (ASIACCS 2012)
leave the second term out, which bounds it from above. The maximum is over all m: beyond a certain one the sum is
below exp(-m KL(gamma || beta)) (Chernoff), hence below what was found before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import ClassVar

import numpy as np

from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.errors import ParameterError
from anonkit.mechanisms.accounting import AccountLine, rounded_up
from anonkit.published.exact_losses import RATE_BITS
from anonkit.published.statements.draws import Draw
from anonkit.report.blocks import Budget, Expense, spent_on

WORD_BITS = 32
"""Bits of the word by which a row is drawn: beta is an integer number of 2**-32."""
LARGEST_CLASS = 10_000
"""k at most: with an epsilon and a delta that ask for more, nothing would be shown."""
_WORDS = 1 << WORD_BITS
_AT_ONCE = 256
_TERMS = 48
"""Terms of a sum: each is at most half of the one before."""
_SLACK = 1e-8
"""Relative error of the sums, generously: logarithms of factorials of thousands have ten digits after the point."""
_PARTS = 8
_WORTH = 1.1
"""Rows a class needs, over the fewest, that a larger sample is worth."""


@dataclass(frozen=True, kw_only=True)
class RowDraw(ParamsPart, keys=("sampled", "sampled_of", "k", "rate", "rate_unit", "delta")):
    """The draw of rows by coins, as the params have it."""

    sampled_of: ClassVar[int] = _WORDS
    rate_unit: ClassVar[str] = f"2**-{RATE_BITS}"
    sampled: int
    """Words of 2**32 that draw a row."""
    k: int
    """Fewest alike rows that are shown."""
    rate: int
    """Epsilon of one row, in units of 2**-52."""

    @property
    def delta(self) -> float:
        """Probability that the epsilon does not cover."""
        return delta_of(self.sampled, self.k, self.rate)


@dataclass(frozen=True, kw_only=True)
class SampledAccounting(ParamsPart, keys=("choice=line", "draw")):
    """The statement of true rows that are drawn by coins and shown where enough are alike, as a private choice says."""

    choice: Draw
    """Of how rows are shown."""
    draw: RowDraw
    epsilon: float
    """Promised."""
    delta: float
    """Promised."""

    @property
    def line(self) -> AccountLine:
        """The choice with its loss."""
        return AccountLine(draw=self.choice)

    @property
    def budget(self) -> Budget:
        """The report's `budget` block."""
        rows: Expense = {
            "name": "which rows are drawn",
            "epsilon": rounded_up(Fraction(self.draw.rate, 1 << RATE_BITS)),
        }
        return spent_on([{"name": self.choice.name, **self.line.cost}, rows], self.epsilon, self.delta)


def most_sampled(units: int) -> int:
    """Return the largest word count below which a row may be drawn: beta at most 1 - exp(-epsilon).

    Parameters
    ----------
    units : int
        Epsilon in units of 2**-52.
    """
    return math.floor(-math.expm1(-math.ldexp(units, -RATE_BITS)) * (1 - 1e-12) * _WORDS)


@cache
def delta_of(sampled: int, k: int, units: int) -> float:
    """Return delta of drawing rows and showing classes of k, for an epsilon; never below what it is.

    Parameters
    ----------
    sampled : int
        A row is drawn when its 32-bit word is below this, in [1, `most_sampled(units)`].
    k : int
        Fewest alike rows that are shown, 1 or more.
    units : int
        Epsilon in units of 2**-52.

    Raises
    ------
    ParameterError
        More rows are drawn than epsilon allows for any delta.
    """
    if not 1 <= sampled <= most_sampled(units):
        raise ParameterError(
            f"sample ({sampled / _WORDS:.3g}) must be above 0, and at most {most_sampled(units) / _WORDS:.3g} here",
            "1 - exp(-e), where e is the part of epsilon that is left for the rows",
        )
    beta, loss = sampled / _WORDS, math.ldexp(units, -RATE_BITS)
    gamma = -math.expm1(math.log1p(-beta) - loss)
    rest = math.exp(math.log1p(-beta) - loss)  # 1 - gamma
    divergence = gamma * math.log(gamma / beta) - rest * loss
    worst, first = 0.0, k
    while True:
        sizes = np.arange(first, first + _AT_ONCE, dtype=np.int64)
        worst = max(worst, _worst_of(sizes, k, beta, gamma, loss))
        first += _AT_ONCE
        if math.exp(-first * divergence) <= worst:
            return worst


def _worst_of(sizes: IntArray, k: int, beta: float, gamma: float, loss: float) -> float:
    """Return the largest delta of classes of these sizes."""
    m = sizes[:, np.newaxis]
    j = np.maximum(np.floor(gamma * m).astype(np.int64) + 1, k) + np.arange(_TERMS)
    there = j <= m
    successes = np.where(there, j, m)
    logs = _log_factorials(int(sizes[-1]))
    exponents = logs[m] - logs[successes] - logs[m - successes]
    chance = np.where(there, np.exp(exponents + successes * math.log(beta) + (m - successes) * math.log1p(-beta)), 0.0)
    excess = np.maximum(1 - math.exp(loss) * (m - successes) / (m * (1 - beta)), 0.0)
    # what comes after the last term falls at least as fast as a geometric series, which the excess, at most 1, cannot
    # make larger
    last, ratio = successes[:, -1], (sizes - successes[:, -1]) / (successes[:, -1] + 1) * beta / (1 - beta)
    tail = np.where(last < sizes, chance[:, -1] * ratio / (1 - ratio), 0.0)
    return float(((chance * excess).sum(axis=1) + tail + _SLACK * chance.sum(axis=1)).max())


def _log_factorials(most: int) -> FloatArray:
    """Return ln(n!) for n = 0, …, most."""
    return _factorials_of(1 << most.bit_length())


@cache
def _factorials_of(size: int) -> FloatArray:
    return np.array([math.lgamma(n + 1) for n in range(size)])


@cache
def class_size(sampled: int, units: int, delta: float, at_least: int) -> int:
    """Return the smallest k, `at_least` or more, with which delta is kept.

    Parameters
    ----------
    sampled, units : int
        As for `delta_of`.
    delta : float
        In (0, 1).
    at_least : int
        1 or more.

    Raises
    ------
    ParameterError
        More rows are drawn than epsilon allows, or k would be above `LARGEST_CLASS`.
    """
    low, high = at_least - 1, at_least
    while delta_of(sampled, high, units) > delta:
        low, high = high, 2 * high
        if high > LARGEST_CLASS:
            raise ParameterError(
                f"no k up to {LARGEST_CLASS:,} keeps this epsilon and delta with so large a sample",
                "a smaller sample; without one it is chosen",
            )
    while high - low > 1:  # a larger k shows less: delta falls with it
        middle = (low + high) // 2
        low, high = (middle, high) if delta_of(sampled, middle, units) > delta else (low, middle)
    return high


@cache
def best_sample(units: int, delta: float, at_least: int) -> int:
    """Return the number of words that draw a row, by a public rule: so that small classes of the source are shown.

    A class of k / beta rows is shown half of the time. A small sample needs a small k, and a large one a large k;
    of the eighths of the largest beta the last is taken whose k / beta is within a tenth of the smallest.

    Parameters
    ----------
    units : int
        Epsilon in units of 2**-52.
    delta : float
        In (0, 1).
    at_least : int
        Smallest k allowed.
    """
    samples = [max(most_sampled(units) * part // _PARTS, 1) for part in range(1, _PARTS)]
    needed = [class_size(sampled, units, delta, at_least) / sampled for sampled in samples]
    return max(sampled for sampled, rows in zip(samples, needed, strict=True) if rows <= _WORTH * min(needed))
