# SPDX-License-Identifier: Apache-2.0
"""Private selection of the best candidate: permute-and-flip and the exponential mechanism, sampled exactly.

Scores are integers (steps of a public grid) and every coin is a comparison of uniform integers, so the
probabilities are those of the formulas and no rounding of a float can exceed the claim.

Both lose `rate * sensitivity`, where the sensitivity is the *width* of the range in which one row can move the scores
of all candidates: a shift common to all candidates changes no probability. A score that a coming row can only raise, by
at most D, has width D (max-class sums; -n Gini and -n entropy, which only fall); one that can move by D either way has
width 2 D.
"""

from __future__ import annotations

import numpy as np

from anonkit.domains.coded_columns import BoolArray, IntArray
from anonkit.errors import ParameterError
from anonkit.mechanisms.discrete_laplace import UniformStream, bernoulli_exp

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
