# SPDX-License-Identifier: Apache-2.0
"""Cells of a table that somebody has suppressed with `*`: how many, and k with and without the rows that have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from anonkit.checks.table_scans import opened
from anonkit.documents import ReportPart

SUPPRESSED = "*"
"""Sign of other programs for a suppressed cell, or for all quasi-identifiers of a suppressed row."""


@dataclass(frozen=True, kw_only=True)
class SuppressedCells(ReportPart):
    """Quasi-identifiers that are suppressed. Where k is counted with them, `*` is a value like any other."""

    rows: int
    """Rows of which all quasi-identifiers are suppressed."""
    cells: int
    """Suppressed cells in other rows."""
    rows_with_cells: int
    """Rows that have these."""
    k: int
    """Rows in the smallest class of the table."""
    k_without_rows: int
    """The same without the suppressed rows; 0 where no row is left."""
    k_without_cells: int
    """The same without any row that has a suppressed cell; 0 where no row is left."""

    def note(self) -> str:
        """Describe how many there are, and k with and without them."""
        return (
            f"Suppressed with *: all quasi-identifiers of {self.rows:,} rows, and {self.cells:,} cells in "
            f"{self.rows_with_cells:,} more. k is {self.k:,} with them, where * is a value like any other; "
            f"{self.k_without_rows:,} without the suppressed rows; {self.k_without_cells:,} without the others too."
        )


def suppressed_cells(table: str | Path | pa.Table, names: Sequence[str]) -> SuppressedCells | None:
    """Count suppressed quasi-identifiers; None where there is none.

    Parameters
    ----------
    names : sequence of str
        The quasi-identifiers; none of them holds a suppressed cell where there is none.

    Raises
    ------
    EngineError
        The table cannot be read, or lacks a column.
    """
    if not names:
        return None
    with opened(table, names) as lines:
        keys = ", ".join(f"{lines.column(name)} AS q{at}" for at, name in enumerate(names))
        hidden = " + ".join(
            f"(CAST({lines.column(name)} AS VARCHAR) IS NOT DISTINCT FROM '{SUPPRESSED}')::BIGINT" for name in names
        )
        ((rows, cells, with_cells, smallest, without_rows, without_cells),) = lines.connection.execute(
            "SELECT coalesce(sum(n) FILTER (hidden = $1), 0)::BIGINT, "
            "coalesce(sum(n * hidden) FILTER (hidden < $1), 0)::BIGINT, "
            "coalesce(sum(n) FILTER (hidden > 0 AND hidden < $1), 0)::BIGINT, "
            "coalesce(min(n), 0)::BIGINT, coalesce(min(n) FILTER (hidden < $1), 0)::BIGINT, "
            "coalesce(min(n) FILTER (hidden = 0), 0)::BIGINT FROM "
            f"(SELECT {keys}, {hidden} AS hidden, {lines.rows()} AS n FROM {lines.source} GROUP BY ALL)",
            [len(names)],
        ).fetchall()
    if not rows and not with_cells:
        return None
    return SuppressedCells(
        rows=rows,
        cells=cells,
        rows_with_cells=with_cells,
        k=smallest,
        k_without_rows=without_rows,
        k_without_cells=without_cells,
    )
