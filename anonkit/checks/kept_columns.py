# SPDX-License-Identifier: Apache-2.0
"""Columns that a release promises to show: at least two different values, ranges or groups of each, counted in SQL.

The search counts with arrays of codes; nothing is shared with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit.checks.sameness import named
from anonkit.checks.table_scans import combined
from anonkit.promises.guarantee import Check

CHECK = "kept_columns"
"""Name of the check."""
_FEWEST_PARTS = 2


def kept_columns(params: Mapping[str, Any], report: Mapping[str, Any]) -> list[str]:
    """Return the columns of which params or report state that they are kept."""
    names = (name for block in (params, report) for name, entry in named(block["columns"]) if entry.get("keep") is True)
    return list(dict.fromkeys(names))


def disputed_columns(params: Mapping[str, Any], report: Mapping[str, Any]) -> list[str]:
    """Return the columns of which params and report do not say alike whether they are kept."""
    blocks = [dict(named(block["columns"])) for block in (params, report)]
    names = kept_columns(params, report)
    return [name for name in names if any(entries.get(name, {}).get("keep") is not True for entries in blocks)]


def kept_column_checks(
    table: str | Path | pa.Table, released: Sequence[str], names: Sequence[str], disputed: Sequence[str] = ()
) -> tuple[Check, ...]:
    """Count the columns to be kept of which the table shows fewer than two values, a missing one among them.

    Parameters
    ----------
    table : path or Arrow table
        As for `anonkit.checks.disclosure.measure`.
    released : sequence of str
        Its columns.
    names : sequence of str
        Columns to be kept.
    disputed : sequence of str
        Those of which the files do not say alike whether they are: they count as not kept.

    Returns
    -------
    tuple of Check
        One, where a column is to be kept.
    """
    if not names:
        return ()
    lost = [
        name for name in names if name in disputed or name not in released or _n_values(table, name) < _FEWEST_PARTS
    ]
    return (Check(name=CHECK, passed=not lost, observed=len(lost), required=0),)


def _n_values(table: str | Path | pa.Table, name: str) -> int:
    """Return the number of different values of a column; 2 means two or more."""
    with combined(table, (name,)) as lines:
        ((n_values,),) = lines.connection.execute(
            f"SELECT count(*) FROM (SELECT DISTINCT {lines.column(name)} FROM {lines.source} LIMIT {_FEWEST_PARTS})"
        ).fetchall()
    return int(n_values)
