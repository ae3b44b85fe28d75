# SPDX-License-Identifier: Apache-2.0
"""Columns of a synthetic table: their entries in params and report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anonkit.domains.attribute_domains import Categories, Grid
from anonkit.domains.found_domains import FindingLine
from anonkit.mechanisms.accounting import AccountedDraw
from anonkit.mechanisms.approximate_accounting import ConcentratedChoice, GaussianDraw
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy
from anonkit.published.column_means import ColumnMean
from anonkit.report.blocks import Budget, Expense, ReportColumn

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
        entry: ReportColumn = {
            "name": name,
            "role": str(column.role),
            "sensitive": column.is_sensitive,
            "action": "synthesized" if name in released else "dropped",
        }
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


def expense(name: str, draw: AccountedDraw | GaussianDraw | ConcentratedChoice) -> Expense:
    """Return the line of a budget for a draw: epsilon, or rho, which is converted in sum."""
    if isinstance(draw, GaussianDraw | ConcentratedChoice):
        return {"name": name, "rho": draw.rho}
    return {"name": name, "epsilon": draw.epsilon}


def domains_budget(lines: Sequence[FindingLine]) -> Budget:
    """Return the part of a budget that was spent on domains; nothing where none was looked for."""
    if not lines:
        return {}
    return {
        "domains": [
            {"name": line.purpose, "epsilon": float(line.epsilon), "delta": float(line.delta)} for line in lines
        ]
    }
