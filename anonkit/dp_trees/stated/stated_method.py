# SPDX-License-Identifier: Apache-2.0
"""The class of methods that hand on one noise statement; promise, draws, account and draft follow from it.

Exact answers to all queries are counted in one pass over the rows, here or where the engine holds them. The draft is a
table of the noisy values, or rows of them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import IntArray
from anonkit.domains.number_bins import Categories, Grid, NumberBins
from anonkit.dp_trees.grower import refuse_other_totals
from anonkit.dp_trees.questions import CodedBatch
from anonkit.dp_trees.release.coded_rows import counted
from anonkit.dp_trees.release.declared_schema import CentralMethod
from anonkit.dp_trees.release.synthetic_rows import PieceSampler, column_entries
from anonkit.errors import BudgetError, ParameterError, PolicyError
from anonkit.mechanisms.accounting import rate_within, sensitivity_of
from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.mechanisms.statement_loss import StatedAccounting, epsilon_of, noisy_values, row_units, scores_of
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import (
    CategoricalAttribute,
    NumericAttribute,
    conditions_of,
    numeric_target,
    public_domains,
    without_whole_types,
)
from anonkit.promises.noise_promises import CentralDP
from anonkit.protocols import Draft, Engine, Progress, Source, no_progress
from anonkit.published.exact_losses import RATE_BITS
from anonkit.published.statements.noise_statement import (
    HINT,
    CellRows,
    Count,
    ModeScore,
    Query,
    RankScore,
    ReleasedStatement,
    Restriction,
    Shown,
    StatedColumn,
    StatedDraw,
    Statement,
    Sum,
    Value,
)
from anonkit.published.statements.value_lines import (
    AFTER,
    BEFORE,
    MEANING,
    cell_columns,
    lines_table,
    report_lines,
    reserved_names,
)
from anonkit.published.tree_model import Attribute, Split
from anonkit.randomness import Randomness
from anonkit.report.blocks import JsonObject, ReportColumn


@dataclass(frozen=True)
class RowsOfCells:
    """Rows of the cells of a contingency table; see `anonkit.dp_trees.release.synthetic_rows`."""

    sizes: tuple[int, ...]
    """Number of values of each column, the last varying fastest."""

    def __call__(self, numbers: IntArray, randomness: Randomness) -> list[IntArray]:
        """Return the codes of each column, shape (n_rows,) each."""
        cells = np.repeat(np.arange(numbers.size), numbers)
        return [np.asarray(codes, dtype=np.int64) for codes in np.unravel_index(cells, self.sizes)]


def refuse_reserved(statement: Statement) -> None:
    """Refuse columns whose names the table of published values needs.

    Raises
    ------
    PolicyError
        One has such a name.
    """
    if not isinstance(statement.shows, CellRows) and (taken := reserved_names(statement)):
        raise PolicyError(f"column {min(taken)!r} has a name that the table of values needs", "rename it")


def stated_draft(
    statement: Statement,
    values: tuple[Value, ...],
    policy: Policy,
    engine: Engine,
    randomness: Randomness,
    method: JsonObject,
) -> Draft:
    """Return the draft of noisy values. No exact answer is in it.

    Parameters
    ----------
    statement, values
        The draws, and what they publish.
    policy, engine
        As a method is given them.
    randomness : Randomness
        Secret; for the order of rows alone.
    method : mapping
        Name and parameters of the method.
    """
    if isinstance(statement.shows, CellRows):
        rows, sizes = _rows(statement, statement.shows, values, policy, randomness)
        data, described, columns = rows.source(engine), rows.described(), column_entries(policy, sizes, list(sizes))
    else:
        data, described = engine.hold(lines_table(statement, values)), _described_lines(statement)
        columns = _line_entries(statement, policy)
    return Draft(
        data=data,
        in_order=not isinstance(statement.shows, CellRows),
        published={
            **method,
            "columns": described,
            **({"conditions": list(conditions_of(policy))} if policy.is_conditional else {}),
        },
        statement=StatedAccounting(released=ReleasedStatement(statement=statement, values=values)),
        columns=columns,
        details={"draws": report_lines(statement)},
    )


def _described_lines(statement: Statement) -> list[dict[str, Any]]:
    """Return the description of the columns of published values, for the params."""
    return [
        *({"name": name, "type": "category", "shows": MEANING[name]} for name in BEFORE),
        *({"name": name, "type": "category", "shows": "cell"} for name in cell_columns(statement)),
        *(
            {"name": name, "type": "number" if name == "value" else "category", "shows": MEANING[name]}
            for name in AFTER
        ),
    ]


def _rows(
    statement: Statement,
    shows: CellRows,
    values: tuple[Value, ...],
    policy: Policy,
    randomness: Randomness,
) -> tuple[PieceSampler, dict[str, int]]:
    """Return as many rows of each cell as its noisy count, at least 0; and the size of each column's domain."""
    draw, value = next(pair for pair in zip(statement.draws, values, strict=True) if pair[0].name == shows.of)
    by = draw.query.by if isinstance(draw.query, Count) else ()
    domains = {name: statement.domains[name] for name in by}
    sizes = {name: domain.size for name, domain in domains.items()}
    rows = PieceSampler(
        rows=RowsOfCells(tuple(sizes.values())),
        numbers=np.maximum(np.array(value.numbers, dtype=np.int64), 0),
        domains=domains,
        policy=policy,
        randomness=randomness,
    )
    return rows, sizes


def _line_entries(statement: Statement, policy: Policy) -> list[ReportColumn]:
    """Return the `columns` block of a table of values."""
    shown = cell_columns(statement)
    read = [column.name for column in statement.columns if column.name not in shown]
    sizes = {column.name: column.domain.size for column in statement.columns}
    own: list[ReportColumn] = [
        {"name": name, "role": "insensitive", "action": "synthesized", "reason": MEANING[name]}
        for name in (*BEFORE, *AFTER)
    ]
    columns: list[ReportColumn] = []
    others: list[ReportColumn] = []
    for entry in column_entries(policy, sizes, list(shown)):
        if entry["name"] in read:
            others.append({**entry, "reason": "only figures of it are published, with noise"})
        else:
            (columns if entry["name"] in shown else others).append(entry)
    in_order = sorted(columns, key=lambda entry: shown.index(entry["name"]))
    return [*own[: len(BEFORE)], *in_order, *own[len(BEFORE) :], *others]


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

    def _tally(self, draw: StatedDraw, size: int, codes: dict[str, IntArray]) -> IntArray:
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
        """Return the term of each row in a sum: half cells from the middle of the bounds, 0 for a missing number."""
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


@dataclass(frozen=True, kw_only=True)
class StatedMethod(CentralMethod, ABC):
    """A method of central differential privacy that is one noise statement.

    A subclass has `name`, `paper`, `summary`, parameters of its own, and `statement`. Where it publishes no rows of
    people it says `publishes_rows = False`.

    Privacy
    -------
    Pure central differential privacy: what the draws of the statement cost the dearest row, times the rows that differ
    between neighbours, and never above the given epsilon. The statement has no data argument.
    """

    publishes_rows: ClassVar[bool] = True

    @abstractmethod
    def statement(self, policy: Policy) -> Statement:
        """Return every draw of the release and what it shows, from parameters and policy alone.

        Raises
        ------
        PolicyError, ParameterError
            The policy lacks what the method needs.
        """

    # --- parts of a statement ----------------------------------------------------------------------------------------

    def columns(self, policy: Policy, *, cells: int) -> tuple[StatedColumn, ...]:
        """Return the declared columns with their public domains, the target last, numbers in so many equal cells.

        Cells are equal also where the column holds integers: a sum counts in halves of them.
        """
        domains, number = public_domains(policy), numeric_target(policy)
        columns = [
            StatedColumn(
                name=declared.name,
                domain=declared.domain if isinstance(declared, CategoricalAttribute) else _equal_cells(declared, cells),
            )
            for declared in domains.attributes
        ]
        if number is not None:
            columns.append(StatedColumn(name=number.name, domain=_equal_cells(number, cells)))
        elif domains.target is not None:
            columns.append(StatedColumn(name=domains.target.name, domain=domains.target.domain))
        return tuple(columns)

    def draw(
        self,
        name: str,
        query: Query,
        columns: tuple[StatedColumn, ...],
        *,
        share: Fraction = Fraction(1),
        law: str | None = None,
        where: Mapping[str, int] | None = None,
    ) -> StatedDraw:
        """Return a draw that costs a row a share of what one row may lose in all.

        Parameters
        ----------
        name : str
        query : Query
        columns : tuple of StatedColumn
            Those of the statement.
        share : Fraction
            In (0, 1]. The shares of all draws that can read the same row come to 1 at most.
        law : str, optional
            Law of the noise; the first of the query's by default.
        where : mapping, optional
            Of the name of a column to the place of the one value whose rows are read.

        Raises
        ------
        ParameterError
            The share is too small for any noise, or the law is not one for the query.
        """
        domains: dict[str, Categories | Grid] = {column.name: column.domain for column in columns}
        units = math.floor(self._row_units * share)
        return StatedDraw(
            name=name,
            query=query,
            law=query.laws[0] if law is None else law,
            rate=rate_within(units, sensitivity_of(query, domains)),
            where=tuple(Restriction(column=column, code=code) for column, code in (where or {}).items()),
        )

    def stated(self, columns: tuple[StatedColumn, ...], draws: tuple[StatedDraw, ...], shows: Shown) -> Statement:
        """Return the statement of some draws, with the policy's neighbours and rows of a unit."""
        return Statement(
            columns=columns, draws=draws, shows=shows, adjacency=self.neighbours, rows_per_unit=self.rows_per_unit
        )

    # --- the method --------------------------------------------------------------------------------------------------

    @property
    def draws_rows(self) -> bool:
        """True where rows of people are published, about as many as noisy counts say."""
        return self.publishes_rows

    def rows_of_noise(self, policy: Policy) -> float:
        """Return about how many rows noise alone makes: half the mean size of the noise in each cell."""
        statement = self.statement(policy)
        if not isinstance(statement.shows, CellRows):
            return 0.0
        draw = next(draw for draw in statement.draws if draw.name == statement.shows.of)
        return statement.numbers_of(draw) * (1 << RATE_BITS) / (2 * draw.rate)

    def checked_statement(self, policy: Policy) -> Statement:
        """Return the statement; refuse one that costs more than epsilon, or has other neighbours than the policy's.

        Raises
        ------
        BudgetError
            Its draws cost a row more than the given epsilon.
        ParameterError
            It is of other neighbours or rows of a unit, or the class says otherwise whether it publishes rows.
        """
        self.check_unit(policy)
        statement = self.statement(policy)
        if (statement.adjacency, statement.rows_per_unit) != (self.neighbours, self.rows_per_unit):
            raise ParameterError(f"the statement of {self.name!r} is of other neighbours than were requested", HINT)
        if isinstance(statement.shows, CellRows) != self.publishes_rows:
            raise ParameterError(f"publishes_rows of {self.name!r} is not what its statement shows", HINT)
        if row_units(statement) > self._row_units:
            raise BudgetError(f"the draws of {self.name!r} cost more than epsilon = {self.epsilon:g}", HINT)
        refuse_reserved(statement)
        return statement

    def guarantee(self, policy: Policy) -> CentralDP:
        """State the promise: what the draws of the statement add up to.

        Types of the source are no assumption of it: equal cells do not depend on them.
        """
        loss = epsilon_of(self.checked_statement(policy))
        return self.promise(without_whole_types(policy, policy.columns), loss)

    def release(
        self, source: Source, policy: Policy, *, engine: Engine, rng: Randomness, progress: Progress = no_progress
    ) -> Draft:
        """Answer all queries in one pass, add noise, and show what is noisy."""
        progress("counting", 0.0)
        statement = self.checked_statement(policy)
        answers = exact_answers(source, engine, statement, policy.target, self.used_rows(source, policy, engine, rng))
        values = noisy_values(statement, answers, UniformStream(rng.child("noise")))
        return stated_draft(statement, values, policy, engine, rng.child("rows"), self.method_entry)


def _equal_cells(number: NumericAttribute, cells: int) -> Grid:
    return replace(number, values=None).grid(cells)
