# SPDX-License-Identifier: Apache-2.0
"""Published trees by method and parameters: what is drawn at a node and in a leaf, and how levels share epsilon.

One table of the papers' choices, which a method follows while it grows trees, and a check while it reads the account.
How much a row changes, how often it pays and what that costs is not here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from anonkit.budget_rules.forest_rule import ALLOCATIONS

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
