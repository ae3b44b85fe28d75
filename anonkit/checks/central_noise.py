# SPDX-License-Identifier: Apache-2.0
"""Check that noise is present: independently drawn counts of the same rows differ by their noise and nothing else.

Two noisy totals of one class, or the noisy rows of a leaf and the sum of its noisy class counts, have the same true
value. Their difference is a sum of discrete Laplace variables at the stated rates, whose law is computed here exactly.
Where the differences together are too small, the release has less noise than it says; where they are too large, its
tables do not speak of the same rows. A true release fails once in a million.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.checks.central_params import PublicFacts
from anonkit.promises.guarantee import Check

_FALSE_ALARM = 0.5e-6
_MOST = 4096
"""Differences that are tested."""
_LARGEST_GRID = 1 << 20
_DEVIATIONS = 64
"""Width of the grid of a law, in standard deviations."""
_FLOOR = 1e-12
"""Errors of the transform: no probability is distinguished from this."""

Parts = tuple[tuple[int, int], ...]
"""(rate in units of 2**-52, number of independent draws) of the noise of a difference."""


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
    if "trees" not in params:
        deviations = list(_between(_of_tables(params), facts.n_classes))
    elif "histograms" in params:
        deviations = list(_between(_of_histograms(params, facts), facts.n_classes))
    else:
        deviations = list(_of_leaves(params))
    deviations = deviations[:_MOST]
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
    classes = len(params["class_counts"])
    yield params["class_counts"], [((params["class_rate"], 1),)] * classes
    for attribute in params["attributes"]:
        noise = ((attribute["rate"], len(attribute["counts"][0])),)
        yield [sum(row) for row in attribute["counts"]], [noise] * classes


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
    noise_of_leaves = [tuple(by_rate.items())] * facts.n_classes
    yield [sum(own) for own in zip(*(counts for counts, _ in leaves), strict=True)], noise_of_leaves
    (rate,) = (line["rate"] for line in params["accounting"] if line["purpose"] == "histograms by class")
    for at in range(len(params["attributes"])):
        rows = [row for region in params["histograms"] for row in region[at]]
        yield [sum(own) for own in zip(*rows, strict=True)], [((rate, len(rows)),)] * facts.n_classes


def _of_target(histogram: Mapping[str, Any], facts: PublicFacts) -> Totals:
    """Return the rows of each bin by the histogram of a numeric target, missing as the last."""
    domain, counts, rate = facts.target.domain, histogram["counts"], histogram["rate"]
    runs = [*itertools.pairwise((0, *domain.ends)), *([(domain.fine, domain.fine + 1)] if domain.has_missing else [])]
    return [sum(counts[first:last]) for first, last in runs], [((rate, last - first),) for first, last in runs]


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
                noise = ((rows[level], 1), (counts[level], len(node["counts"])))
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
    law = _law(tuple(sorted(difference.parts)))
    if law is None:  # too wide for a grid: a log-concave law is nowhere above 1 / deviation
        deviation = math.sqrt(_variance(difference.parts))
        return min(1.0, (2 * size + 1) / deviation), min(1.0, deviation**2 / max(size, 1) ** 2)
    inner = float(law[: size + 1].sum()) if size < law.size else 1.0
    outer = float(law[size:].sum()) if size < law.size else 0.0
    return min(1.0, max(inner, _FLOOR)), min(1.0, outer + _FLOOR)


@lru_cache(maxsize=256)
def _law(parts: Parts) -> NDArray[np.float64] | None:
    """Return the probabilities of |difference| = 0, 1, 2, ...; None where it is too wide to be tabulated."""
    grid = 1 << max(8, math.ceil(math.log2(_DEVIATIONS * math.sqrt(_variance(parts)) + 1)))
    if grid > _LARGEST_GRID:
        return None
    turn = 2 * np.pi * np.arange(grid) / grid
    transform = np.ones(grid)
    for rate, times in parts:
        decay = math.exp(-rate / 2**52)
        transform = transform * ((1 - decay) ** 2 / (1 - 2 * decay * np.cos(turn) + decay * decay)) ** times
    probabilities = np.maximum(np.fft.ifft(transform).real, 0.0)
    half = grid // 2
    return np.asarray(np.concatenate([probabilities[:1], probabilities[1:half] + probabilities[:half:-1]]))


def _variance(parts: Parts) -> float:
    return sum(times * 2 * math.exp(-rate / 2**52) / math.expm1(-rate / 2**52) ** 2 for rate, times in parts)


def _together(chances: Sequence[float]) -> float:
    """Return the chance that so many independent uniforms have so small a product (Fisher 1925)."""
    half = -sum(math.log(chance) for chance in chances)
    logs = [k * math.log(half) - half - math.lgamma(k + 1) if half > 0 else (0.0 if k == 0 else -math.inf)
            for k in range(len(chances))]  # fmt: skip
    top = max(logs)
    return min(1.0, math.exp(top) * sum(math.exp(chance - top) for chance in logs))
