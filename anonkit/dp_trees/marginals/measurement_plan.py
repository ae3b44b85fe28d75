# SPDX-License-Identifier: Apache-2.0
"""Measurements of dp-marginals: columns, remaining budget, noisy readings, choices of pairs, plan of tables.

The columns that are counted, and the classes by which their tables are split, are public.

**The budget.** Numbers and readings are paid in epsilon. What they leave is spent in one of two currencies, whichever
gives less noise: all of it in epsilon, with Laplace noise and no delta, or all of it in the rho that epsilon and delta
are worth together, with Gaussian noise.

**A reading** is one number of the private table, in whole steps of a row, with discrete Laplace noise. A rule may look
at it, and at nothing else that is private, to choose what is measured.

**Choices of pairs** are a private maximum spanning tree of dependent pairs, and further pairs where a model is worst.
The score of a pair is how far its true table is from a public model of it, as a sum of absolute differences, in whole
steps: the model is rounded to the steps, and counts are integers, so that one row moves a score by `STEPS` at most, up
or down, and no rounding of a float adds to it.

**The plan** has every draw of tables and pairs, once the view and the number of pairs are known: lines of the account.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Self

import numpy as np

from anonkit.budget_rules import marginal_rule as rule
from anonkit.budget_rules.marginal_rule import forest_of
from anonkit.budget_rules.model_queries import TABLE, ModelQuery, PairError
from anonkit.budget_rules.spike_rule import Amount
from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import BoolArray, Codes, FloatArray, IntArray
from anonkit.domains.number_bins import Grid
from anonkit.dp_trees.questions import CodedBatch
from anonkit.mechanisms.accounting import STEPS, changed_squared, rate_within, rho_units_within, sensitivity_of, shares
from anonkit.mechanisms.exact_samplers import UniformStream, noisy_counts, permute_and_flip
from anonkit.promises.guarantee import ADD_OR_REMOVE, REPLACE, changed_rows
from anonkit.published.exact_losses import RATE_BITS
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE, MarginalSchema
from anonkit.published.statements.noise_statement import EXPONENTIAL, PERMUTE_AND_FLIP, Draw

Pair = tuple[int, int]
"""Two columns by number, the lower first."""
Triple = tuple[int, int, int]
"""Three columns by number, the lowest first."""


@dataclass(frozen=True, kw_only=True)
class ColumnLayout:
    """Columns by number, and the anchor: the target, whose classes split every table.

    Without an anchor a target is one more column, the last, and there is one class, of all rows.
    """

    schema: MarginalSchema
    anchored: bool
    """True when the classes of the target split all tables."""

    @property
    def classes(self) -> int:
        """Classes that split the tables; 1 without an anchor."""
        return self.schema.n_classes if self.anchored else 1

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of each column; the target among them where it does not split the tables."""
        return self.schema.column_names(anchored=self.anchored)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of values of each column, missing included."""
        return tuple(self.schema.sizes[name] for name in self.names)

    @cached_property
    def bins(self) -> tuple[int, ...]:
        """Number of leading values of each column that are neighbouring bins of a number; 0 for categories."""
        domains = (self.schema.domains[name] for name in self.names)
        return tuple(domain.cells if isinstance(domain, Grid) else 0 for domain in domains)

    @cached_property
    def offsets(self) -> IntArray:
        """Offset of each column among the values of all columns, shape (n_columns + 1,)."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    def values(self, column: int) -> slice:
        """Return the slice of a column among the values of all columns."""
        return slice(int(self.offsets[column]), int(self.offsets[column + 1]))

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """All pairs of columns."""
        return tuple(combinations(range(len(self.sizes)), 2))

    def codes(self, batch: CodedBatch) -> Iterator[Codes]:
        """Yield the codes of each column in turn, shape (n_rows,) each."""
        yield from batch.codes
        if self.schema.target is not None and not self.anchored:
            yield batch.labels

    def labels(self, batch: CodedBatch) -> IntArray:
        """Return the class of each row, shape (n_rows,)."""
        return batch.labels.astype(np.int64) if self.anchored else np.zeros(batch.n_rows, dtype=np.int64)


Chooser = Callable[[IntArray, int, UniformStream, BoolArray], IntArray]
"""A private choice: `permute_and_flip` or `exponential_mechanism`."""


def error_steps(counts: IntArray, model: FloatArray) -> int:
    """Return the sum of the absolute differences between true counts and a model of them, in steps.

    Privacy
    -------
    One row changes one count by 1, hence the sum by `STEPS` at most. The model must not depend on the rows but through
    noisy counts.
    """
    return int(np.abs(counts * STEPS - np.rint(model * STEPS).astype(np.int64)).sum())


def private_tree(
    scores: Mapping[Pair, int],
    n_columns: int,
    rate: int,
    words: UniformStream,
    number: int | None = None,
    choose: Chooser = permute_and_flip,
    joined: int | None = None,
) -> list[Pair]:
    """Choose the edges of a spanning tree one after another, privately, among those that close no circle.

    Parameters
    ----------
    scores : mapping of pair to int
        In steps.
    n_columns : int
    rate : int
        Of each choice, per step.
    words : UniformStream
    number : int, optional
        Edges of a forest; by default those of a spanning one.
    choose : callable
        `permute_and_flip`, or `exponential_mechanism` where choices are paid in rho.
    joined : int, optional
        A column that the first edge joins, whatever the others are worth.

    Returns
    -------
    list of pair
        So many, by default those of a spanning forest.

    Privacy
    -------
    Each choice costs the sensitivity of a `PairError` times the rate; the candidates follow from earlier choices.
    """
    pairs, values = list(scores), np.array([list(scores.values())], dtype=np.int64)
    component = np.arange(n_columns)
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    chosen: list[Pair] = []
    for _ in range(len(forest_of(pairs, n_columns)) if number is None else number):
        allowed = component[ends[:, 0]] != component[ends[:, 1]]
        if joined is not None and not chosen:
            allowed &= (ends == joined).any(axis=1)
        at = int(choose(values, rate, words, allowed[np.newaxis])[0])
        first, second = pairs[at]
        component[component == component[second]] = component[first]
        chosen.append(pairs[at])
    return chosen


def private_best(
    scores: Mapping[Pair, int], number: int, rate: int, words: UniformStream, choose: Chooser = permute_and_flip
) -> list[Pair]:
    """Choose so many different pairs of high score, one after another, privately.

    Parameters and privacy are those of `private_tree`; `number` is at most the number of pairs.
    """
    pairs, values = list(scores), np.array([list(scores.values())], dtype=np.int64)
    allowed = np.ones(values.shape, dtype=bool)
    chosen: list[Pair] = []
    for _ in range(number):
        at = int(choose(values, rate, words, allowed)[0])
        allowed[0, at] = False
        chosen.append(pairs[at])
    return chosen


def reading_draw(purpose: str, units: int, query: ModelQuery) -> Draw:
    """Return the line of the account of a reading.

    Parameters
    ----------
    purpose : str
    units : int
        What a row may lose by it, in units of 2**-52 of epsilon.
    query : ModelQuery
    """
    rate = rate_within(units, sensitivity_of(query))
    return Draw(name=purpose, law=LAPLACE, rate=rate, query=query)


@dataclass(frozen=True, kw_only=True)
class Reading(ParamsPart, keys=("purpose=draw.name", "rate=draw.rate", "steps")):
    """A noisy reading, and its line of the account."""

    draw: Draw
    steps: int
    """Value of the reading, in steps."""

    @classmethod
    def of(cls, draw: Draw, value: float, words: UniformStream) -> Self:
        """Read a number of rows, which one row moves by the sensitivity of the draw at most, less the rounding."""
        exactly = np.array([round(value * STEPS)], dtype=np.int64)
        return cls(draw=draw, steps=int(noisy_counts(exactly, draw.rate, words)[0]))

    @property
    def rows(self) -> float:
        """Value of the reading, in rows."""
        return self.steps / STEPS


_ONE = 1 << RATE_BITS


@dataclass(frozen=True, kw_only=True)
class RemainingBudget:
    """Remaining epsilon of a row, and the unspent delta."""

    units: int
    """Remaining loss of a row, in units of 2**-52 of epsilon."""
    delta: Fraction = Fraction(0)
    """Of the unit of privacy; 0: Laplace noise alone."""
    rows_per_unit: int = 1
    adjacency: str = ADD_OR_REMOVE

    def after(self, units: int) -> RemainingBudget:
        """Return the budget that is left after so many units of a row."""
        return replace(self, units=self.units - units)

    @property
    def rho_units(self) -> int:
        """The rho of the unit of privacy that what is left comes to, in units of 2**-52."""
        changed = changed_rows(self.rows_per_unit, self.adjacency)
        return rho_units_within(Fraction(self.units * changed, _ONE), self.delta)

    @property
    def amounts(self) -> tuple[Amount, ...]:
        """Budget of the tables in each currency there is; epsilon first."""
        pure = Amount(law=LAPLACE, loss=self.units / _ONE)
        if not self.delta:
            return (pure,)
        return pure, Amount(law=GAUSSIAN, loss=self.rho_units / self.squared / _ONE)

    def whole(self, law: str) -> int:
        """Return the budget that the stages share: units of epsilon of a row, or of rho of the unit of privacy."""
        return self.units if law == LAPLACE else self.rho_units

    def table(self, law: str, purpose: str, units: int, times: int = 1) -> Draw:
        """Return the draw of the noise of so many tables, for a part of `whole`."""
        if law == LAPLACE:
            rate = rate_within(units // times, 1)
            return Draw(name=purpose, query=TABLE, law=LAPLACE, rate=rate, times=times)
        rate = units // self.squared // times
        return Draw(name=purpose, query=TABLE, law=GAUSSIAN, rate=rate, times=times, in_rho=True)

    def choice(self, purpose: str, units: int, query: ModelQuery, times: int) -> Draw:
        """Return the draw of so many choices by the exponential mechanism, for a part of the rho.

        Notes
        -----
        A choice with loss e in epsilon costs e**2 / 8. Where m rows are changed its range is m times as wide: m**2.
        """
        changed = changed_rows(self.rows_per_unit, self.adjacency)
        a_choice = units // changed**2 // times
        rate = math.isqrt(8 * a_choice * _ONE) // sensitivity_of(query)
        return Draw(name=purpose, query=query, law=EXPONENTIAL, rate=rate, times=times, in_rho=True)

    @property
    def row_rho_units(self) -> int:
        """The rho of a row that what is left comes to, in units of 2**-52; 0 without a delta."""
        return self.rho_units // self.squared if self.delta else 0

    @property
    def squared(self) -> int:
        """Ratio of the rho of a unit of privacy to that of a row, in one table."""
        return changed_squared(self.rows_per_unit, replaced=self.adjacency == REPLACE)


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
