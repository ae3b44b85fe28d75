# SPDX-License-Identifier: Apache-2.0
"""Synthetic rows drawn from noisy counts, as a table of the engine, chunk by chunk.

Nothing grows with the rows but the release itself: a piece is drawn when it is written, by whoever writes it.

Synthetic rows divided into chunks of bounded size, each of which can be drawn independently.

Cells follow one after another, and pieces cut them wherever a piece is full. What is drawn in a piece depends on the
counts and on the number of the piece alone, whoever draws it and however often.

Columns of a synthetic table: their entries in params and report.

Drawn rows that keep the public rules of a policy: what follows is written beside them, what cannot meet is changed.

Columns that follow from others are never counted, so that no epsilon is spent on what is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import IntArray
from anonkit.domains.number_bins import Categories, Grid
from anonkit.domains.public_rules import Follows, Never, PublicRules
from anonkit.errors import ParameterError, PolicyError
from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.policy.column_declarations import Role
from anonkit.policy.constraints import refuse_strange_constraints
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import NumericAttribute, public_attribute
from anonkit.protocols import Engine, Source
from anonkit.published.column_means import ColumnMean
from anonkit.published.released_codes import CodeRules, cells_of_codes, places_of_cells, shown_domain
from anonkit.randomness import Randomness
from anonkit.report.blocks import ReportColumn, column_entry

PIECE_ROWS = 1 << 18
"""Most rows drawn together."""
_PIECE_CELLS = 1 << 23
"""Most cells drawn together: from 33 columns on a piece has fewer rows."""


def rows_together(n_columns: int) -> int:
    """Return the number of rows of a full piece with so many columns."""
    return max(1, min(PIECE_ROWS, _PIECE_CELLS // max(n_columns, 1)))


def piece_sizes(numbers: IntArray, n_columns: int) -> list[int]:
    """Return the rows of each piece, given the rows of each cell and the columns of the table."""
    n_rows, full = int(numbers.sum()), rows_together(n_columns)
    return [min(full, n_rows - first) for first in range(0, n_rows, full)]


def rows_of_piece(numbers: IntArray, piece: int, n_columns: int) -> IntArray:
    """Return the number of rows of each cell in a piece, shape (n_cells,)."""
    full = rows_together(n_columns)
    first = piece * full
    return np.asarray(np.diff(np.clip(np.cumsum(numbers), first, first + full), prepend=first), dtype=np.int64)


COUNT_COLUMN = "count"


def described(name: str, domain: Categories | Grid) -> dict[str, Any]:
    """Return the description of a released column, for the params."""
    kind = "number" if isinstance(domain, Grid) else "category"
    return {"name": name, "type": kind, "domain": domain.to_params()}


def column_entries(
    policy: Policy, sizes: Mapping[str, int], released: list[str], means: Mapping[str, ColumnMean] | None = None
) -> list[ReportColumn]:
    """Return the `columns` block of the report.

    Parameters
    ----------
    policy : Policy
    sizes : mapping of str to int
        How many values the domain of each synthesized column has, missing included.
    released : list of str
        Columns of the released table.
    means : mapping of str to ColumnMean, optional
        Means of columns of numbers, as far as they follow from what is published.
    """
    known = {} if means is None else {name: _stated(mean.rounded()) for name, mean in means.items()}
    out: list[ReportColumn] = []
    for name, column in policy.columns.items():
        entry = column_entry(
            name, str(column.role), "synthesized" if name in released else "dropped", is_sensitive=column.is_sensitive
        )
        if name in released:
            stated: ReportColumn = {**entry, "released_values": sizes[name]}
            if name in known:
                stated["mean"] = known[name]
            out.append(stated)
        else:
            hidden = column.role in (Role.IDENTIFIER, Role.UNIT)
            reason = f"declared {column.role}: only what is synthesized is released"
            reason = "identifiers are never released" if hidden else reason
            out.append({**entry, "reason": reason})
    if COUNT_COLUMN in released and COUNT_COLUMN not in policy.columns:
        reason = "noisy count of the rows in the cell"
        out.append({"name": COUNT_COLUMN, "role": "insensitive", "action": "synthesized", "reason": reason})
    return out


def _stated(mean: ColumnMean) -> dict[str, float | bool]:
    return {"value": mean.value, "low": mean.low, "high": mean.high, "of_the_rows": mean.is_carried}


Domains = Mapping[str, Categories | Grid]


@dataclass(frozen=True, kw_only=True, eq=False)
class RuledRows(ParamsPart, keys=("constraints?",)):
    """The rules of a policy over the domains in which rows are drawn."""

    rules: PublicRules
    determined: Domains
    """Domains of the columns that follow from others."""
    codes_of: Mapping[str, IntArray]
    """For each of them its code for each code of the column that it follows from."""
    code_rules: CodeRules
    label: str | None
    """The column of classes, where rows have one when they are drawn."""

    @classmethod
    def of(cls, policy: Policy, sampled: Domains, label: str | None, *, number_last: bool = False) -> RuledRows:
        """Return the rules of a policy.

        Parameters
        ----------
        policy : Policy
        sampled : mapping of str to domain
            The columns that are counted, as they are drawn.
        label : str, optional
            The target.
        number_last : bool
            True where a number to predict is drawn after all other cells: some numbers may then be of no row.

        Raises
        ------
        PolicyError
            A rule names a value that is in no domain, does not say what follows from each value, or the rules leave no
            row possible.
        """
        rules = policy.constraints
        refuse_strange_constraints(rules, policy.columns)
        determined = {name: domain_of_determined(policy, name) for name in rules.determined}
        domains = {**sampled, **determined}
        rules = rules.completed(domains)
        try:
            codes = {name: rule.codes(domains[rule.of], domains[name]) for name, rule in rules.determined.items()}
            code_rules = CodeRules.of(rules, domains, label)
            code_rules.check(of_each_class=not (number_last and label is not None and isinstance(domains[label], Grid)))
        except ParameterError as error:
            raise PolicyError(f"policy: constraints: {error.message}", error.hint or "mend the rule") from None
        return cls(rules=rules, determined=determined, codes_of=codes, code_rules=code_rules, label=label)

    def complete(self, codes: Mapping[str, IntArray], words: UniformStream) -> dict[str, IntArray]:
        """Return the codes of all columns, changed where values would meet, with those that follow from others."""
        if self.code_rules.masks:
            first = next(iter(codes.values()))
            classes = first * 0 if self.label is None else codes[self.label]
            codes = self.code_rules.repaired(codes, classes, words)
        return self.with_determined(codes)

    def with_determined(self, codes: Mapping[str, IntArray]) -> dict[str, IntArray]:
        """Return the codes with those of the columns that follow from others."""
        of = self.rules.determined
        return {**codes, **{name: own[codes[of[name].of]] for name, own in self.codes_of.items()}}

    def settled(self) -> RuledRows:
        """Return the same for rows whose values do not meet any more: what follows is all that is left to write."""
        return replace(self, code_rules=CodeRules(masks=(), may_be={}))

    @property
    def sizes(self) -> dict[str, int]:
        """Number of values of the columns that follow from others, missing included."""
        return {name: domain.size for name, domain in self.determined.items()}

    @property
    def constraints(self) -> tuple[Follows | Never, ...] | None:
        """The rules for the params; None where there are none."""
        return self.rules.listed or None

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of the report on the rules."""
        return tuple(f"Every row keeps the public rule: {words}." for words in self.rules.words)


def domain_of_determined(policy: Policy, name: str) -> Categories | Grid:
    """Return the domain of a column that follows from another; each of its integers is a cell of its own."""
    attribute = public_attribute(policy.column(name), policy.missing)
    if not isinstance(attribute, NumericAttribute):
        return attribute.domain
    return attribute.grid(1 if attribute.values is None else attribute.values.size)


def domains_of_rules(policy: Policy, cells: int, target_cells: int) -> dict[str, Categories | Grid]:
    """Return the domains of the columns that the rules of a policy name and do not determine.

    Parameters
    ----------
    policy : Policy
    cells, target_cells : int
        Of a column of numbers, and of a number to predict.

    Raises
    ------
    PolicyError
        One has no public domain.
    """
    rules = policy.constraints
    refuse_strange_constraints(rules, policy.columns)
    names = {rule.of for rule in rules.follows} | {name for rule in rules.never for name in rule.values}
    found: dict[str, Categories | Grid] = {}
    for name in sorted(names - rules.determined.keys()):
        attribute = public_attribute(policy.column(name), None if name == policy.target else policy.missing)
        own = target_cells if name == policy.target else cells
        found[name] = attribute.grid(own) if isinstance(attribute, NumericAttribute) else attribute.domain
    return found


def check_rules(policy: Policy, cells: int, target_cells: int, *, number_last: bool = False) -> None:
    """Refuse rules by public facts alone, before anything is drawn.

    Raises
    ------
    PolicyError
        See `domains_of_rules` and `RuledRows.of`.
    """
    if policy.constraints:
        domains = domains_of_rules(policy, cells, target_cells)
        RuledRows.of(policy, domains, policy.target if policy.target in domains else None, number_last=number_last)


class SyntheticRowsOfCells(Protocol):
    """Picklable function that draws the synthetic rows of cells in a task."""

    def __call__(self, numbers: IntArray, randomness: Randomness) -> Sequence[IntArray]:
        """Return the codes of each released column for so many rows of each cell, shape (n_rows,) each."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class PlacedRows:
    """Draws rows by their cells, and of a number one of the places in its cell.

    Privacy
    -------
    Post-processing of noisy counts: no privacy loss.
    """

    rows: SyntheticRowsOfCells
    """Draws cells."""
    counted: Mapping[str, Categories | Grid]
    """Domains of the columns as `rows` draws them, in its order."""
    shown: Mapping[str, Categories | Grid]
    """The same columns as they are released."""

    def __call__(self, numbers: IntArray, randomness: Randomness) -> list[IntArray]:
        """Return the codes of each column as it is released."""
        words = UniformStream(randomness.child("places"))
        codes_of_rows = zip(self.counted, self.rows(numbers, randomness), strict=True)
        return [places_of_cells(own, self.counted[name], self.shown[name], words) for name, own in codes_of_rows]


def shown_domains(counted: Mapping[str, Categories | Grid], target: str | None) -> dict[str, Categories | Grid]:
    """Return the domains in which columns are released; a number to predict is shown as the middle of its cell."""
    return {name: own if name == target else shown_domain(own) for name, own in counted.items()}


@dataclass(frozen=True, kw_only=True, eq=False)
class PieceSampler:
    """Draws a piece of a table.

    Privacy
    -------
    Post-processing of noisy counts: no privacy loss. The randomness is secret all the same, and never shown.
    """

    rows: SyntheticRowsOfCells
    numbers: IntArray
    """Rows of each cell."""
    domains: Mapping[str, Categories | Grid]
    """Public domains of the released columns, in the order in which `rows` has them."""
    policy: Policy
    """Orders the columns."""
    randomness: Randomness = field(repr=False)
    ruled: RuledRows | None = None
    """The public rules that rows keep, and the columns that follow from others."""

    def __call__(self, piece: int) -> pa.RecordBatch:
        """Return the rows of a piece."""
        return self._batch(
            rows_of_piece(self.numbers, piece, len(self.domains)), self.randomness.child(f"piece {piece}")
        )

    def empty(self) -> pa.RecordBatch:
        """Return the table without rows: columns, types and categories."""
        return self._batch(np.zeros_like(self.numbers), self.randomness.child("no piece"))

    def _batch(self, numbers: IntArray, randomness: Randomness) -> pa.RecordBatch:
        codes_of_rows = self.rows(numbers, randomness)
        codes = dict(zip(self.domains, codes_of_rows, strict=True))
        if self.ruled is not None:
            codes = self.ruled.complete(codes, UniformStream(randomness.child("public rules")))
        columns = [cells_of_codes(codes[name], self._released[name]) for name in self._names]
        return pa.RecordBatch.from_arrays(columns, names=self._names)

    @property
    def _names(self) -> list[str]:
        return [name for name in self.policy.columns if name in self._released]

    @property
    def _released(self) -> Mapping[str, Categories | Grid]:
        """The domains of all columns, those that follow from others too."""
        return self.domains if self.ruled is None else {**self.domains, **self.ruled.determined}

    def described(self) -> list[dict[str, Any]]:
        """Return the description of the columns, for the params."""
        return [described(name, self._released[name]) for name in self._names]

    def source(self, engine: Engine) -> Source:
        """Return the table."""
        return engine.draw(self, piece_sizes(self.numbers, len(self.domains)), self.empty())
