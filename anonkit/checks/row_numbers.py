# SPDX-License-Identifier: Apache-2.0
"""Detection of row numbers left in a released table: an undeclared column that links every row to its source."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from anonkit.checks.table_scans import opened
from anonkit.promises.guarantee import Check

_FEWEST = 20
"""Rows below which different integers are nothing unusual."""
_GAPS = 3
"""Rows may have been left out after they were numbered: so many numbers a row, at most."""


def row_number_check(table: str | Path | pa.Table, quasi_identifiers: Sequence[str]) -> Check:
    """Count the columns that number the rows: integers, all different, with few gaps.

    Parameters
    ----------
    table : path or Arrow table
    quasi_identifiers : sequence of str
        Columns whose classes are counted anyway; a row number among them makes k equal 1.
    """
    observed = 0
    with opened(table) as lines:
        connection, source = lines.connection, lines.source
        described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        counted = {lines.column(name) for name in quasi_identifiers}
        for column in (own for own, kind, *_ in described if "INT" in kind and own not in counted):
            span = f"max({column})::DOUBLE - min({column})::DOUBLE"
            n_rows, distinct, span = connection.execute(
                f"SELECT count(*), count(DISTINCT {column}), {span} FROM {source}"
            ).fetchone()
            observed += n_rows >= _FEWEST and distinct == n_rows and span < _GAPS * n_rows
    return Check(name="row_numbers_absent", passed=not observed, observed=int(observed), required=0)
