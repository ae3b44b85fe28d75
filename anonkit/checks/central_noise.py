# SPDX-License-Identifier: Apache-2.0
"""Check that noise is present: independently drawn counts of the same rows differ by their noise and nothing else.

Two noisy totals of one class, or the noisy rows of a leaf and the sum of its noisy class counts, have the same true
value. Their difference is a sum of discrete Laplace, or Gaussian, variables at the stated rates, whose law is computed
here exactly.
Where the differences together are too small, the release has less noise than it says; where they are too large, its
tables do not speak of the same rows. A true release fails once in a million.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonkit.checks.central_params import GAUSSIAN_MARGINALS, GAUSSIAN_TABLES, PublicFacts
from anonkit.checks.gaussian_lines import gaussian_variance
from anonkit.promises.guarantee import Check

_FALSE_ALARM = 0.5e-6
_MOST = 4096
"""Differences that are tested."""
_LARGEST_GRID = 1 << 20
_DEVIATIONS = 64
"""Width of the grid of a law, in standard deviations."""
_FLOOR = 1e-12
"""Errors of the transform: none of its probabilities is distinguished from this."""
_NARROW = 4.0
"""Squared width of a Gaussian law up to which its few masses are added up."""
_LEAST_LOG = -700.0
"""Below its exponential there is no normal floating-point number."""


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


@dataclass(frozen=True, kw_only=True)
class Difference:
    """What two counts of the same rows differ by, and the noise of both."""

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
    if "mixtures" in params:
        deviations = list(_between(_of_marginals(params), len(params["mixtures"])))
    elif "trees" not in params:
        deviations = list(_between(_of_tables(params), facts.n_classes))
    elif "histograms" in params:
        deviations = list(_between(_of_histograms(params, facts), facts.n_classes))
    else:
        deviations = list(_of_leaves(params))
    yield from difference_checks(deviations)


def difference_checks(differences: Sequence[Difference]) -> Iterator[Check]:
    """Compare independent differences of counts of the same rows with the noise that they must have.

    Parameters
    ----------
    differences : sequence of Difference
        Of more than a few thousand the first ones are looked at; nothing is checked where there are none.
    """
    deviations = differences[:_MOST]
    if not deviations:
        return
    below, above = zip(*(_tails(deviation) for deviation in deviations), strict=True)
    for name, tails in (("noise_is_stated", below), ("counts_agree", above)):
        chance = _together(tails)
        yield Check(name=name, passed=chance >= _FALSE_ALARM, observed=chance, required=_FALSE_ALARM)


Totals = tuple[list[int], Sequence[Parts]]
"""The noisy rows of each class, and the noise of each."""


def _of_tables(params: Mapping[str, Any]) -> Iterator[Totals]:
    """Yield the class totals of each table of dp-nb."""
    classes, gaussian = len(params["class_counts"]), params.get("format") == GAUSSIAN_TABLES
    yield params["class_counts"], [(Noise(params["class_rate"], 1, gaussian),)] * classes
    for attribute in params["attributes"]:
        noise = (Noise(attribute["rate"], len(attribute["counts"][0]), gaussian),)
        yield [sum(row) for row in attribute["counts"]], [noise] * classes


def _of_marginals(params: Mapping[str, Any]) -> Iterator[Totals]:
    """Yield the class totals of each table of a column or of a pair of columns."""
    gaussian = params["format"] == GAUSSIAN_MARGINALS
    columns = [(table["rate"], table["counts"]) for table in params["tables"]]
    pairs = [
        (table["rate"], [[count for row in cells for count in row] for cells in table["counts"]])
        for table in params["pairs"]
    ]
    for rate, counts in (*columns, *pairs):
        yield [sum(row) for row in counts], [(Noise(rate, len(row), gaussian),) for row in counts]


def _of_histograms(params: Mapping[str, Any], facts: PublicFacts) -> Iterator[Totals]:
    """Yield the class totals of the histogram of a numeric target, of all leaves, and of those of each attribute."""
    if facts.target.domain.fine:
        yield _of_target(params["target"]["histogram"], facts)
    rates = _rates(params, "class counts of a leaf")
    leaves = [
        (node["counts"], rates[level])
        for tree in params["trees"]
        for node, level in zip(tree, _levels(tree), strict=True)
        if "counts" in node
    ]
    by_rate: dict[int, int] = {}
    for _, rate in leaves:
        by_rate[rate] = by_rate.get(rate, 0) + 1
    noise_of_leaves = [tuple(itertools.starmap(Noise, by_rate.items()))] * facts.n_classes
    yield [sum(own) for own in zip(*(counts for counts, _ in leaves), strict=True)], noise_of_leaves
    (rate,) = (line["rate"] for line in params["accounting"] if line["purpose"] == "histograms by class")
    for at in range(len(params["attributes"])):
        rows = [row for region in params["histograms"] for row in region[at]]
        if not rows:  # not asked
            continue
        yield [sum(own) for own in zip(*rows, strict=True)], [(Noise(rate, len(rows)),)] * facts.n_classes


def _of_target(histogram: Mapping[str, Any], facts: PublicFacts) -> Totals:
    """Return the rows of each bin by the histogram of a numeric target, missing as the last."""
    domain, counts, rate = facts.target.domain, histogram["counts"], histogram["rate"]
    runs = [*itertools.pairwise((0, *domain.ends)), *([(domain.fine, domain.fine + 1)] if domain.has_missing else [])]
    return [sum(counts[first:last]) for first, last in runs], [(Noise(rate, last - first),) for first, last in runs]


def _between(totals: Iterator[Totals], classes: int) -> Iterator[Difference]:
    """Yield the differences of each class between pairs of tables, each in one pair: independent ones."""
    for (first, noise), (second, other) in zip(totals, totals, strict=False):
        for c in range(classes):
            yield Difference(value=first[c] - second[c], parts=(*noise[c], *other[c]))


def _of_leaves(params: Mapping[str, Any]) -> Iterator[Difference]:
    """Yield what the noisy rows of a leaf and the sum of its class counts differ by.

    A leaf that pruning made holds sums of several draws: it has more noise than this says, and is left out.
    """
    rows, counts = _rates(params, "rows of a leaf"), _rates(params, "class counts of a leaf")
    if params["parameters"].get("pruning", "none") != "none":
        return
    for tree in params["trees"]:
        for node, level in zip(tree, _levels(tree), strict=True):
            if "rows" in node and "counts" in node:
                noise = (Noise(rows[level], 1), Noise(counts[level], len(node["counts"])))
                yield Difference(value=node["rows"] - sum(node["counts"]), parts=noise)


def _rates(params: Mapping[str, Any], purpose: str) -> dict[int, int]:
    return {line["level"]: line["rate"] for line in params["accounting"] if str(line["purpose"]).startswith(purpose)}


def _levels(tree: Sequence[Mapping[str, Any]]) -> list[int]:
    level = [0] * len(tree)
    for at, node in enumerate(tree):
        for child in node.get("children", ()):
            level[child] = level[at] + 1
    return level


def _tails(difference: Difference) -> tuple[float, float]:
    """Return the chances of a difference at most, and at least, as large: each at least uniform in distribution."""
    size = abs(difference.value)
    law = law_of_noise(tuple(sorted(difference.parts)))
    if law is None:  # too wide for a grid: a log-concave law is nowhere above 1 / deviation
        deviation = math.sqrt(_variance(difference.parts))
        inner, outer = (2 * size + 1) / deviation, deviation**2 / max(size, 1) ** 2
    else:
        inner = max(float(law[: size + 1].sum()), _FLOOR) if size < law.size else 1.0
        outer = (float(law[size:].sum()) if size < law.size else 0.0) + _FLOOR
    bound = _far_tail(size, difference.parts)
    return min(1.0, inner), min(1.0, outer if bound >= _FLOOR else bound)


def _far_tail(size: int, parts: Parts) -> float:
    """Bound the chance of a difference at least as large, far beyond what a grid tells apart (Chernoff 1952).

    Without it one impossible difference would have the chance `_FLOOR`, which a few likely ones beside it outweigh.
    """
    lowest = min((part.rate / 2**52 for part in parts if not part.is_gaussian), default=math.inf)
    tilts = [0.5 * lowest, 0.9 * lowest] if lowest < math.inf else []
    if len(tilts) == 0 or any(part.is_gaussian for part in parts):
        tilts.append(min(size / _variance(parts), 0.9 * lowest))
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


@lru_cache(maxsize=256)
def law_of_noise(parts: Parts) -> NDArray[np.float64] | None:
    """Return the probabilities of |difference| = 0, 1, 2, ... for noise of these parts; None where it is too wide."""
    grid = 1 << max(8, math.ceil(math.log2(_DEVIATIONS * math.sqrt(_variance(parts)) + 1)))
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


def _variance(parts: Parts) -> float:
    return sum(
        times * (gaussian_variance(rate) if gaussian else 2 * math.exp(-rate / 2**52) / math.expm1(-rate / 2**52) ** 2)
        for rate, times, gaussian in parts
    )


def _together(chances: Sequence[float]) -> float:
    """Return the chance that so many independent uniforms have so small a product (Fisher 1925)."""
    half = -sum(math.log(chance) for chance in chances)
    logs = [k * math.log(half) - half - math.lgamma(k + 1) if half > 0 else (0.0 if k == 0 else -math.inf)
            for k in range(len(chances))]  # fmt: skip
    top = max(logs)
    return min(1.0, math.exp(top) * sum(math.exp(chance - top) for chance in logs))
