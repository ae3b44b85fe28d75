# SPDX-License-Identifier: Apache-2.0
"""Different values of what may be the person, counted in SQL in every class of a draft that still holds them.

The method counts with arrays of codes; nothing is shared with it. Once the column has gone, nobody can repeat the
count.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from anonkit.checks.table_scans import combined


def fewest_values(table: str | Path | pa.Table, quasi_identifiers: Sequence[str], key: str) -> int:
    """Return the fewest different values of a column in a class; a missing one counts nothing, an empty table has 0.

    Parameters
    ----------
    table : path or Arrow table
        As for `anonkit.checks.disclosure.measure`.
    quasi_identifiers : sequence of str
        Columns that make up the classes, missing being a value like any other; with none, all rows are one class.
    key : str
        Column whose different values are counted.
    """
    with combined(table, (*quasi_identifiers, key)) as lines:
        names = [lines.column(name) for name in quasi_identifiers]
        classes = f" GROUP BY {', '.join(names)}" if names else ""
        pairs = ", ".join(dict.fromkeys([*names, lines.column(key)]))
        ((fewest,),) = lines.connection.execute(
            f"SELECT min(n) FROM (SELECT count({lines.column(key)}) AS n FROM "
            f"(SELECT DISTINCT {pairs} FROM {lines.source}){classes})"
        ).fetchall()
    return int(fewest or 0)
