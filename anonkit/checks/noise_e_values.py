# SPDX-License-Identifier: Apache-2.0
"""E-values (test martingales) for the noise that a release states: large ones are evidence of less noise.

An e-value is at least 0, and its mean is at most 1 if the noise was drawn as stated, whatever the true counts are.
E-values of noise that is drawn later, given all that was drawn before, are multiplied; averages of e-values are
e-values. So their product reaches a million with a chance of one in a million at most (Markov's inequality; Ville
1939; Shafer 2021).

There are two kinds. *Counts of the same rows*, drawn independently: the likelihood ratio of their differences, of a
noise so many times smaller to the stated one. *A count that follows an estimate*: the same ratio of their difference
to the noise of the count alone, made to fall with the size of the difference. The noise is symmetric and falls from 0
on, so that no error of the estimate raises such an e-value (Anderson 1955): the estimate, and whether there is an
e-value at all, may be chosen by everything that was drawn before.

All laws are rounded against the e-value: stated ones up, smaller ones down.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonkit.checks.noise_laws import FLOOR, Noise, Parts, far_tail, kept_within, law_of_noise, variance_of

FloatArray = NDArray[np.float64]

_TIMES_SMALLER = (1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 1000.0)
"""Factors by which the noise may be smaller than stated: one e-value each, averaged."""
_POINTS = 4096
"""Blocks into which the possible true counts are divided."""
_REACH = 24
"""Range of true counts around the surest one, in deviations; what lies beyond is bounded."""
_FARTHEST = 1 << 40
"""Differences beyond are no noise that is too small."""


@dataclass(frozen=True, kw_only=True)
class SameRows:
    """Two or more independent noisy counts of the same rows, none of which decided on another."""

    values: tuple[int, ...]
    noise: tuple[Parts, ...]


@dataclass(frozen=True, kw_only=True)
class EstimatedCount:
    """A noisy count, and an estimate of it that was there before its noise was drawn."""

    value: int
    noise: Parts
    estimate: int
    noise_before: Parts
    """Noise of the estimate."""


Shown = SameRows | EstimatedCount
"""The noisy counts of one e-value."""


def chance_of_so_little(shown: Iterable[Shown]) -> float:
    """Return a bound on the chance that noise as stated shows itself so little; in (0, 1].

    Parameters
    ----------
    shown : iterable of SameRows or Following
        In any order in which noise may have been drawn, each draw in one of them at most.
    """
    logs = np.zeros(len(_TIMES_SMALLER))
    for won in _won(list(shown)):
        logs += won
    top = float(logs.max())
    if top == -math.inf:
        return 1.0
    won = top + math.log(float(np.exp(logs - top).mean()))
    return math.exp(min(0.0, max(-won, -700.0)))  # small e-values add up without end, and are evidence of nothing


def _won(shown: Sequence[Shown]) -> FloatArray:
    """Return the logarithms of the e-values of each count, shape (counts, smaller noises).

    Those of the same noise one after another: the tables of a wide law are large, and few are kept.
    """
    won = np.zeros((len(shown), len(_TIMES_SMALLER)))
    for at in sorted(range(len(shown)), key=lambda at: _noise_of(shown[at])):
        one = shown[at]
        won[at] = _followed(one) if isinstance(one, EstimatedCount) else _ratio(one)
    return won


def _noise_of(shown: Shown) -> tuple[Parts, ...]:
    return (shown.noise, shown.noise_before) if isinstance(shown, EstimatedCount) else shown.noise


def _ratio(shown: SameRows) -> FloatArray:
    """Return the logarithms of the likelihood ratios of the differences, one for each smaller noise."""
    first, *others = shown.values
    if max(abs(other - first) for other in others) > _FARTHEST:
        return np.full(len(_TIMES_SMALLER), -math.inf)
    if len(others) == 1:
        ratios = _ratios(tuple(sorted((*shown.noise[0], *shown.noise[1]))), None)
        return ratios[:, min(abs(others[0] - first), ratios.shape[1] - 1)]
    values = [other - first for other in shown.values]
    stated = _at_most(values, shown.noise)
    return np.array([_at_least(values, [_smaller(parts, k) for parts in shown.noise]) - stated for k in _TIMES_SMALLER])


def _followed(shown: EstimatedCount) -> FloatArray:
    """Return the logarithms of the e-values of a difference, one for each smaller noise."""
    ratios = _ratios(tuple(sorted(shown.noise)), tuple(sorted(shown.noise_before)))
    return ratios[:, min(abs(shown.value - shown.estimate), ratios.shape[1] - 1)]


@kept_within(128)
def _ratios(stated: Parts, before: Parts | None) -> FloatArray:
    """Return the logarithms of the ratio of smaller laws to the stated one, by size of a difference.

    Parameters
    ----------
    stated : Parts
        The noise of the difference; of the later count alone, where an estimate was there before.
    before : Parts or None
        What an estimate is off by; then the ratios do not rise with the size.

    Returns
    -------
    float array, shape (smaller laws, sizes)
        The last size covers all beyond.
    """
    above = _upper(stated)
    laws = [_lower(_smaller((*stated, *(before or ())), k)) for k in _TIMES_SMALLER]
    sizes = np.arange(max(above.size, *(law.size for law in laws)))
    ratios = np.stack([law[np.minimum(sizes, law.size - 1)] for law in laws]) - above[np.minimum(sizes, above.size - 1)]
    return ratios if before is None else np.minimum.accumulate(ratios, axis=1)


def _smaller(parts: Parts, times: float) -> Parts:
    """Return noise whose deviation is so many times smaller."""
    return tuple(
        sorted(Noise(int(part.rate * times ** (1 + part.is_gaussian)), part.times, part.is_gaussian) for part in parts)
    )


@kept_within(64)
def _upper(parts: Parts) -> FloatArray:
    """Return logarithms of bounds from above on the probabilities of 0, 1, 2, ...; the last holds beyond.

    A law too wide for a table is log-concave, so nowhere above 1 / deviation (Bobkov, Marsiglietti, Melbourne 2022).
    """
    law = law_of_noise(parts)
    if law is None:
        return np.array([-0.5 * math.log(variance_of(parts))])
    one_sided = np.concatenate([law[:1], law[1:] / 2, [0.0]])
    return np.log(one_sided + FLOOR)


@kept_within(192)
def _lower(parts: Parts) -> FloatArray:
    """Return logarithms of bounds from below on the probabilities of 0, 1, 2, ...; nothing is claimed beyond."""
    law = law_of_noise(parts)
    if law is None:
        return np.array([-math.inf])
    one_sided = np.concatenate([law[:1], law[1:] / 2, [0.0]])
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(one_sided - FLOOR, 0.0))


def _at_most(values: Sequence[int], noise: Sequence[Parts]) -> float:
    """Bound from above the logarithm of the chance of the differences: the product of laws, over all true counts."""
    laws = [_upper(parts) for parts in noise]
    deviations = [math.sqrt(variance_of(parts)) for parts in noise]
    surest = int(np.argmin(deviations))
    peaks = [float(law[0]) for law in laws]
    if laws[surest].size == 1:  # all are too wide: the sum of the widest over the true counts is 1
        return sum(peaks) - peaks[int(np.argmax(deviations))]
    reach = max(1, math.ceil(_REACH * deviations[surest]))
    near, step = _blocks(values[surest] - reach, values[surest] + reach)
    inside = np.zeros(near.size)
    for value, law in zip(values, laws, strict=True):
        distance = np.maximum(np.maximum(near - value, value - near - step + 1), 0)
        inside += law[np.minimum(distance, law.size - 1)]
    outside = math.log(far_tail(reach, noise[surest])) + sum(peaks) - peaks[surest]
    return float(np.logaddexp(np.logaddexp.reduce(inside) + math.log(step), outside))


def _at_least(values: Sequence[int], noise: Sequence[Parts]) -> float:
    """Bound from below the logarithm of the probability of the differences, by the true counts near their mean."""
    weights = [1 / variance_of(parts) for parts in noise]
    middle = round(sum(weight * value for weight, value in zip(weights, values, strict=True)) / sum(weights))
    reach = max(1, math.ceil(_REACH / math.sqrt(sum(weights))))
    near, step = _blocks(middle - reach, middle + reach)
    inside = np.zeros(near.size)
    for value, parts in zip(values, noise, strict=True):
        law = _lower(parts)
        distance = np.maximum(np.abs(near - value), np.abs(near + step - 1 - value))
        inside += law[np.minimum(distance, law.size - 1)]
    return float(np.logaddexp.reduce(inside) + math.log(step))


def _blocks(first: int, last: int) -> tuple[NDArray[np.int64], int]:
    """Return where blocks of true counts begin, and how many are in each."""
    step = -(-(last - first + 1) // _POINTS)
    return np.arange(first, last + 1, step), step
