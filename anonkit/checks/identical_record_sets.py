# SPDX-License-Identifier: Apache-2.0
"""People with identical sets of rows, counted in SQL on a draft with the unit column.

The method counts with arrays of codes. Here the rows of every person are listed by class and compared as lists, so that
a mistake in one is seen by the other. Once the unit column has gone, nobody can repeat the count.

Different values of what may be the person, counted in SQL in every class of a draft that still holds them.

The method counts with arrays of codes; nothing is shared with it. Once the column has gone, nobody can repeat the
count.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from anonkit.checks.spread_people import fewest_alike_in_spread
from anonkit.checks.table_scans import SpreadFiles, combined, few_combined


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


def fewest_alike(table: str | Path | pa.Table, quasi_identifiers: Sequence[str], unit: str) -> int:
    """Return the fewest people who have one whole set of rows; 0 for a table without rows, or with rows of nobody.

    Two people have one set when every combination of the quasi-identifiers occurs equally often in their rows. Missing
    is a value like any other.

    Parameters
    ----------
    table : path or Arrow table
        As for `anonkit.checks.disclosure.measure`.
    quasi_identifiers : sequence of str
        Columns whose combinations are counted; with none, only the numbers of rows.
    unit : str
        Column whose distinct values are people.
    """
    order = ", ".join(f"q{at} NULLS LAST" for at in range(len(quasi_identifiers)))
    number = f"dense_rank() OVER (ORDER BY {order})" if order else "1"
    with few_combined(table, (*quasi_identifiers, unit)) as lines:
        if isinstance(lines, SpreadFiles):
            return fewest_alike_in_spread(lines, quasi_identifiers, unit)
        names = "".join(f", {lines.column(name)} AS q{at}" for at, name in enumerate(quasi_identifiers))
        connection, source, rows = lines.connection, lines.source, lines.rows()
        (fewest, nobodys) = connection.execute(
            f"WITH counted AS (SELECT {lines.column(unit)} AS person{names}, {rows} AS n FROM {source} GROUP BY ALL), "
            f"classes AS (SELECT person, {number} AS class, n FROM counted), "
            "sets AS (SELECT person, list({'class': class, 'n': n} ORDER BY class) AS rows FROM classes "
            "GROUP BY person), "
            "alike AS (SELECT count(*) AS people FROM sets GROUP BY rows) "
            "SELECT (SELECT min(people) FROM alike), (SELECT count(*) FROM sets WHERE person IS NULL)"
        ).fetchall()[0]
    return 0 if nobodys or fewest is None else int(fewest)
