# SPDX-License-Identifier: Apache-2.0
"""Choosing the best of several candidates privately: permute-and-flip and the exponential mechanism, exactly.

Scores are integers (steps of a public grid) and every coin is a comparison of uniform integers, so the
probabilities are those of the formulas and no rounding of a float can exceed the claim.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from anonkit.errors import ParameterError
from anonkit.mechanisms.discrete_laplace import BoolArray, IntArray, Words, bernoulli_exp, rate_of

_LARGEST_BLOCK = 1 << 12
"""Proposals of the exponential mechanism thrown at once for one choice."""


def selection_rate(epsilon: float | Fraction, sensitivity: int, *, one_sided: bool) -> int:
    """Return the rate at which a candidate loses weight per step of score below the best.

    Parameters
    ----------
    epsilon : float or Fraction
        Privacy loss of the choice.
    sensitivity : int
        Largest change of any candidate's score, in steps, when one row comes or goes.
    one_sided : bool
        True when a coming row moves the scores of all candidates in the same direction, up to a shift common to
        all of them (max-class sums, -n Gini, -n entropy). The rate is then epsilon / sensitivity; otherwise half
        of it. Under replace-one adjacency no score is one-sided.
    """
    return rate_of(epsilon, sensitivity if one_sided else 2 * sensitivity)


def permute_and_flip(scores: IntArray, rate: int, words: Words, allowed: BoolArray | None = None) -> IntArray:
    """Choose one candidate per row (McKenna & Sheldon 2020, arXiv 2010.12603, algorithm 1).

    The paper visits candidates in random order and takes the first whose coin of probability
    exp(-rate * (best - score)) falls heads. All coins are thrown here, and one of the heads is taken at random:
    the first head of a random order is a uniform one of the heads.

    Parameters
    ----------
    scores : int64 array, shape (n_choices, n_candidates)
    rate : int
        As made by `selection_rate`.
    words : Words
    allowed : bool array, shape (n_choices, n_candidates), optional
        The candidates of each choice, at least one each; must not depend on the data. All by default.

    Returns
    -------
    int64 array, shape (n_choices,)
        Position of the chosen candidate.

    Privacy
    -------
    Each row is epsilon-differentially private for the epsilon its rate was made from; rows of `scores` that
    belong to disjoint records compose in parallel. Never worse in expectation than the exponential mechanism.
    """
    mask = _mask(scores, allowed)
    best = np.where(mask, scores, np.iinfo(np.int64).min).max(axis=1, keepdims=True)
    heads = mask & bernoulli_exp(np.where(mask, best - scores, 0), rate, words)
    return _uniform_member(heads, words)


def exponential_mechanism(
    scores: IntArray,
    rate: int,
    words: Words,
    allowed: BoolArray | None = None,
    weights: IntArray | None = None,
) -> IntArray:
    """Choose one candidate per row with probability proportional to weight * exp(rate * score) (McSherry & Talwar).

    By rejection: a candidate is proposed with probability proportional to its weight and kept with probability
    exp(-rate * (best - score)), so nothing is ever summed in floating point.

    Parameters
    ----------
    scores, rate, words, allowed
        As for `permute_and_flip`.
    weights : int64 array, shape (n_candidates,) or (n_choices, n_candidates), optional
        Public measure of each candidate, such as the width of an interval; at least 0, in all below 2**62. 1 by
        default.

    Returns
    -------
    int64 array, shape (n_choices,)
    """
    mask = _mask(scores, allowed)
    measure = np.where(mask, np.ones_like(scores) if weights is None else np.broadcast_to(weights, scores.shape), 0)
    cumulated = np.cumsum(measure, axis=1)
    if not bool((cumulated[:, -1] > 0).all()):
        raise ParameterError("every choice needs a candidate of positive weight")
    best = np.where(measure > 0, scores, np.iinfo(np.int64).min).max(axis=1)
    chosen = np.full(scores.shape[0], -1, dtype=np.int64)
    open_rows, block = np.arange(scores.shape[0]), 1
    while open_rows.size:
        tickets = words.below(np.repeat(cumulated[open_rows, -1], block)).reshape(-1, block)
        pairs = zip(open_rows, tickets, strict=True)
        proposed = np.stack([np.searchsorted(cumulated[row], ticket, side="right") for row, ticket in pairs])
        kept = bernoulli_exp(best[open_rows, np.newaxis] - scores[open_rows[:, np.newaxis], proposed], rate, words)
        done = kept.any(axis=1)
        first = kept.argmax(axis=1)
        chosen[open_rows[done]] = proposed[done, first[done]]
        open_rows, block = open_rows[~done], min(2 * block, _LARGEST_BLOCK)
    return chosen


def interval_mechanism(scores: IntArray, ends: IntArray, rate: int, words: Words) -> IntArray:
    """Choose a point of the public integer range [ends[0], ends[-1]) by a score that is constant between ends.

    An interval is drawn with probability proportional to width * exp(rate * score) and then a point in it
    uniformly: the exponential mechanism over all points of the range (Friedman & Schuster 2010, section 4).

    Parameters
    ----------
    scores : int64 array, shape (n_choices, n_intervals)
    ends : int64 array, shape (n_intervals + 1,) or (n_choices, n_intervals + 1)
        Ascending; the first and last are public bounds, the inner ones may be values of rows.
    rate : int
    words : Words

    Returns
    -------
    int64 array, shape (n_choices,)
        The points.

    Privacy
    -------
    The inner ends may come from the data, since a point's score does not depend on where the interval it lies in
    ends; the outer two must not.
    """
    limits = np.broadcast_to(ends, (scores.shape[0], scores.shape[1] + 1))
    widths = np.diff(limits, axis=1)
    interval = exponential_mechanism(scores, rate, words, weights=widths)
    rows = np.arange(scores.shape[0])
    return np.asarray(limits[rows, interval] + words.below(widths[rows, interval]), dtype=np.int64)


def _mask(scores: IntArray, allowed: BoolArray | None) -> BoolArray:
    if scores.ndim != 2 or scores.shape[1] == 0:
        raise ParameterError("scores must have shape (n_choices, n_candidates) with at least one candidate")
    mask = np.ones(scores.shape, dtype=bool) if allowed is None else np.broadcast_to(allowed, scores.shape)
    if not bool(mask.any(axis=1).all()):
        raise ParameterError("every choice needs at least one allowed candidate")
    return mask


def _uniform_member(heads: BoolArray, words: Words) -> IntArray:
    """Return the position of a uniform one of the True entries of each row."""
    rank = words.below(heads.sum(axis=1, dtype=np.int64))
    return np.asarray((np.cumsum(heads, axis=1) <= rank[:, np.newaxis]).sum(axis=1), dtype=np.int64)

