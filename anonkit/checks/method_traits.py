# SPDX-License-Identifier: Apache-2.0
"""The published choices of each central method of anonkit: the one table of names that its checks read.

A choice is one of the paper or of the method itself. It says what is drawn of which rows, and how attributes divide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType

EXPONENTIAL, FLIP = "exponential", "permute-and-flip"
PLACES_IN_A_CELL = 16
"""Places in a cell at which rows drawn from noisy counts show a number; a multiple of a step has one."""


class Family(Enum):
    """The kind of model that is published."""

    TABLES = "tables of counts by class"
    MARGINALS = "tables of columns and pairs, and a mixture"
    STACKED = "trees with histograms and scores"
    GROUPS = "cells by top-down specialization"
    PAPER_TREES = "trees of one paper"
    AGGREGATES = "tables of figures, and no rows"


@dataclass(frozen=True, kw_only=True)
class Traits:
    """The choices of one method."""

    family: Family
    needs_target: bool = True
    """False where a table in which nothing is predicted can be released."""
    has_forest: bool = False
    """True where the parameters give a number of trees of such a method."""
    equal_bins: str | int = 8
    """Bins of a numeric target, or the parameter that gives them, where they are equal ones."""
    cuts_numbers: bool = False
    """True where a number is divided in two; else by each of its cells."""
    by_groups: bool = False
    """True where categories are divided by the groups that a policy declares."""
    halves_a_choice: bool = False
    """True where the paper chooses half as sharply as the epsilon that it charges for it allows."""
    halves_by_flip: bool = False
    """True where the same is so of choices by permute-and-flip, whose scores move one way."""
    choice: str = ""
    """`joint`: one choice among all splits; `cuts`: one of a cut for each number, then one of the attribute; `counts`:
    noisy tables of all attributes; `totals`: the same with totals as queries of their own."""
    mechanism: str = EXPONENTIAL
    score: str | None = None
    """Score of splits; None where the parameters say which."""
    budget: str = "uniform"
    """Division of epsilon over levels, where the parameters do not give it."""
    counted: float | None = 0.5
    """Share of a level for a noisy count of rows; None: of the number of draws."""
    square_root: bool = False
    """True where a node chooses among the square root of the attributes."""
    leaves_below: int = 1
    """Levels of leaves below the levels that the depth counts."""
    leaf_takes_rest: bool = False
    """True where a leaf spends all that its path has not spent."""
    rows: str | None = "disjoint"
    """Assignment of rows to trees; None where the parameters give it."""
    several_trees: bool = False
    """True where the parameters give a number of trees."""
    counts_one: bool = False
    """True where the count of rows below which a node is a leaf is compared with the noise of one count."""

    @property
    def is_stacked(self) -> bool:
        """True for trees with histograms, scores and a budget rule: words are divided one against the rest."""
        return self.family is Family.STACKED

    @property
    def places(self) -> int:
        """Places in a cell of a number at which rows show it, all equally likely; multiples have one each.

        1 where rows show the number by which a cell is known.
        """
        return PLACES_IN_A_CELL if self.family in (Family.TABLES, Family.MARGINALS, Family.STACKED) else 1

    @property
    def chooses_law(self) -> bool:
        """True where noise that needs no delta may be drawn although one was given."""
        return self.family in (Family.STACKED, Family.MARGINALS)

    @property
    def has_trees(self) -> bool:
        """True where trees are published."""
        return self.family in (Family.STACKED, Family.GROUPS, Family.PAPER_TREES)


_GROUPS = Traits(family=Family.GROUPS, by_groups=True, cuts_numbers=True, halves_a_choice=True)
_PAPER = Traits(family=Family.PAPER_TREES)
_FOREST = replace(_PAPER, rows=None, several_trees=True, square_root=True, counts_one=True)
TRAITS: Mapping[str, Traits] = MappingProxyType(
    {
        "dp-nb": Traits(family=Family.TABLES),
        "dp-tables": Traits(family=Family.AGGREGATES, needs_target=False),
        "dp-marginals": Traits(family=Family.MARGINALS, needs_target=False, equal_bins="bins"),
        "dp-forest": Traits(family=Family.STACKED, has_forest=True, cuts_numbers=True),
        "dp-tree": Traits(family=Family.STACKED, cuts_numbers=True),
        "diffgen": replace(_GROUPS, choice="cuts"),
        "dt-diff": replace(_GROUPS, choice="joint"),
        "edprf": replace(
            _PAPER,
            choice="joint", mechanism=FLIP, score="gini", budget="harmonic", counted=0.0, leaves_below=0,
            leaf_takes_rest=True, several_trees=True, halves_by_flip=True,
        ),
        "diffprfs": replace(_FOREST, choice="cuts", cuts_numbers=True),
        "diffprf": replace(_FOREST, choice="joint"),
        "c45-arithmetic": replace(_PAPER, choice="counts", budget="arithmetic", counted=0.1),
        "c45-halving": replace(_PAPER, choice="counts", budget="halving", counted=0.1),
        "sulq-id3": replace(_PAPER, choice="totals"),
        "pinq-id3": replace(_PAPER, choice="counts"),
        "diffp-id3": replace(_PAPER, choice="joint", halves_a_choice=True),
        "diffp-c45": replace(
            _PAPER, choice="cuts", budget="draws", counted=None, cuts_numbers=True, halves_a_choice=True
        ),
    }
)  # fmt: skip
