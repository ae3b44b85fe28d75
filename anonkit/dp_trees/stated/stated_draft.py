# SPDX-License-Identifier: Apache-2.0
"""The draft of a noise statement: a table of its noisy values, or rows of them, with params and report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from anonkit.domains.coded_columns import IntArray
from anonkit.dp_trees.release.synthetic_rows import PieceSampler, column_entries
from anonkit.errors import PolicyError
from anonkit.mechanisms.statement_loss import StatedAccounting
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import conditions_of
from anonkit.protocols import Draft, Engine
from anonkit.published.statements.noise_statement import CellRows, Count, ReleasedStatement, Statement, Value
from anonkit.published.statements.value_lines import (
    AFTER,
    BEFORE,
    MEANING,
    cell_columns,
    lines_table,
    report_lines,
    reserved_names,
)
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
