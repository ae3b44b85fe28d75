# SPDX-License-Identifier: Apache-2.0
"""Noisy tables for naive Bayes: central differential privacy by the owner who is trusted with the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from anonkit.central_dp import ADD_OR_REMOVE, REPLACE, CentralDP
from anonkit.coded_rows import counted, first_rows_of_units
from anonkit.errors import ParameterError, PolicyError
from anonkit.mechanisms.accounting import LAPLACE, Accounting, Draw, rate_within, shares, units_of
from anonkit.mechanisms.domains import Categories, Grid
from anonkit.mechanisms.noisy_tables import IntArray, NoisyTables, rows_of, table_weights
from anonkit.parameters import check_choice, check_number, parameter
from anonkit.policy import Column, Policy, Role, TargetUse
from anonkit.protocols import Draft, Engine, Progress, Source, no_progress
from anonkit.public_domains import attributes_of, bounds_of, categories_of, conditions_of, may_be_missing
from anonkit.randomness import Randomness
from anonkit.trees.attributes import Attribute, Split, TreeSchema
from anonkit.trees.questions import CodedBatch

ADJACENCIES = {"add-or-remove": ADD_OR_REMOVE, "replace": REPLACE}


@dataclass(frozen=True, kw_only=True)
class DPNB:
    """Count every class and every class with every value of every attribute, and publish the counts with noise.

    The counts stand in the params, for a naive Bayes model of them; the table is rows drawn from them. Numbers are
    counted in equal bins of their public bounds.

    Privacy
    -------
    Central differential privacy with at most the epsilon given, delta 0: a row is in each table once, and the tables'
    shares of epsilon add up.
    """

    name: ClassVar[str] = "dp-nb"
    paper: ClassVar[str] = (
        "Vaidya, Shafiq, Basu, Hong: Differentially private naive Bayes classification, WI 2013; the central sibling "
        "of Zhang & Tang 2007"
    )
    summary: ClassVar[str] = "differentially private counts for naive Bayes, and rows drawn from them"
    target_use: ClassVar[TargetUse] = TargetUse.REQUIRED
    promise_words: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "kind": "central-dp",
            "statement": "Central differential privacy with at most the epsilon given, delta 0: no outcome becomes "
            "more than e^epsilon times as likely or as unlikely by one row more or less (one row replaced, with "
            "adjacency replace; all rows of a unit, with a unit column). The tables of the classes and of each "
            "attribute share epsilon in proportion to the cube root of their numbers of columns.",
        }
    )

    epsilon: float = parameter(range="(0, 40]", help="privacy loss of the whole release, for the unit of privacy")
    adjacency: str = parameter(
        default="add-or-remove",
        range="one of these",
        help="which tables are neighbours; replaced rows cost twice as much",
        choices=tuple(ADJACENCIES),
    )
    rows_per_unit: int = parameter(
        default=1, range="[1, 1000]", help="with a unit column: most rows of a unit that are used; each costs as much"
    )
    bins: int = parameter(default=16, range="[2, 1024]", help="equal bins of each number, over its public bounds")

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon, 0, 40, open_low=True)
        check_choice("adjacency", self.adjacency, tuple(ADJACENCIES))
        check_number("rows_per_unit", self.rows_per_unit, 1, 1000)
        check_number("bins", self.bins, 2, 1024)

    def schema(self, policy: Policy) -> TreeSchema:
        """Return attributes and classes, from public domains alone.

        Raises
        ------
        PolicyError
            A column has no public domain, or there is no target.
        """
        if policy.target is None:
            raise PolicyError("no column has role target", '--target NAME, or role = "target" in the policy')
        return TreeSchema(
            attributes=tuple(
                Attribute(name=column.name, domain=self._domain(column), split=Split.MULTIWAY)
                for column in attributes_of(policy)
            ),
            target=policy.target,
            classes=categories_of(policy.column(policy.target)),
        )

    def _domain(self, column: Column) -> Categories | Grid:
        if column.bounds is None:
            return categories_of(column)
        lower, upper = bounds_of(column)
        return Grid(lower=lower, upper=upper, cells=self.bins, has_missing=may_be_missing(column))

    def account(self, policy: Policy) -> Accounting:
        """Return every draw of the release, the classes first, before any data is seen."""
        if policy.unit is None and self.rows_per_unit != 1:
            raise ParameterError("rows_per_unit needs a unit column", "--unit NAME")
        schema, adjacency = self.schema(policy), ADJACENCIES[self.adjacency]
        per_row = units_of(self.epsilon) // (self.rows_per_unit * (2 if adjacency == REPLACE else 1))
        purposes = ["rows per class", *(f"class x {one.name}" for one in schema.attributes)]
        parts = shares(per_row, table_weights([1, *(one.codes for one in schema.attributes)]))
        return Accounting(
            draws=tuple(
                Draw(purpose=purpose, mechanism=LAPLACE, rate=rate_within(units, 1), sensitivity=1)
                for purpose, units in zip(purposes, parts, strict=True)
            ),
            rows_per_unit=self.rows_per_unit,
            adjacency=adjacency,
        )

    def guarantee(self, policy: Policy) -> CentralDP:
        """State the promise: what the planned draws add up to, never above the epsilon asked for."""
        accounting = self.account(policy)
        return CentralDP(
            epsilon=accounting.epsilon,
            adjacency=accounting.adjacency,
            unit=policy.unit,
            rows_per_unit=accounting.rows_per_unit,
            assumptions=conditions_of(policy),
            conditional=policy.domains_from_data,
        )

    def release(
        self, source: Source, policy: Policy, *, engine: Engine, rng: Randomness, progress: Progress = no_progress
    ) -> Draft:
        """Count in one pass, add noise, and draw rows from the noisy counts."""
        progress("counting", 0.0)
        schema, accounting = self.schema(policy), self.account(policy)
        unit = policy.unit
        keep = None if unit is None else first_rows_of_units(engine, source, unit, self.rows_per_unit)
        sizes = [schema.n_classes, *(schema.n_classes * one.codes for one in schema.attributes)]
        counts = counted(source, engine, schema, keep, partial(count, schema=schema), sum(sizes))
        by_class, *flat = np.split(counts, np.cumsum(sizes)[:-1])
        by_attribute = [table.reshape(schema.n_classes, -1) for table in flat]
        classes, *rest = (draw.rate for draw in accounting.draws)
        noisy = NoisyTables.of_counts(
            (schema.target, schema.classes, by_class, classes),
            [
                (one.name, one.domain, counts, rate)
                for one, counts, rate in zip(schema.attributes, by_attribute, rest, strict=True)
            ],
            rng.child("noise"),
        )
        return tables_draft(noisy, accounting, policy, engine, rng.child("rows"))


def count(batch: CodedBatch, schema: TreeSchema) -> IntArray:
    """Count rows per class, then per class and code of each attribute; one table after the other, flat."""
    classes = schema.n_classes
    tables = [np.bincount(batch.labels, minlength=classes)]
    for one, codes in zip(schema.attributes, batch.codes, strict=True):
        cells = batch.labels.astype(np.int64) * one.codes + codes
        tables.append(np.bincount(cells, minlength=classes * one.codes))
    return np.concatenate(tables).astype(np.int64)


def tables_draft(
    noisy: NoisyTables, accounting: Accounting, policy: Policy, engine: Engine, randomness: Randomness
) -> Draft:
    """Return the draft of noisy tables: rows drawn from them, the counts as params. No true count is in it."""
    drawn = rows_of(noisy, randomness)
    made = {noisy.target: _cells(drawn.labels, noisy.classes)}
    described = {noisy.target: _described(noisy.target, noisy.classes)}
    for table, codes in zip(noisy.tables, drawn.codes, strict=True):
        made[table.name] = _cells(codes, table.domain)
        described[table.name] = _described(table.name, table.domain)
    names = [name for name in policy.columns if name in made]
    params = {
        **noisy.to_params(),
        **accounting.to_params(),
        "columns": [described[name] for name in names],
        **({"conditions": list(conditions_of(policy))} if policy.domains_from_data else {}),
    }
    sizes = {noisy.target: noisy.classes.size} | {table.name: table.domain.size for table in noisy.tables}
    return Draft(
        data=engine.hold(pa.table({name: made[name] for name in names})),
        params=params,
        columns=_column_entries(policy, sizes),
        details={
            "budget": {
                "epsilon": accounting.epsilon,
                "delta": 0,
                "per_attribute": [
                    {"name": name, "epsilon": draw.epsilon} for name, draw in zip(sizes, accounting.draws, strict=True)
                ],
            }
        },
    )


def _cells(codes: IntArray, domain: Categories | Grid) -> pa.Array:
    if isinstance(domain, Grid):
        numbers = domain.decode(codes)
        return pa.array(numbers, pa.float64(), mask=np.isnan(numbers))
    absent = codes >= len(domain.values)
    indices = pa.array(np.where(absent, 0, codes).astype(np.int32), mask=absent)
    return pa.DictionaryArray.from_arrays(indices, pa.array(domain.values, pa.string()))


def _described(name: str, domain: Categories | Grid) -> dict[str, Any]:
    kind = "number" if isinstance(domain, Grid) else "category"
    return {"name": name, "type": kind, "domain": domain.to_params()}


def _column_entries(policy: Policy, sizes: Mapping[str, int]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for name, column in policy.columns.items():
        entry = {"name": name, "role": str(column.role), "sensitive": column.is_sensitive}
        if name in sizes:
            out.append({**entry, "action": "synthesized", "released_values": sizes[name]})
            continue
        hidden = column.role in (Role.IDENTIFIER, Role.UNIT)
        other = f"declared {column.role}: only what is counted is drawn"
        reason = "identifiers are never released" if hidden else other
        out.append({**entry, "action": "dropped", "reason": reason})
    return out
