# SPDX-License-Identifier: Apache-2.0
"""Every draw of tables and pairs, once the view and the number of pairs are known: lines of the account."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from anonkit.budget_rules import marginal_rule as rule
from anonkit.budget_rules.model_queries import PairError
from anonkit.dp_trees.marginals.noisy_readings import ColumnLayout, Pair
from anonkit.dp_trees.marginals.remaining_budget import RemainingBudget
from anonkit.mechanisms.accounting import rate_within, shares
from anonkit.mechanisms.query_sensitivity import sensitivity_of
from anonkit.published.noisy_tables import LAPLACE
from anonkit.published.statements.draws import PERMUTE_AND_FLIP, Draw


@dataclass(frozen=True, kw_only=True)
class TablePlan:
    """The draws of tables and pairs; a row pays for each of them."""

    layout: ColumnLayout
    candidates: tuple[Pair, ...]
    """Pairs that may be measured."""
    law: str
    """Of the noise of all tables."""
    tied: bool = False
    """True where the first pair is one with the last column: the target."""
    one_ways: tuple[Draw, ...]
    """One a column."""
    triple: Draw | None = None
    """The table of three columns with the target; None where none was chosen."""
    edges: Draw | None = None
    """Choices of the pairs that are chosen at once, a forest: by permute-and-flip, or in rho.

    None where columns alone are measured."""
    tree: Draw | None = None
    """Their tables."""
    choices: Draw | None = None
    """Choices of further pairs, each by the tables of all before it."""
    pairs: Draw | None = None
    """Their tables."""

    @property
    def draws(self) -> tuple[Draw, ...]:
        """All lines, in the order in which they are drawn."""
        later = (self.triple, self.edges, self.tree, self.choices, self.pairs)
        return (*self.one_ways, *(draw for draw in later if draw is not None))


def plan_of(
    layout: ColumnLayout,
    candidates: Sequence[Pair],
    edges: int,
    further: int,
    left: RemainingBudget,
    law: str,
    *,
    tied: bool = False,
    tie: float = 0.0,
    cells: int = 0,
) -> TablePlan:
    """Return the plan.

    Tables of columns share as makes the noise over all of their cells least; tables of pairs alike, so that the account
    is known before any pair is chosen.

    Parameters
    ----------
    layout : Layout
    candidates : sequence of pair
    edges, further : int
        Pairs of the forest that was forecast, and beside it: see `marginal_rule.divided`.
    left : RemainingBudget
        What may be lost in all these draws.
    law : {"discrete-laplace", "discrete-gaussian"}
        Of the noise: what is lost is epsilon, or rho.
    tied : bool
        Whether the first pair is one with the target.
    tie : float
        Share of that pair where it is the only one and was not read to gain; else 0.
    cells : int
        Of the table of a triple in a class of the view, which shares as those of columns do; 0: there is none.
    """
    planned = rule.stages_of(layout.sizes, layout.classes, edges, further, law, tie)
    at_once, later = planned.at_once, planned.later
    stages = shares(left.whole(law), [Fraction(weight) for weight in planned.weights])
    tables_of = (*layout.sizes, cells) if cells else layout.sizes
    own_shares = shares(stages[0], [Fraction(weight) for weight in rule.column_weights(tables_of, law)])
    word = "class x " if layout.anchored else "rows by "
    return TablePlan(
        layout=layout,
        candidates=tuple(candidates),
        law=law,
        tied=tied,
        one_ways=tuple(
            left.table(law, f"{word}{name}", own) for name, own in zip(layout.names, own_shares, strict=False)
        ),
        triple=left.table(law, "table of the triple", own_shares[-1]) if cells else None,
        edges=_choice(left, law, "pair of the tree", stages[1], at_once) if at_once else None,
        tree=left.table(law, "table of a pair of the tree", stages[2], at_once) if at_once else None,
        choices=_choice(left, law, "further pair", stages[3], later) if later else None,
        pairs=left.table(law, "table of a further pair", stages[4], later) if later else None,
    )


def candidate_pairs(layout: ColumnLayout) -> tuple[Pair, ...]:
    """Return the pairs that may be measured: all of them, or none where there are too many values for memory."""
    return layout.pairs if fits_in_memory(layout) else ()


def fits_in_memory(layout: ColumnLayout) -> bool:
    """Return True if the tables of all pairs of columns fit into memory, for every class."""
    return rule.pairs_fit(layout.sizes, layout.classes)


def _choice(left: RemainingBudget, law: str, purpose: str, units: int, times: int) -> Draw:
    if law != LAPLACE:
        return left.choice(purpose, units, PairError(), times)
    query = PairError()
    rate = rate_within(units // times, sensitivity_of(query))
    return Draw(name=purpose, law=PERMUTE_AND_FLIP, rate=rate, query=query, times=times)


def names_of(layout: ColumnLayout, pair: Pair) -> tuple[str, str]:
    """Return the names of the columns of a pair."""
    return layout.names[pair[0]], layout.names[pair[1]]
