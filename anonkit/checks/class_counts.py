# SPDX-License-Identifier: Apache-2.0
"""Equivalence classes of a table and their sensitive values, counted by DuckDB in the order that `people` publishes.

Classes ascend with their cells, first quasi-identifier first, and so do values inside a class; strings by their code
points, missing last. Everything here is a table of the connection, or arrays in that order.

Rows and people of every value of a sensitive attribute in every class, as arrays: what follows from such counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.checks.counted_as import CountedAs, LookedAt, ReadValues
from anonkit.checks.diversity import NOTHING, Pairs, worst_of, worst_told
from anonkit.checks.people import Counts, HeldByPeople, ValueRows, holders_of, told
from anonkit.checks.table_scans import Lines

_PAIRS = 1 << 20
"""Counts of (class, value) that are looked at together."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CountedValues:
    """The values of one sensitive attribute in the classes of a table, in the order that `people` publishes."""

    ordered: bool
    rows_of_class: Counts
    """Rows of each class."""
    classes: Counts
    """Class of each pair of class and value, ascending; values ascend in a class."""
    values: Counts
    """Code of its value."""
    rows_of_pairs: Counts
    people_of_pairs: Counts
    """Nobody where people are not counted."""
    rows_of_values: Counts
    """Rows of each value in the whole table."""
    people_of_values: Counts
    with_value: Counts | None
    """People with a value, by class; None where people are not counted."""
    anybody: int | None
    """People with any value in the whole table."""
    looked: LookedAt
    """The values by what they are."""
    whole: bool
    """Their type is one of integers."""
    cells: pa.ChunkedArray
    """Cells of each value, in the order of the values."""

    @property
    def holders(self) -> Counts:
        """Rows with a value, by class."""
        return np.bincount(self.classes, self.rows_of_pairs, minlength=self.rows_of_class.size).astype(np.int64)

    @property
    def blank(self) -> Counts:
        """Rows without a value, by class."""
        return np.asarray(self.rows_of_class - self.holders)

    def rows(self) -> ValueRows:
        """Return the rows of every value in every class."""
        return ValueRows(classes=self.classes, values=self.values, rows=self.rows_of_pairs, blank=self.blank)

    def held(self, everybody: Counts) -> HeldByPeople:
        """Return the published holders of the values; `everybody` is the people of each class."""
        with_value, blank = None, self.blank
        if self.with_value is not None and blank.any():
            some = np.minimum(told(self.with_value, self.holders), everybody)
            with_value = np.where(blank == 0, everybody, some)
        anybody = np.asarray(self.anybody or 0, dtype=np.int64)
        return HeldByPeople(
            values=told(self.people_of_pairs, self.rows_of_pairs),
            with_value=with_value,
            everywhere=told(self.people_of_values, self.rows_of_values),
            anybody=int(told(anybody, np.asarray(self.rows_of_pairs.sum()))),
        )

    def diversity(
        self,
        column: str,
        reading: ReadValues,
        everybody: Counts | None,
        held: HeldByPeople | None,
        recursive: Sequence[int],
    ) -> dict[str, float]:
        """Return how diverse the worst class of a column is, by rows, or by people when they are given."""
        people = None if held is None or everybody is None else (held, everybody)
        counted = CountedAs.of(
            self.looked,
            column,
            reading,
            self.rows_of_values,
            int(self.rows_of_class.sum()),
            whole=self.whole,
            people=people,
        )
        holders, members, of_values = self.holders, self.rows_of_class, self.rows_of_values
        if people is not None:
            (of_people, members), of_values = people, people[0].everywhere
            holders = holders_of(members, of_people.with_value, self.blank)
        if not holders.size:
            return {**NOTHING, "strange": float(counted.strange)}
        worst = worst_of(
            self._parts(holders, self.rows_of_pairs if people is None else people[0].values),
            of_values.astype(np.float64),
            self.ordered,
            recursive,
            anybody=None if people is None else people[0].anybody,
            some_have_none=bool((holders == 0).any()),
            counted=counted,
            members=members,
        )
        return {**worst_told(worst), "strange": float(counted.strange)}

    def _parts(self, holders: Counts, counts: Counts) -> Iterator[Pairs]:
        """Yield the pairs of classes in which anybody holds a value, in parts that end where a class ends."""
        some = holders[self.classes] > 0
        classes, values, counts = self.classes[some], self.values[some], counts[some]
        ends = np.append(np.flatnonzero(np.diff(classes)) + 1, classes.size)
        at = 0
        while at < classes.size:
            last = max(np.searchsorted(ends, at + _PAIRS, side="right") - 1, np.searchsorted(ends, at + 1))
            part = slice(at, int(ends[last]))
            of_class = holders[classes[part]].astype(np.float64)
            yield classes[part], values[part], counts[part].astype(np.float64), of_class
            at = part.stop


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
