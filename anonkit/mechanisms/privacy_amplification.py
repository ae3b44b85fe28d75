# SPDX-License-Identifier: Apache-2.0
"""Privacy amplification: rows sampled and shown where k are alike, and randomized rows in secret random order.

*Sampling with a threshold.* Each row of a table is drawn by a coin of its own, with probability beta. A class of m
alike rows is then shown as often as it was drawn, J ~ Bin(m, beta), if J >= k; else not at all. A row more or less
changes one class, and in it m by one. Two facts follow from the binomial law, f(j; m) = C(m, j) beta^j (1 - beta)^(m -
j), for epsilon >= -ln(1 - beta):

- a row that goes makes no outcome more than e^epsilon times as likely: f(j; m - 1) / f(j; m) = (m - j) / (m (1 - beta))
  is 1 / (1 - beta) at most;
- a row that comes makes an outcome more than e^epsilon times as likely only where j > gamma m, with
  gamma = 1 - (1 - beta) e^-epsilon. What exceeds e^epsilon there, added up over j >= k, is delta:

      delta = max over m of  sum over j >= k, j > gamma m  of  f(j; m) - e^epsilon f(j; m - 1).

That is the smallest delta there is. Bild, Kuhn, Prasser ("SafePub", PoPETs 2018) and Li, Qardaji, Su (ASIACCS 2012)
leave the second term out, which bounds it from above. The maximum is over all m: beyond a certain one the sum is below
exp(-m KL(gamma || beta)) (Chernoff), hence below what was found before.

*Shuffling.* Whoever sees only the file, rows in a secret random order, learns less about one row than its randomizer
alone admits: the answers of the other rows hide it. The bound is that of the privacy blanket (Balle, Bell, Gascón,
Nissim, CRYPTO 2019, lemma 5.3), which is the best decomposition of a row's randomizer (Su, Cheng, Wang, arXiv
2504.07414), computed numerically instead of by the closed forms of Feldman, McMillan and Talwar (FOCS 2021, SODA 2023):

    delta(eps) <= E[ (sum of L over M draws)+ ] / (gamma n),   M ~ Binomial(n, gamma),
    L = gamma (u - e^eps v),   u = P(y | x) / b(y),   v = P(y | x') / b(y),   b(y) = min over x of P(y | x),

with y drawn in proportion to the blanket b, whose total is gamma. The pair x, x' need not be searched for. Under the
blanket u and v have mean 1 / gamma and lie in [1, p], p the largest likelihood ratio. The expectation is convex in each
of them and grows when they move apart, so it is largest where both take the ends 1 and p only and are large at
different answers: the law of k-ary randomized response. For a row that answers several attributes independently
blankets and likelihood ratios multiply; for a row that answers one of them they mix.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import ClassVar

import numpy as np

from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.errors import ParameterError
from anonkit.mechanisms.accounting import AccountLine, rounded_up
from anonkit.promises.guarantee import MOST_SHOWN
from anonkit.published.exact_losses import RATE_BITS
from anonkit.published.statements.noise_statement import Draw
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


_TAIL = math.log(1e-20)
"""Logarithm of the probability that may fall outside the window of the sum: far below any delta."""
_SMALLEST_LOG = -745.2  # logarithm of what is 0 as a double
_MOST_CELLS, _FEWER_CELLS = 1 << 19, 1 << 16
_LARGE = 6.0
"""Loss of a row above which the order of the rows adds little, and the grid is coarse: the bound is then larger, not
wrong."""
MOST_LOSS = 300.0
"""Loss of a row above which nothing is worked out: products of its likelihood ratios are beyond double precision."""
_FINEST = 1 / 8
"""Width of a cell of the grid, in standard deviations of one draw: it adds less than .4 % to their variance."""
_NOTHING = 1e-300
_PRECISION = 2e-3
"""Relative width of the interval in which epsilon is found; its upper end is stated."""
_MOST_KINDS = 4_000
"""Kinds of draws beyond which u and v are put on a grid."""
_LEVELS = 128
"""Values of u, and of v, on that grid, evenly spaced in their logarithm."""
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, kw_only=True)
class ResponseRatios:
    """The ratios of the answers of a channel with finitely many answers, as the bound needs them.

    Raises
    ------
    ParameterError
        The numbers are not those of a channel.
    """

    ratio: Fraction
    """Largest likelihood ratio of an answer under two inputs, at least 1."""
    blanket: Fraction
    """Total over the answers of their smallest probability under any input, in (0, 1]."""

    def __post_init__(self) -> None:
        if not (self.ratio >= 1 and 0 < self.blanket <= 1 and self.ratio * self.blanket >= 1):
            raise ParameterError("a channel has a ratio of at least 1 and a blanket of at least 1 / ratio, at most 1")

    @classmethod
    def of(cls, weights: Sequence[Sequence[int]]) -> ResponseRatios:
        """Read a response matrix, in words.

        Raises
        ------
        ParameterError
            An answer is impossible under some input and possible under another: nothing hides a row then.
        """
        columns = [(min(column), max(column)) for column in zip(*weights, strict=True) if max(column)]
        if any(low == 0 for low, _ in columns):
            raise ParameterError("a channel with an answer that rules an input out is not amplified")
        ratio = max(Fraction(high, low) for low, high in columns)
        return cls(ratio=ratio, blanket=Fraction(sum(low for low, _ in columns), sum(weights[0])))


@dataclass(frozen=True, kw_only=True)
class RowAnswers:
    """The randomization of a whole row: the law of (ln u, ln v) under the blanket distribution."""

    epsilon: float
    """Loss of the row in plain sight, ln of its largest likelihood ratio."""
    blanket: float
    log_u: FloatArray
    log_v: FloatArray
    chance: FloatArray
    """Probability of each pair, shape (n_kinds,); sums to 1."""

    @classmethod
    def every(cls, channels: Sequence[ResponseRatios]) -> RowAnswers:
        """Return a row that answers through every channel, each time with its own randomness."""
        log_u, log_v, chance = np.zeros(1), np.zeros(1), np.ones(1)
        for channel in channels:
            u, v, share = _corners(channel)
            log_u, log_v, chance = _merged(
                np.add.outer(log_u, u).ravel(), np.add.outer(log_v, v).ravel(), np.multiply.outer(chance, share).ravel()
            )
        return cls(
            epsilon=sum(_log(channel.ratio) for channel in channels),
            blanket=math.prod(float(channel.blanket) for channel in channels),
            log_u=log_u,
            log_v=log_v,
            chance=chance,
        )

    @classmethod
    def one_of(cls, channels: Sequence[ResponseRatios], shares: Sequence[Fraction]) -> RowAnswers:
        """Return a row that answers through one channel, drawn with these shares without a look at the data."""
        blanket = sum((share * answers.blanket for share, answers in zip(shares, channels, strict=True)), Fraction(0))
        corners = [_corners(channel) for channel in channels]
        weights = [float(share * answers.blanket / blanket) for share, answers in zip(shares, channels, strict=True)]
        log_u, log_v, chance = _merged(
            np.concatenate([u for u, _, _ in corners]),
            np.concatenate([v for _, v, _ in corners]),
            np.concatenate([weight * share for weight, (_, _, share) in zip(weights, corners, strict=True)]),
        )
        return cls(
            epsilon=max(_log(channel.ratio) for channel in channels),
            blanket=float(blanket),
            log_u=log_u,
            log_v=log_v,
            chance=chance,
        )

    def compose(self, other: RowAnswers) -> RowAnswers:
        """Return a row that answers in both ways, each time with its own randomness."""
        log_u, log_v, chance = _merged(
            np.add.outer(self.log_u, other.log_u).ravel(),
            np.add.outer(self.log_v, other.log_v).ravel(),
            np.multiply.outer(self.chance, other.chance).ravel(),
        )
        return RowAnswers(
            epsilon=self.epsilon + other.epsilon,
            blanket=self.blanket * other.blanket,
            log_u=log_u,
            log_v=log_v,
            chance=chance,
        )

    def delta(self, epsilon: float, n_rows: int) -> float:
        """Return an upper bound on delta when one of so many shuffled rows is replaced, in [0, 1].

        Parameters
        ----------
        epsilon : float
            At least 0.
        n_rows : int
            At least 1.
        """
        # shuffling never raises a row's loss above its local epsilon
        if epsilon >= self.epsilon:
            return 0.0
        # the privacy blanket (Balle et al., CRYPTO 2019): delta <= E[(sum of g (u - e^eps v))+] / (g n), where each of
        # the n rows is in the blanket, and takes part in the sum, with probability g
        draws = self.blanket * (np.exp(self.log_u) - np.exp(epsilon + self.log_v))
        most_cells = _MOST_CELLS if self.epsilon <= _LARGE else _FEWER_CELLS
        excess, slack = _expected_excess(draws, self.chance * self.blanket, n_rows, most_cells)
        return float(min(1.0, (excess + slack) / (self.blanket * n_rows)))

    def amplified(self, delta: float, n_rows: int) -> float:
        """Return the smallest epsilon at which `delta` is met, never above the row's; within .2 %, from above.

        Parameters
        ----------
        delta : float
            In (0, 1).
        n_rows : int
        """
        highest = 0.98 * self.epsilon
        if self.epsilon == 0 or self.delta(highest, n_rows) > delta:
            return self.epsilon
        low, above = 0.0, math.log(max(self.delta(0.0, n_rows), _NOTHING) / delta)
        if above <= 0:
            return 0.0
        high, below = highest, -math.inf
        guess, last_was_low = min(self._normal_guess(n_rows), highest / 2), True
        while high - low > _PRECISION * high:
            height = math.log(max(self.delta(guess, n_rows), _NOTHING) / delta)
            last_was_low = height > 0
            if last_was_low:
                low, above = guess, height
            else:
                high, below = guess, height
            if not math.isfinite(below):
                guess = min(1.5 * guess, (guess + high) / 2)
                continue
            # ln delta falls nearly with the square of epsilon; the guess is put a hair to the side that closes in
            squared = low**2 + (high**2 - low**2) * above / (above - below)
            nudge = 1 + _PRECISION / 3 * (1 if last_was_low else -1)
            margin = (high - low) / 20
            guess = min(max(math.sqrt(squared) * nudge, low + margin), high - margin)
        return high

    def _normal_guess(self, n_rows: int) -> float:
        """Return about where delta is small, as if the sum of the draws were normal."""
        draws = self.blanket * (np.exp(self.log_u) - np.exp(self.log_v))
        spread = math.sqrt(float(draws**2 @ self.chance) * self.blanket)
        return math.log1p(5 * spread / (self.blanket * math.sqrt(n_rows)))


def default_delta(n_rows: int) -> float:
    """Return the delta that is stated by default: 1e-6, or 1 / (100 n) if that is smaller."""
    return min(1e-6, MOST_SHOWN / max(n_rows, 1))


@lru_cache(maxsize=256)
def uniform_shares(n_attributes: int) -> tuple[Fraction, ...]:
    """Return the frequency of each attribute as a row's answer, of 2**32 words (`keyed_words.asked_attribute`)."""
    edges = [-(-(at << 32) // n_attributes) for at in range(n_attributes + 1)]
    return tuple(Fraction(edges[at + 1] - edges[at], 1 << 32) for at in range(n_attributes))


def _log(ratio: Fraction) -> float:
    """Return ln of a rational, rounded up."""
    return math.nextafter(math.log(ratio), math.inf) if ratio > 1 else 0.0


def _corners(channel: ResponseRatios) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the worst law of (ln u, ln v) for one channel: at the ends 1 and p only, and never large together."""
    loss = _log(channel.ratio)
    if loss == 0:
        return np.zeros(1), np.zeros(1), np.ones(1)
    large = min(max(float(1 / channel.blanket - 1) / math.expm1(loss), 0.0), 1.0)
    alone, both = min(large, 1 - large), max(0.0, 2 * large - 1)
    ends = np.array([[loss, 0.0], [0.0, loss], [loss, loss], [0.0, 0.0]])
    shares = np.array([alone, alone, both, max(0.0, 1 - 2 * large)])
    there = shares > 0
    return ends[there, 0], ends[there, 1], shares[there] / shares.sum()


def _merged(log_u: FloatArray, log_v: FloatArray, chance: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the law with equal pairs added up, on a grid when there are too many of them."""
    keys = np.round(np.stack([log_u, log_v]), 10)
    pairs, places = np.unique(keys, axis=1, return_inverse=True)
    total = np.bincount(places.ravel(), weights=chance, minlength=pairs.shape[1])
    # rounded to the side on which the bound grows
    merged = np.maximum(pairs[0] + 1e-10, 0.0), np.maximum(pairs[1] - 1e-10, 0.0), total.astype(np.float64)
    return merged if total.size <= _MOST_KINDS else _on_grid(*merged)


def _on_grid(log_u: FloatArray, log_v: FloatArray, chance: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a law on few values of u and of v: each is split between its neighbours so that its mean stays.

    That spreads u and v, and the expectation is convex in each of them: it can only grow.
    """
    levels = np.linspace(0.0, max(log_u.max(), log_v.max()), _LEVELS)
    sides = []
    for values in (log_u, log_v):
        below = np.clip(np.searchsorted(levels, values, side="right") - 1, 0, _LEVELS - 2)
        low, high = np.exp(levels[below]), np.exp(levels[below + 1])
        up = np.clip((np.exp(values) - low) / (high - low), 0.0, 1.0)
        sides.append(((below, 1 - up), (below + 1, up)))
    table = np.zeros(_LEVELS * _LEVELS)
    for u, share_u in sides[0]:
        for v, share_v in sides[1]:
            table += np.bincount(u * _LEVELS + v, weights=chance * share_u * share_v, minlength=table.size)
    there = np.flatnonzero(table)
    return levels[there // _LEVELS], levels[there % _LEVELS], table[there]


def _expected_excess(draws: FloatArray, chance: FloatArray, n: int, most_cells: int) -> tuple[float, float]:
    """Return E[(sum of n draws)+], and what floating-point errors may add to it.

    A draw is one of the values with its chance, else 0. Values are split between the two neighbours on a grid so that
    their mean stays: that spreads the sum, and can only raise the expectation. The window of the grid holds all but
    1e-20 of the sum (Chernoff), so that what comes around its ends is nothing.

    Parameters
    ----------
    draws, chance : array, shape (n_kinds,)
    n : int
    most_cells : int
        Of the grid.
    """
    if n * float(draws.max(initial=0.0)) <= 0:
        return 0.0, 0.0
    spread = math.sqrt(float(draws**2 @ chance))
    low, high = _window(draws, chance, n)
    if high <= 0:
        return 0.0, 0.0
    width = max(spread * _FINEST, (high - low) / most_cells)
    below = np.floor(draws / width)
    part = draws / width - below
    steps, shares = np.concatenate([below, below + 1]), np.concatenate([chance * (1 - part), chance * part])
    low, high = _window(steps * width, shares, n)
    cells = 1 << max(8, math.ceil(math.log2((high - low) / width + 4)))
    law = np.bincount((steps % cells).astype(np.int64), weights=shares, minlength=cells)
    # a row outside the blanket adds 0
    law[0] += 1.0 - float(chance.sum())
    # the law of a sum of n draws: the n-th power of the transform of one
    spectrum = np.fft.rfft(law)
    powered = np.zeros_like(spectrum)
    with np.errstate(under="ignore", divide="ignore"):
        there = n * np.log(np.abs(spectrum)) > _SMALLEST_LOG  # of many rows hardly any frequency is left
        powered[there] = spectrum[there] ** n
    total = np.fft.irfft(powered, cells)
    first = math.floor(low / width)
    values = (first + np.arange(cells)) * width  # of the cell, unrolled from the start of the window
    mass = np.roll(total, -(first % cells))
    positive = slice(int(np.searchsorted(values, 0, side="right")), None)
    # a relative error of n units in the last place in each power, spread over the cells by the inverse transform
    error = (n + 16 * math.log2(cells)) * _EPS * 2 * float(np.abs(powered).sum()) / cells
    # summed by numpy: a product of vectors wakes the threads of BLAS, for ten times the work of the processors
    excess = float((np.maximum(mass[positive], 0.0) * values[positive]).sum())
    return excess, error * float(values[positive].sum())


def _window(draws: FloatArray, chance: FloatArray, n: int) -> tuple[float, float]:
    """Return bounds of the sum of n draws that it leaves with a probability below 1e-20 at each end (Chernoff)."""
    return -_reach(-draws, chance, n), _reach(draws, chance, n)


def _reach(draws: FloatArray, chance: FloatArray, n: int) -> float:
    """Return a value that the sum exceeds with a probability below 1e-20."""
    top = float(draws.max(initial=0.0))
    most = max(n * top, 0.0)
    if most == 0:
        return 0.0
    scale = math.sqrt(max(float(draws**2 @ chance), 1e-300) * n)
    best = most
    for factor in np.geomspace(1e-3, 1e4, 60):
        rate = factor / scale
        exponents = rate * draws
        if exponents.max() > 600:
            break
        growth = float(chance @ np.expm1(exponents))
        if growth <= -1:
            continue
        best = min(best, (n * math.log1p(growth) - _TAIL) / rate)
    return best
