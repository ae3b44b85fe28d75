# SPDX-License-Identifier: Apache-2.0
"""Values of sensitive attributes in the classes of a table, counted by DuckDB in the order that `people` publishes.

Classes ascend with their cells, and so do values inside a class; strings by their code points, missing last. A value is
numbered among those of the whole table. Rows and people of every value in every class are arrays in that order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.checks.class_relation import NUMBERED, ClassMeasure, DealtClasses, TableOf, lost
from anonkit.checks.counted_as import CountedAs, LookedAt, ReadValues, read_lines
from anonkit.checks.diversity import NOTHING, Pairs, published_worst, united, worst_of
from anonkit.checks.people import Counts, ValueHolders, ValueRows, holders_of, published_counts
from anonkit.checks.table_scans import Lines

_PAIRS = 1 << 20
"""Counts of (class, value) that are looked at together."""
_NUMBERS = count()
"""Numbers in the names of tables of values."""
_KIND, _HERE = b"kind", b"here"
"""In the metadata of a table of values: their type, and the name of the same table beside rows on this machine."""


def has_order(kind: str) -> bool:
    """Return True if a type has an order: numbers and dates, not strings and truth values."""
    return kind not in ("VARCHAR", "BOOLEAN") and not kind.startswith("ENUM")


def is_whole(kind: str) -> bool:
    """Return True if a type is one of integers."""
    return kind.removeprefix("U") in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnValues:
    """Finds the values of a column in a whole table, and numbers them."""

    column: str
    reading: ReadValues
    missing_is_value: bool

    def __call__(self, lines: Lines) -> pa.Table:
        """Return each `cell`, the number of its `value`, and `n`, its rows; a cell that is no value is not in it.

        Values are numbered as they ascend, a missing one last where it is one. Where a string is read as another one,
        that is in the column `s`.
        """
        connection, cell = lines.connection, lines.column(self.column)
        connection.execute(
            f"CREATE TEMP TABLE spelled AS SELECT {cell} AS cell, {cell} AS s, {lines.rows()} AS n "
            f"FROM {lines.source} GROUP BY ALL"
        )
        spelled = Lines(connection=connection, source="spelled", names={self.column: "s"}, weight="n")
        read = _as_read(spelled, self.column, self.reading)
        name, number = f"domain{next(_NUMBERS)}", "(dense_rank() OVER (ORDER BY s NULLS LAST) - 1)::UINTEGER AS value"
        connection.execute(
            f"CREATE TEMP TABLE {name} AS SELECT cell, {'' if read.source == 'spelled' else 's, '}n, {number} "
            f"FROM {read.source}{'' if self.missing_is_value else ' WHERE s IS NOT NULL'}"
        )
        connection.execute("DROP TABLE spelled")
        table = connection.sql(f"FROM {name}").to_arrow_table()
        (kind,) = map(str, connection.sql(f"SELECT {_read_as(table)} FROM {name} LIMIT 0").types)
        return table.replace_schema_metadata({_KIND: kind, _HERE: name if lines.source == NUMBERED else ""})


def _read_as(table: pa.Table) -> str:
    """Return the column of a table of values in which they are as they are read."""
    return "s" if "s" in table.column_names else "cell"


@dataclass(frozen=True, kw_only=True, eq=False)
class Domain:
    """The values of a column in a whole table, ascending, a missing one last where it is one."""

    of: ColumnValues
    cells: pa.Table
    """`cell`, as in the table, and `value`, the number of its value; a cell that is no value is not in it."""
    table: str
    """Name of the same in the connection that has the rows; empty where workers have them."""
    rows: Counts
    """Rows of each value."""
    ordered: bool
    whole: bool
    """Their type is one of integers."""
    looked: LookedAt
    """The values by what they are."""

    @classmethod
    def of_table(cls, values: ColumnValues, table: pa.Table) -> Domain:
        """Look at the values that were found in a table; its lines may be in any order."""
        numbers = _whole(table.column("value").to_numpy())
        place = np.zeros(int(numbers.max(initial=-1)) + 1, dtype=np.int64)
        place[numbers] = np.arange(numbers.size)
        kind = table.schema.metadata[_KIND].decode()
        return cls(
            of=values,
            cells=table.select(["cell", "value"]),
            table=table.schema.metadata[_HERE].decode(),
            rows=_whole(np.bincount(numbers, table.column("n").to_numpy(), minlength=place.size)),
            ordered=has_order(kind),
            whole=is_whole(kind),
            looked=LookedAt.of(table.column(_read_as(table)).take(pa.array(place)), values.column, values.reading),
        )

    @property
    def name(self) -> str:
        """Column of the values."""
        return self.of.column

    def counted(self, records: int, people: tuple[ValueHolders, Counts] | None = None) -> CountedAs:
        """Return the values that count as one, and the cap of each.

        Parameters
        ----------
        records : int
            Rows of the whole table.
        people : tuple, optional
            Who holds the values, where people are counted, and the people of each class.
        """
        reading = self.of.reading
        return CountedAs.of(self.looked, self.name, reading, self.rows, records, whole=self.whole, people=people)

    def numbered(self, lines: Lines) -> str:
        """Return the FROM clause of rows `t` with their `value`; those without one are left out."""
        table = self.table if lines.source == NUMBERED else ""
        if not table:
            table = "domain"
            lines.connection.register(table, self.cells)
        return f"{lines.source} AS t JOIN {table} ON t.{lines.column(self.name)} IS NOT DISTINCT FROM {table}.cell"


@dataclass(frozen=True, kw_only=True, eq=False)
class CountedValues:
    """The values of one sensitive attribute in some classes, in the order that `people` publishes."""

    rows_of_class: Counts
    """Rows of each class."""
    classes: Counts
    """Class of each pair of class and value, ascending; values ascend in a class."""
    values: Counts
    """Number of its value."""
    rows_of_pairs: Counts
    people_of_pairs: Counts
    """Nobody where people are not counted."""
    with_value: Counts
    """People with a value, by class; nobody where people are not counted."""

    @classmethod
    def of(cls, classes: DealtClasses, domain: Domain, unit: str | None = None) -> CountedValues:
        """Count the values of one column in every class.

        Parameters
        ----------
        unit : str, optional
            Column whose distinct values are people: those of a column of nothing took as long as all the rest.
        """
        lines = classes.lines
        people = "0" if unit is None else f"count(DISTINCT t.{lines.column(unit)})"
        valued = domain.numbered(lines)
        pairs = lines.connection.execute(
            f"SELECT class, value, {_rows(lines)} AS n, {people}::BIGINT AS people FROM {valued} "
            "GROUP BY class, value ORDER BY class, value"
        ).fetchnumpy()
        with_value = np.zeros(classes.rows.size, dtype=np.int64)
        if unit is not None:
            having = lines.connection.execute(f"SELECT class, {people} AS people FROM {valued} GROUP BY class")
            found = having.fetchnumpy()
            with_value[_whole(found["class"])] = found["people"]
        return cls(
            rows_of_class=classes.rows,
            classes=_whole(pairs["class"]),
            values=_whole(pairs["value"]),
            rows_of_pairs=_whole(pairs["n"]),
            people_of_pairs=_whole(pairs["people"]),
            with_value=with_value,
        )

    @classmethod
    def joined(cls, groups: Sequence[CountedValues], domain: Domain) -> CountedValues:
        """Return the values in the classes of all groups, in their order.

        Raises
        ------
        EngineError
            Groups had values that are not in the domain.
        """
        firsts = np.cumsum([0, *(each.rows_of_class.size for each in groups)])
        placed = [replace(each, classes=each.classes + first) for each, first in zip(groups, firsts, strict=False)]
        every = [np.zeros(0, dtype=np.int64)]
        own = cls(
            **{one.name: np.concatenate([*every, *(getattr(each, one.name) for each in placed)]) for one in fields(cls)}
        )
        if own.rows_of_pairs.sum() != domain.rows.sum():
            raise lost()
        return own

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

    def published_holders(
        self, everybody: Counts, domain: Domain, people_of_values: Counts, anybody: int
    ) -> ValueHolders:
        """Return the published holders of the values.

        Parameters
        ----------
        everybody : array
            People of each class.
        people_of_values : array
            People with each value of the domain in the whole table.
        anybody : int
            People with any of them.
        """
        with_value, blank = None, self.blank
        if blank.any():
            some = np.minimum(published_counts(self.with_value, self.holders), everybody)
            with_value = np.where(blank == 0, everybody, some)
        return ValueHolders(
            values=published_counts(self.people_of_pairs, self.rows_of_pairs),
            with_value=with_value,
            everywhere=published_counts(people_of_values, domain.rows),
            anybody=int(published_counts(np.asarray(anybody, dtype=np.int64), np.asarray(self.rows_of_pairs.sum()))),
        )

    def worst(
        self,
        domain: Domain,
        counted: CountedAs,
        recursive: Sequence[int],
        people: tuple[ValueHolders, Counts] | None = None,
    ) -> dict[str, float]:
        """Return the figures of the worst of these classes, by rows, or by people when they are given.

        Parameters
        ----------
        people : tuple, optional
            Who holds the values, and the people of each class.
        """
        holders, members, of_values = self.holders, self.rows_of_class, domain.rows
        if people is not None:
            (holders_of_values, members), of_values = people, people[0].everywhere
            holders = holders_of(members, holders_of_values.with_value, self.blank)
        return worst_of(
            self._parts(holders, self.rows_of_pairs if people is None else people[0].values),
            of_values.astype(np.float64),
            domain.ordered,
            recursive,
            anybody=None if people is None else people[0].anybody,
            some_have_none=bool((holders == 0).any()),
            counted=counted,
            members=members,
        )

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


def _rows(lines: Lines) -> str:
    """Return the SQL of how many rows there are of lines `t`, beside those of another table."""
    return "count(*)::BIGINT" if lines.weight is None else f"sum(t.{lines.weight})::BIGINT"


def _whole(column: Any) -> Counts:
    return np.asarray(column, dtype=np.int64)


def published_figures(groups: Sequence[Mapping[str, float]], strange: int) -> dict[str, float]:
    """Return the published figures of the worst class of all, from those of groups of classes."""
    return {**(published_worst(united(groups)) if groups else NOTHING), "strange": float(strange)}


# --- what is measured of columns -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ValueFacts:
    """Facts of the values of a column in a whole table."""

    rows: int
    """Rows with a value."""
    strange: int
    """As in `CountedAs`."""


@dataclass(frozen=True, kw_only=True)
class FactsOfValues:
    """Finds the facts of the values of a column."""

    values: ColumnValues
    records: int
    """Rows of the whole table."""

    @property
    def column(self) -> str:
        """Column that it looks at."""
        return self.values.column

    def __call__(self, _lines: Lines, table_of: TableOf) -> ValueFacts:
        """Find them."""
        domain = Domain.of_table(self.values, table_of(self.values))
        return ValueFacts(rows=int(domain.rows.sum()), strange=domain.counted(self.records).strange)


@dataclass(frozen=True, kw_only=True)
class DomainOfValues:
    """Finds the values of a column where their classes are on this machine: no cell is by which workers number them."""

    values: ColumnValues

    @property
    def column(self) -> str:
        """Column that it looks at."""
        return self.values.column

    def __call__(self, _lines: Lines, table_of: TableOf) -> Domain:
        """Find them."""
        domain = Domain.of_table(self.values, table_of(self.values))
        return replace(domain, cells=domain.cells.slice(0, 0))


@dataclass(frozen=True, kw_only=True)
class RowsOfValues:
    """Counts how many values of a column have each number of rows; a missing one is one."""

    column: str
    reading: ReadValues

    def __call__(self, lines: Lines, _table_of: TableOf) -> tuple[Counts, Counts]:
        """Return the numbers of rows, ascending, and how many values have each."""
        lines = _as_read(lines, self.column, self.reading)
        rows = f"SELECT {lines.rows()} AS n FROM {lines.source} GROUP BY {lines.column(self.column)}"
        found = lines.connection.execute(
            f"SELECT n, count(*) AS times FROM ({rows}) WHERE n > 0 GROUP BY n ORDER BY n"
        ).fetchnumpy()
        return _whole(found["n"]), _whole(found["times"])


def _as_read(lines: Lines, column: str, reading: ReadValues) -> Lines:
    return read_lines(lines, [column] if column in reading.columns else [], reading)


# --- what is measured of groups --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class WorstClass(ClassMeasure):
    """Measures how diverse the values of a column are in the worst of some classes, by rows."""

    values: ColumnValues
    records: int
    """Rows of the whole table."""
    recursive: tuple[int, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Column that it looks at."""
        return (self.values.column,)

    @property
    def needs(self) -> tuple[ColumnValues, ...]:
        """The values of the whole table, from which the distance of a class is."""
        return (self.values,)

    def __call__(self, classes: DealtClasses) -> tuple[int, dict[str, float]]:
        """Return the rows with a value, and the figures."""
        domain = Domain.of_table(self.values, classes.table_of(self.values))
        own = CountedValues.of(classes, domain)
        return int(own.rows_of_pairs.sum()), own.worst(domain, domain.counted(self.records), self.recursive)

    def published(self, found: Sequence[tuple[int, dict[str, float]]], facts: ValueFacts) -> dict[str, float]:
        """Return the published figures of the worst class of all groups.

        Raises
        ------
        EngineError
            Groups had values that are not those of the whole table.
        """
        if sum(rows for rows, _ in found) != facts.rows:
            raise lost()
        return published_figures([figures for _, figures in found], facts.strange)


@dataclass(frozen=True, kw_only=True)
class RowsInUniformClasses(ClassMeasure):
    """Counts the rows in classes of one value; a missing one is one."""

    column: str
    reading: ReadValues

    @property
    def columns(self) -> tuple[str, ...]:
        """Column that it looks at."""
        return (self.column,)

    def __call__(self, classes: DealtClasses) -> int:
        """Return their number."""
        lines = _as_read(classes.lines, self.column, self.reading)
        cell = lines.column(self.column)
        is_one = f"min({cell}) IS NOT DISTINCT FROM max({cell}) AND count({cell}) IN (0, count(*))"
        ((rows,),) = lines.connection.execute(
            f"SELECT coalesce(sum(n) FILTER (is_one), 0)::BIGINT FROM (SELECT {is_one} AS is_one, {lines.rows()} AS n "
            f"FROM {lines.source} GROUP BY class)"
        ).fetchall()
        return int(rows)


@dataclass(frozen=True, kw_only=True)
class ValuesOfClasses(ClassMeasure):
    """Counts the rows and people of the values of a column in some classes."""

    values: ColumnValues
    unit: str | None

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that it looks at."""
        return (self.values.column, *_given(self.unit))

    @property
    def needs(self) -> tuple[ColumnValues, ...]:
        """The values of the whole table, which number those of classes."""
        return (self.values,)

    def __call__(self, classes: DealtClasses) -> CountedValues:
        """Count them."""
        return CountedValues.of(classes, Domain.of_table(self.values, classes.table_of(self.values)), self.unit)


@dataclass(frozen=True, kw_only=True)
class PeopleOfClasses(ClassMeasure):
    """Counts the people of some classes; rows without one are nobody's."""

    unit: str

    @property
    def columns(self) -> tuple[str, ...]:
        """Column that it looks at."""
        return (self.unit,)

    def __call__(self, classes: DealtClasses) -> Counts:
        """Count them."""
        lines = classes.lines
        people = f"count(DISTINCT {lines.column(self.unit)})::BIGINT AS n"
        counted = f"SELECT class, {people} FROM {lines.source} GROUP BY class ORDER BY class"
        return _whole(lines.connection.execute(counted).fetchnumpy()["n"])


@dataclass(frozen=True, kw_only=True)
class PeopleOfValues(ClassMeasure):
    """Counts, of some people, those with each value of some columns, and with any value."""

    values: tuple[ColumnValues, ...]
    unit: str

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that it looks at."""
        return (*(values.column for values in self.values), self.unit)

    @property
    def needs(self) -> tuple[ColumnValues, ...]:
        """The values of the whole table."""
        return self.values

    def __call__(self, people: DealtClasses) -> list[tuple[Counts, Counts, int]]:
        """Return, by column, values and the people with each, and the people with any."""
        lines, out = people.lines, []
        for values in self.values:
            domain = Domain.of_table(values, people.table_of(values))
            counted = f"count(DISTINCT t.{lines.column(self.unit)})::BIGINT AS n FROM {domain.numbered(lines)}"
            found = lines.connection.execute(f"SELECT value, {counted} GROUP BY value").fetchnumpy()
            ((anybody,),) = lines.connection.execute(f"SELECT {counted}").fetchall()
            out.append((_whole(found["value"]), _whole(found["n"]), int(anybody)))
        return out

    def published(
        self, found: Sequence[Sequence[tuple[Counts, Counts, int]]], domains: Sequence[Domain]
    ) -> list[tuple[Counts, int]]:
        """Return, by column, the people with each value of its domain, and with any, of all groups."""
        out = []
        for at, domain in enumerate(domains):
            of_values = np.zeros(domain.rows.size, dtype=np.int64)
            for values, people, _ in (group[at] for group in found):
                of_values[values] += people
            out.append((of_values, sum(group[at][2] for group in found)))
        return out


def _given(unit: str | None) -> tuple[str, ...]:
    return () if unit is None else (unit,)
