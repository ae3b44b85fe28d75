# SPDX-License-Identifier: Apache-2.0
"""Files that workers read, in which hardly two rows are equal: their classes, and lines dealt to groups.

Workers count the lines of their own files, and deal it to groups: of neighbouring values, or of classes. What they
hand each other are Arrow tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.bundle.part_workers import Message
from anonkit.checks.class_counts import number_classes
from anonkit.checks.counted_as import ReadValues, read_lines
from anonkit.checks.people import Counts
from anonkit.checks.table_scans import Lines, SpreadFiles, opened, scanned
from anonkit.errors import EngineError

UNNUMBERED = -1
"""In place of a value's number where a cell is missing and that is no value."""
_AS_IT_STANDS = ReadValues()
_TOGETHER = 1 << 19
"""Rows of a group, about."""
_BORDERS = 63
"""Values of a column that every task names."""
_IN_A_MESSAGE = 1 << 16
"""Lines."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SpreadClasses:
    """The classes of spread files, and how columns of theirs are dealt to groups."""

    files: SpreadFiles
    quasi_identifiers: tuple[str, ...]
    columns: tuple[str, ...]
    rows: Counts
    """Rows of each class, ascending by its cells, missing last."""
    cells: bytes
    """`class`, its number, and its cells q0, q1, …"""
    borders: tuple[bytes, ...]
    """By column: `part`, the number of a group, and its least value `low`; there may be fewer groups."""
    kinds: tuple[str, ...]
    """By column: its type."""
    groups: int
    """Groups of each column, and of classes."""
    reading: ReadValues
    """Definition of a value of some columns."""

    @classmethod
    def of(
        cls,
        files: SpreadFiles,
        quasi_identifiers: Sequence[str],
        columns: Sequence[str],
        reading: ReadValues = _AS_IT_STANDS,
    ) -> SpreadClasses:
        """Let workers count the classes, and look at some columns.

        Raises
        ------
        EngineError
            The files cannot be read or counted.
        """
        look = LookAt(quasi_identifiers=tuple(quasi_identifiers), columns=tuple(columns), reading=reading)
        looked = files.workers.each(look, files.runs)
        cells, rows = _numbered([read_message(each.classes) for each in looked], len(quasi_identifiers))
        groups = max(-(-int(rows.sum()) // _TOGETHER), 1)
        named = [[read_message(each.borders[at]) for each in looked] for at in range(len(look.columns))]
        return cls(
            files=files,
            quasi_identifiers=look.quasi_identifiers,
            columns=look.columns,
            rows=rows,
            cells=written(cells),
            borders=tuple(_borders(values, groups) for values in named),
            kinds=looked[0].kinds,
            groups=groups,
            reading=reading,
        )

    @property
    def numbered(self) -> NumberedClassFiles:
        """Opener of files with the numbers of their classes."""
        return NumberedClassFiles(
            quasi_identifiers=self.quasi_identifiers, columns=self.columns, cells=self.cells, reading=self.reading
        )


def _numbered(counted: Sequence[pa.Table], n_keys: int) -> tuple[pa.Table, Counts]:
    """Return the classes with their numbers, and the rows of each, from those of every task."""
    names = [f"q{at}" for at in range(n_keys)]
    with scanned(pa.concat_tables(counted)) as (connection, source):
        own = dict(zip(names, names, strict=True))
        lines = Lines(connection=connection, source=source, names=own, weight="n")
        rows, _, _ = number_classes(lines, names, (), None)
        keys = "".join(f", {name}" for name in names)
        return table_of(connection, f"SELECT class{keys} FROM classes ORDER BY class"), rows


def _borders(named: Sequence[pa.Table], groups: int) -> bytes:
    """Return the least values of groups 1, 2, …, ascending, at most so many that there are `groups` of them."""
    with scanned(pa.concat_tables(named)) as (connection, source):
        tiles = f"SELECT low, ntile({groups}) OVER (ORDER BY low) AS tile FROM {source} WHERE low IS NOT NULL"
        least = f"SELECT DISTINCT min(low) AS low FROM ({tiles}) WHERE tile > 1 GROUP BY tile"
        parts = f"SELECT low, row_number() OVER (ORDER BY low) AS part FROM ({least})"
        return written(table_of(connection, f"{parts} ORDER BY part"))


@dataclass(frozen=True, kw_only=True)
class Looked:
    """The result of a task on its files."""

    classes: bytes
    """Quasi-identifiers q0, q1, … and `n`, the rows, of every class."""
    borders: tuple[bytes, ...]
    """By column: values `low` that divide the rows into runs of about equal length."""
    kinds: tuple[str, ...]
    """By column: its type."""


@dataclass(frozen=True, kw_only=True)
class LookAt:
    """Counts the classes of some files, and looks at the columns whose values are to be counted."""

    quasi_identifiers: tuple[str, ...]
    columns: tuple[str, ...]
    reading: ReadValues

    def __call__(self, parts: Sequence[Path]) -> Looked:
        """Count; what one worker does of its files."""
        shares = ", ".join(f"{at / (_BORDERS + 1)}" for at in range(1, _BORDERS + 1))
        with opened(parts, (*self.quasi_identifiers, *self.columns), threads=1) as lines:
            connection, source = lines.connection, lines.source
            keys = "".join(f"{lines.column(name)} AS q{at}, " for at, name in enumerate(self.quasi_identifiers))
            classes = table_of(
                connection, f"SELECT {keys}count(*)::BIGINT AS n FROM {source}{' GROUP BY ALL' if keys else ''}"
            )
            lines = _read(lines, self.columns, self.reading)
            source = lines.source
            borders = [
                table_of(
                    connection, f"SELECT unnest(quantile_disc({lines.column(name)}, [{shares}])) AS low FROM {source}"
                )
                for name in self.columns
            ]
            listed = ", ".join(map(lines.column, self.columns))
            kinds = connection.sql(f"SELECT {listed} FROM {source} LIMIT 0").types if listed else ()
        return Looked(
            classes=written(classes), borders=tuple(map(written, borders)), kinds=tuple(str(kind) for kind in kinds)
        )


@dataclass(frozen=True, kw_only=True)
class NumberedClassFiles:
    """Opens files with the numbers of their classes."""

    quasi_identifiers: tuple[str, ...]
    columns: tuple[str, ...]
    cells: bytes
    """As in `SpreadClasses`."""
    reading: ReadValues

    @contextmanager
    def opened(self, parts: Sequence[Path]) -> Iterator[Any]:
        """Yield a connection with the table `numbered`: `class`, and the columns as s0, s1, …, a line for every row.

        Raises
        ------
        EngineError
            They cannot be read.
        """
        with opened(parts, (*self.quasi_identifiers, *self.columns), threads=1) as lines:
            connection, source = lines.connection, lines.source
            cells = "".join(f", t.{lines.column(name)} AS s{at}" for at, name in enumerate(self.columns))
            same = " AND ".join(
                f"t.{lines.column(name)} IS NOT DISTINCT FROM classes.q{at}"
                for at, name in enumerate(self.quasi_identifiers)
            )
            connection.register("classes", read_message(self.cells))
            source = _read(lines, self.columns, self.reading).source
            connection.execute(
                f"CREATE TEMP TABLE numbered AS SELECT classes.class{cells} FROM {source} AS t "
                f"JOIN classes ON {same or 'true'}"
            )
            yield connection


def _read(lines: Lines, columns: Sequence[str], reading: ReadValues) -> Lines:
    """Return the lines with what counts as a value in the columns that are read so."""
    return read_lines(lines, [name for name in reading.columns if name in columns], reading)


@dataclass(frozen=True, kw_only=True)
class DealPairs:
    """Counts the pairs of class and value in some files, and deals them to groups of neighbouring values."""

    rows: NumberedClassFiles
    borders: tuple[bytes, ...]
    groups: int
    """As in `SpreadClasses`."""

    def __call__(self, parts: Sequence[Path]) -> Iterator[Message]:
        """Yield messages: `class`, value `s`, and `n` rows of a pair."""
        with self.rows.opened(parts) as connection:
            for at, borders in enumerate(self.borders):
                counted = f"SELECT class, s{at} AS s, count(*)::BIGINT AS n FROM numbered GROUP BY ALL"
                yield from dealt(connection, counted, "s", borders, at * self.groups, self.groups)


def dealt(connection: Any, lines: str, by: str, borders: bytes, first: int, groups: int) -> Iterator[Message]:
    """Yield the lines of a query, dealt by a column: to groups `first` and on, missing cells to the last one."""
    connection.register("borders", read_message(borders))
    found = table_of(
        connection,
        f"SELECT lines.*, CASE WHEN {by} IS NULL THEN {groups - 1} ELSE coalesce(part, 0) END AS own_part "
        f"FROM ({lines}) AS lines ASOF LEFT JOIN borders ON lines.{by} >= borders.low ORDER BY own_part",
    )
    part = found.column("own_part").to_numpy()
    for own, start, end in runs_in(part):
        yield from messages_of(first + own, found.slice(start, end - start).drop_columns(["own_part"]))


def refuse_strays(connection: Any, source: str, by: str, borders: bytes, part: int) -> None:
    """Refuse a group in which a value is below the least of the group, or not below that of the next one.

    Raises
    ------
    EngineError
        There is one: the values of groups would not be in order.
    """
    connection.register("borders", read_message(borders))
    low, end = (f"(SELECT low FROM borders WHERE part = {number})" for number in (part, part + 1))
    strays = f"SELECT count(*) FROM {source} WHERE {by} < {low} OR {by} >= {end}"
    if connection.execute(strays).fetchall() != [(0,)]:
        raise lost()


def lost() -> EngineError:
    """Return the error of counts between which something is missing."""
    return EngineError("what workers counted does not add up", "does every node have all files of the release?")


# --- messages ---------------------------------------------------------------------------------------------------


def table_of(connection: Any, query: str) -> pa.Table:
    """Return what a query finds."""
    return connection.sql(query).to_arrow_reader(_IN_A_MESSAGE).read_all()


def runs_in(numbers: Counts) -> Iterator[tuple[int, int, int]]:
    """Yield each of some ascending numbers, and where its run starts and ends."""
    ends = [*np.flatnonzero(np.diff(numbers)) + 1, numbers.size] if numbers.size else []
    for start, end in pairwise([0, *ends]):
        yield int(numbers[start]), int(start), int(end)


def messages_of(group: int, lines: pa.Table) -> Iterator[Message]:
    """Yield messages to one group."""
    for start in range(0, lines.num_rows, _IN_A_MESSAGE):
        yield group, written(lines.slice(start, _IN_A_MESSAGE))


def written(table: pa.Table) -> bytes:
    """Return a table as a message."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def read_message(message: bytes) -> pa.Table:
    """Return the table of a message."""
    return pa.ipc.open_stream(message).read_all()
