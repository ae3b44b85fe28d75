# SPDX-License-Identifier: Apache-2.0
"""Lower bounds on ε from the outputs of a mechanism on neighbouring inputs: evidence against a claim, never a proof.

If some event has probability p under one input and q under a neighbour, then ε ≥ ln((p − δ) / q). Counts give p and
q only within Clopper-Pearson limits, and those are used, so the bound exceeds the true ε with probability at most
alpha. A bound above the claim refutes it; one far below only says that this event does not show more. Nothing here
knows the mechanisms it audits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.errors import ParameterError

ALPHA = 1e-3
"""Probability that a bound is above the true ε: a convention."""
PILOT_SHARE = 0.1
"""Share of each sample that chooses the event; the rest bounds its probability. A convention."""

_DISTINCT_NUMBERS = 1024  # more different floats are numbers on a line, fewer are symbols
_DISTINCT_SYMBOLS = 1 << 16
_LUCK = 1e-3  # one pilot event in so many looks better than it is: hundreds are looked at
_THRESHOLDS = 256
"""Values that are distinguished, and events tried: bounds on time. A bound is valid whatever event is chosen."""

Sample = NDArray[Any]
Counts = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class EpsilonBound:
    """A lower bound on ε from two samples."""

    lower_bound: float
    """ε is at least this, with confidence 1 − alpha; never below 0."""
    event: str
    """The event that shows it, in words; answers are named by their number or by a threshold."""
    inputs: tuple[int, int]
    """Positions of the input under which the event is frequent and of the one under which it is rare."""
    frequent: tuple[int, int]
    """Occurrences of the event under the first input, and number of answers."""
    rare: tuple[int, int]
    """Occurrences of the event under the second input, and number of answers."""
    alpha: float
    """Probability that the bound is wrong."""


def clopper_pearson(successes: int, trials: int, alpha: float) -> tuple[float, float]:
    """Return limits that each fail with probability at most alpha (one-sided, exact).

    Parameters
    ----------
    successes, trials : int
    alpha : float
        Probability, in (0, 1), that the lower limit is above the true probability; the same for the upper one.
    """
    from scipy.stats import beta

    if not 0 <= successes <= trials or trials < 1 or not 0 < alpha < 1:
        raise ParameterError("clopper_pearson needs 0 <= successes <= trials, trials >= 1 and alpha in (0, 1)")
    low = 0.0 if successes == 0 else float(beta.ppf(alpha, successes, trials - successes + 1))
    high = 1.0 if successes == trials else float(beta.ppf(1 - alpha, successes + 1, trials - successes))
    return low, high


def epsilon_from_counts(
    frequent: tuple[int, int], rare: tuple[int, int], *, alpha: float = ALPHA, delta: float = 0.0
) -> float:
    """Return the lower bound on ε that one event, fixed beforehand, gives.

    Parameters
    ----------
    frequent, rare : (occurrences, trials)
        Under the input that favours the event, and under its neighbour.
    alpha, delta : float
        Probability that the bound is wrong, shared by the two limits; the δ of the claim.
    """
    low = clopper_pearson(*frequent, alpha / 2)[0] - delta
    high = clopper_pearson(*rare, alpha / 2)[1]
    return max(0.0, math.log(low / high)) if low > 0 else 0.0


def lower_bound(
    first: Sample, second: Sample, *, alpha: float = ALPHA, delta: float = 0.0, pilot: float = PILOT_SHARE
) -> EpsilonBound:
    """Bound ε from below by two samples of answers to neighbouring inputs.

    Parameters
    ----------
    first, second : array, shape (n,)
        Independent answers to the one input and to the other. Integers and strings are symbols; floats are numbers on a
        line, unless there are no more than 1,024 different ones.
    alpha, delta : float
        Probability that the bound is wrong; the δ of the claim (0 for pure ε).
    pilot : float
        Share of each sample that chooses the event, in (0, 1).

    Returns
    -------
    EpsilonBound
        For the better of the two directions; `inputs` names it.
    """
    return lower_bound_over_inputs([first, second], alpha=alpha, delta=delta, pilot=pilot)


def lower_bound_over_inputs(
    samples: Sequence[Sample], *, alpha: float = ALPHA, delta: float = 0.0, pilot: float = PILOT_SHARE
) -> EpsilonBound:
    """Bound ε from below by samples of answers to several inputs, any two of which are neighbours.

    The pilot part of the samples chooses one pair of inputs and one event for which the rest should give the highest
    bound; since the rest is independent of that choice, no correction for the many events looked at is needed.

    Raises
    ------
    ParameterError
        When there are fewer than two samples, or fewer than 20 answers in one.
    """
    if len(samples) < 2 or min(len(sample) for sample in samples) < 20:
        raise ParameterError("an audit needs at least two samples of at least 20 answers")
    if not (0 < pilot < 1 and 0 < alpha < 1 and 0 <= delta < 1):
        raise ParameterError("pilot and alpha must be in (0, 1) and delta in [0, 1)")
    samples = [_without_nan(np.asarray(sample)) for sample in samples]
    cuts = [max(10, int(len(sample) * pilot)) for sample in samples]
    trial = [sample[:cut] for sample, cut in zip(samples, cuts, strict=True)]
    rest = [sample[cut:] for sample, cut in zip(samples, cuts, strict=True)]
    symbols = np.unique(np.concatenate([np.unique(sample) for sample in trial]))
    numbers = np.issubdtype(symbols.dtype, np.floating)
    discrete = len(symbols) <= (_DISTINCT_NUMBERS if numbers else _DISTINCT_SYMBOLS)
    events = _Symbols(symbols) if discrete else _Thresholds(np.concatenate(trial))
    choice = _choose(events, trial, [len(sample) for sample in rest], alpha, delta)
    frequent = (events.occurrences(rest[choice.frequent], choice), len(rest[choice.frequent]))
    rare = (events.occurrences(rest[choice.rare], choice), len(rest[choice.rare]))
    return EpsilonBound(
        lower_bound=epsilon_from_counts(frequent, rare, alpha=alpha, delta=delta),
        event=events.name(choice),
        inputs=(choice.frequent, choice.rare),
        frequent=frequent,
        rare=rare,
        alpha=alpha,
    )


def _without_nan(sample: Sample) -> Sample:
    """Give missing answers a number: NaN equals nothing and would never be counted."""
    if np.issubdtype(sample.dtype, np.floating):
        return np.where(np.isnan(sample), -np.inf, sample)
    return sample


@dataclass(frozen=True, kw_only=True)
class _Choice:
    """An event and the pair of inputs it should distinguish."""

    frequent: int
    rare: int
    members: tuple[int, ...]
    """Positions in the list of events whose union is meant."""


class _Symbols:
    """Answers are symbols; an event is a set of them."""

    def __init__(self, symbols: Sample) -> None:
        self.symbols = symbols

    def tables(self, samples: Sequence[Sample]) -> Counts:
        """Count each symbol in each sample, shape (n_samples, n_symbols)."""
        return np.stack(
            [np.bincount(np.searchsorted(self.symbols, sample), minlength=len(self.symbols)) for sample in samples]
        ).astype(np.float64)

    def orders(self, frequent: Counts, rare: Counts) -> list[Sample]:
        """Rank the symbols by their likelihood ratio, less two standard errors: a rare symbol is often just lucky.

        If they are floats, also upwards and downwards: symbols of one tail are alike.
        """
        ratio = np.log((frequent + 0.5) / (rare + 0.5))
        ranked = np.argsort(2 * np.sqrt(1 / (frequent + 0.5) + 1 / (rare + 0.5)) - ratio, kind="stable")
        if not np.issubdtype(self.symbols.dtype, np.floating):
            return [ranked]
        upwards = np.arange(len(frequent))
        return [ranked, upwards, upwards[::-1]]

    def occurrences(self, sample: Sample, choice: _Choice) -> int:
        return int(np.isin(sample, self.symbols[list(choice.members)]).sum())

    def name(self, choice: _Choice) -> str:
        members = ", ".join(str(self.symbols[member]) for member in choice.members[:5])
        return f"answer in {{{members}{', …' if len(choice.members) > 5 else ''}}}"


class _Thresholds:
    """Answers are numbers; events are tails beyond quantiles of the pilot answers, on either side, both, or neither."""

    def __init__(self, pilot: Sample) -> None:
        tail = np.geomspace(1e-4, 0.5, _THRESHOLDS // 2)
        ranks = np.concatenate([tail, 1 - tail])
        ordered = np.sort(pilot)  # no value between two: missing is infinity here
        self.limits = np.unique(ordered[(np.asarray(ranks) * (ordered.size - 1)).astype(np.int64)])

    def _bins(self, sample: Sample) -> Sample:
        return np.searchsorted(self.limits, sample, side="right")

    def tables(self, samples: Sequence[Sample]) -> Counts:
        """Count the answers between two neighbouring limits, shape (n_samples, n_limits + 1)."""
        return np.stack([np.bincount(self._bins(sample), minlength=len(self.limits) + 1) for sample in samples]).astype(
            np.float64
        )

    def orders(self, frequent: Counts, rare: Counts) -> list[Sample]:
        """Rank the intervals upwards, downwards, outwards and inwards: few shapes, so that luck chooses little."""
        upwards = np.arange(len(frequent))
        outwards = np.argsort(np.abs(upwards - (len(frequent) - 1) / 2), kind="stable")
        return [upwards, upwards[::-1], outwards, outwards[::-1]]

    def occurrences(self, sample: Sample, choice: _Choice) -> int:
        return int(np.isin(self._bins(sample), np.array(choice.members)).sum())

    def name(self, choice: _Choice) -> str:
        return f"answer in {len(choice.members)} of {len(self.limits) + 1} intervals between pilot quantiles"


def _choose(
    events: _Symbols | _Thresholds, pilot: Sequence[Sample], trials: Sequence[int], alpha: float, delta: float
) -> _Choice:
    """Pick the pair of inputs and the set of answers for which the rest of the samples promises most.

    For each pair and each ranking of the answers, the candidates are the unions of the first few.
    """
    tables = events.tables(pilot)
    best, chosen = -math.inf, _Choice(frequent=0, rare=1, members=(0,))
    totals = tables.sum(axis=1, keepdims=True)
    for a, b in itertools.permutations(range(len(tables)), 2):
        for order in events.orders(tables[a], tables[b]):
            hits = np.cumsum(tables[a][order]), np.cumsum(tables[b][order])
            expected = _expected_bound(hits, (totals[a, 0], totals[b, 0]), (trials[a], trials[b]), alpha, delta)
            size = int(np.argmax(expected))
            if expected[size] > best:
                best = float(expected[size])
                chosen = _Choice(frequent=a, rare=b, members=tuple(int(at) for at in order[: size + 1]))
    return chosen


def _expected_bound(
    hits: tuple[Counts, Counts],
    pilot_trials: tuple[float, float],
    trials: tuple[int, int],
    alpha: float,
    delta: float,
) -> Counts:
    """Guess the bound of many events from the pilot: limits for a pilot-sized luck and for the rest's own noise."""
    from scipy.special import betaincinv

    low = betaincinv(np.maximum(hits[0], 0.5), pilot_trials[0] - hits[0] + 1, _LUCK)
    high = betaincinv(hits[1] + 1, np.maximum(pilot_trials[1] - hits[1], 0.5), 1 - _LUCK)
    successes, misses = low * trials[0], high * trials[1]
    lower = betaincinv(np.maximum(successes, 0.5), trials[0] - successes + 1, alpha / 2) - delta
    upper = betaincinv(misses + 1, np.maximum(trials[1] - misses, 0.5), 1 - alpha / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(lower > 0, np.log(np.maximum(lower, 1e-300) / upper), -np.inf))
