# SPDX-License-Identifier: Apache-2.0
"""Exact samplers on secure words: discrete Laplace and Gaussian noise, coins, and private selection.

The laws are discrete Laplace, geometric, discrete Gaussian and Bernoulli(exp(-x)). Every probability is reached by
comparing uniform integers, after Canonne, Kamath and Steinke (2020, arXiv 2004.00010, algorithms 1 to 3), done for
whole arrays at a time. No float takes part in a draw, so that no rounding can exceed the claim.

Why not OpenDP, which has the same laws: it draws from the operating system inside its own binary. Draws from a key of
the release can be made again by any engine and any repeated stage of a cluster, so that nobody sees two noisy views of
one count, and tests can seed them. A rate is an integer multiple of 2**-52, published as it is and added up again by
the checks. OpenDP, more than 100 MB for two laws, is the oracle of the tests instead. docs/explanation/architecture.md
has more on it.

*Discrete Gaussian*: P(y) is proportional to exp(-a y**2) with a = rate / 2**52, an integer number of units: sigma**2 =
1 / (2 a). One row that moves one count by one loses rho = a of zero-concentrated differential privacy (Bun and Steinke
2016), and losses add up, so that the published rate is the loss itself. The paper's algorithm 3 proposes by a discrete
Laplace law and keeps by a coin with a rational exponent of large denominator. Here the proposal has the rate (2 m - 1)
a for an integer m, and is kept with probability exp(-a (|y| - m) (|y| - m + 1)): the product of both is exp(-a y**2)
times a constant, since

    (2 m - 1) |y| + (|y| - m) (|y| - m + 1) = y**2 + m (m - 1),

and the exponent is an integer number of steps, never below 0, each of the rate itself. No number is ever rounded.

*Private selection* of the best candidate, by permute-and-flip or the exponential mechanism: scores are integers (steps
of a public grid). Both lose `rate * sensitivity`, where the sensitivity is the *width* of the range in which one row
can move the scores of all candidates: a shift common to all candidates changes no probability. A score that a coming
row can only raise, by at most D, has width D (max-class sums; -n Gini and -n entropy, which only fall); one that can
move by D either way has width 2 D.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import BoolArray, IntArray
from anonkit.errors import ParameterError
from anonkit.published.exact_losses import RATE_BITS
from anonkit.published.noisy_tables import GAUSSIAN
from anonkit.published.statements.noise_statement import RATES
from anonkit.randomness import Randomness

_ONE = 1 << RATE_BITS
_HALF_BITS = RATE_BITS // 2
_HALF_MASK = (1 << _HALF_BITS) - 1
_LARGEST_EXPONENT_BITS = 28
# times the low half of a rate, 26 bits, this stays below 2**63
_LARGEST_STEPS = 1 << 36
_BUFFER = 1 << 12


class UniformStream:
    """Uniform integers from a secure stream, read ahead in blocks so that small draws stay cheap."""

    __slots__ = ("_block", "_rng", "_used")

    def __init__(self, rng: Randomness) -> None:
        self._rng = rng
        self._block: NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
        self._used = 0

    def take(self, n: int) -> NDArray[np.uint64]:
        """Return `n` uniform 64-bit words."""
        if n > self._block.size - self._used:
            # a large draw comes from the stream directly; the rest of the block serves later small draws
            if n >= _BUFFER:
                return self._rng.words(n)
            self._block, self._used = self._rng.words(_BUFFER), 0
        taken = self._block[self._used : self._used + n]
        self._used += n
        return taken

    def fractions(self, n: int) -> IntArray:
        """Return `n` uniform integers in [0, 2**52)."""
        return (self.take(n) >> np.uint64(64 - RATE_BITS)).astype(np.int64)

    def below(self, bounds: IntArray) -> IntArray:
        """Return, for each bound, a uniform integer in [0, bound); bounds are in [1, 2**63)."""
        limits = bounds.astype(np.uint64)
        # the largest multiple of the bound that fits in a word; 0 means 2**64 itself
        ceilings = np.uint64(0) - (np.uint64(0) - limits) % limits
        words = self.take(limits.size)
        bad = np.flatnonzero((words >= ceilings) & (ceilings != 0))
        if bad.size:
            words = words.copy()
        # rejection: a word above the ceiling would make small remainders likelier (modulo bias)
        while bad.size:
            words[bad] = self.take(bad.size)
            bad = bad[(words[bad] >= ceilings[bad]) & (ceilings[bad] != 0)]
        return (words % limits).astype(np.int64)


def bernoulli_exp(steps: IntArray, rate: int, words: UniformStream) -> BoolArray:
    """Draw Bernoulli(exp(-steps * rate / 2**52)) for each entry.

    Parameters
    ----------
    steps : int64 array, any shape
        Each in [0, 2**63). Exponents from 2**28 on are drawn as 2**28, which no draw can distinguish from them.
    rate : int
        In units of 2**-52 per step; below 2**58.
    words : UniformStream

    Returns
    -------
    bool array
        Of the shape of `steps`.
    """
    # flooring all scores at a fixed distance below the best keeps the range of their changes, hence the guarantee
    flat = np.minimum(steps.reshape(-1), min(_LARGEST_STEPS, (_ONE << _LARGEST_EXPONENT_BITS) // rate))
    # steps * rate overflows 64 bits, so the rate is taken in two halves of 26 bits
    low = flat * (rate & _HALF_MASK)
    carried = flat * (rate >> _HALF_BITS) + (low >> _HALF_BITS)
    fraction = ((carried & _HALF_MASK) << _HALF_BITS) | (low & _HALF_MASK)
    return _coins(carried >> _HALF_BITS, fraction, words).reshape(steps.shape)


def bernoulli_exp_exactly(steps: IntArray, rate: int, words: UniformStream) -> BoolArray:
    """Draw Bernoulli(exp(-steps * rate / 2**52)) for each entry, however many steps there are.

    The same law as `bernoulli_exp`, without its largest exponent: for noise, whose tail has to be the formula's, where
    a choice may leave out what is hopeless.

    Parameters
    ----------
    steps : int64 array, shape (n,)
        Each in [0, 2**63).
    rate : int
        In units of 2**-52 per step; below 2**58.
    words : UniformStream

    Returns
    -------
    bool array, shape (n,)
    """
    # the product has up to 121 bits: four products of halves of 32 bits, added up with their carries
    half, mask = np.uint64(32), np.uint64((1 << 32) - 1)
    factor = np.uint64(rate)
    high, low = (limbs := steps.astype(np.uint64)) >> half, limbs & mask
    upper, lower = factor >> half, factor & mask
    least, first, second = low * lower, low * upper, high * lower
    middle = (least >> half) + (first & mask) + (second & mask)
    top = high * upper + (first >> half) + (second >> half) + (middle >> half)
    bottom = (middle << half) | (least & mask)
    # whole exponents beyond 2**62 are drawn as that: one after the other, nobody gets through so many coins
    top = np.minimum(top, np.uint64(1 << 50))
    whole = ((top << np.uint64(64 - RATE_BITS)) | (bottom >> np.uint64(RATE_BITS))).astype(np.int64)
    return _coins(whole, (bottom & np.uint64(_ONE - 1)).astype(np.int64), words)


def _coins(whole: IntArray, fraction: IntArray, words: UniformStream) -> BoolArray:
    """Draw Bernoulli(exp(-(whole + fraction / 2**52))) for each entry."""
    # exp(-(w + f)) = exp(-1)**w exp(-f): a success needs the fractional coin and then w coins of exp(-1) in a row
    alive = np.flatnonzero(_exp_fraction(fraction, words))
    left = whole[alive]
    result = np.zeros(fraction.size, dtype=bool)
    while alive.size:
        done = left == 0
        result[alive[done]] = True
        alive, left = alive[~done], left[~done] - 1
        accepted = _exp_fraction(np.full(alive.size, _ONE, dtype=np.int64), words)
        alive, left = alive[accepted], left[accepted]
    return result


def _exp_fraction(fraction: IntArray, words: UniformStream) -> BoolArray:
    """Draw Bernoulli(exp(-f)) for f = fraction / 2**52 in [0, 1]: von Neumann's alternating series."""
    # coin k succeeds with probability f / k, so the first n all succeed with probability f**n / n!, and the first
    # failure comes at an odd k with probability 1 - f + f**2 / 2! - ... = exp(-f)
    odd = np.ones(fraction.size, dtype=bool)
    alive = np.arange(fraction.size)
    k = 1
    while alive.size:
        accepted = words.fractions(alive.size) < fraction[alive]
        if k > 1:
            accepted &= words.below(np.full(alive.size, k, dtype=np.int64)) == 0
        alive = alive[accepted]
        k += 1
        odd[alive] = k % 2 == 1
    return odd


def _run_lengths(n: int, words: UniformStream) -> IntArray:
    """Count how often Bernoulli(1/e) succeeds in a row: P(v) = (1 - 1/e) exp(-v)."""
    length = np.zeros(n, dtype=np.int64)
    alive = np.arange(n)
    while alive.size:
        alive = alive[_exp_fraction(np.full(alive.size, _ONE, dtype=np.int64), words)]
        length[alive] += 1
    return length


def geometric(n: int, rate: int, words: UniformStream) -> IntArray:
    """Draw `n` integers y >= 0 with P(y) proportional to exp(-y * rate / 2**52).

    A uniform offset is kept with probability exp(-offset) and a run of whole steps is added; dividing the sum by
    the rate and dropping the remainder leaves exactly this law.
    """
    out = np.empty(n, dtype=np.int64)
    filled = 0
    while filled < n:
        offsets = words.fractions(2 * (n - filled) + 8)
        offsets = offsets[_exp_fraction(offsets, words)][: n - filled]
        out[filled : filled + offsets.size] = offsets
        filled += offsets.size
    return (out + _ONE * _run_lengths(n, words)) // rate


def discrete_laplace(n: int, rate: int, words: UniformStream) -> IntArray:
    """Draw `n` integers with P(y) proportional to exp(-|y| * rate / 2**52).

    Parameters
    ----------
    n : int
    rate : int
        epsilon / sensitivity in units of 2**-52, as made by `accounting.rate_within`; below 2**58.
    words : UniformStream

    Returns
    -------
    int64 array, shape (n,)

    Privacy
    -------
    Added to integer counts of which one row changes one by at most the sensitivity (or several, by that much in
    sum), the sums are epsilon-differentially private, exactly: no float is computed whose last bits could leak.
    """
    out = np.empty(n, dtype=np.int64)
    filled = 0
    while filled < n:
        size = geometric(n - filled + 8, rate, words)
        negative = (words.take(size.size) & np.uint64(1)).astype(bool)
        # without this zero would be drawn twice, as +0 and as -0, and have double its probability
        accepted = ~(negative & (size == 0))
        values = np.where(negative, -size, size)[accepted][: n - filled]
        out[filled : filled + values.size] = values
        filled += values.size
    return out


def noisy_counts(counts: IntArray, rate: int, words: UniformStream) -> IntArray:
    """Return counts with independent discrete Laplace noise, same shape.

    Privacy
    -------
    Differentially private with epsilon = sensitivity * rate / 2**52, when one row changes the counts by at most
    `sensitivity` in sum.
    """
    noise = discrete_laplace(counts.size, rate, words)
    return np.asarray(counts + noise.reshape(counts.shape), dtype=np.int64)


LEAST_RATE, RATE_LIMIT = RATES[GAUSSIAN]
"""Standard deviations up to 741,455: beyond, the square of a draw might leave 63 bits."""


def discrete_gaussian(n: int, rate: int, words: UniformStream) -> IntArray:
    """Draw `n` integers with P(y) proportional to exp(-y**2 * rate / 2**52).

    Parameters
    ----------
    n : int
    rate : int
        In units of 2**-52, in [2**12, 2**57).
    words : UniformStream

    Returns
    -------
    int64 array, shape (n,)

    Raises
    ------
    ParameterError
        The rate is outside its range.

    Privacy
    -------
    Added to integer counts which one row changes by vectors of Euclidean length at most L, the sums are
    L**2 * rate / 2**52 zero-concentrated differentially private, exactly (theorem 4 of the source, in its form for
    several counts).
    """
    if not LEAST_RATE <= rate < RATE_LIMIT:
        raise ParameterError(
            f"Gaussian noise of {rate / 2**RATE_BITS:.3g} rho a count is outside its range",
            "spend more, or divide it less",
        )
    # near sigma + 1 about three of four proposals are kept; any m from 1 on leaves the same law
    middle = math.isqrt((1 << (RATE_BITS - 1)) // rate) + 1
    out = np.empty(n, dtype=np.int64)
    filled = 0
    while filled < n:
        proposed = discrete_laplace((n - filled) * 3 // 2 + 8, rate * (2 * middle - 1), words)
        beyond = np.abs(proposed) - middle
        accepted = proposed[bernoulli_exp_exactly(beyond * (beyond + 1), rate, words)][: n - filled]
        out[filled : filled + accepted.size] = accepted
        filled += accepted.size
    return out


def gaussian_counts(counts: IntArray, rate: int, words: UniformStream) -> IntArray:
    """Return counts with independent discrete Gaussian noise, same shape.

    Privacy
    -------
    As `discrete_gaussian`: a table in which one row changes one cell by one loses rate / 2**52 of rho.
    """
    noise = discrete_gaussian(counts.size, rate, words)
    return np.asarray(counts + noise.reshape(counts.shape), dtype=np.int64)


_LARGEST_BLOCK = 1 << 6
_CELLS_AT_ONCE = 1 << 22


def permute_and_flip(scores: IntArray, rate: int, words: UniformStream, allowed: BoolArray | None = None) -> IntArray:
    """Choose one candidate per row (McKenna & Sheldon 2020, arXiv 2010.12603, algorithm 1).

    The paper visits candidates in random order and takes the first whose coin of probability
    exp(-rate * (best - score)) falls heads. All coins are thrown here, and one of the heads is taken at random:
    the first head of a random order is a uniform one of the heads.

    Parameters
    ----------
    scores : int64 array, shape (n_choices, n_candidates)
    rate : int
        Weight lost per step of score below the best, in units of 2**-52, as made by `accounting.rate_within`.
    words : UniformStream
    allowed : bool array, shape (n_choices, n_candidates), optional
        The candidates of each choice, at least one each; must not depend on the data. All by default.

    Returns
    -------
    int64 array, shape (n_choices,)
        Position of the chosen candidate.

    Privacy
    -------
    Each choice is differentially private with epsilon = sensitivity * rate / 2**52, the sensitivity being the width of
    the range in which one row moves the scores. Choices among disjoint records compose in parallel. The expected score
    is never below that of the exponential mechanism.
    """
    mask = _mask(scores, allowed)
    gap = _below_best(scores, mask)
    # the best allowed candidate has gap 0 and a certain coin: every row has at least one head
    heads = mask & bernoulli_exp(gap, rate, words)
    return _uniform_member(heads, words)


def exponential_mechanism(
    scores: IntArray, rate: int, words: UniformStream, allowed: BoolArray | None = None, weights: IntArray | None = None
) -> IntArray:
    """Choose one candidate per row: probability proportional to weight * exp(rate * score) (McSherry & Talwar 2007).

    By rejection: a candidate is proposed by its weight and kept with probability exp(-rate * (best - score)), so that
    nothing is ever summed in floating point. The best candidate is always kept, so a choice among m of equal weight
    takes at most m proposals on average.

    Parameters, return value and privacy are those of `permute_and_flip`; besides

    Parameters
    ----------
    weights : int64 array, shape (n_candidates,), optional
        At least 1 each; must not depend on the data. All 1 by default.

    Privacy
    -------
    Weights are the same on neighbouring tables, and cancel in every ratio of probabilities.
    """
    if weights is not None and not (weights >= 1).all():
        raise ParameterError("weights must be at least 1")
    mask = _mask(scores, allowed)
    gap = _below_best(scores, mask)
    order = np.argsort(~mask, axis=1, kind="stable")  # the allowed candidates first
    ends = np.cumsum(np.where(mask, 1 if weights is None else weights, 0), axis=1, dtype=np.int64)
    chosen = np.full(scores.shape[0], -1, dtype=np.int64)
    left, block = np.arange(scores.shape[0]), 1
    while left.size:
        ranks = words.below(np.repeat(ends[left, -1], block)).reshape(-1, block)
        proposed = order[left[:, np.newaxis], ranks] if weights is None else _places(ends[left], ranks)
        accepted = bernoulli_exp(gap[left[:, np.newaxis], proposed], rate, words)
        done, first = accepted.any(axis=1), accepted.argmax(axis=1)
        chosen[left[done]] = proposed[done, first[done]]
        left = left[~done]
        # proposals are made in growing blocks; the first accepted one counts: the law is that of one proposal at a time
        block = min(2 * block, _LARGEST_BLOCK, max(1, _CELLS_AT_ONCE // max(1, left.size)))
    return chosen


def _places(ends: IntArray, ranks: IntArray) -> IntArray:
    """Return the candidate whose share of the weights each rank falls into, shape (n_choices, n_ranks)."""
    return np.array([np.searchsorted(own, own_ranks, side="right") for own, own_ranks in zip(ends, ranks, strict=True)])


def _mask(scores: IntArray, allowed: BoolArray | None) -> BoolArray:
    if scores.ndim != 2 or scores.shape[1] == 0:
        raise ParameterError("scores must have shape (n_choices, n_candidates) with at least one candidate")
    mask = np.ones(scores.shape, dtype=bool) if allowed is None else np.broadcast_to(allowed, scores.shape)
    if not bool(mask.any(axis=1).all()):
        raise ParameterError("every choice needs at least one allowed candidate")
    return mask


def _below_best(scores: IntArray, mask: BoolArray) -> IntArray:
    """Return the distance of each candidate below the best allowed one; 0 where it is not allowed."""
    best = np.where(mask, scores, np.iinfo(np.int64).min).max(axis=1, keepdims=True)
    return np.asarray(np.where(mask, best - scores, 0), dtype=np.int64)


def _uniform_member(heads: BoolArray, words: UniformStream) -> IntArray:
    """Return the position of a uniform one of the True entries of each row."""
    rank = words.below(heads.sum(axis=1, dtype=np.int64))
    return np.asarray((np.cumsum(heads, axis=1) <= rank[:, np.newaxis]).sum(axis=1), dtype=np.int64)
