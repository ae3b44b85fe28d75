# SPDX-License-Identifier: Apache-2.0
"""Equivalence classes of a table and their sensitive values, counted by DuckDB in the order that `people` publishes.

Classes ascend with their cells, first quasi-identifier first, and so do values inside a class; strings by their code
points, missing last. Everything here is a table of the connection, or arrays in that order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from anonkit.checks.counted_as import LookedAt
from anonkit.checks.counted_values import CountedValues
from anonkit.checks.people import Counts
from anonkit.checks.read_values import ReadValues
from anonkit.checks.table_scans import Lines


def number_classes(
    lines: Lines,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    unit: str | None,
) -> tuple[Counts, Counts | None, Lines]:
    """Count the classes, and make the table `numbered` (class, unit, sensitive cells s0, s1, …) of their rows.

    Returns
    -------
    rows, people : array, shape (n_classes,)
        People only with a unit. Rows without one are nobody's.
    numbered : Lines
        The table; without sensitive columns there is none, and nothing to query.
    """
    names = [f"q{at}" for at in range(len(quasi_identifiers))]
    keys = "".join(f"{lines.column(name)} AS {short}, " for name, short in zip(quasi_identifiers, names, strict=True))
    order = f"ORDER BY {', '.join(f'{name} NULLS LAST' for name in names)}" if names else ""
    if sensitive and unit is None:
        return _ranked(lines, keys, order, sensitive)
    people = f"count(DISTINCT {lines.column(unit)})" if unit else "NULL"
    connection, source, weight = lines.connection, lines.source, lines.weight
    connection.execute(
        f"CREATE TEMP TABLE classes AS SELECT (row_number() OVER ({order}) - 1)::BIGINT AS class, * FROM ("
        f"SELECT {keys}{lines.rows()} AS n, {people}::BIGINT AS people FROM {source}"
        f"{' GROUP BY ALL' if keys else ''}) WHERE n > 0"
    )
    if sensitive:
        cells = "".join(f", t.{lines.column(name)} AS s{at}" for at, name in enumerate(sensitive))
        cells += "" if weight is None else f", t.{weight}"
        whose = f"t.{lines.column(unit)}" if unit else "NULL"
        same = " AND ".join(
            f"t.{lines.column(name)} IS NOT DISTINCT FROM classes.{short}"
            for name, short in zip(quasi_identifiers, names, strict=True)
        )
        connection.execute(
            f"CREATE TEMP TABLE numbered AS SELECT classes.class, {whose} AS unit{cells} FROM {source} AS t "
            f"JOIN classes ON {same or 'true'}"
        )
    classes = connection.execute("SELECT n, people FROM classes ORDER BY class").fetchnumpy()
    numbered = Lines(connection=connection, source="numbered", weight=weight)
    return _whole(classes["n"]), _whole(classes["people"]) if unit else None, numbered


def _ranked(lines: Lines, keys: str, order: str, sensitive: Sequence[str]) -> tuple[Counts, None, Lines]:
    """Make `numbered` of the distinct combinations, each with its number of rows, and the class by its rank.

    Where people need not be distinguished, rows that are alike in all columns need not be joined to their class one
    by one, by as many strings as there are quasi-identifiers.
    """
    connection = lines.connection
    cells = "".join(f"{lines.column(name)} AS s{at}, " for at, name in enumerate(sensitive))
    listed = "".join(f"s{at}, " for at in range(len(sensitive)))
    number = f"dense_rank() OVER ({order}) - 1" if order else "0"
    connection.execute(
        f"CREATE TEMP TABLE numbered AS SELECT ({number})::BIGINT AS class, NULL AS unit, {listed}n FROM ("
        f"SELECT {keys}{cells}{lines.rows()} AS n FROM {lines.source} GROUP BY ALL) WHERE n > 0"
    )
    rows = connection.execute("SELECT sum(n)::BIGINT AS n FROM numbered GROUP BY class ORDER BY class").fetchnumpy()
    return _whole(rows["n"]), None, Lines(connection=connection, source="numbered", weight="n")


def _whole(column: Any) -> Counts:
    return np.asarray(column, dtype=np.int64)


def has_order(kind: str) -> bool:
    """Return True if a type has an order: numbers and dates, not strings and truth values."""
    return kind not in ("VARCHAR", "BOOLEAN") and not kind.startswith("ENUM")


def is_whole(kind: str) -> bool:
    """Return True if a type is one of integers."""
    return kind.removeprefix("U") in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")


def count_values(
    numbered: Lines,
    at: int,
    name: str,
    rows: Counts,
    reading: ReadValues,
    *,
    missing_is_value: bool,
    units: bool,
) -> CountedValues:
    """Count the values of one column in every class, and in the whole table.

    Parameters
    ----------
    numbered : Lines
        The table of `number_classes`; the column is `s{at}` there, and `name` in the table that is counted.
    rows : array, shape (n_classes,)
        Rows of each class.
    units : bool
        Whether people are counted, too: distinct values of a column of nothing took as long as all the rest.
    """
    connection, column = numbered.connection, f"s{at}"
    people = "count(DISTINCT unit)" if units else "0"
    counted = f"{numbered.rows()} AS n, {people}::BIGINT AS people FROM numbered"
    valued = "true" if missing_is_value else f"{column} IS NOT NULL"
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE domain AS SELECT s, n, people, "
        "row_number() OVER (ORDER BY s NULLS LAST) - 1 AS value "
        f"FROM (SELECT {column} AS s, {counted} WHERE {valued} GROUP BY ALL)"
    )
    domain = connection.sql("SELECT s, n, people, typeof(s) AS kind FROM domain ORDER BY value").to_arrow_table()
    pairs = connection.execute(
        "SELECT class, value, counted.n, counted.people FROM ("
        f"SELECT class, {column} AS s, {counted} WHERE {valued} GROUP BY ALL) AS counted "
        "JOIN domain ON counted.s IS NOT DISTINCT FROM domain.s ORDER BY class, value"
    ).fetchnumpy()
    kind = domain.column("kind")[0].as_py() if domain.num_rows else ""
    with_value, anybody = None, None
    if units:
        ((anybody,),) = connection.execute(f"SELECT count(DISTINCT unit) FROM numbered WHERE {valued}").fetchall()
        having = connection.execute(
            f"SELECT class, count(DISTINCT unit)::BIGINT AS people FROM numbered WHERE {valued} GROUP BY class"
        ).fetchnumpy()
        with_value = np.zeros(rows.size, dtype=np.int64)
        with_value[_whole(having["class"])] = having["people"]
    return CountedValues(
        ordered=kind != "" and has_order(kind),
        rows_of_class=rows,
        classes=_whole(pairs["class"]),
        values=_whole(pairs["value"]),
        rows_of_pairs=_whole(pairs["n"]),
        people_of_pairs=_whole(pairs["people"]),
        rows_of_values=_whole(domain.column("n").to_numpy()),
        people_of_values=_whole(domain.column("people").to_numpy()),
        with_value=with_value,
        anybody=anybody,
        looked=LookedAt.of(domain.column("s"), name, reading),
        whole=is_whole(kind),
        cells=domain.column("s"),
    )
