# SPDX-License-Identifier: Apache-2.0
"""Public rules followed with published values: shares of epsilon, the default trees, bins of a numeric target.

The number of rows that the rule of the default trees reads is published and charged, so whoever has the release can
follow the rule (`anonkit.budget_rules`): a release that took another branch of it, or states another number of rows, is
refused. So is one whose trees are led by a pair and do not begin with the pair's public grid: whatever chose them was
not charged.

The bins of a numeric target are worked out again from the published noisy histogram, by other code than the method's.
What follows from noisy counts costs no privacy; what does not follow from them may disclose rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.budget_rules.model_queries import ClassDependence
from anonkit.budget_rules.pair_rule import AttributeSize, PairGrid, PairRule, choice_share_of
from anonkit.budget_rules.tree_rule import (
    Rule,
    delta_may_pay,
    gaussian_histograms,
    is_dependent,
    reading_share,
    rule_for,
)
from anonkit.checks.account_lines import finding_epsilon, finding_lines, rho_within
from anonkit.checks.central_params import (
    GAUSSIAN,
    Family,
    PublicFacts,
    changed_rows,
    changed_squared,
    integers,
    is_of_format,
)
from anonkit.checks.number_cells import fewest
from anonkit.checks.query_changes import change_of
from anonkit.errors import ReleaseFormatError
from anonkit.promises.guarantee import Check

READING = "dependence within classes"
CHOICE = "interacting pair"
_UNITS = 1 << 52
_COUNTED = ("number of rows", "values of the target")


@dataclass(frozen=True, kw_only=True)
class RebuiltRule:
    """The outcome of the rule, with what the release published."""

    rule: Rule
    left: float
    """Remaining loss of one row after domains were found, and the rows and the values of a numeric target counted."""
    rho: float = 0.0
    """Loss rho of a row in all histograms where these have Gaussian noise; else 0."""
    of_reading: float = 0.0
    """Loss of the reading of a dependence within classes; 0 where the rule takes none."""
    dependence: ClassDependence | None = None
    """Query of that reading; None where the rule takes none."""
    reading: Mapping[str, Any] | None = None
    """Expected entry of that reading; None where the rule takes none."""
    of_choice: float = 0.0
    """Loss of the choice of a pair; 0 where the rule makes none."""
    choice: Mapping[str, Any] | None = None
    """Expected entry of that choice; None where the rule makes none."""
    grid: PairGrid | None = None
    """Grid of the first splits of a tree that a pair leads, if any does: at no loss."""

    def block(self, rows: int, *, delta: float = 0.0) -> dict[str, Any]:
        """Return the block of the params; the noise of the histograms is an entry where there is a delta."""
        noise = GAUSSIAN if self.rho else "discrete-laplace"
        return {
            "rows": rows,
            "depth": self.rule.depth,
            "regions": self.rule.region_depth,
            "asked": self.rule.measured,
            "bins": self.rule.cells,
            "weights": self.rule.weights > 0,
            "calibration": self.rule.slope > 0,
            "dependence": self.reading,
            "interaction": self.choice,
            **({"noise": noise} if delta else {}),
        }

    @property
    def n_public_levels(self) -> int:
        """Levels of the tree that are divided by the grid of a pair."""
        return self.rule.n_public_levels

    def cost(self, share: Fraction) -> float:
        """Return the loss for a share of what is left."""
        return self.left * float(share)

    @property
    def of_split(self) -> float:
        """Loss of a chosen split: the same at every level."""
        return self.cost(self.rule.splits) / max(self.rule.depth - self.n_public_levels, 1)

    def of_leaf(self, level: int) -> float:
        """Return the budget of the counts of a leaf: the rest of that of its path."""
        chosen = max(level - self.n_public_levels, 0)
        return self.cost(self.rule.splits + self.rule.counts) - chosen * self.of_split


def rebuilt_rule(facts: PublicFacts, params: Mapping[str, Any]) -> RebuiltRule:
    """Follow the rule with the number of rows that the release read.

    Raises
    ------
    ReleaseFormatError
        The number is none.
    """
    (rows,) = integers([params["rule"]["rows"]])
    whole = math.floor((Fraction(facts.number("epsilon")) / changed_rows(facts) - finding_epsilon(params)) * _UNITS)
    units, in_cells = whole - _spent(params, *_COUNTED), facts.parameters["as_"] == "cells"
    levels, bins, trees = facts.whole("depth", 0, 12), facts.whole("bins", 0, 1024), trees_of(facts)

    def rule_of(units: int, **found: Any) -> Rule:
        rule = rule_for(
            epsilon=units / _UNITS, rows=rows, attributes=len(facts.attributes), classes=facts.n_classes,
            trees=trees, in_cells=in_cells, **found,
        )  # fmt: skip
        return rule.with_choices(depth=levels - 1 if levels else None, cells=bins or None)

    before = rule_of(units)
    pairs = _pairs(facts, before.cells, units / _UNITS, rows)
    dependence, of_reading, reading, independent = None, Fraction(0), None, False
    if before.weights and not in_cells and pairs.pairs:
        dependence = ClassDependence(attributes=len(facts.attributes), pairs=len(pairs.pairs))
        moved = (change_of(dependence) - 2) / 256
        of_reading, reading = (
            reading_share(before, epsilon=pairs.epsilon, rows=rows, moved=moved),
            stated_reading(params),
        )
        independent = not is_dependent(reading["steps"] / 256, rows)
    of_choice, choice = choice_share_of(pairs, trees=trees, in_cells=in_cells, is_free=not levels), None
    if of_choice:
        choice = stated_choice(params, facts, [*pairs.candidates, *pairs.triples, *pairs.joint])
    before_pairs = units / _UNITS
    units -= (_spent(params, READING) if dependence else 0) + (_spent(params, CHOICE) if of_choice else 0)
    rule, grid = rule_of(units, independent=independent), None
    if choice is not None and choice["pair"]:
        places = tuple(at for at, one in enumerate(facts.attributes) if one.name in choice["pair"])
        grid = _pairs(facts, rule.cells, units / _UNITS, rows).grid(places, units / _UNITS * max(rows, 1))
        rule = rule_of(units, independent=independent, n_public_levels=grid.depth)
    rho, left = 0.0, units / _UNITS
    if delta_may_pay(*_amounts(facts, params, whole), len(facts.attributes)):
        histograms, of_rho = _amounts(facts, params, int(units * rule.histograms))
        measured = gaussian_histograms(histograms, of_rho, max(1, rule.measured), len(facts.attributes))
        rule, rho = (rule.measuring(measured), of_rho / _UNITS) if measured else (rule, 0.0)
    return RebuiltRule(
        rule=rule, left=left, rho=rho, dependence=dependence, reading=reading, choice=choice, grid=grid,
        of_reading=before_pairs * float(of_reading), of_choice=before_pairs * float(of_choice),
    )  # fmt: skip


def histograms_may_be_gaussian(facts: PublicFacts, params: Mapping[str, Any]) -> bool:
    """Return True if Gaussian noise would be less, were all of epsilon spent on all attributes: else delta is kept.

    A release with a delta says which noise it has drawn.
    """
    epsilon = Fraction(facts.number("epsilon")) / changed_rows(facts) - finding_epsilon(params)
    return delta_may_pay(*_amounts(facts, params, math.floor(epsilon * _UNITS)), len(facts.attributes))


def _amounts(facts: PublicFacts, params: Mapping[str, Any], units: int) -> tuple[int, int]:
    """Return a loss of a row in units of epsilon, and in units of rho, of which half of delta is gone with a search."""
    delta = facts.delta / 2 if finding_lines(params) else facts.delta
    if not delta:
        return units, 0
    rho = rho_within(units / _UNITS * changed_rows(facts), delta) / changed_squared(facts)
    return units, math.floor(rho * _UNITS)


def _pairs(facts: PublicFacts, bins: int, left: float, rows: int) -> PairRule:
    sizes = attribute_sizes(facts, bins)
    return PairRule(attributes=sizes, classes=facts.n_classes, rows=max(float(rows), 1.0), epsilon=left)


def trees_of(facts: PublicFacts) -> int:
    """Return the number of trees."""
    return facts.whole("trees", 0, 1000) or 1 if "trees" in facts.parameters else 1


def _spent(params: Mapping[str, Any], *purposes: str) -> int:
    """Return the loss of a row for draws of these names, in units of 2**-52."""
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
    counts = _rows_by_class(params["trees"][0], facts)
    attributes = max(len(facts.attributes), 1)
    own = rule.rule.for_classes(counts, epsilon=Fraction(rule.left), attributes=attributes)
    rule = replace(rule, rule=own)
    rows = facts.whole("n_rows") or params["rule"]["rows"]
    stated, rebuilt = dict(params["rule"]), rule.block(rows, delta=facts.delta)
    yield Check(
        name="rule", passed=stated == rebuilt, observed=_in_words(stated, rebuilt), required=_in_words(rebuilt, stated)
    )
    numbers = [attribute.domain for attribute in facts.attributes if attribute.domain.categories is None]
    learned = {"weights": own.weights > 0, "calibration": own.slope > 0}
    seen = (
        all(domain.cells == fewest(own.cells, domain.multiples) for domain in numbers),
        integers(params["scores"]["regions"]) == _regions(params["trees"][0], own.region_depth),
        *(found == (name in params) for name, found in learned.items()),
        sum(1 for table in params["histograms"][0] if table) == own.measured,
        rule.grid is None or is_followed(rule.grid, params["trees"][0], [one.name for one in facts.attributes]),
        is_of_format(params, facts.family, gaussian=rule.rho > 0),
    )
    yield Check(name="rule_is_followed", passed=all(seen), observed=sum(seen), required=len(seen))


def _rows_by_class(tree: Sequence[Mapping[str, Any]], facts: PublicFacts) -> list[int]:
    """Return the published noisy counts of the leaves together, by class."""
    totals = [0] * facts.n_classes
    for node in tree:
        totals = [total + own for total, own in zip(totals, node.get("counts", [0] * len(totals)), strict=True)]
    return totals


def _in_words(block: Mapping[str, Any], beside: Mapping[str, Any]) -> str:
    words = dict(findings_in_words(block, beside))
    return ", ".join(f"{name}={words[name]}" for name in sorted(words))


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


# --- pre-queries on pairs, triples and all of the attributes ---------------------------------------------------------


def attribute_sizes(facts: PublicFacts, bins: int) -> tuple[AttributeSize, ...]:
    """Return the public sizes of the attributes, where numbers have so many bins."""
    found = []
    for one in facts.attributes:
        domain = one.domain
        cells = 0 if domain.categories is not None else fewest(bins, domain.multiples)
        codes = domain.size - domain.cells + cells if cells else domain.size
        found.append(AttributeSize(codes=codes, cells=cells, has_missing=domain.has_missing))
    return tuple(found)


def stated_reading(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the expected entry of the reading: by its own line of the account, whatever was read.

    Raises
    ------
    ReleaseFormatError
        There is none.
    """
    stated = params["rule"].get("dependence")
    rate = _rate_of(READING, params, stated)
    return {"purpose": READING, "rate": rate, "steps": integers([stated["steps"]])[0]}


def stated_choice(params: Mapping[str, Any], facts: PublicFacts, pairs: Sequence[tuple[int, ...]]) -> dict[str, Any]:
    """Return the expected entry of the choice: by its own line of the account, one of the candidates, or none.

    Raises
    ------
    ReleaseFormatError
        There is none, or it is of a pair that was none to choose.
    """
    stated = params["rule"].get("interaction")
    rate = _rate_of(CHOICE, params, stated)
    names = stated.get("pair")
    if names != [] and names not in [[facts.attributes[at].name for at in pair] for pair in pairs]:
        raise ReleaseFormatError("the params name a pair that was none to choose")
    return {"purpose": CHOICE, "rate": rate, "pair": names}


def is_followed(grid: PairGrid, tree: Sequence[Mapping[str, Any]], names: Sequence[str]) -> bool:
    """Return True if a tree begins with a public grid: each node is divided as public facts alone say.

    A cell before the last level is a leaf; at the last it may be divided further, by paid choices.

    Parameters
    ----------
    grid : PairGrid
    tree : sequence of mapping
        Published nodes, the root first.
    names : sequence of str
        Of all attributes.
    """
    level = [0]
    for divisions in grid.levels:
        below: list[int] = []
        for number, division in zip(level, divisions, strict=True):
            node = tree[number]
            children = node.get("children", [])
            if division is None:
                if children:
                    return False
                continue
            at, split = division
            if node.get("attribute") != names[at] or node.get("at") != split or len(children) != 2:
                return False
            below += children
        level = below
    return True


def _rate_of(purpose: str, params: Mapping[str, Any], stated: Any) -> Any:
    rates = [line["rate"] for line in params["accounting"] if line["purpose"] == purpose]
    if not isinstance(stated, Mapping) or len(rates) != 1:
        raise ReleaseFormatError("the params lack a reading or a choice that the rule requires")
    return integers([*rates, stated["rate"]])[0]


def findings_in_words(block: Mapping[str, Any], beside: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each entry of the rule in words: of a reading whole rows, of a choice names, and what else differs.

    Parameters
    ----------
    block, beside : mapping
        The rule as published and as rebuilt, or the other way.
    """
    for name, one in block.items():
        if not isinstance(one, Mapping):
            yield name, str(one)
            continue
        other = beside.get(name)
        known = other if isinstance(other, Mapping) else {}
        shown = {key: _shown(key, value) for key, value in one.items()}
        figures = [shown[key] for key in one if key in ("steps", "pair") or one[key] != known.get(key)]
        yield name, "/".join(figures)


def _shown(key: str, value: Any) -> str:
    if key == "steps" and isinstance(value, int):
        return str(value // 256)
    return "+".join(map(str, value)) or "none" if key == "pair" and isinstance(value, list) else str(value)


MOST_BINS = 8
_EQUAL_BINS = 8
"""Bins of a target: by its histogram, and of equal width. Part of the format."""
_SIGNIFICANT_DEVIATIONS = 2.0
"""Deviations of its noise from which on a run of cells has rows, as in `dp_trees.additive_model.target_bins`."""
_CLOSE = 1e-9

FloatArray = NDArray[np.float64]


def target_checks(params: Mapping[str, Any], facts: PublicFacts) -> Iterator[Check]:
    """Check the bins of a numeric target; nothing where the target has classes.

    Parameters
    ----------
    params : mapping
    facts : PublicFacts
        Read from the params.
    """
    if facts.target.domain.fine:
        wrong = _wrong_bins(params, facts)
        yield Check(name="target_bins", passed=wrong is None, observed=wrong, required="as rebuilt")


def _wrong_bins(params: Mapping[str, Any], facts: PublicFacts) -> str | None:
    """Return the first fault of the bins, in words; None where they have none."""
    stated, domain = params["target"], facts.target.domain
    if not facts.family.is_stacked:
        bins = facts.parameters["bins"] if facts.family is Family.MARGINALS else _EQUAL_BINS
        equal = (
            "ends" not in stated["domain"]
            and "histogram" not in stated
            and domain.fine == fewest(bins, domain.multiples)
        )
        return None if equal else "other bins than equal ones"
    if "histogram" not in stated or "ends" not in stated["domain"]:
        return "no histogram"
    (rate, bins), counts = integers([stated["histogram"][key] for key in ("rate", "bins")]), _counts(stated)
    rates = [line["rate"] for line in params["accounting"] if line["purpose"] == "values of the target"]
    if rates != [rate] or len(counts) != domain.fine + domain.has_missing or not 1 <= bins <= MOST_BINS:
        return "a histogram that no line speaks of"
    rows = rows_of_cells(counts[: domain.fine], rate)
    if not _ends_fit(rows, domain.ends, bins):
        return "bins that do not follow from the histogram"
    low, high = domain.bounds or (math.nan, math.nan)
    means = _means(rows, domain.ends, domain.grid.middles)
    close = np.abs(np.array(_numbers(stated["domain"]["means"])) - means) <= _CLOSE * (high - low)
    return None if close.all() else "means that do not follow from the histogram"


def _counts(target: Mapping[str, Any]) -> list[int]:
    return integers(target["histogram"]["counts"])


def _numbers(values: Any) -> list[float]:
    if not isinstance(values, list) or any(type(value) not in (int, float) for value in values):
        raise ReleaseFormatError("the means of the params must be numbers, and are not")
    return values


def rows_of_cells(counts: list[int], rate: int) -> FloatArray:
    """Return the rows of each cell that exceed the noise, shape (len(counts),).

    A run of cells is spread evenly unless one of its halves exceeds the noise; then a half that does not has no rows.
    """
    loss = rate / 2**52
    deviation = math.sqrt(2 * math.exp(-loss)) / -math.expm1(-loss)
    out = np.zeros(len(counts))

    def fill(first: int, last: int) -> None:
        middle = (first + last) // 2
        halves = [(first, middle), (middle, last)] if last - first > 1 else []
        loud = [
            (start, stop)
            for start, stop in halves
            if sum(counts[start:stop]) > _SIGNIFICANT_DEVIATIONS * deviation * math.sqrt(stop - start)
        ]
        for start, stop in loud:
            fill(start, stop)
        if not loud:
            out[first:last] = max(0.0, sum(counts[first:last]) / (last - first))

    fill(0, len(counts))
    return out if out.sum() > 0 else np.ones(len(counts))


def _ends_fit(rows: FloatArray, ends: tuple[int, ...], bins: int) -> bool:
    """Return True if each bin ends with the cell that brings the rows to its share; either of two at a tie."""
    reached, known = np.cumsum(rows), {rows.size}
    near = _CLOSE * float(reached[-1])
    for number in range(1, bins):
        goal = float(reached[-1]) * number / bins
        first, last = np.searchsorted(reached, [goal - near, goal + near]).tolist()
        choices = set(range(first + 1, min(last, rows.size - 1) + 2))
        if not choices & set(ends):
            return False
        known |= choices
    return ends[-1] == rows.size and set(ends) <= known


def _means(rows: FloatArray, ends: tuple[int, ...], middles: FloatArray) -> FloatArray:
    """Return the mean of the rows of each bin, its middle where it has none."""
    out = []
    for first, last in zip((0, *ends), ends, strict=False):
        own = rows[first:last]
        out.append(float(np.average(middles[first:last], weights=own if own.sum() > 0 else None)))
    return np.array(out)
