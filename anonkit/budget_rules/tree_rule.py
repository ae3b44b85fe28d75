# SPDX-License-Identifier: Apache-2.0
"""Budget rules of trees: draws at nodes, leaves and levels by each paper, and the rule of the default forest.

Each rule is a function of public facts alone, fixed before any data is read. How much a row changes, how often it pays
and what that costs is not here.

*Levels.* Budget is allocated from the root to the leaves by public weights, and to tables of counts by class by their
sizes.

*Histograms by class* have discrete Laplace noise, or with a delta discrete Gaussian noise where that is less. A row is
in the histogram of every measured attribute. Under Laplace noise their epsilons add up, and the noise of a cell grows
with their number; under Gaussian noise their rho adds up, and the noise grows with the root of it. So the same budget
pays for more histograms of the same noise: their number decides the law of the noise, and how many are measured.

*The default forest* knows epsilon, the number of rows (public, or counted with noise), the numbers of attributes and
classes, and two things that are paid for where there are rows enough: a noisy reading of how far attributes depend on
each other within classes, and a private choice of two on which the class depends together. Each tuned constant names
the experiment that chose it; docs/methods/details/dp_forest.md has the figures.

*Trees of papers* are one table of their choices, which a method follows while it grows trees, and a check while it
reads the account.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from anonkit.budget_rules.spike_rule import LAPLACE


def uniform(levels: int) -> list[Fraction]:
    """Return equal weights."""
    return [Fraction(1)] * levels


def halving(levels: int) -> list[Fraction]:
    """Return half of what is left for each level; the last two get the same."""
    return [Fraction(1, 1 << min(level + 1, levels - 1)) if levels > 1 else Fraction(1) for level in range(levels)]


def arithmetic_ascending(levels: int) -> list[Fraction]:
    """Return 1, 2, ..., h: most for the leaves."""
    return [Fraction(level + 1) for level in range(levels)]


def arithmetic_descending(levels: int) -> list[Fraction]:
    """Return h, ..., 2, 1: most for the root."""
    return [Fraction(levels - level) for level in range(levels)]


def harmonic(levels: int) -> list[Fraction]:
    """Return 1/h, ..., 1/2, 1 (eDPRF)."""
    return [Fraction(1, levels - level) for level in range(levels)]


ALLOCATIONS: Mapping[str, Callable[[int], list[Fraction]]] = {
    "uniform": uniform,
    "halving": halving,
    "arithmetic-ascending": arithmetic_ascending,
    "arithmetic-descending": arithmetic_descending,
    "harmonic": harmonic,
}


def table_weights(sizes: Sequence[int], law: str = LAPLACE) -> list[Fraction]:
    """Return the shares of a budget for tables of so many columns, by a public rule.

    Epsilon in proportion to the cube root of the number of columns, rho to the square root: the least noise in sum over
    all cells.
    """
    return [Fraction(size ** (1 / 3 if law == LAPLACE else 1 / 2)) for size in sizes]


def gaussian_pays(sizes: Sequence[int], epsilon: Fraction, rho: Fraction) -> bool:
    """Return True if Gaussian noise of a whole rho has less variance over all cells than Laplace noise of an epsilon.

    A function of public facts: both are divided by `table_weights`, under which the variances of all cells add up to
    (sum of square roots)**2 / (2 rho) and 2 (sum of cube roots)**3 / epsilon**2, times the number of classes.

    Parameters
    ----------
    sizes : sequence of int
        Columns of each table.
    epsilon, rho : Fraction
        What one row may cost in all, either way.
    """
    gaussian = math.fsum(map(math.sqrt, sizes)) ** 2 / (2 * float(rho))
    laplace = 2 * math.fsum(math.pow(size, 1 / 3) for size in sizes) ** 3 / float(epsilon) ** 2
    return gaussian < laplace


_ONE = 1 << 52
_MORE = 2
"""Factor on the number of histograms of the same noise: docs/methods/details/dp_forest.md names the tables."""
LEAST_RATE = 1 << 12
"""Least rho of one histogram, in units of 2**-52: Gaussian noise is not drawn any wider."""


def gaussian_histograms(units: int, rho_units: int, planned: int, attributes: int) -> int:
    """Return the number of histograms to measure with Gaussian noise; 0 where Laplace noise is drawn.

    Gaussian noise is drawn where more histograms than were planned have no more of it than these have of Laplace
    noise. Twice as many are measured then: for few rows, more attributes help more than less noise does.

    Parameters
    ----------
    units : int
        Loss of a row in all histograms together, in units of 2**-52 of epsilon.
    rho_units : int
        The rho of a row that this epsilon and delta come to, in units of 2**-52; 0 without a delta.
    planned : int
        Histograms with Laplace noise, 1 or more.
    attributes : int
        Histograms that there can be.
    """
    quiet = as_quiet(units, rho_units, planned)
    return min(_MORE * quiet, attributes) if quiet > planned else 0


def as_quiet(units: int, rho_units: int, histograms: int) -> int:
    """Return the number of histograms with no more Gaussian noise than so many have of Laplace noise; 0 where none do.

    Parameters are those of `gaussian_histograms`.

    Notes
    -----
    A cell has the variance 2 (histograms / epsilon)**2 under Laplace noise, and histograms / (2 rho) under Gaussian.
    """
    if not rho_units:
        return 0
    found = 4 * histograms**2 * rho_units * _ONE // units**2
    return found if rho_units >= _MORE * found * LEAST_RATE else 0


def delta_may_pay(units: int, rho_units: int, attributes: int) -> bool:
    """Return True if Gaussian noise is less were all of epsilon spent on histograms, and all attributes measured.

    A function of public facts alone: where it is not, no delta is spent, and none is promised. Parameters are those of
    `gaussian_histograms`.
    """
    return as_quiet(units, rho_units, max(1, attributes)) > attributes


# The constants of the rule were chosen by hand on the held-out rows of Adult, Car and tables like those of
# docs/methods/details/dp_forest.md, where a comment names no other experiment. `_WEIGHED_FROM`, `_REGIONS_FROM`,
# `_DEEP_FROM` and `_DEPENDENT_FROM` are measured anew, on all tables but one, by
# `python recipes/benchmarks/left_out_tables.py` (there: "Tables that chose nothing").
ROWS_SHARE = Fraction(1, 50)
"""Share of epsilon for the noisy count of the rows, when their number is not public."""
MOST_WEIGHED = 64
"""Classes up to which weights are learned: the sums of the step, and their noise, grow with the square of classes."""
_SPLITS = Fraction(9, 100)
_SPLIT_FROM = 20
"""Product of epsilon and rows from which on leaves that are released as cells are split, without weights too."""
_DROWNED = 25
"""Product of epsilon and rows, for each cell of a table of two values, below which evidence is left as it is."""
_REGIONS_FROM = 200
"""The same product from which on there are two regions; four from 4 times as much, eight from 16 times as much.

The histograms of all regions add up to those of the whole table, and so does their noise. It is the rows of the rare
classes that are lost in it: of the rows by class their harmonic mean counts.
"""
_WEIGHED_FROM = 35
"""Product of epsilon and rows, for each pair of attributes, from which on weights are learned."""
_FEWEST_WEIGHED = 10
"""Attributes that count at least: of fewer, the noise of tree and weights exceeds what they add to naive Bayes."""
_DEPENDENT_FROM = 0.07
"""Distance of attributes from independence within classes, as a share of the rows, from which on weights pay.

Below, the naive Bayes classifier of the histograms is close to the truth, and all of the budget is theirs.
"""
_READING_SCALES = 40
"""Scales of the noise of its reading in the rows: enough is paid for a third of what decides, where that is little."""
_MOST_READING = Fraction(3, 100)
# chosen on ten simulated tables: docs/methods/details/dp_forest.md, "What the pair brought"
_GAIN, _LEAST_GAIN = 0.15, 0.09
"""Rows that a pair gets right beyond the better of its attributes, as a share of all, from which on it leads the tree;
and the least, where the loss paid distinguishes so little from nothing. Attributes that each predict much gain some .05
together."""
_GAIN_OVER_CHANCE = 1.5
"""The least gain over what a pair that gains nothing may seem to."""
_CHOICE_ODDS = 2.0
"""Natural logarithm of the odds against all pairs together, where none gains anything."""
_LEAST_CHOICE, _MOST_CHOICE = Fraction(1, 100), Fraction(6, 100)
_LED_COUNTS = Fraction(20, 100)
"""Share for the class counts of a tree that a pair leads: all of what it says of their interaction."""
# chosen among .7, 1 and 1.4 on eighteen simulated tables: docs/methods/details/dp_forest.md, "Few rows"
_MEASURED_ATTRIBUTES = 1.0
"""Attributes measured where no weights are learned: so many times the root of epsilon and rows for each class.

The noise of a histogram grows with their number. Of few rows many drowned histograms say less than a few.
"""
_CALIBRATED_FROM = 1_800
"""Product of epsilon and rows from which on, where no weights are learned, the calibration of the model is.

Below, the noise of the slope is about as large as what there is to correct.
"""
_OF_COUNTS = Fraction(3, 4)
"""Part of the share for class counts that the calibration gets: the histograms count the rows of each class, too."""
_ROWS_OF_COUNTS, _LEAST_COUNTS, _MOST_COUNTS = 8.0, 0.06, 0.12
"""Class counts of leaves get this over the product of epsilon and rows, so that their noise is small; and limits."""
_DEEPER = (50_000, 100_000, 400_000)
"""Products of epsilon and rows from which on a tree with weights has one more level."""
_DEEP, _DEEP_FROM = 5, 2_500
"""Splits on a path, at least, where the product of epsilon and rows is so large for each class.

Where the class depends on two attributes together, shallow trees of few noisy splits find nothing of it.
"""
_OVERLAP = 0.75
"""The evidence of more attributes says more in common: their weight falls with this power of their number."""
_RANGE_OF_CELLS = ((2, 4), (25, 8), (300, 16), (1000, 32))
_MOST_CELLS = 64
CELLS = (*(cells for _, cells in _RANGE_OF_CELLS), _MOST_CELLS)
"""Every number of cells that the rule may choose, fewest first."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """The budget rule: shares of epsilon for each kind of draw, and the resolution of the model."""

    depth: int
    """Splits from the root of a tree to a leaf."""
    region_depth: int
    """Level of the first tree whose nodes have histograms of their own; at most, before its leaves are counted."""
    measured: int
    """Attributes that have histograms, drawn by lot where they are not all; at least 1."""
    cells: int
    """Cells of the grid of each number."""
    splits: Fraction
    """Share of epsilon for the choice of splits."""
    counts: Fraction
    """Share for the class counts of leaves."""
    weights: Fraction
    """Share for the weights of the attributes; 0: they stay as the rule has them."""
    slope: Fraction
    """Share for the calibration slope and intercepts; 0: they stay as the noisy counts have them."""
    attribute_weight: float
    """Weight of an attribute's evidence before anything is learned."""
    tree_weight: float
    """Weight of the trees' evidence before anything is learned."""
    calibrated: bool
    """False where noise drowns the rows drawn from the counts: their intercepts would be noise, too."""
    n_public_levels: int = 0
    """Levels of the tree whose splits are those of a grid of two attributes, and cost nothing."""

    @property
    def histograms(self) -> Fraction:
        """Share for the histograms of all attributes together: the rest."""
        return 1 - self.splits - self.counts - self.weights - self.slope

    def with_choices(self, *, depth: int | None, cells: int | None) -> Rule:
        """Return the rule with a depth or number of cells that the owner chose."""
        rule = self if cells is None else replace(self, cells=cells)
        if depth is None:
            return rule
        splits = (rule.splits or _SPLITS) if depth else Fraction(0)
        return replace(rule, depth=depth, region_depth=min(depth, rule.region_depth), splits=splits)

    def measuring(self, attributes: int) -> Rule:
        """Return the rule with more attributes measured: their evidence, which overlaps, weighs the less."""
        weight = self.attribute_weight * min(1.0, self.measured / attributes) ** _OVERLAP
        return replace(self, measured=attributes, attribute_weight=weight)

    def for_classes(self, counts: Sequence[int], *, epsilon: Fraction, attributes: int) -> Rule:
        """Return the rule with fewer regions where a class is rare.

        Parameters
        ----------
        counts : sequence of int
            Noisy rows by class: what the leaves of the tree count together.
        epsilon : Fraction
            As for `rule_for`.
        attributes : int

        Privacy
        -------
        Regions cost the same whatever their number is, since a row is in one: nothing of the account depends on this.
        """
        rare = len(counts) / sum((Fraction(1, max(count, 1)) for count in counts), start=Fraction(0))
        return replace(self, region_depth=min(self.region_depth, _region_depth(epsilon * rare / (2 * attributes))))


def reading_share(rule: Rule, *, epsilon: float, rows: float, moved: float, in_cells: bool = False) -> Fraction:
    """Return the share of epsilon for the reading of a dependence within classes; 0 where there is no reading.

    It is taken where weights would be learned. Where the leaves are what is released, there is a tree anyhow.

    Parameters
    ----------
    rule : Rule
        Without a reading.
    epsilon, rows, in_cells
        As for `rule_for`.
    moved : float
        By how many rows one row moves what is read.
    """
    if not rule.weights or in_cells:
        return Fraction(0)
    share = _READING_SCALES * moved / (epsilon * max(rows, 1.0))
    return min(_MOST_READING, Fraction(math.ceil(share * 100_000), 100_000))


def choice_share(*, epsilon: float, rows: float, pairs: int, trees: int = 1) -> Fraction:
    """Return the share of epsilon for a choice of a pair that leads the tree; 0 where there is no choice.

    It is made where a small share is enough for a choice that is seldom wrong.

    Parameters
    ----------
    epsilon, rows, trees
        As for `rule_for`; a pair leads one tree alone.
    pairs : int
        Pairs that are chosen among.
    """
    if not pairs or trees > 1:
        return Fraction(0)
    share = 2 / _GAIN * (math.log(pairs + 1) + _CHOICE_ODDS) / (epsilon * max(rows, 1.0))
    rounded = max(_LEAST_CHOICE, Fraction(math.ceil(share * 100_000), 100_000))
    return rounded if rounded <= _MOST_CHOICE else Fraction(0)


def least_gain(*, epsilon: float, rows: float, pairs: int) -> float:
    """Return the gain from which on a pair leads the tree, as a share of the rows.

    Parameters
    ----------
    epsilon : float
        What the choice costs.
    rows : float
    pairs : int
        Pairs that are chosen among.
    """
    by_chance = 2 * (math.log(pairs + 1) + _CHOICE_ODDS) / (epsilon * max(rows, 1.0))
    return min(max(_GAIN_OVER_CHANCE * by_chance, _LEAST_GAIN), _GAIN)


def is_dependent(distance: float, rows: float) -> bool:
    """Return True if attributes depend on each other so much within classes that weights and a tree pay.

    Parameters
    ----------
    distance : float
        Noisy, in rows.
    rows : float
        Number of rows, public or noisy.
    """
    return distance >= _DEPENDENT_FROM * max(rows, 1.0)


def rule_for(
    *,
    epsilon: float,
    rows: float,
    attributes: int,
    classes: int,
    trees: int = 1,
    in_cells: bool = False,
    independent: bool = False,
    n_public_levels: int = 0,
) -> Rule:
    """Return the rule for public facts.

    Parameters
    ----------
    epsilon : float
        Privacy loss of one row that comes or goes.
    rows : float
        Number of rows: public, or noisy and charged; anything below 1 counts as 1.
    attributes, classes, trees : int
    in_cells : bool
        True where the leaves are what is released. Else there is no tree without weights: the histograms of all
        attributes by class have the budget, as in `dp-nb`, since a few noisy splits cost more accuracy than they add.
    independent : bool
        True where a noisy reading says that attributes depend on each other little within classes: no weights then.
    n_public_levels : int
        Levels of the grid of two attributes that were chosen to lead the tree; 0 where none were.
    """
    strength = epsilon * max(rows, 1.0)
    is_weighed = strength > _WEIGHED_FROM * max(attributes, _FEWEST_WEIGHED) ** 2 and classes <= MOST_WEIGHED
    learned = is_weighed and not independent
    measured = (
        attributes if learned else min(attributes, max(1, round(_MEASURED_ATTRIBUTES * math.sqrt(strength / classes))))
    )
    per_cell = strength / (2 * attributes * classes)
    drowned = per_cell < _DROWNED and not learned
    levels = 2 if in_cells and strength >= _SPLIT_FROM else 0
    region = _region_depth(per_cell) if learned else 0
    region = region if trees == 1 else 0  # the first of several trees has seen few of the rows
    deep = learned and strength >= _DEEP_FROM * classes
    depth = 3 + sum(strength >= limit for limit in _DEEPER) if learned else levels
    depth = max(depth, _DEEP if deep else 0, n_public_levels)
    counts = Fraction(7, 100) if learned else _counts(strength)
    sloped = not learned and not in_cells and strength >= _CALIBRATED_FROM and classes <= MOST_WEIGHED
    slope = _OF_COUNTS * counts if sloped else Fraction(0)  # the histograms keep what they have
    return Rule(
        depth=depth,
        region_depth=region,
        measured=measured,
        cells=next((cells for limit, cells in _RANGE_OF_CELLS if per_cell < limit), _MOST_CELLS),
        splits=Fraction(16 if deep else 8 if learned else 6, 100) if depth > n_public_levels else Fraction(0),
        counts=_LED_COUNTS if n_public_levels else counts - slope,
        weights=Fraction(17, 100) if learned else Fraction(0),
        slope=slope,
        attribute_weight=1.0 if drowned or independent else min(1.0, (6 / measured) ** _OVERLAP),
        tree_weight=1.0,
        calibrated=not drowned,
        n_public_levels=n_public_levels,
    )


def _region_depth(per_cell: float | Fraction) -> int:
    """Return the level of the regions, for a product of epsilon and rows for each cell of a table of two values."""
    return sum(per_cell >= _REGIONS_FROM * 4**level for level in range(3))


def _counts(strength: float) -> Fraction:
    """Return the share for the class counts of leaves: so much that their noise is small beside the table."""
    share = min(max(_ROWS_OF_COUNTS / strength, _LEAST_COUNTS), _MOST_COUNTS) if strength > 0 else _MOST_COUNTS
    return Fraction(math.ceil(share * 1000), 1000)


EXPONENTIAL, FLIP = "exponential", "permute-and-flip"
JOINT, CUTS, COUNTS, TOTALS = "joint", "cuts", "counts", "totals"
"""Ways to split a node: one choice among all splits; a choice of a cut for each number, then one of the attribute;
noisy tables of all attributes; the same with totals as queries of their own."""
OVER_LEVELS = {"harmonic": "harmonic", "linear": "arithmetic-ascending", "uniform": "uniform"}
"""Allocations over levels that a parameter names."""


@dataclass(frozen=True, kw_only=True)
class PaperTree:
    """The choices of one method that no parameter makes."""

    split: str
    law: str = EXPONENTIAL
    """Law of private choices."""
    score: str = ""
    """Score of splits; empty where a parameter names it."""
    allocation: str = "uniform"
    """Division of epsilon over levels; `draws`: by their number on each level; empty where a parameter names it."""
    counted: Fraction = Fraction(1, 2)
    """Share of a level for a noisy count of the rows of a node."""
    counts_to_stop: bool = False
    """True where these are counted for a noisy stopping rule alone."""
    leaves_below: int = 1
    """Levels of leaves below the levels that the depth counts."""
    leaf_takes_rest: bool = False
    """True where a leaf spends all that its path has not spent."""
    square_root: bool = False
    """True where a node chooses among the square root of the attributes."""
    compares_one: bool = False
    """True where the count of rows below which a node is a leaf is compared with the noise of one count."""
    cuts_numbers: bool = False
    """True where a number is divided in two; else by each of its cells."""
    in_steps: bool = False
    """True for top-down specialization: values are made finer in all cells at once, categories by declared groups."""


_STEPS = PaperTree(split=CUTS, cuts_numbers=True, in_steps=True)
_FOREST = PaperTree(split=JOINT, square_root=True, compares_one=True)
_C45 = PaperTree(split=COUNTS, counted=Fraction(1, 10), counts_to_stop=True)
PAPER_TREES: Mapping[str, PaperTree] = {
    "diffgen": _STEPS,
    "dt-diff": replace(_STEPS, split=JOINT),
    "edprf": PaperTree(
        split=JOINT, law=FLIP, score="gini", allocation="", counted=Fraction(0), leaves_below=0, leaf_takes_rest=True
    ),
    "diffprfs": replace(_FOREST, split=CUTS, cuts_numbers=True),
    "diffprf": _FOREST,
    "c45-arithmetic": replace(_C45, allocation="arithmetic"),
    "c45-halving": replace(_C45, allocation="halving"),
    "sulq-id3": PaperTree(split=TOTALS),
    "pinq-id3": PaperTree(split=COUNTS),
    "diffp-id3": PaperTree(split=JOINT),
    "diffp-c45": PaperTree(split=CUTS, allocation="draws", cuts_numbers=True),
}
"""Methods by their name."""


@dataclass(frozen=True, kw_only=True)
class RequestedTrees:
    """The trees of one release: the choices of its method and of its parameters."""

    paper: PaperTree
    score: str
    """Score of splits; empty where noisy counts decide."""
    slack: int
    """Divisor of the rate of private choices: 2 where it is the published one and the score needs half of it."""
    weights: tuple[Fraction, ...]
    """Shares of the levels, the root's first and the leaves' last; none where values are made finer step by step."""
    counted: tuple[Fraction, ...]
    """Share of each level for a noisy count of rows; none where there is no count."""
    steps: int
    """Values that are made finer, one after another."""
    rows: str
    """Assignment of rows to trees."""
    trees: int
    is_undivided: bool
    """True where the table of every attribute has the whole share of a level."""
    has_labels: bool
    """True where a leaf publishes its label alone."""
    stops: bool
    """True where a node with a small noisy count of rows is a leaf."""


def requested_trees(
    paper: PaperTree, given: Mapping[str, str | int | float | bool | None], numbers: int
) -> RequestedTrees:
    """Return the trees of a method with some parameters.

    Parameters
    ----------
    paper : PaperTree
    given : mapping of str to value
        Parameters by name, in their declared ranges. Releases of earlier versions lack those that are younger.
    numbers : int
        Attributes that can be cut.
    """
    score = paper.score or str(given.get("score", ""))
    stops = given.get("stop") == "noisy"
    levels = 0 if paper.in_steps else int(given["depth"] or 0) + paper.leaves_below
    counts = levels > 0 and paper.counted > 0 and (stops or not paper.counts_to_stop)
    if paper.allocation == "draws":  # a count, a cut for each number, and an attribute; in a leaf two counts
        weights = [*([Fraction(2 + numbers)] * (levels - 1)), Fraction(2)]
        counted = [1 / weight for weight in weights]
    else:
        weights, counted = _allocation(paper, given)(levels) if levels else [], [paper.counted] * levels
    return RequestedTrees(
        paper=paper,
        score=score,
        slack=2 if given.get("rate") == "published" and score != "information-gain" else 1,
        weights=tuple(weights),
        counted=tuple(counted) if counts else (),
        steps=int(given.get("steps") or 0),
        rows=str(given.get("rows", "disjoint")),
        trees=int(given.get("trees") or 1),
        is_undivided=given.get("tables") == "published",
        has_labels=given.get("leaf") == "label",
        stops=stops,
    )


def _allocation(
    paper: PaperTree, given: Mapping[str, str | int | float | bool | None]
) -> Callable[[int], list[Fraction]]:
    """Return the weights of levels by their number."""
    if not paper.allocation:
        return ALLOCATIONS[OVER_LEVELS[str(given.get("allocation", "harmonic"))]]
    order = f"-{given['order']}" if paper.allocation == "arithmetic" else ""
    return ALLOCATIONS[paper.allocation + order]
