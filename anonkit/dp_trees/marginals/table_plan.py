# SPDX-License-Identifier: Apache-2.0
"""Every draw of tables and pairs, once the view and the number of pairs are known: lines of the account."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from anonkit.dp_trees.marginals import marginal_rule as rule
from anonkit.dp_trees.marginals.column_layout import Layout, Pair
from anonkit.dp_trees.marginals.dependency_tree import WIDTH
from anonkit.mechanisms.accounting import LAPLACE, PERMUTE_AND_FLIP, Draw, rate_within, shares


@dataclass(frozen=True, kw_only=True)
class TablePlan:
    """The draws of tables and pairs; a row pays for each of them."""

    layout: Layout
    candidates: tuple[Pair, ...]
    """Pairs that may be measured."""
    one_ways: tuple[Draw, ...]
    """One a column."""
    edges: Draw | None = None
    """Choices of the forest's pairs; None where columns alone are measured."""
    tree: Draw | None = None
    """Tables of the forest's pairs."""
    choices: Draw | None = None
    """Choices of further pairs."""
    pairs: Draw | None = None
    """Tables of further pairs."""

    @property
    def draws(self) -> tuple[Draw, ...]:
        """All lines, in the order in which they are drawn."""
        later = (self.edges, self.tree, self.choices, self.pairs)
        return (*self.one_ways, *(draw for draw in later if draw is not None))


def plan_of(layout: Layout, candidates: Sequence[Pair], edges: int, further: int, units: int) -> TablePlan:
    """Return the plan.

    Tables of columns share by the square root of their cells, which makes the noise over all of them least; tables of
    pairs alike, so that the account is known before any pair is chosen.

    Parameters
    ----------
    layout : Layout
    candidates : sequence of pair
    edges, further : int
        Pairs of the forest, and beside it.
    units : int
        What a row may lose in all these draws, in units of 2**-52.
    """
    columns, choice, tables = rule.stage_shares(layout.sizes, layout.classes, edges)
    weights = [columns, choice, *rule.further_shares(tables, edges, further)]
    stages = shares(units, [Fraction(weight) for weight in weights])
    roots = [Fraction(size**0.5) for size in layout.sizes]
    word = "class x " if layout.anchored else "rows by "
    return TablePlan(
        layout=layout,
        candidates=tuple(candidates),
        one_ways=tuple(
            Draw(purpose=f"{word}{name}", mechanism=LAPLACE, rate=rate_within(own, 1), sensitivity=1)
            for name, own in zip(layout.names, shares(stages[0], roots), strict=True)
        ),
        edges=_choice("pair of the tree", stages[1], edges) if edges else None,
        tree=_tables("table of a pair of the tree", stages[2], edges) if edges else None,
        choices=_choice("further pair", stages[3], further) if further else None,
        pairs=_tables("table of a further pair", stages[4], further) if further else None,
    )


def candidate_pairs(layout: Layout) -> tuple[Pair, ...]:
    """Return the pairs that may be measured: all of them, or none where there are more values than can be held."""
    return layout.pairs if can_hold(layout) else ()


def can_hold(layout: Layout) -> bool:
    """Tell whether all pairs of values of all columns can be held, for every class."""
    return layout.classes * int(layout.offsets[-1]) ** 2 <= rule.MOST_VALUE_PAIRS


def _choice(purpose: str, units: int, times: int) -> Draw:
    rate = rate_within(units // times, WIDTH)
    return Draw(purpose=purpose, mechanism=PERMUTE_AND_FLIP, rate=rate, sensitivity=WIDTH, times=times)


def _tables(purpose: str, units: int, times: int) -> Draw:
    return Draw(purpose=purpose, mechanism=LAPLACE, rate=rate_within(units // times, 1), sensitivity=1, times=times)


def names_of(layout: Layout, pair: Pair) -> tuple[str, str]:
    """Return the names of the columns of a pair."""
    return layout.names[pair[0]], layout.names[pair[1]]
