# SPDX-License-Identifier: Apache-2.0
"""Exact answers to the queries of a noise statement, in one pass over the rows, here or where the engine holds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.array_types import IntArray
from anonkit.domains.attribute_domains import Categories, Grid
from anonkit.domains.number_bins import NumberBins
from anonkit.dp_trees.counted_once import refuse_other_totals
from anonkit.dp_trees.questions import CodedBatch
from anonkit.dp_trees.release.coded_rows import counted
from anonkit.mechanisms.statement_noise import scores_of
from anonkit.protocols import Engine, Source
from anonkit.published.statements.noise_statement import Draw, Statement
from anonkit.published.statements.queries import Count, ModeScore, RankScore, Sum
from anonkit.published.tree_attributes import Attribute, Split


@dataclass(frozen=True, kw_only=True)
class StatedSchema:
    """The public domains in which the rows of a statement are coded; rows without a declared class are not used."""

    attributes: tuple[Attribute, ...]
    target: str | None
    classes: Categories | None

    @classmethod
    def of(cls, statement: Statement, target: str | None) -> StatedSchema:
        """Return the schema of a statement; the target of a policy is coded as classes where the statement reads it."""
        domain = None if target is None else statement.domains.get(target)
        return cls(
            attributes=tuple(
                Attribute(name=column.name, domain=column.domain, split=Split.MULTIWAY)
                for column in statement.columns
                if domain is None or column.name != target
            ),
            target=None if domain is None else target,
            classes=NumberBins.equal(domain) if isinstance(domain, Grid) else domain,
        )

    @property
    def most_codes(self) -> int:
        """The largest number of codes of an attribute."""
        return max((attribute.codes for attribute in self.attributes), default=1)


@dataclass(frozen=True, kw_only=True)
class Tallies:
    """Batch function that adds up the contribution of each row to each query, in integers: exact in any order of rows.

    The last number, after the tallies of all draws, is the number of rows that were read.

    Privacy
    -------
    What a row brings is a function of its own codes and of the statement.
    """

    statement: Statement
    schema: StatedSchema

    @property
    def sizes(self) -> list[int]:
        """Number of values in the tally of each draw: its cells, or for scores the codes of its column."""
        sizes = []
        for draw in self.statement.draws:
            scored = isinstance(draw.query, RankScore | ModeScore)
            domain = self.statement.domains[draw.query.of] if scored else None  # type: ignore[union-attr]
            sizes.append(self.statement.numbers_of(draw) if domain is None else domain.size)
        return sizes

    def __call__(self, batch: CodedBatch) -> IntArray:
        """Return the tallies one after the other, flat, and the number of rows."""
        codes = {attribute.name: batch.codes[at] for at, attribute in enumerate(self.schema.attributes)}
        if self.schema.target is not None:
            codes[self.schema.target] = batch.labels
        wide = {name: own.astype(np.int64) for name, own in codes.items()}
        parts = [self._tally(draw, size, wide) for draw, size in zip(self.statement.draws, self.sizes, strict=True)]
        return np.concatenate([*parts, [batch.n_rows]])

    def _tally(self, draw: Draw, size: int, codes: dict[str, IntArray]) -> IntArray:
        used: Any = slice(None)
        if draw.where:
            used = np.all([codes[each.column] == each.code for each in draw.where], axis=0)
        query = draw.query
        if isinstance(query, RankScore | ModeScore):
            return np.bincount(codes[query.of][used], minlength=size).astype(np.int64)
        n_rows = next(iter(codes.values())).size
        cells = np.zeros(n_rows, dtype=np.int64)
        for name in query.by:
            cells = cells * self.statement.domains[name].size + codes[name]
        if isinstance(query, Count):
            return np.bincount(cells[used], minlength=size).astype(np.int64)
        steps = self._half_cells(query, codes[query.of])
        total = np.zeros(size, dtype=np.int64)
        np.add.at(total, cells[used], steps[used])  # integers: sums of floats would depend on the order of rows
        return total

    def _half_cells(self, query: Sum, codes: IntArray) -> IntArray:
        """Return what each row adds to a sum: half cells from the middle of the bounds, 0 for a missing number."""
        domain = self.statement.domains[query.of]
        last = domain.size - 1 - domain.has_missing
        return np.where(codes > last, 0, 2 * codes - last)


def exact_answers(
    source: Source, engine: Engine, statement: Statement, target: str | None, keep: NDArray[np.bool_] | None
) -> list[IntArray]:
    """Return the exact answer of each draw: the numbers of a table, or the scores of all candidates.

    Parameters
    ----------
    source, engine
        As a method is given them.
    statement : Statement
    target : str, optional
        Target of the policy: rows without one of its declared classes are not used.
    keep : bool array, optional
        Rows that may be used; all when None.

    Raises
    ------
    GuaranteeError
        A row was counted more or less often than it is charged for; the code is wrong then.

    Privacy
    -------
    Exact figures of the source: to be noised before anything else.
    """
    schema = StatedSchema.of(statement, target)
    tally = Tallies(statement=statement, schema=schema)
    flat = counted(source, engine, schema, keep, tally, sum(tally.sizes) + 1)
    *tallies, rows = np.split(flat, np.cumsum(tally.sizes))
    answers = []
    for draw, own in zip(statement.draws, tallies, strict=True):
        if not isinstance(draw.query, Sum):
            total, n_rows = int(own.sum()), int(rows[0])
            refuse_other_totals(draw.name, total, min(total, n_rows) if draw.where else n_rows)
        if isinstance(draw.query, RankScore | ModeScore):
            domain = statement.domains[draw.query.of]
            own = scores_of(draw.query, own, domain.size - domain.has_missing)
        answers.append(own)
    return answers
