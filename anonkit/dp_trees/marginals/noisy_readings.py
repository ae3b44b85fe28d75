# SPDX-License-Identifier: Apache-2.0
"""A noisy reading: one number of the private table, in whole steps of a row, with discrete Laplace noise.

A rule may look at it, and at nothing else that is private, to choose what is measured.

A private maximum spanning tree of dependent pairs, and private choices of further pairs where a model is worst.

The score of a pair is how far its true table is from a public model of it, as a sum of absolute differences, in whole
steps: the model is rounded to the steps, and counts are whole, so that one row moves a score by `STEPS` at most, up or
down, and no rounding of a float adds to it.

The columns that are counted, and the classes by which their tables are split: all of it public.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Self

import numpy as np

from anonkit.budget_rules.marginal_rule import forest_of
from anonkit.budget_rules.model_queries import ModelQuery
from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import BoolArray, Codes, FloatArray, IntArray
from anonkit.domains.number_bins import Grid
from anonkit.dp_trees.questions import CodedBatch
from anonkit.mechanisms.accounting import rate_within
from anonkit.mechanisms.discrete_laplace import UniformStream, noisy_counts
from anonkit.mechanisms.private_selection import permute_and_flip
from anonkit.mechanisms.query_sensitivity import STEPS, sensitivity_of
from anonkit.published.marginal_tables import MarginalSchema
from anonkit.published.noisy_tables import LAPLACE
from anonkit.published.statements.draws import Draw

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
