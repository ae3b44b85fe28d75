# SPDX-License-Identifier: Apache-2.0
"""Presence of the noise of a release: its laws, and counts of the same rows that differ by noise alone.

Laws of sums of discrete Laplace and discrete Gaussian variables are tabulated, and bounded far out.

Two noisy totals of one class, or the noisy rows of a leaf and the sum of its noisy class counts, have the same true
value. Where their differences together are too small, the release has less noise than it states; where they are too
large, its tables are not of the same rows. A true release fails the first check with a chance of at most 5e-7, and the
second likewise where what is counted does not follow from noise (C22 in docs/proofs/central.md).

Evidence of less noise is measured by e-values (test martingales). An e-value is at least 0, and its mean is at most 1
if the noise was drawn as stated, whatever the true counts are. E-values of noise that is drawn later, given all that
was drawn before, are multiplied; averages of e-values are e-values. So their product reaches a million with a chance of
one in a million at most (Markov's inequality; Ville 1939; Shafer 2021).

There are two kinds. *Counts of the same rows*, drawn independently: the likelihood ratio of their differences, of a
noise so many times smaller to the stated one. *A count that follows an estimate*: the same ratio of their difference to
the noise of the count alone, made to fall with the size of the difference. The noise is symmetric and falls from 0 on,
so that no error of the estimate raises such an e-value (Anderson 1955): the estimate, and whether there is an e-value
at all, may be chosen by everything that was drawn before.

All laws are rounded against the e-value: stated ones up, smaller ones down.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, wraps
from threading import Lock
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from anonkit.checks.account_lines import gaussian_variance
from anonkit.checks.central_params import GAUSSIAN, Family, PublicFacts, has_gaussian_tables
from anonkit.promises.guarantee import Check

_LARGEST_GRID = 1 << 20
_DEVIATIONS = 64
"""Width of the grid of a law, in standard deviations: by convention."""
FLOOR = 1e-12
"""Errors of the transform: none of its probabilities is distinguished from this."""
_NARROW = 4.0
"""Squared width of a Gaussian law up to which its few masses are added up."""
_LEAST_VARIANCE = 1e-9
_LEAST_LOG = -700.0
"""Below its exponential there is no normal floating-point number."""


P = ParamSpec("P")
Table = TypeVar("Table", bound=NDArray[np.float64] | None)

_ENTRY = 1 << 10
"""Bytes that an entry takes besides its table, generously."""


def cached_within(megabytes: int) -> Callable[[Callable[P, Table]], Callable[P, Table]]:
    """Keep the tables that a function made last, in so much memory: a wide law takes that of a thousand narrow ones."""

    def keeping(made: Callable[P, Table]) -> Callable[P, Table]:
        cache: OrderedDict[Hashable, Table] = OrderedDict()
        lock, left = Lock(), megabytes << 20

        @wraps(made)
        def table(*args: P.args, **kwargs: P.kwargs) -> Table:
            nonlocal left
            key = (args, tuple(sorted(kwargs.items())))
            with lock:
                if key in cache:
                    cache.move_to_end(key)
                    return cache[key]
            new = made(*args, **kwargs)
            with lock:
                if key not in cache:  # another thread may have been as fast
                    cache[key] = new
                    left -= _size(new)
                while left < 0:
                    left += _size(cache.popitem(last=False)[1])
            return new

        return table

    return keeping


def _size(table: NDArray[np.float64] | None) -> int:
    return _ENTRY + (0 if table is None else table.nbytes)


class Noise(NamedTuple):
    """Independent draws of one law."""

    rate: int
    """In units of 2**-52."""
    times: int
    """Number of draws."""
    is_gaussian: bool = False
    """True for weights exp(-rate y**2), False for exp(-rate |y|)."""


Parts = tuple[Noise, ...]
"""The noise of a difference."""


def far_tail(size: int, parts: Parts) -> float:
    """Bound the chance of a difference at least as large, far beyond the resolution of a grid (Chernoff 1952).

    Without it one impossible difference would have the chance `FLOOR`, which a few likely ones beside it outweigh.
    """
    lowest = min((part.rate / 2**52 for part in parts if not part.is_gaussian), default=math.inf)
    tilts = [0.5 * lowest, 0.9 * lowest] if lowest < math.inf else []
    tilts.append(min(size / variance_of(parts), 0.9 * lowest))
    logs = []
    for tilt in tilts:
        log = math.log(2.0) - tilt * size
        for rate, times, gaussian in parts:
            decay = rate / 2**52
            if gaussian:  # no wider than the continuous law: its moments are bounded by that law's
                log += times * tilt**2 / (4 * decay)
                continue
            near, far = math.expm1(tilt - decay), math.expm1(-tilt - decay)
            log += times * (2 * math.log(-math.expm1(-decay)) - math.log(-near) - math.log(-far))
        logs.append(log)
    return math.exp(max(min([*logs, 0.0]), _LEAST_LOG))


@cached_within(128)
def law_of_noise(parts: Parts) -> NDArray[np.float64] | None:
    """Return the probabilities of |difference| = 0, 1, 2, ... for noise of these parts; None where it is too wide."""
    grid = 1 << max(8, math.ceil(math.log2(_DEVIATIONS * math.sqrt(variance_of(parts)) + 1)))
    if grid > _LARGEST_GRID:
        return None
    turn = 2 * np.pi * np.arange(grid) / grid
    transform = np.ones(grid)
    for rate, times, gaussian in parts:
        if gaussian:
            transform = transform * _gaussian_transform(rate, turn) ** times
            continue
        decay = math.exp(-rate / 2**52)
        transform = transform * ((1 - decay) ** 2 / (1 - 2 * decay * np.cos(turn) + decay * decay)) ** times
    probabilities = np.maximum(np.fft.ifft(transform).real, 0.0)
    half = grid // 2
    return np.asarray(np.concatenate([probabilities[:1], probabilities[1:half] + probabilities[:half:-1]]))


def _gaussian_transform(rate: int, turn: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the characteristic function of the discrete Gaussian: its own sum, or for wide laws its dual (Poisson)."""
    square = 2**51 / rate
    if square < _NARROW:
        steps = np.arange(1, 64)
        masses = np.exp(-(steps**2) / (2 * square))
        waves = sum((2 * mass * np.cos(turn * step) for step, mass in zip(steps, masses, strict=True)), np.zeros(()))
        return np.asarray((1 + waves) / (1 + 2 * masses.sum()))
    around = [np.exp(-((turn + 2 * np.pi * whole) ** 2) * square / 2) for whole in (-2, -1, 0, 1)]
    return np.asarray(sum(around) / sum(wave[0] for wave in around))


@lru_cache(maxsize=1024)
def variance_of(parts: Parts) -> float:
    """Return the variance of noise of these parts; above 0, where rounding leaves nothing of it."""
    variance = sum(
        times * (gaussian_variance(rate) if gaussian else 2 * math.exp(-rate / 2**52) / math.expm1(-rate / 2**52) ** 2)
        for rate, times, gaussian in parts
    )
    return max(variance, _LEAST_VARIANCE)


FloatArray = NDArray[np.float64]

_TIMES_SMALLER = (1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 1000.0)
"""Factors by which the noise may be smaller than stated: one e-value each, averaged.

Conventions: the false alarms are bounded whatever the factors are (docs/proofs/central.md).
"""
_POINTS = 4096
"""Blocks into which the possible true counts are divided: a bound on time."""
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


@cached_within(128)
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


@cached_within(64)
def _upper(parts: Parts) -> FloatArray:
    """Return logarithms of bounds from above on the probabilities of 0, 1, 2, ...; the last holds beyond.

    A law too wide for a table is log-concave, so nowhere above 1 / deviation (Bobkov, Marsiglietti, Melbourne 2022).
    """
    law = law_of_noise(parts)
    if law is None:
        return np.array([-0.5 * math.log(variance_of(parts))])
    one_sided = np.concatenate([law[:1], law[1:] / 2, [0.0]])
    return np.log(one_sided + FLOOR)


@cached_within(192)
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
    """Return the starts of blocks of true counts, and the number in each."""
    step = -(-(last - first + 1) // _POINTS)
    return np.arange(first, last + 1, step), step


_FALSE_ALARM = 0.5e-6
"""Probability that a sound release fails one of the two checks: a convention, one in a million together."""
_MOST = 4096
"""Counts that are looked at: a bound on time."""


@dataclass(frozen=True, kw_only=True)
class CountDifference:
    """The difference of two counts of the same rows, and the noise of both."""

    value: int
    parts: Parts


def noise_checks(params: Mapping[str, Any], facts: PublicFacts) -> Iterator[Check]:
    """Compare the noise that shows with the stated rates; nothing where no rows were counted twice.

    Parameters
    ----------
    params : mapping
        Its trees and tables were checked before.
    facts : PublicFacts
    """
    totals: Sequence[Totals]
    shown: list[Shown]
    match facts.family:
        case Family.MARGINALS:
            totals, shown = _of_marginals(params), list(_of_columns_and_pairs(params))
        case Family.TABLES:
            totals = list(_of_tables(params))
            shown = list(alike(totals))
        case Family.STACKED:
            totals, shown = list(_of_histograms(params, facts)), list(_of_evidence(params, facts))
        case _:
            leaves = list(_of_leaves(params))
            yield from shown_checks([one for one, _ in leaves], [[one for _, one in leaves]])
            return
    yield from shown_checks(shown, neighbours(totals))


def shown_checks(bets: Sequence[Shown], differences: Sequence[Sequence[CountDifference]]) -> Iterator[Check]:
    """Compare noisy counts of the same rows with the noise that they must have.

    Parameters
    ----------
    bets : sequence of SameRows or Following
        As `chance_of_so_little` asks for. Of more than a few thousand the first ones are looked at; nothing is checked
        where there are none.
    differences : sequence of sequences of Difference
        Those of one sequence are independent.
    """
    if bets:
        chance = chance_of_so_little(bets[:_MOST])
        yield Check(name="noise_is_stated", passed=chance >= _FALSE_ALARM, observed=chance, required=_FALSE_ALARM)
    chains = [chain[:_MOST] for chain in differences if chain]
    if chains:
        smallest = min(_together([_tail(one) for one in chain]) for chain in chains)
        chance = min(1.0, len(chains) * smallest)
        yield Check(name="counts_agree", passed=chance >= _FALSE_ALARM, observed=chance, required=_FALSE_ALARM)


Totals = tuple[list[int], Sequence[Parts]]
"""The noisy rows of each class, and the noise of each."""


def alike(totals: Sequence[Totals]) -> Iterator[SameRows]:
    """Yield for each class its counts by all tables, which were drawn without a look at each other."""
    if len(totals) > 1:
        for values, noise in zip(
            zip(*(own for own, _ in totals), strict=True), zip(*(own for _, own in totals), strict=True), strict=True
        ):
            yield SameRows(values=values, noise=noise)


def neighbours(totals: Sequence[Totals]) -> list[list[CountDifference]]:
    """Return the differences of each class between tables and the next ones, those of disjoint pairs together."""
    return [
        [
            CountDifference(value=one - other, parts=(*noise, *noise_of_other))
            for (first, noises), (second, others) in zip(totals[start::2], totals[start + 1 :: 2], strict=False)
            for one, noise, other, noise_of_other in zip(first, noises, second, others, strict=True)
        ]
        for start in (0, 1)
    ]


def _of_tables(params: Mapping[str, Any]) -> Iterator[Totals]:
    """Yield the class totals of each table of dp-nb."""
    classes, gaussian = len(params["class_counts"]), has_gaussian_tables(params)
    yield params["class_counts"], [(Noise(params["class_rate"], 1, gaussian),)] * classes
    for attribute in params["attributes"]:
        noise = (Noise(attribute["rate"], len(attribute["counts"][0]), gaussian),)
        yield [sum(row) for row in attribute["counts"]], [noise] * classes


def _of_marginals(params: Mapping[str, Any]) -> list[Totals]:
    """Return the class totals of each table of a column, then of a pair of columns."""
    gaussian = has_gaussian_tables(params)
    columns = [(table["rate"], table["counts"]) for table in params["tables"]]
    pairs = [
        (table["rate"], [[count for row in cells for count in row] for cells in table["counts"]])
        for table in params["pairs"]
    ]
    return [
        ([sum(row) for row in counts], [(Noise(rate, len(row), gaussian),) for row in counts])
        for rate, counts in (*columns, *pairs)
    ]


def _of_columns_and_pairs(params: Mapping[str, Any]) -> Iterator[Shown]:
    """Yield the class totals of the columns' tables, and the groups of a column in each pair of it beside its own.

    Which pairs there are, and which values are a group, follows from tables that were drawn before.
    """
    gaussian = has_gaussian_tables(params)
    yield from alike(_of_marginals(params)[: len(params["tables"])])
    columns = {table["name"]: table for table in params["tables"]}
    for pair in params["pairs"]:
        sides = [columns[name] for name in pair["names"]]
        at = int(max(sides[1]["groups"]) > max(sides[0]["groups"]))
        groups = sides[at]["groups"]
        for own, cells in zip(sides[at]["counts"], pair["counts"], strict=True):
            for group, row in enumerate(zip(*cells, strict=True) if at else cells):
                values = [count for count, place in zip(own, groups, strict=True) if place == group]
                yield EstimatedCount(
                    value=sum(row),
                    noise=(Noise(pair["rate"], len(row), gaussian),),
                    estimate=sum(values),
                    noise_before=(Noise(sides[at]["rate"], len(values), gaussian),),
                )


def _of_histograms(params: Mapping[str, Any], facts: PublicFacts) -> Iterator[Totals]:
    """Yield the class totals of the histogram of a numeric target, of all leaves, and of those of each attribute."""
    yield from _before_histograms(params, facts)
    for own in zip(*params["histograms"], strict=True):
        rows = [row for region in own for row in region]
        if rows:  # else it was not measured
            noise = _noise_of_histograms(params, len(rows))
            yield [sum(column) for column in zip(*rows, strict=True)], [(noise,)] * facts.n_classes


def _of_evidence(params: Mapping[str, Any], facts: PublicFacts) -> Iterator[Shown]:
    """Yield checks of a numeric target's histogram, and of the rows of each region by the measured attributes.

    The regions follow from the leaves, which were counted before. One attribute alone follows them.
    """
    totals = list(_of_histograms(params, facts))
    before = list(_before_histograms(params, facts))
    if len(totals) == len(before) + 1:
        before.append(totals[-1])
    for (first, noises), (second, later) in itertools.pairwise(before):
        for estimate, noise_before, value, noise in zip(first, noises, second, later, strict=True):
            yield EstimatedCount(value=value, noise=noise, estimate=estimate, noise_before=noise_before)
    for region in params["histograms"]:
        tables = [rows for rows in region if rows]
        yield from alike(
            [
                ([sum(own) for own in zip(*rows, strict=True)], [(noise,)] * facts.n_classes)
                for rows in tables
                for noise in [_noise_of_histograms(params, len(rows))]
            ]
        )


def _before_histograms(params: Mapping[str, Any], facts: PublicFacts) -> Iterator[Totals]:
    """Yield the class totals of the histogram of a numeric target, and of all leaves."""
    if facts.target.domain.fine:
        yield _of_target(params["target"]["histogram"], facts)
    rates = _rates(params, "class counts of a leaf")
    leaves = [
        (node["counts"], rates[level])
        for tree in params["trees"]
        for node, level in zip(tree, _levels(tree), strict=True)
        if "counts" in node
    ]
    noise = tuple(itertools.starmap(Noise, Counter(rate for _, rate in leaves).items()))
    yield [sum(own) for own in zip(*(counts for counts, _ in leaves), strict=True)], [noise] * facts.n_classes


def _noise_of_histograms(params: Mapping[str, Any], cells: int) -> Noise:
    """Return the noise of so many cells of the histograms together."""
    (line,) = (line for line in params["accounting"] if line["purpose"] == "histograms by class")
    return Noise(int(line["rate"]), cells, line["mechanism"] == GAUSSIAN)


def _of_target(histogram: Mapping[str, Any], facts: PublicFacts) -> Totals:
    """Return the rows of each bin by the histogram of a numeric target, missing as the last."""
    domain, counts, rate = facts.target.domain, histogram["counts"], histogram["rate"]
    runs = [*itertools.pairwise((0, *domain.ends)), *([(domain.fine, domain.fine + 1)] if domain.has_missing else [])]
    return [sum(counts[first:last]) for first, last in runs], [(Noise(rate, last - first),) for first, last in runs]


def _of_leaves(params: Mapping[str, Any]) -> Iterator[tuple[EstimatedCount, CountDifference]]:
    """Yield the noisy rows of a leaf, which were drawn first, and the sum of its class counts.

    Whether a node is a leaf follows from its noisy rows. A leaf that pruning made holds sums of several draws: it has
    more noise than this says, and is left out.
    """
    rows, counts = _rates(params, "rows of a leaf"), _rates(params, "class counts of a leaf")
    if params["parameters"].get("pruning", "none") != "none":
        return
    for tree in params["trees"]:
        for node, level in zip(tree, _levels(tree), strict=True):
            if "rows" in node and "counts" in node:
                before, after = Noise(rows[level], 1), Noise(counts[level], len(node["counts"]))
                total = sum(node["counts"])
                yield (
                    EstimatedCount(value=total, noise=(after,), estimate=node["rows"], noise_before=(before,)),
                    CountDifference(value=node["rows"] - total, parts=(before, after)),
                )


def _rates(params: Mapping[str, Any], purpose: str) -> dict[int, int]:
    return {line["level"]: line["rate"] for line in params["accounting"] if str(line["purpose"]).startswith(purpose)}


def _levels(tree: Sequence[Mapping[str, Any]]) -> list[int]:
    level = [0] * len(tree)
    for at, node in enumerate(tree):
        for child in node.get("children", ()):
            level[child] = level[at] + 1
    return level


def _tail(difference: CountDifference) -> float:
    """Return the chance of a difference at least as large: at least uniform in distribution."""
    size = abs(difference.value)
    law = law_of_noise(tuple(sorted(difference.parts)))
    if law is None:  # too wide for a grid
        outer = variance_of(difference.parts) / max(size, 1) ** 2
    else:
        outer = (float(law[size:].sum()) if size < law.size else 0.0) + FLOOR
    bound = far_tail(size, difference.parts)
    return min(1.0, outer if bound >= FLOOR else bound)


def _together(chances: Sequence[float]) -> float:
    """Return the chance that so many independent uniforms have so small a product (Fisher 1925)."""
    half = -sum(math.log(chance) for chance in chances)
    logs = [k * math.log(half) - half - math.lgamma(k + 1) if half > 0 else (0.0 if k == 0 else -math.inf)
            for k in range(len(chances))]  # fmt: skip
    top = max(logs)
    return min(1.0, math.exp(top) * sum(math.exp(chance - top) for chance in logs))
