# SPDX-License-Identifier: Apache-2.0
"""One relation of classes: the rows of a table with the number of their class, here or dealt to workers in groups.

Classes ascend with their cells, first quasi-identifier first, missing last. Whatever is measured of classes is a
function of whole classes. On this machine all classes are one group. Where workers read files in which hardly two rows
are equal, each of them counts its files, and hands the rows of a class, or of a person, to whoever works on its group.
The cells of a column go to one worker, which finds its values and hands them to all groups that need them. What comes
to this machine are the classes, once from every task, and what is measured.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from anonkit.bundle.data_files import GroupStep, Message
from anonkit.bundle.sql_names import own_names
from anonkit.checks.people import Counts
from anonkit.checks.table_scans import Lines, SpreadFiles, Table, counted_alike, few_combined, opened, scanned
from anonkit.errors import EngineError

NUMBERED = "numbered"
"""Name of the relation on this machine."""
_TOGETHER = 1 << 19
"""Rows of a group, about."""
_IN_A_MESSAGE = 1 << 16
"""Lines."""
_NEED, _LINES = b"need", b"lines"
"""In the metadata of a message with lines of values: the number of what was needed, and how many lines it has."""


class ColumnTable(Protocol):
    """Makes a table of the cells of a column in the whole table; picklable, and no two are equal."""

    @property
    def column(self) -> str:
        """Column that it looks at."""
        ...

    def __call__(self, lines: Lines, /) -> pa.Table:
        """Make it of lines that have the cells; the order of its lines says nothing."""
        ...


TableOf: TypeAlias = Callable[[ColumnTable], pa.Table]
"""Finds the table of a column."""


class ColumnMeasure(Protocol):
    """Measures the cells of a column in the whole table; picklable, as is what it returns."""

    @property
    def column(self) -> str:
        """Column that it looks at."""
        ...

    def __call__(self, lines: Lines, table_of: TableOf, /) -> Any:
        """Measure lines that have the cells."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class _TablesMade:
    """Makes the tables of columns, each once."""

    lines: Lines
    made: dict[ColumnTable, pa.Table] = field(default_factory=dict)

    def __call__(self, need: ColumnTable) -> pa.Table:
        if need not in self.made:
            self.made[need] = need(self.lines)
        return self.made[need]


@dataclass(frozen=True, kw_only=True, eq=False)
class DealtClasses:
    """The rows of some whole classes; for what is measured of people, of some people with all their rows."""

    lines: Lines
    """With the column `class`, the number of the class among these; of people, among all classes."""
    rows: Counts
    """Rows of each class; for people, of all classes."""
    table_of: TableOf
    """Finds what a measure needs of a whole column."""


class ClassMeasure(Protocol):
    """Measures some whole classes, or some people; picklable, as is what it returns."""

    @property
    def columns(self) -> Sequence[str]:
        """Columns that it looks at."""
        ...

    @property
    def needs(self) -> Sequence[ColumnTable]:
        """Tables of whole columns that it needs."""
        return ()

    def __call__(self, classes: DealtClasses, /) -> Any:
        """Measure them."""
        ...


class ClassRelation(Protocol):
    """The classes of a table, wherever its rows are."""

    @property
    def rows(self) -> Counts:
        """Rows of each class."""
        ...

    def of_columns(self, measures: Sequence[ColumnMeasure]) -> list[Any]:
        """Return the results of measures of columns, in their order."""
        ...

    def each(self, measures: Sequence[ClassMeasure]) -> Iterator[list[Any]]:
        """Yield, by measure, the results of all groups of whole classes, in the order of the classes."""
        ...

    def each_person(self, measure: ClassMeasure, unit: str) -> list[Any]:
        """Return the results of all groups of people: of each, all rows are in one group."""
        ...


@contextmanager
def classes_of(table: Table, quasi_identifiers: Sequence[str], columns: Sequence[str]) -> Iterator[ClassRelation]:
    """Open the classes of a table.

    Parameters
    ----------
    quasi_identifiers : sequence of str
        Columns that make up the classes; with none, all rows are one class.
    columns : sequence of str
        Further columns that are looked at.

    Raises
    ------
    EngineError
        It cannot be read or counted, or what workers have counted does not add up.
    """
    names = tuple(dict.fromkeys(columns))
    with few_combined(table, (*quasi_identifiers, *names)) as lines:
        if isinstance(lines, SpreadFiles):
            yield SpreadClasses.of(lines, tuple(quasi_identifiers))
        else:
            yield ClassesHere.of(counted_alike(lines, (*quasi_identifiers, *names)), quasi_identifiers, names)


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassesHere:
    """Classes whose rows are on this machine: a table of the connection."""

    lines: Lines
    rows: Counts
    table_of: TableOf

    @classmethod
    def of(cls, lines: Lines, quasi_identifiers: Sequence[str], columns: Sequence[str]) -> ClassesHere:
        """Count the classes in the table `classes`, and number the rows."""
        connection, source = lines.connection, lines.source
        keys = {f"q{at}": lines.column(name) for at, name in enumerate(quasi_identifiers)}
        listed = "".join(f"{column} AS {name}, " for name, column in keys.items())
        order = f"ORDER BY {', '.join(f'{name} NULLS LAST' for name in keys)}" if keys else ""
        connection.execute(
            f"CREATE TEMP TABLE classes AS SELECT (row_number() OVER ({order}) - 1)::BIGINT AS class, * FROM "
            f"(SELECT {listed}{lines.rows()} AS n FROM {source}{' GROUP BY ALL' if keys else ''}) WHERE n > 0"
        )
        rows = connection.execute("SELECT n FROM classes ORDER BY class").fetchnumpy()["n"]
        own = own_names(columns)
        if own:
            cells = [f"t.{lines.column(name)} AS {short}" for name, short in own.items()]
            cells += [] if lines.weight is None else [f"t.{lines.weight}"]
            connection.execute(
                f"CREATE TEMP TABLE {NUMBERED} AS SELECT class, {', '.join(cells)} FROM {source} AS t "
                f"JOIN classes ON {_same(keys)}"
            )
        numbered = Lines(connection=connection, source=NUMBERED, names=own, weight=lines.weight)
        return cls(lines=numbered, rows=np.asarray(rows, dtype=np.int64), table_of=_TablesMade(lines=numbered))

    def of_columns(self, measures: Sequence[ColumnMeasure]) -> list[Any]:
        """Return the results of measures of columns; see `ClassRelation`."""
        return [measure(self.lines, self.table_of) for measure in measures]

    def each(self, measures: Sequence[ClassMeasure]) -> Iterator[list[Any]]:
        """Yield the result of each measure when it is wanted; see `ClassRelation`."""
        for measure in measures:
            yield self.each_person(measure, "")

    def each_person(self, measure: ClassMeasure, unit: str) -> list[Any]:
        """Return the result of a measure; see `ClassRelation`."""
        dealt = DealtClasses(lines=self.lines, rows=self.rows, table_of=self.table_of)
        return [measure(dealt)] if self.rows.size else []


def _same(keys: Mapping[str, str]) -> str:
    """Return the SQL of whether a row `t` is in a class."""
    return " AND ".join(f"t.{column} IS NOT DISTINCT FROM classes.{name}" for name, column in keys.items()) or "true"


# --- classes whose rows workers have ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class SpreadClasses:
    """Classes of files that workers read, dealt to groups of neighbouring classes, or of people."""

    files: SpreadFiles
    quasi_identifiers: tuple[str, ...]
    rows: Counts
    cells: bytes
    """`class`, its number, its cells q0, q1, …, and `part`, the number of its group."""
    starts: Counts
    """By group: its first class; and behind them, the number of classes."""

    @classmethod
    def of(cls, files: SpreadFiles, quasi_identifiers: tuple[str, ...]) -> SpreadClasses:
        """Let workers count the classes.

        Raises
        ------
        EngineError
            The files cannot be read or counted.
        """
        counted = files.workers.each(CountClasses(quasi_identifiers=quasi_identifiers), files.runs)
        own = own_names(quasi_identifiers)
        with scanned(_read(counted)) as (connection, source):
            lines = Lines(connection=connection, source=source, names=own, weight="n")
            rows = ClassesHere.of(lines, quasi_identifiers, ()).rows
            cells = table_of(connection, "SELECT * EXCLUDE (n) FROM classes ORDER BY class")
        _, starts, part = np.unique((np.cumsum(rows) - rows) // _TOGETHER, return_index=True, return_inverse=True)
        cells = cells.append_column("part", pa.array(part))
        return cls(
            files=files,
            quasi_identifiers=quasi_identifiers,
            rows=rows,
            cells=_message(cells),
            starts=np.append(starts, rows.size),
        )

    def of_columns(self, measures: Sequence[ColumnMeasure]) -> list[Any]:
        """Return the results of measures of columns, each column by one worker; see `ClassRelation`.

        Raises
        ------
        EngineError
            The cells of a column are not those of all rows.
        """
        columns = tuple(dict.fromkeys(measure.column for measure in measures))
        if not columns:
            return []
        work = MeasureColumns(columns=columns, measures=tuple(measures), rows=int(self.rows.sum()))
        results = self.files.workers.regrouped(DealCells(columns=columns), [work], self.files.runs, len(columns))
        found = {at: made for _, message in results for at, made in pickle.loads(message)}  # noqa: S301 - as below
        if found.keys() != set(range(len(measures))):
            raise lost()
        return [found[at] for at in range(len(measures))]

    def each(self, measures: Sequence[ClassMeasure]) -> Iterator[list[Any]]:
        """Yield the results of all groups of classes, dealt once for all measures; see `ClassRelation`."""
        n_groups = self.starts.size - 1
        found = self._worked(measures, None, n_groups) if measures and n_groups else {}
        if measures and found.keys() != set(range(n_groups)):
            raise lost()
        for at in range(len(measures)):
            yield [found[group][1][at] for group in range(n_groups)]

    def each_person(self, measure: ClassMeasure, unit: str) -> list[Any]:
        """Return the results of all groups of people; see `ClassRelation`."""
        found = self._worked([measure], unit, max(-(-int(self.rows.sum()) // _TOGETHER), 1))
        if sum(rows for rows, _ in found.values()) != int(self.rows.sum()):
            raise lost()
        return [made for _, (made,) in found.values()]

    def _worked(self, measures: Sequence[ClassMeasure], unit: str | None, groups: int) -> dict[int, Any]:
        """Return by group its rows, and the result of every measure."""
        looked = dict.fromkeys(name for measure in measures for name in measure.columns)
        columns = tuple(looked if unit is None else {**looked, unit: None})
        needs = tuple(dict.fromkeys(need for measure in measures for need in measure.needs))
        deal = DealRows(
            quasi_identifiers=self.quasi_identifiers,
            columns=columns,
            cells=self.cells,
            unit=unit,
            groups=groups,
            needed=tuple(need.column for need in needs),
        )
        work = MeasureGroup(
            measures=tuple(measures),
            needs=needs,
            columns=columns,
            rows=self.rows,
            starts=self.starts,
            unit=unit,
            groups=groups,
        )
        steps: list[GroupStep] = [work]
        if needs:
            steps = [MakeTables(needs=needs, rows=int(self.rows.sum()), groups=groups), work]
        results = self.files.workers.regrouped(deal, steps, self.files.runs, groups + len(needs))
        return {group: pickle.loads(message) for group, message in results}  # noqa: S301 - from workers that run our code


@dataclass(frozen=True, kw_only=True)
class CountClasses:
    """Counts the rows of all classes in some files."""

    quasi_identifiers: tuple[str, ...]

    def __call__(self, parts: Sequence[Path]) -> bytes:
        """Return c0, c1, … and `n`, the rows; what one worker does of its files."""
        own = own_names(self.quasi_identifiers)
        with opened(parts, self.quasi_identifiers, threads=1) as lines:
            listed = "".join(f"{lines.column(name)} AS {short}, " for name, short in own.items())
            grouped = " GROUP BY ALL" if own else ""
            return _message(
                table_of(lines.connection, f"SELECT {listed}count(*)::BIGINT AS n FROM {lines.source}{grouped}")
            )


def _cells_of(lines: Lines, name: str) -> Iterator[bytes]:
    """Yield the cells of a column as messages, a different one once: c0, and `n`, the number of its rows."""
    query = f"SELECT {lines.column(name)} AS c0, count(*)::BIGINT AS n FROM {lines.source} GROUP BY ALL"
    return map(_message, _slices(table_of(lines.connection, query)))


@contextmanager
def _cells_opened(messages: Sequence[bytes], name: str, rows: int) -> Iterator[Lines]:
    """Open the cells of a column from all files.

    Raises
    ------
    EngineError
        They are not those of so many rows.
    """
    cells = _read(messages)
    if _rows_of(cells) != rows:
        raise lost()
    with scanned(cells, threads=1) as (connection, source):
        yield Lines(connection=connection, source=source, names={name: "c0"}, weight="n")


@dataclass(frozen=True, kw_only=True)
class DealCells:
    """Counts the cells of some columns in some files, and deals each column to a group of its own."""

    columns: tuple[str, ...]

    def __call__(self, parts: Sequence[Path]) -> Iterator[Message]:
        """Yield messages with the cells."""
        with opened(parts, self.columns, threads=1) as lines:
            for group, name in enumerate(self.columns):
                for cells in _cells_of(lines, name):
                    yield group, cells


@dataclass(frozen=True, kw_only=True)
class MeasureColumns:
    """Measures the cells of a column that have come together."""

    columns: tuple[str, ...]
    measures: tuple[ColumnMeasure, ...]
    rows: int
    """Of the whole table."""

    def __call__(self, group: int, messages: Sequence[bytes]) -> Iterator[Message]:
        """Yield the number and the result of every measure of the column.

        Raises
        ------
        EngineError
            They are not the cells of all rows.
        """
        name = self.columns[group]
        with _cells_opened(messages, name, self.rows) as lines:
            table_of = _TablesMade(lines=lines)
            made = [(at, each(lines, table_of)) for at, each in enumerate(self.measures) if each.column == name]
        yield group, pickle.dumps(made)


@dataclass(frozen=True, kw_only=True)
class MakeTables:
    """Makes what is needed of whole columns, and deals it to all groups of classes, or of people."""

    needs: tuple[ColumnTable, ...]
    rows: int
    """Of the whole table."""
    groups: int

    def __call__(self, group: int, messages: Sequence[bytes]) -> Iterator[Message]:
        """Yield messages with the lines of a table; rows that were dealt to a group stay in it.

        Raises
        ------
        EngineError
            The cells are not those of all rows.
        """
        if group < self.groups:
            yield from ((group, message) for message in messages)
            return
        at = group - self.groups
        with _cells_opened(messages, self.needs[at].column, self.rows) as lines:
            table = self.needs[at](lines)
        known = {_NEED: str(at), _LINES: str(table.num_rows), **(table.schema.metadata or {})}
        for lines_of in _slices(table.replace_schema_metadata(known)):
            message = _message(lines_of)
            for to in range(self.groups):
                yield to, message


@dataclass(frozen=True, kw_only=True)
class DealRows:
    """Numbers the rows of some files by their class, and deals them to groups."""

    quasi_identifiers: tuple[str, ...]
    columns: tuple[str, ...]
    cells: bytes
    """As in `SpreadClasses`."""
    unit: str | None
    """Column whose values are people, by whom rows are dealt; None: by classes."""
    groups: int
    needed: tuple[str, ...]
    """Columns whose cells are dealt to further groups."""

    def __call__(self, parts: Sequence[Path]) -> Iterator[Message]:
        """Yield messages: `class`, the columns as c0, c1, …, and `n`, the number of such rows; and cells of columns."""
        with opened(parts, (*self.quasi_identifiers, *self.columns, *self.needed), threads=1) as lines:
            for at, name in enumerate(self.needed):
                for message in _cells_of(lines, name):
                    yield self.groups + at, message
            own = own_names(self.columns)
            cells = "".join(f", t.{lines.column(name)} AS {short}" for name, short in own.items())
            part = "classes.part" if self.unit is None else group_of(f"t.{lines.column(self.unit)}", self.groups)
            same = _same({f"q{at}": lines.column(name) for at, name in enumerate(self.quasi_identifiers)})
            lines.connection.register("classes", _read([self.cells]))
            found = table_of(
                lines.connection,
                f"SELECT * FROM (SELECT {part} AS part, class{cells}, count(*)::BIGINT AS n FROM {lines.source} AS t "
                f"JOIN classes ON {same} GROUP BY ALL) ORDER BY part",
            )
        parts_of_rows, found = found.column("part").to_numpy(), found.drop_columns(["part"])
        ends = np.flatnonzero(np.diff(parts_of_rows, append=self.groups)) + 1
        for start, end in pairwise([0, *ends.tolist()]):
            for rows in _slices(found.slice(start, end - start)):
                yield int(parts_of_rows[start]), _message(rows)


def group_of(unit: str, groups: int) -> str:
    """Return the SQL of the group of a person; equal values have one, whatever their spelling."""
    return f"(hash({unit}) % {groups})::BIGINT"


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasureGroup:
    """Measures a group whose rows have come together."""

    measures: tuple[ClassMeasure, ...]
    needs: tuple[ColumnTable, ...]
    columns: tuple[str, ...]
    rows: Counts
    starts: Counts
    unit: str | None
    groups: int
    """As in `SpreadClasses` and `DealRows`."""

    def __call__(self, group: int, messages: Sequence[bytes]) -> Iterator[Message]:
        """Yield the number of rows, and the result of every measure.

        Raises
        ------
        EngineError
            Rows are missing, or are in another group than theirs: a class or a person is not whole.
        """
        rows_of, tables = _sorted_out(messages)
        if not rows_of:
            return  # nobody is in this group of people
        own, dealt = own_names(self.columns), _read(rows_of)
        with scanned(dealt, threads=1) as (connection, source):
            if self.unit is None:
                first, end = (int(at) for at in self.starts[group : group + 2])
                rows = self.rows[first:end]
                counted = connection.execute(
                    f"SELECT class, sum(n)::BIGINT AS n FROM {source} GROUP BY class ORDER BY class"
                ).fetchnumpy()
                if not np.array_equal(counted["class"], np.arange(first, end)) or not np.array_equal(
                    counted["n"], rows
                ):
                    raise lost()
                source = f"(SELECT * REPLACE (class - {first} AS class) FROM {source})"
            else:
                rows, own_group = self.rows, group_of(own[self.unit], self.groups)
                if connection.execute(f"SELECT 1 FROM {source} WHERE {own_group} <> {group} LIMIT 1").fetchall():
                    raise lost()  # else whoever has rows in two groups is two people
            lines = Lines(connection=connection, source=source, names=own, weight="n")
            classes = DealtClasses(
                lines=lines, rows=rows, table_of=lambda need: _table_from(tables.get(self.needs.index(need), ()))
            )
            made = [measure(classes) for measure in self.measures]
            yield group, pickle.dumps((_rows_of(dealt), made))


def _sorted_out(messages: Sequence[bytes]) -> tuple[list[bytes], dict[int, list[bytes]]]:
    """Return the messages with rows, and those with lines of tables by the number of the need."""
    rows: list[bytes] = []
    tables: dict[int, list[bytes]] = {}
    for message in messages:
        known = pa.ipc.open_stream(message).schema.metadata or {}
        (tables.setdefault(int(known[_NEED]), []) if _NEED in known else rows).append(message)
    return rows, tables


def _table_from(messages: Sequence[bytes]) -> pa.Table:
    """Return a table from all messages with its lines.

    Raises
    ------
    EngineError
        There are fewer than it has.
    """
    if not messages:
        raise lost()
    table = _read(messages)
    if str(table.num_rows).encode() != table.schema.metadata[_LINES]:
        raise lost()
    return table


def lost() -> EngineError:
    """Return the error of counts between which something is missing."""
    return EngineError("what workers counted does not add up", "does every node have all files of the release?")


# --- messages --------------------------------------------------------------------------------------------------------


def table_of(connection: Any, query: str) -> pa.Table:
    """Return the table of a query."""
    return connection.sql(query).to_arrow_reader(_IN_A_MESSAGE).read_all()


def _slices(table: pa.Table) -> Iterator[pa.Table]:
    """Yield the lines of a table in slices, an empty one of a table without lines."""
    return (table.slice(at, _IN_A_MESSAGE) for at in range(0, max(table.num_rows, 1), _IN_A_MESSAGE))


def _message(table: pa.Table) -> bytes:
    """Return a table as a message."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def _read(messages: Sequence[bytes]) -> pa.Table:
    """Return the lines of all messages."""
    return pa.concat_tables([pa.ipc.open_stream(message).read_all() for message in messages])


def _rows_of(lines: pa.Table) -> int:
    return int(lines.column("n").to_numpy().sum())
