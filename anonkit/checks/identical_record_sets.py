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
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from anonkit.checks.class_relation import ClassMeasure, DealtClasses, classes_of, table_of
from anonkit.checks.table_scans import combined, scanned


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
    with classes_of(table, quasi_identifiers, (unit,)) as classes:
        found = pa.concat_tables([_SETS.empty_table(), *classes.each_person(WholeSets(unit=unit), unit)])
    with scanned(found) as (connection, source):
        (fewest, nobodys) = connection.execute(
            "SELECT min(people), coalesce(sum(nobodys), 0) FROM (SELECT sum(people) AS people, sum(nobodys) AS nobodys "
            f"FROM {source} GROUP BY rows)"
        ).fetchall()[0]
    return 0 if nobodys or fewest is None else int(fewest)


_SETS = pa.schema([("rows", pa.string()), ("people", pa.int64()), ("nobodys", pa.int64())])


@dataclass(frozen=True, kw_only=True)
class WholeSets(ClassMeasure):
    """Lists the whole set of rows of each of some people."""

    unit: str

    @property
    def columns(self) -> tuple[str, ...]:
        """Column that it looks at."""
        return (self.unit,)

    def __call__(self, people: DealtClasses) -> pa.Table:
        """Return the sets, `rows` as a string: how many `people` have each, and how many of them are `nobodys` rows."""
        lines = people.lines
        return table_of(
            lines.connection,
            f"WITH counted AS (SELECT {lines.column(self.unit)} AS person, class, {lines.rows()} AS n "
            f"FROM {lines.source} GROUP BY ALL), "
            "sets AS (SELECT person, string_agg(class || ' ' || n, ',' ORDER BY class) AS rows FROM counted "
            "GROUP BY person) "
            "SELECT rows, count(*)::BIGINT AS people, count(*) FILTER (person IS NULL)::BIGINT AS nobodys FROM sets "
            "GROUP BY rows",
        )
