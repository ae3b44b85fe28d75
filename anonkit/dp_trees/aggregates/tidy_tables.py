# SPDX-License-Identifier: Apache-2.0
"""Published aggregates as one tidy table: a line for each group and statistic; the report's entry of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.dp_trees.aggregates.aggregate_plan import FIXED
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy
from anonkit.published.aggregate_figures import AggregateFigure
from anonkit.published.aggregates import Aggregates
from anonkit.report.blocks import ReportColumn

_MEANING = {
    "table": "name of the table",
    "of": "column that is added up",
    "statistic": "what the value is",
    "value": "with noise, unbiased for counts and sums",
    "low": "lower end of the interval",
    "high": "upper end of the interval",
}


def tidy_table(aggregates: Aggregates, lines: Sequence[AggregateFigure]) -> pa.Table:
    """Return the lines as a table; a column by which a table is not divided is empty in its lines."""
    groups: dict[str, dict[int, str]] = {column.name: {} for column in aggregates.columns}
    for at, line in enumerate(lines):
        for name, group in line.groups.items():
            groups[name][at] = group
    texts = {
        "table": dict(enumerate(line.table for line in lines)),
        **groups,
        "of": {at: line.of for at, line in enumerate(lines) if line.of is not None},
        "statistic": dict(enumerate(line.statistic for line in lines)),
    }
    numbers = {name: [getattr(line, name) for line in lines] for name in ("value", "low", "high")}
    return pa.table(
        {
            **{name: _coded(cells, len(lines)) for name, cells in texts.items()},
            **{name: pa.array(cells, pa.float64()) for name, cells in numbers.items()},
        }
    )


def _coded(cells: Mapping[int, str], n_lines: int) -> pa.DictionaryArray:
    """Return a column by the lines in which it is not empty: of thousands of columns each is in a few."""
    named = pa.array(cells.values(), pa.string()).dictionary_encode()
    codes, empty = np.zeros(n_lines, dtype=np.int32), np.ones(n_lines, dtype=bool)
    at = np.fromiter(cells, dtype=np.int64, count=len(cells))
    codes[at], empty[at] = named.indices.to_numpy(), False
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=empty), named.dictionary)


def described_columns(aggregates: Aggregates) -> list[dict[str, Any]]:
    """Return the description of the columns of the tidy table, for the params."""
    groups = [{**column.to_params(), "shows": "group"} for column in aggregates.columns]
    first, *rest = FIXED
    return [_fixed(first), *groups, *map(_fixed, rest)]


def _fixed(name: str) -> dict[str, Any]:
    return {"name": name, "type": "number" if name in ("value", "low", "high") else "category", "shows": _MEANING[name]}


def column_entries(policy: Policy, aggregates: Aggregates, added_up: Sequence[str]) -> list[ReportColumn]:
    """Return the `columns` block of the report.

    Parameters
    ----------
    policy : Policy
    aggregates : Aggregates
    added_up : sequence of str
        Columns of which sums, means or quantiles are published.
    """
    own = {column["name"]: _fixed_entry(column["name"]) for column in described_columns(aggregates)}
    sizes = {column.name: column.domain.size for column in aggregates.columns}
    others: list[ReportColumn] = []
    for name, column in policy.columns.items():
        entry: ReportColumn = {
            "name": name,
            "role": str(column.role),
            "sensitive": column.is_sensitive,
            "action": "synthesized" if name in sizes else "dropped",
        }
        if name in sizes:
            own[name] = {**entry, "released_values": sizes[name]}
        elif name in added_up:
            others.append({**entry, "reason": "only sums, means or quantiles of it are published, with noise"})
        elif column.role in (Role.IDENTIFIER, Role.UNIT):
            others.append({**entry, "reason": "identifiers are never released"})
        else:
            others.append({**entry, "reason": "it is in no requested table"})
    return [*own.values(), *others]


def _fixed_entry(name: str) -> ReportColumn:
    return {"name": name, "role": "insensitive", "action": "synthesized", "reason": _MEANING.get(name, "")}
