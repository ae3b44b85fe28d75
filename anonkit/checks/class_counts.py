# SPDX-License-Identifier: Apache-2.0
"""Equivalence classes of a table and their sensitive values, counted by DuckDB in the order that `people` publishes.

Classes ascend with their cells, first quasi-identifier first, and so do values inside a class; strings by their code
points, missing last. Everything here is a table of the connection, or arrays in that order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.checks.counted_as import LookedAt
from anonkit.checks.counted_values import counted_as, held_by_people, holders_in, worst_of_holders
from anonkit.checks.diversity import Pairs
from anonkit.checks.people import Counts, HeldByPeople, ValueRows
from anonkit.checks.read_values import ReadValues
from anonkit.checks.table_scans import Lines

_PAIRS = 1 << 20
"""Counts of (class, value) that are looked at together."""


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
    """Return whether a type has an order: numbers and dates, not strings and truth values."""
    return kind not in ("VARCHAR", "BOOLEAN") and not kind.startswith("ENUM")


def is_whole(kind: str) -> bool:
    """Return whether a type is one of integers."""
    return kind.removeprefix("U") in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassValues:
    """The values of one sensitive attribute in the classes of a table."""

    connection: Any
    ordered: bool
    n_values: int
    rows_of_class: Counts
    """Rows of each class."""
    holders: Counts
    """Rows with a value, by class."""
    valued: str
    """Condition of the rows of `numbered` that have a value."""
    kind: str
    """The type of the values."""

    @classmethod
    def of(cls, numbered: Lines, column: str, rows: Counts, missing_is_value: bool, *, units: bool) -> ClassValues:
        """Make the tables `cells` (class, value, n rows, people) and `domain` (value, n rows, people) of a column.

        `rows` are those of each class. Without `units` nobody is counted: distinct values of a column of nothing took
        as long as all the rest.
        """
        connection = numbered.connection
        valued = "true" if missing_is_value else "s IS NOT NULL"
        people = "count(DISTINCT unit)" if units else "0"
        counted = f"{numbered.rows()} AS n, {people}::BIGINT AS people FROM numbered GROUP BY ALL"
        connection.execute(
            "CREATE OR REPLACE TEMP TABLE domain AS SELECT s, n, people, "
            "row_number() OVER (ORDER BY s NULLS LAST) - 1 AS value "
            f"FROM (SELECT {column} AS s, {counted}) WHERE {valued}"
        )
        connection.execute(
            "CREATE OR REPLACE TEMP TABLE cells AS SELECT class, value, counted.n, counted.people FROM ("
            f"SELECT class, {column} AS s, {counted}) AS counted JOIN domain ON counted.s IS NOT DISTINCT FROM domain.s"
        )
        kinds = connection.execute("SELECT typeof(s) FROM domain LIMIT 1").fetchall()
        kind = str(kinds[0][0]) if kinds else None
        ((n_values,),) = connection.execute("SELECT count(*) FROM domain").fetchall()
        holders = np.zeros(rows.size, dtype=np.int64)
        own = connection.execute("SELECT class, sum(n)::BIGINT AS n FROM cells GROUP BY class").fetchnumpy()
        holders[_whole(own["class"])] = own["n"]
        return cls(
            connection=connection,
            ordered=kind is not None and has_order(kind),
            n_values=int(n_values),
            rows_of_class=rows,
            holders=holders,
            valued="true" if missing_is_value else f"{column} IS NOT NULL",
            kind=kind or "",
        )

    @property
    def blank(self) -> Counts:
        """Rows without a value, by class."""
        return np.asarray(self.rows_of_class - self.holders)

    @property
    def cells(self) -> pa.ChunkedArray:
        """Cells of each value, in the order of the values."""
        return self.connection.sql("SELECT s FROM domain ORDER BY value").to_arrow_table().column("s")

    def rows(self) -> ValueRows:
        """Return the rows of every value in every class."""
        cells = self.connection.execute("SELECT class, value, n FROM cells ORDER BY class, value").fetchnumpy()
        return ValueRows(
            classes=_whole(cells["class"]), values=_whole(cells["value"]), rows=_whole(cells["n"]), blank=self.blank
        )

    def held(self, everybody: Counts) -> HeldByPeople:
        """Return the published counts of people with each value; `everybody` is the people of each class."""
        cells = self.connection.execute("SELECT n, people FROM cells ORDER BY class, value").fetchnumpy()
        whole = self.connection.execute("SELECT n, people FROM domain ORDER BY value").fetchnumpy()
        with_value = None
        ((anybody,),) = self.connection.execute(
            f"SELECT count(DISTINCT unit) FROM numbered WHERE {self.valued}"
        ).fetchall()
        if self.blank.any():
            with_value = np.zeros(everybody.size, dtype=np.int64)
            having = self.connection.execute(
                f"SELECT class, count(DISTINCT unit)::BIGINT AS people FROM numbered WHERE {self.valued} GROUP BY class"
            ).fetchnumpy()
            with_value[_whole(having["class"])] = having["people"]
        return held_by_people(
            values=(_whole(cells["people"]), _whole(cells["n"])),
            everywhere=(_whole(whole["people"]), _whole(whole["n"])),
            anybody=int(anybody),
            with_value=with_value,
            holders=self.holders,
            everybody=everybody,
            blank=self.blank,
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
        domain = self.connection.sql("SELECT s, n FROM domain ORDER BY value").to_arrow_table()
        rows = _whole(domain.column("n").to_numpy())
        looked = LookedAt.of(domain.column("s"), column, reading)
        whole = is_whole(self.kind)
        counted = counted_as(looked, column, reading, rows, self.rows_of_class, everybody, held, whole=whole)
        members = self.rows_of_class if held is None or everybody is None else everybody
        holders = holders_in(self.holders, self.blank, everybody, held)
        parts = self._parts(holders, None if held is None else held.values)
        return worst_of_holders(parts, rows, holders, held, self.ordered, recursive, counted, members)

    def _parts(self, holders: Counts, people: Counts | None) -> Iterator[Pairs]:
        batches = self.connection.sql("SELECT class, value, n FROM cells ORDER BY class, value").to_arrow_reader(_PAIRS)
        at = 0
        for classes, values, rows in _whole_classes(batches):
            counts = rows if people is None else people[at : at + rows.size]
            at += rows.size
            some = holders[classes] > 0
            if some.all():
                yield classes, values, counts.astype(np.float64), holders[classes].astype(np.float64)
            elif some.any():
                left = classes[some]
                yield left, values[some], counts[some].astype(np.float64), holders[left].astype(np.float64)


def _whole_classes(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Counts, Counts, Counts]]:
    """Yield sorted pairs in parts that end where a class ends."""
    left: pa.Table | None = None
    for batch in batches:
        table = pa.Table.from_batches([batch])
        left = table if left is None else pa.concat_tables([left, table])
        classes = left.column("class").to_numpy()
        complete = int(np.searchsorted(classes, classes[-1]))
        if complete:
            yield _arrays(left.slice(0, complete))
            left = left.slice(complete)
    if left is not None and left.num_rows:
        yield _arrays(left)


def _arrays(pairs: pa.Table) -> tuple[Counts, Counts, Counts]:
    classes, values, counts = (column.to_numpy() for column in pairs.columns)
    return classes, values, counts
