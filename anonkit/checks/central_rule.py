# SPDX-License-Identifier: Apache-2.0
"""The public rule of the default trees, written independently: the division of epsilon, and the size of the model.

The number of rows that the rule reads is published and charged, so whoever has the release can follow the rule: a
release that took another branch of it, or states another number of rows, is refused. Releases of versions that did not
publish the rule's outcome have no block `rule`; of these the account alone is checked.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from anonkit.checks.central_pairs import (
    CHOICE,
    READING,
    LeadingGrid,
    PairTables,
    choice_cost,
    findings_in_words,
    reading_cost,
    told_choice,
    told_reading,
)
from anonkit.checks.central_params import GAUSSIAN, GAUSSIAN_FOREST, LAPLACE_FOREST, PublicFacts, integers
from anonkit.checks.finding_lines import finding_epsilon
from anonkit.checks.histogram_law import gaussian_histograms
from anonkit.checks.number_cells import fewest
from anonkit.promises.guarantee import Check

_UNITS = 1 << 52
_CELLS = ((2, 4), (25, 8), (300, 16), (1000, 32), (math.inf, 64))
_REGIONS = (200, 800, 3200)
_COUNTED = ("number of rows", "values of the target")
_WEIGHED_LEVELS = (50_000, 100_000, 400_000)


@dataclass(frozen=True, kw_only=True)
class RebuiltRule:
    """The outcome of the rule, from public facts alone."""

    depth: int
    regions: int
    """Level of the tree whose nodes have histograms of their own; at most, before its leaves are looked at."""
    asked: int
    """Attributes that have histograms: all, or so many drawn by lot."""
    bins: int
    weights: bool
    calibration: bool
    """True where slope and intercepts are computed from the rows."""
    left: float
    """Remaining loss of one row after domains were found, and the rows and the values of a numeric target counted."""
    shares: tuple[float, float, float, float, float]
    """Of that for splits, class counts of leaves, histograms, weights, and calibration."""
    rho: float = 0.0
    """Loss rho of a row in all histograms where these have Gaussian noise; else 0."""
    of_reading: float = 0.0
    """Loss of the reading of a dependence within classes; 0 where the rule takes none."""
    width: int = 0
    """Steps of a 256th row by which a row moves it."""
    reading: Mapping[str, Any] | None = None
    """Expected entry of that reading; None where the rule takes none."""
    of_choice: float = 0.0
    """Loss of the choice of a pair; 0 where the rule makes none."""
    choice: Mapping[str, Any] | None = None
    """Expected entry of that choice; None where the rule makes none."""
    grid: LeadingGrid | None = None
    """Grid of the first splits of a tree that a pair leads, if any does: at no loss."""

    def told(
        self, rows: int, *, delta: float = 0.0, asked: Collection[str] = ("dependence", "interaction")
    ) -> dict[str, Any]:
        """Return the block of the params.

        Parameters
        ----------
        rows : int
        delta : float
            The noise of the histograms is an entry where it is not 0.
        asked : collection of str
            What the version of the release asks of pairs: earlier ones read no dependence, or chose no pair.
        """
        noise = GAUSSIAN if self.rho else "discrete-laplace"
        return {
            "rows": rows,
            "depth": self.depth,
            "regions": self.regions,
            "asked": self.asked,
            "bins": self.bins,
            "weights": self.weights,
            "calibration": self.calibration,
            **({"dependence": self.reading} if "dependence" in asked else {}),
            **({"interaction": self.choice} if "interaction" in asked else {}),
            **({"noise": noise} if delta else {}),
        }

    @property
    def n_public_levels(self) -> int:
        """Levels of the tree that are divided by the grid of a pair."""
        return 0 if self.grid is None else self.grid.levels

    @property
    def of_histograms(self) -> float:
        """Loss of all histograms in epsilon, or the epsilon for which they have a rho."""
        return self.left * self.shares[2]

    @property
    def of_split(self) -> float:
        """Loss of a chosen split: the same at every level."""
        return self.left * self.shares[0] / max(self.depth - self.n_public_levels, 1)

    def of_leaf(self, level: int) -> float:
        """Return what the counts of a leaf cost: what the path to it has not spent."""
        return self.left * (self.shares[0] + self.shares[1]) - max(level - self.n_public_levels, 0) * self.of_split


def rebuilt_rule(facts: PublicFacts, params: Mapping[str, Any]) -> RebuiltRule | None:
    """Follow the rule; None where the release does not say which number of rows it read.

    Raises
    ------
    ReleaseFormatError
        The number is none.
    """
    if "rule" not in params:
        return None
    (rows,) = integers([params["rule"]["rows"]])
    changes = facts.whole("rows_per_unit", 1, 1000) * (2 if facts.parameters["adjacency"] == "replace" else 1)
    whole = math.floor((Fraction(facts.number("epsilon")) / changes - finding_epsilon(params)) * _UNITS)
    units, attributes, classes = whole - _spent(params, *_COUNTED), len(facts.attributes), facts.n_classes
    width, pairs, larger = _asked_of_pairs(facts, params, units / _UNITS, rows)
    reading, of_reading = (
        (None, 0.0) if not width else (told_reading(params), reading_cost(width, units / _UNITS, rows))
    )
    of_choice = choice_cost(len(pairs), units / _UNITS, rows)
    choice = told_choice(params, facts, [*pairs, *larger]) if of_choice else None
    independent = reading is not None and reading["steps"] / 256 < 0.07 * max(rows, 1)
    units -= (_spent(params, READING) if width else 0) + (_spent(params, CHOICE) if of_choice else 0)
    left = units / _UNITS
    strength = left * max(float(rows), 1.0)
    weights = strength > 35 * max(attributes, 10) ** 2 and classes <= 64 and not independent
    asked = attributes if weights else min(attributes, max(1, round(math.sqrt(strength / classes))))
    by_cell = strength / (2 * attributes * classes)
    trees = _trees(facts)
    deep = weights and strength >= 2_500 * classes
    if weights:
        depth = max(5 if deep else 3, 3 + sum(strength >= limit for limit in _WEIGHED_LEVELS))
        regions = sum(by_cell >= limit for limit in _REGIONS) if trees == 1 else 0
        counts = 0.07
    else:
        depth, regions = 2 if facts.parameters["as_"] == "cells" and strength >= 20 else 0, 0
        counts = math.ceil(min(max(8.0 / strength, 0.06), 0.12) * 1000) / 1000
    bins = facts.whole("bins", 0, 1024) or next(bins for limit, bins in _CELLS if by_cell < limit)
    pair = tuple(one for one in facts.attributes if choice is not None and one.name in choice["pair"])
    grid = LeadingGrid.of(pair, facts, bins, strength) if pair else None
    n_public_levels = 0 if grid is None else grid.levels
    depth = max(depth, n_public_levels)
    splits = (0.16 if deep else 0.08 if weights else 0.06) if depth > n_public_levels else 0.0
    if levels := facts.whole("depth", 0, 12):
        splits = (splits or 0.09) if levels > 1 else 0.0
        depth, regions = levels - 1, min(regions, levels - 1)
    step = 0.17 if weights else 0.0
    calibration = not weights and facts.parameters["as_"] != "cells" and strength >= 1_800 and classes <= 64
    slope = 0.75 * counts if calibration else 0.0
    counts = 0.2 if n_public_levels else counts - slope
    histograms = 1 - splits - counts - slope - step
    gaussian, rho = gaussian_histograms(facts, params, left * histograms, asked)
    return RebuiltRule(
        depth=depth,
        regions=regions,
        asked=gaussian or asked,
        bins=bins,
        weights=weights,
        calibration=calibration,
        left=left,
        shares=(splits, counts, histograms, step, slope),
        rho=rho,
        of_reading=of_reading,
        width=width,
        reading=reading,
        of_choice=of_choice,
        choice=choice,
        grid=grid,
    )


def _asked_of_pairs(
    facts: PublicFacts, params: Mapping[str, Any], left: float, rows: int
) -> tuple[int, list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Return the steps by which a row moves a reading of pairs, and the candidate pairs of the choice and larger sets.

    There are no pre-queries where cells are released, and none that the version of the release lacked. A reading is
    taken where weights might be learned, a choice where one tree is grown, as deep as the rule says.
    """
    strength, told = left * max(rows, 1), params["rule"]
    if facts.parameters["as_"] == "cells":
        return 0, [], []
    by_cell = strength / (2 * max(len(facts.attributes), 1) * facts.n_classes)
    bins = facts.whole("bins", 0, 1024) or next(bins for limit, bins in _CELLS if by_cell < limit)
    weights = strength > 35 * max(len(facts.attributes), 10) ** 2 and facts.n_classes <= 64
    free = _trees(facts) == 1 and not facts.whole("depth", 0, 12) and choice_cost(1, left, rows) > 0
    if not (weights or free):
        return 0, [], []
    tables = PairTables.of(facts, bins, rows)
    width = tables.reading_width() if "dependence" in told and weights else 0
    pairs = tables.led(strength) if "interaction" in told and free else []
    triples = tables.triples(facts.n_classes, len(pairs), left, rows)
    return width, pairs, [*triples, *tables.joint(facts.n_classes, len(triples), left, rows)]


def _trees(facts: PublicFacts) -> int:
    return facts.whole("trees", 0, 1000) or 1 if facts.method == "dp-forest" else 1


def _spent(params: Mapping[str, Any], *purposes: str) -> int:
    """Return what a row has paid for draws of these names, in units of 2**-52."""
    return sum(line["rate"] * line["sensitivity"] for line in params["accounting"] if line["purpose"] in purposes)


def rule_checks(params: Mapping[str, Any], facts: PublicFacts, rule: RebuiltRule) -> Iterator[Check]:
    """Compare the published rule with its rebuilt outcome, and the model with both.

    Parameters
    ----------
    params : mapping
        Its trees were checked before.
    facts : PublicFacts
    rule : RebuiltRule
    """
    rule = replace(rule, regions=min(rule.regions, _affordable(params["trees"][0], facts, rule.left)))
    rows = facts.whole("n_rows") or params["rule"]["rows"]
    told = dict(params["rule"])
    asked = told if "dependence" in told else ()  # no version chose a pair and did not read the dependence
    rebuilt = rule.told(rows, delta=facts.delta if "noise" in told else 0.0, asked=asked)
    yield Check(
        name="rule", passed=told == rebuilt, observed=_in_words(told, rebuilt), required=_in_words(rebuilt, told)
    )
    numbers = [attribute.domain for attribute in facts.attributes if attribute.domain.categories is None]
    seen = (
        all(domain.cells == fewest(rule.bins, domain.multiples) for domain in numbers),
        integers(params["scores"]["regions"]) == _regions(params["trees"][0], rule.regions),
        ("weights" in params) == rule.weights,
        ("calibration" in params) == rule.calibration,
        sum(1 for table in params["histograms"][0] if table) == rule.asked,
        rule.grid is None or rule.grid.is_followed(params["trees"][0]),
        params["format"] == (GAUSSIAN_FOREST if rule.rho else LAPLACE_FOREST),
    )
    yield Check(name="rule_is_followed", passed=all(seen), observed=sum(seen), required=len(seen))


def _affordable(tree: Sequence[Mapping[str, Any]], facts: PublicFacts, left: float) -> int:
    """Return the level of the regions that the rarest classes have rows for, by the published counts of the leaves."""
    totals = [0] * facts.n_classes
    for node in tree:
        totals = [total + own for total, own in zip(totals, node.get("counts", [0] * len(totals)), strict=True)]
    inverse = sum(Fraction(1, total if total > 1 else 1) for total in totals)
    rows = Fraction(facts.n_classes) / inverse
    return sum(Fraction(left) * rows >= limit * 2 * max(len(facts.attributes), 1) for limit in _REGIONS)


def _in_words(block: Mapping[str, Any], beside: Mapping[str, Any]) -> str:
    told = dict(findings_in_words(block, beside))
    return ", ".join(f"{name}={told[name]}" for name in sorted(told))


def _regions(tree: Sequence[Mapping[str, Any]], depth: int) -> list[int]:
    """Return the nodes of a level of a tree, and the leaves above it."""
    level, out = [0] * len(tree), []
    for at, node in enumerate(tree):
        below = node.get("children", [])
        for child in below:
            level[child] = level[at] + 1
        if level[at] == depth or (level[at] < depth and not below):
            out.append(at)
    return out
