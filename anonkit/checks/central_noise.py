# SPDX-License-Identifier: Apache-2.0
"""Check that noise is present: independently drawn counts of the same rows differ by their noise and nothing else.

Two noisy totals of one class, or the noisy rows of a leaf and the sum of its noisy class counts, have the same true
value. Their difference is a sum of discrete Laplace, or Gaussian, variables at the stated rates, whose law is computed
here.
Where the differences together are too small, the release has less noise than it states (`noise_e_values`); where they
are too large, its tables are not of the same rows. A true release fails the first check with a chance of at most 5e-7,
and the second likewise where what is counted does not follow from noise (C22 in docs/proofs/central.md).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anonkit.checks.central_params import GAUSSIAN, Family, PublicFacts, has_gaussian_tables
from anonkit.checks.noise_laws import (
    FLOOR,
    EstimatedCount,
    Noise,
    Parts,
    SameRows,
    Shown,
    chance_of_so_little,
    far_tail,
    law_of_noise,
    variance_of,
)
from anonkit.promises.guarantee import Check

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
