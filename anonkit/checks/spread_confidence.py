# SPDX-License-Identifier: Apache-2.0
"""Confidence of values in classes, and parts of the classes, counted by workers for high-cardinality keys.

The figures are those of `anonkit.checks.value_confidence` and `anonkit.checks.clear_parts`. Workers hand each other
lines of classes, and then the confidence of a value in classes; what comes to this machine is some values of each
group.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit.bundle.part_workers import Message
from anonkit.checks.class_counts import has_order
from anonkit.checks.clear_parts import (
    FEW_VALUES,
    AlikeParts,
    ClearParts,
    KnownBeside,
    ends_query,
    is_measured,
    is_number,
    parts_query,
    sizes_of,
    width_between,
)
from anonkit.checks.counted_as import ReadValues
from anonkit.checks.people import Counts
from anonkit.checks.spread_files import (
    NumberedClassFiles,
    SpreadClasses,
    dealt,
    lost,
    messages_of,
    read_message,
    refuse_strays,
    runs_in,
    table_of,
    written,
)
from anonkit.checks.table_scans import Lines, SpreadFiles, opened, scanned
from anonkit.checks.value_confidence import (
    Coding,
    ColumnConfidence,
    bands_query,
    cell_of_kind,
    coding_of_bands,
    coding_of_few,
    confidence_told,
    is_text,
)


@dataclass(frozen=True, kw_only=True)
class SpreadConfidence:
    """The result of spread files."""

    by_value: Mapping[str, ColumnConfidence] = field(default_factory=dict)
    clear: ClearParts | None = None


def confidence_in_spread(
    files: SpreadFiles,
    quasi_identifiers: Sequence[str],
    names: Sequence[str],
    missing_is_value: Sequence[str],
    reading: ReadValues,
    beside: KnownBeside | None,
    unit: str | None = None,
) -> SpreadConfidence:
    """Look at the values of some columns in the classes, and count the parts of the classes.

    Raises
    ------
    EngineError
        They cannot be read or counted, or what was counted does not add up.
    """
    known = () if beside is None else (*beside.columns, *beside.sensitive)
    whose = () if unit is None else (unit,)
    columns = tuple(dict.fromkeys((*names, *known, *whose)))
    few = _few(files, tuple(dict.fromkeys((*names, *known))))
    spread = SpreadClasses.of(files, quasi_identifiers, columns)
    kinds = dict(zip(columns, spread.kinds, strict=True))
    many = [name for name in dict.fromkeys((*names, *known)) if has_order(kinds[name]) and name not in few]
    placed = _placed(spread, many)
    codings = [
        _coding(name, kinds[name], few, placed, reading, missing_is_value=name in missing_is_value) for name in names
    ]
    wanted, width = _wanted(beside, few, kinds, placed)
    work = DealCells(
        rows=spread.numbered,
        groups=spread.groups,
        cells=tuple(cell_of_kind(f"s{columns.index(name)}", kinds[name]) for name in names),
        parts=tuple(tuple(f"s{columns.index(name)}" for name in part) for part in wanted),
        unit=None if unit is None else f"s{columns.index(unit)}",
    )
    count = CountClasses(
        codings=tuple(codings),
        parts=work.parts,
        measured=None if width is None or beside is None else f"s{columns.index(str(beside.target))}",
        width=width,
        unit=work.unit,
        groups=spread.groups,
        rows=written(pa.table({"n": spread.rows})),
    )
    merge = MergeValues(codings=tuple(codings), groups=spread.groups, records=int(spread.rows.sum()))
    n_groups = spread.groups * (len(names) + len(wanted))
    said = files.workers.regrouped(work, [count, merge], files.runs, n_groups) if n_groups else []
    found: list[list[Any]] = [[] for _ in range(len(names) + len(wanted))]
    for group, message in said:
        found[group // spread.groups] += json.loads(message)
    by_value = {
        name: _told(lines, coding, merge.records)
        for name, coding, lines in zip(names, codings, found[: len(names)], strict=True)
    }
    sizes = [sizes_of(lines) for lines in found[len(names) :]]
    if any(sum(size[0] * parts for size, parts in own.items()) != merge.records for own in sizes):
        raise lost()
    parts = [AlikeParts(columns=part, sizes=own) for part, own in zip(wanted, sizes, strict=True)]
    clear = None
    if beside is not None and parts:
        clear = ClearParts(
            known=parts[0],
            sensitive=parts[1] if len(parts) > 1 else None,
            width=width,
            k=beside.k,
            by_people=unit is not None,
        )
    return SpreadConfidence(by_value=by_value, clear=clear)


def _told(lines: Sequence[Any], coding: Coding, records: int) -> ColumnConfidence:
    """Return the published confidence of a column, from that of each group of values, with the label of each value."""
    rest = [line for line in lines if line[0] is None]
    held, counted, alike = (sum(line[at] for line in rest) for at in (1, 5, 6))
    if held != records or counted != records:
        raise lost()
    whole = replace(coding, told_labels={line[0]: line[7] for line in lines})
    return confidence_told([(*line[:5], records, alike) for line in lines], whole)


def _wanted(
    beside: KnownBeside | None, few: Mapping[str, pa.Table], kinds: Mapping[str, str], placed: Mapping[str, _Placed]
) -> tuple[list[tuple[str, ...]], float | None]:
    """Return the columns of the parts that are counted, and the width of the target where it is measured."""
    if beside is None:
        return [], None
    also = tuple(name for name in beside.sensitive if name in few and name not in beside.columns)
    if not beside.columns and not also:
        return [], None
    width = None
    if beside.target is not None and beside.target in placed and is_measured(beside.target, kinds[beside.target]):
        width = placed[beside.target].width
    return [beside.columns, *([(*beside.columns, *also)] if also else [])], width


@contextmanager
def cells_in_spread(files: SpreadFiles, names: Sequence[str]) -> Iterator[dict[str, Lines]]:
    """Open the different cells of columns with the rows of each: of people counts come to this machine anyway."""
    counted = files.workers.each(CountDistinctCells(columns=tuple(names)), files.runs) if names else []
    with ExitStack() as stack:
        out = {}
        for at, name in enumerate(names):
            cells = pa.concat_tables([read_message(each[at]) for each in counted])
            connection, source = stack.enter_context(scanned(cells))
            out[name] = Lines(connection=connection, source=source, names={name: "cell"}, weight="n")
        yield out


@dataclass(frozen=True, kw_only=True)
class CountDistinctCells:
    """Counts the different cells of columns in some files."""

    columns: tuple[str, ...]

    def __call__(self, parts: Sequence[Path]) -> list[bytes]:
        """Return `cell` and its rows `n`, by column."""
        with opened(parts, self.columns, threads=1) as lines:
            counted = f"count(*)::BIGINT AS n FROM {lines.source} GROUP BY ALL"
            cells = [f"SELECT {lines.column(name)} AS cell, {counted}" for name in self.columns]
            return [written(table_of(lines.connection, query)) for query in cells]


# --- what is looked at before --------------------------------------------------------------------------------


def _few(files: SpreadFiles, columns: Sequence[str]) -> dict[str, pa.Table]:
    """Return the different values of each column that has few."""
    if not columns:
        return {}
    looked = files.workers.each(LookAtFew(columns=tuple(columns)), files.runs)
    out = {}
    for at, name in enumerate(columns):
        with scanned(pa.concat_tables([read_message(each[at]) for each in looked])) as (connection, source):
            values = table_of(connection, f"SELECT DISTINCT cell FROM {source} ORDER BY cell")
        if values.num_rows <= FEW_VALUES:
            out[name] = values
    return out


@dataclass(frozen=True, kw_only=True)
class LookAtFew:
    """Lists different values of columns in some files, one more than few at most."""

    columns: tuple[str, ...]

    def __call__(self, parts: Sequence[Path]) -> list[bytes]:
        """Return `cell` of each column."""
        with opened(parts, self.columns, threads=1) as lines:
            cells = [f"SELECT DISTINCT {lines.column(name)} AS cell FROM {lines.source}" for name in self.columns]
            return [written(table_of(lines.connection, f"{query} LIMIT {FEW_VALUES + 1}")) for query in cells]


@dataclass(frozen=True, kw_only=True)
class _Placed:
    """The distribution of all numbers of a column."""

    bands: pa.Table
    """`band`, `low`, `high`, ascending."""
    width: float | None
    """None where they are no numbers."""


def _placed(spread: SpreadClasses, names: Sequence[str]) -> dict[str, _Placed]:
    """Return the bands of columns of many values, and the width within which their numbers are alike."""
    if not names:
        return {}
    places = [spread.columns.index(name) for name in names]
    kinds = tuple(spread.kinds[at] for at in places)
    deal = DealNumbers(
        rows=spread.numbered,
        groups=spread.groups,
        cells=tuple(cell_of_kind(f"s{at}", spread.kinds[at]) for at in places),
        borders=tuple(spread.borders[at] for at in places),
    )
    workers, runs, n_groups = spread.files.workers, spread.files.runs, spread.groups * len(names)
    counted = dict(workers.regrouped(deal, [CountGroupRows()], runs, n_groups))
    rows = [json.loads(counted[group]) if group in counted else 0 for group in range(n_groups)]
    of_columns = [rows[at * spread.groups : (at + 1) * spread.groups] for at in range(len(names))]
    before = tuple(sum(own[:part]) for own in of_columns for part in range(spread.groups))
    total = tuple(sum(own) for own in of_columns for _ in range(spread.groups))
    place = PlaceNumbers(
        rows=tuple(rows),
        before=before,
        total=total,
        numbers=tuple(is_number(kind) for kind in kinds for _ in range(spread.groups)),
        borders=deal.borders,
        groups=spread.groups,
    )
    found: dict[int, list[pa.Table]] = {}
    said = workers.regrouped(deal, [place], runs, n_groups)
    if {group for group, _ in said} != {group for group, number in enumerate(rows) if number}:
        raise lost()
    for group, message in said:
        found.setdefault(group // spread.groups, []).append(read_message(message))
    return {name: _united(found.get(at, []), is_number(kinds[at])) for at, name in enumerate(names)}


def _united(found: Sequence[pa.Table], are_numbers: bool) -> _Placed:
    with scanned(pa.concat_tables(found)) as (connection, source):
        bands = table_of(
            connection,
            f"SELECT band, min(low) AS low, max(high) AS high FROM {source} WHERE band IS NOT NULL "
            "GROUP BY band ORDER BY band",
        )
        ((first, last),) = connection.execute(f"SELECT min(first), min(last) FROM {source}").fetchall()
    return _Placed(bands=bands, width=width_between(first, last) if are_numbers else None)


@dataclass(frozen=True, kw_only=True)
class DealNumbers:
    """Deals the values of columns in some files to groups of neighbouring values."""

    rows: NumberedClassFiles
    groups: int
    cells: tuple[str, ...]
    """SQL of a cell of each column."""
    borders: tuple[bytes, ...]

    def __call__(self, parts: Sequence[Path]) -> Iterator[Message]:
        """Yield messages: `cell`, and `n` rows."""
        with self.rows.opened(parts) as connection:
            for at, (cell, borders) in enumerate(zip(self.cells, self.borders, strict=True)):
                lines = (
                    f"SELECT * FROM (SELECT {cell} AS cell, count(*)::BIGINT AS n FROM numbered GROUP BY ALL) "
                    "WHERE cell IS NOT NULL"
                )
                yield from dealt(connection, lines, "cell", borders, at * self.groups, self.groups)


@dataclass(frozen=True, kw_only=True)
class CountGroupRows:
    """Counts the rows of a group of values."""

    def __call__(self, group: int, said: Sequence[bytes]) -> Iterator[Message]:
        """Yield the number."""
        rows = sum(sum(read_message(message).column("n").to_pylist()) for message in said)
        yield group, json.dumps(rows).encode()


@dataclass(frozen=True, kw_only=True)
class PlaceNumbers:
    """Finds the bands of a group of values, and the ends of the middle that lie in it."""

    rows: tuple[int, ...]
    """By group: its rows."""
    before: tuple[int, ...]
    """By group: rows with lesser values."""
    total: tuple[int, ...]
    """By group: rows with any value of the column."""
    numbers: tuple[bool, ...]
    """By group: the column has numbers, rather than dates."""
    borders: tuple[bytes, ...]
    groups: int
    """As in `DealNumbers`."""

    def __call__(self, group: int, said: Sequence[bytes]) -> Iterator[Message]:
        """Yield lines of `band`, `low` and `high`, with `first` and `last` beside them.

        Raises
        ------
        EngineError
            The group has other values, or not as many rows, as it should have.
        """
        at, part = divmod(group, self.groups)
        lines = pa.concat_tables([read_message(message) for message in said])
        if sum(lines.column("n").to_pylist()) != self.rows[group]:
            raise lost()
        with scanned(lines, threads=1) as (connection, source):
            refuse_strays(connection, source, "cell", self.borders[at], part)
            counts = f"(SELECT cell, sum(n)::BIGINT AS n FROM {source} GROUP BY cell)"
            bands = bands_query(counts, self.before[group], self.total[group])
            ends = ends_query(counts, self.before[group], self.total[group])
            ends = ends if self.numbers[group] else "SELECT NULL::DOUBLE AS first, NULL::DOUBLE AS last"
            yield (
                group,
                written(table_of(connection, f"SELECT bands.*, ends.* FROM ({bands}) AS bands, ({ends}) AS ends")),
            )


def _coding(
    name: str,
    kind: str,
    few: Mapping[str, pa.Table],
    placed: Mapping[str, _Placed],
    reading: ReadValues,
    *,
    missing_is_value: bool,
) -> Coding:
    if is_text(kind):
        return Coding(reading=reading, column=name, missing_is_value=missing_is_value)
    if name in placed:
        return coding_of_bands(placed[name].bands, missing_is_value=missing_is_value)
    return coding_of_few(few[name], missing_is_value=missing_is_value)


# --- what tasks do -------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class DealCells:
    """Deals the cells of columns, and the parts of classes, in some files to groups of classes."""

    rows: NumberedClassFiles
    groups: int
    cells: tuple[str, ...]
    """SQL of a cell of each column that is looked at."""
    parts: tuple[tuple[str, ...], ...]
    """Columns of each kind of parts."""
    unit: str | None = None
    """Column whose distinct values are people."""

    def __call__(self, parts: Sequence[Path]) -> Iterator[Message]:
        """Yield messages: `class`, the cell or those of the part, and `n` rows."""
        whose = () if self.unit is None else (self.unit,)
        shown = [[f"{cell} AS cell"] for cell in self.cells] + [
            [*dict.fromkeys((*each, *whose))] for each in self.parts
        ]
        with self.rows.opened(parts) as connection:
            for at, columns in enumerate(shown):
                listed = "".join(f", {each}" for each in columns)
                lines = f"SELECT class{listed}, count(*)::BIGINT AS n FROM numbered GROUP BY ALL"
                found = table_of(connection, f"SELECT * FROM ({lines}) ORDER BY class % {self.groups}")
                for own, start, end in runs_in(found.column("class").to_numpy() % self.groups):
                    yield from messages_of(at * self.groups + own, found.slice(start, end - start))


@dataclass(frozen=True, kw_only=True)
class CountClasses:
    """Looks at the classes of a group, all of whose cells have come together."""

    codings: tuple[Coding, ...]
    parts: tuple[tuple[str, ...], ...]
    measured: str | None
    """Column that is counted within a width."""
    width: float | None
    unit: str | None
    groups: int
    rows: bytes
    """`n`: the rows of each class."""

    def __call__(self, group: int, said: Sequence[bytes]) -> Iterator[Message]:
        """Yield the confidence of each value in the classes, to the group of the value; or the figures of the parts.

        Raises
        ------
        EngineError
            The classes have not as many rows as they should have: something was lost on the way.
        """
        at, own_part = divmod(group, self.groups)
        lines = pa.concat_tables([read_message(message) for message in said])
        expected: Counts = read_message(self.rows).column("n").to_numpy()[own_part :: self.groups]
        if sum(lines.column("n").to_pylist()) != int(expected.sum()):
            raise lost()
        with scanned(lines, threads=1) as (connection, source):
            if at >= len(self.codings):
                own = {column: column for column in lines.column_names}
                weighted = Lines(connection=connection, source=source, names=own, weight="n")
                columns = self.parts[at - len(self.codings)]
                measured = self.measured if self.measured in columns else None
                query = parts_query(weighted, ["class"], columns, measured, self.width, self.unit)
                yield group, json.dumps(connection.execute(query).fetchall()).encode()
                return
            coding = replace(self.codings[at], spellings={})
            found = connection.execute(coding.counted(connection, source, ["class"])).fetchall()
            yield from _to_values(found, coding, at * self.groups, self.groups)


def _to_values(found: Sequence[Any], coding: Coding, first: int, groups: int) -> Iterator[Message]:
    """Yield lines of values to their groups, with the spellings of each; the first group hears of all records."""
    to: dict[int, list[Any]] = {}
    for line in found:
        own = 0 if line[0] is None else zlib.crc32(str(line[0]).encode()) % groups
        to.setdefault(own, []).append([*line[:5], 0, 0, coding.spellings.get(line[0])])
    to.setdefault(0, []).append([None, 0, 0.0, 0, 0, *found[0][5:7], None])
    for own, lines in to.items():
        yield first + own, json.dumps(lines).encode()


@dataclass(frozen=True, kw_only=True)
class MergeValues:
    """Adds up the confidence of the values of a group over groups of classes."""

    codings: tuple[Coding, ...]
    groups: int
    records: int
    """All of them."""

    def __call__(self, group: int, said: Sequence[bytes]) -> Iterator[Message]:
        """Yield the lines that may be shown, with the label of each; parts as they are."""
        at = group // self.groups
        lines = [line for message in said for line in json.loads(message)]
        if at >= len(self.codings):
            yield group, json.dumps(lines).encode()
            return
        merged: dict[Any, list[Any]] = {}
        for line in lines:
            if line[0] not in merged:
                merged[line[0]] = line
                continue
            known = merged[line[0]]
            known[2] = max(known[2], line[2])
            for place in (1, 3, 4, 5, 6):
                known[place] += line[place]
            for text, rows in (line[7] or {}).items():
                known[7][text] = known[7].get(text, 0) + rows
        coding = replace(self.codings[at], spellings={code: line[7] for code, line in merged.items() if line[7]})
        held = sum(line[1] for line in merged.values())
        rest = merged.pop(None, [None, 0, 0.0, 0, 0, 0, 0, None])
        shown = [[*line[:7], coding.label(code)] for code, line in merged.items()]
        yield group, json.dumps([[None, held, *rest[2:]], *coding.chosen(shown, self.records)]).encode()
