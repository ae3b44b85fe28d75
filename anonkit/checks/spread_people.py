# SPDX-License-Identifier: Apache-2.0
"""People by class and value, counted by workers where hardly two rows are alike: counts come here, no row.

Of every class and every value in it the people are published (`anonkit.checks.people`), so that these counts come to
this machine; whose a row is does not. Rows go to groups of neighbouring values, of classes, and of people: in each a
value, a class or a person is whole. Whole sets of rows go from groups of people to groups of sets.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from anonkit.bundle.part_workers import Message
from anonkit.checks.class_counts import CountedValues, has_order, is_whole
from anonkit.checks.counted_as import LookedAt, ReadValues
from anonkit.checks.people import Counts
from anonkit.checks.spread_files import (
    UNNUMBERED,
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
from anonkit.checks.table_scans import SpreadFiles, scanned

_NO_CELLS = pa.chunked_array([], pa.null())


@dataclass(frozen=True, kw_only=True, eq=False)
class SpreadPeople:
    """The counts of people in spread files."""

    rows: Counts
    """Rows of each class, ascending by its cells, missing last."""
    people: Counts | None
    """People of each class; None where people are not distinguished."""
    values: Mapping[str, CountedValues]
    """By sensitive column."""


def people_in_spread(
    files: SpreadFiles,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    missing_is_value: Sequence[str],
    unit: str | None,
    reading: ReadValues,
) -> SpreadPeople:
    """Count rows, and the people of a unit where there is one, by class and value.

    Raises
    ------
    EngineError
        They cannot be read or counted, or what was counted does not add up.
    """
    columns = (*sensitive, *(() if unit is None else (unit,)))
    spread = SpreadClasses.of(files, quasi_identifiers, columns, reading)
    rows, groups, n_values = spread.rows, spread.groups, len(sensitive)
    deal = DealPeople(
        rows=spread.numbered,
        borders=spread.borders,
        groups=groups,
        valued=tuple("true" if name in missing_is_value else f"s{at} IS NOT NULL" for at, name in enumerate(sensitive)),
        units=unit is not None,
    )
    count = CountPeople(
        columns=tuple(sensitive), valued=deal.valued, borders=spread.borders, groups=groups, reading=reading
    )
    said = files.workers.regrouped(deal, [count], files.runs, groups * (n_values + 2)) if columns else []
    found: list[dict[int, list[pa.Table]]] = [{} for _ in range(n_values + 2)]
    for group, message in said:
        kind, part = divmod(group, groups)
        found[kind].setdefault(part, []).append(read_message(message))
    of_classes, of_units = found[n_values], found[n_values + 1]
    everybody, with_value = _of_classes(of_classes, rows, n_values) if unit is not None else (None, None)
    anybody = _of_units(of_units, int(rows.sum()), n_values) if unit is not None else None
    values = {
        name: _values(
            found[at],
            rows,
            ordered=has_order(spread.kinds[at]),
            whole=is_whole(spread.kinds[at]),
            with_value=None if with_value is None else with_value[at],
            anybody=None if anybody is None else int(anybody[at]),
        )
        for at, name in enumerate(sensitive)
    }
    return SpreadPeople(rows=rows, people=everybody, values=values)


def fewest_alike_in_spread(files: SpreadFiles, quasi_identifiers: Sequence[str], unit: str) -> int:
    """Return the fewest people who have one whole set of rows; see `anonkit.checks.identical_record_sets`.

    Raises
    ------
    EngineError
        They cannot be read or counted, or what was counted does not add up.
    """
    spread = SpreadClasses.of(files, quasi_identifiers, (unit,))
    deal = DealSets(rows=spread.numbered, borders=spread.borders[0], groups=spread.groups)
    sets, count = SetsOfPeople(groups=spread.groups), CountSets(groups=spread.groups)
    said = files.workers.regrouped(deal, [sets, count], files.runs, spread.groups)
    found = pa.concat_tables([read_message(message) for _, message in said]) if said else None
    if (0 if found is None else sum(found.column("n").to_pylist())) != int(spread.rows.sum()):
        raise lost()
    if found is None or any(found.column("nobodys").to_pylist()):
        return 0
    return min(found.column("fewest").drop_null().to_pylist(), default=0)


def _of_classes(found: Mapping[int, list[pa.Table]], rows: Counts, n_values: int) -> tuple[Counts, list[Counts]]:
    """Return the people of each class, and those with a value, by column."""
    counted = [np.zeros(rows.size, dtype=np.int64) for _ in range(n_values + 2)]
    names = ["n", "people", *(f"with{at}" for at in range(n_values))]
    for table in (table for tables in found.values() for table in tables):
        for counts, name in zip(counted, names, strict=True):
            counts[table.column("class").to_numpy()] = table.column(name).to_numpy()
    if not np.array_equal(counted[0], rows):
        raise lost()
    return counted[1], counted[2:]


def _of_units(found: Mapping[int, list[pa.Table]], n_rows: int, n_values: int) -> Counts:
    """Return the people with any value, by column."""
    tables = [table for tables in found.values() for table in tables]
    names = ["n", *(f"with{at}" for at in range(n_values))]
    sums = [sum(sum(table.column(name).to_pylist()) for table in tables) for name in names]
    if sums[0] != n_rows:
        raise lost()
    return np.array(sums[1:], dtype=np.int64)


def _values(
    found: Mapping[int, list[pa.Table]],
    rows: Counts,
    *,
    ordered: bool,
    whole: bool,
    with_value: Counts | None,
    anybody: int | None,
) -> CountedValues:
    """Return the rows and people of every value in every class, from those of each group of values."""
    pairs: list[tuple[Counts, ...]] = []
    domain: list[tuple[Counts, ...]] = []
    looked: list[pa.Table] = []
    first = 0
    for part in sorted(found):
        for table in found[part]:
            names = ("class", "value", "n", "people") if "class" in table.column_names else ("n", "people")
            columns = tuple(table.column(name).to_numpy() for name in names)
            if len(columns) == 2:
                domain.append(columns)
                looked.append(table)
            else:
                numbers = np.where(columns[1] == UNNUMBERED, UNNUMBERED, columns[1] + first)
                pairs.append((columns[0], numbers, *columns[2:]))
        first = sum(each[0].size for each in domain)
    nothing = np.zeros(0, dtype=np.int64)
    classes, values, n, people = (np.concatenate([nothing, *(each[at] for each in pairs)]) for at in range(4))
    if not np.array_equal(np.bincount(classes, n, minlength=rows.size), rows):
        raise lost()
    order = np.lexsort((values, classes))
    order = order[values[order] != UNNUMBERED]
    of_values = [np.concatenate([nothing, *(each[at] for each in domain)]) for at in range(2)]
    if of_values[0].sum() != n[order].sum():
        raise lost()
    return CountedValues(
        ordered=ordered,
        rows_of_class=rows,
        classes=classes[order],
        values=values[order],
        rows_of_pairs=n[order],
        people_of_pairs=people[order],
        rows_of_values=of_values[0],
        people_of_values=of_values[1],
        with_value=with_value,
        anybody=anybody,
        looked=LookedAt.from_tables(looked),
        whole=whole,
        cells=pa.concat_tables([table.select(["s"]) for table in looked]).column("s") if looked else _NO_CELLS,
    )


# --- what tasks do -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class DealPeople:
    """Deals the lines of some files to groups of values, of classes and of people."""

    rows: NumberedClassFiles
    """With the sensitive columns, and the unit behind them where there is one."""
    borders: tuple[bytes, ...]
    groups: int
    """As in `SpreadClasses`."""
    valued: tuple[str, ...]
    """By sensitive column: what holds of rows with a value."""
    units: bool
    """People are counted."""

    def __call__(self, parts: Sequence[Path]) -> Iterator[Message]:
        """Yield messages: `n` rows of a class, a value `s` and a `unit`; of a class and a unit; or of a unit."""
        n_values = len(self.valued)
        unit = f"s{n_values}" if self.units else "NULL::BIGINT"
        holding = "".join(f", count(*) FILTER ({rule})::BIGINT AS valued{at}" for at, rule in enumerate(self.valued))
        with self.rows.opened(parts) as connection:
            for at in range(n_values):
                lines = f"SELECT class, s{at} AS s, {unit} AS unit, count(*)::BIGINT AS n FROM numbered GROUP BY ALL"
                yield from dealt(connection, lines, "s", self.borders[at], at * self.groups, self.groups)
            if not self.units:
                return
            found = table_of(
                connection,
                f"SELECT * FROM (SELECT class, {unit} AS unit, count(*)::BIGINT AS n{holding} FROM numbered "
                f"GROUP BY ALL) ORDER BY class % {self.groups}",
            )
            for own, start, end in runs_in(found.column("class").to_numpy() % self.groups):
                yield from messages_of(n_values * self.groups + own, found.slice(start, end - start))
            lines = f"SELECT {unit} AS unit, count(*)::BIGINT AS n{holding} FROM numbered GROUP BY ALL"
            yield from dealt(connection, lines, "unit", self.borders[-1], (n_values + 1) * self.groups, self.groups)


@dataclass(frozen=True, kw_only=True)
class CountPeople:
    """Counts different people in a group of values, of classes or of people."""

    columns: tuple[str, ...]
    """The sensitive columns."""
    valued: tuple[str, ...]
    borders: tuple[bytes, ...]
    groups: int
    """As in `DealPeople`."""
    reading: ReadValues

    def __call__(self, group: int, said: Sequence[bytes]) -> Iterator[Message]:
        """Yield messages: rows `n` and `people` of pairs, and of values in order; those of classes; or of all.

        The people with a value, of classes and of all, come too, by column: `with0`, `with1`, …
        """
        kind, part = divmod(group, self.groups)
        lines = pa.concat_tables([read_message(message) for message in said])
        with scanned(lines, threads=1) as (connection, source):
            if kind < len(self.valued):
                refuse_strays(connection, source, "s", self.borders[kind], part)
                valued = "true" if self.valued[kind] == "true" else "s IS NOT NULL"
                connection.execute(
                    f"CREATE TEMP TABLE ranked AS SELECT class, unit, n, CASE WHEN {valued} "
                    f"THEN dense_rank() OVER (ORDER BY s NULLS LAST) - 1 ELSE {UNNUMBERED} END AS value FROM {source}"
                )
                counted = "sum(n)::BIGINT AS n, count(DISTINCT unit)::BIGINT AS people FROM ranked"
                yield from messages_of(group, table_of(connection, f"SELECT class, value, {counted} GROUP BY ALL"))
                domain = table_of(
                    connection, f"SELECT value, {counted} WHERE value <> {UNNUMBERED} GROUP BY ALL ORDER BY value"
                )
                cells = table_of(connection, f"SELECT DISTINCT s FROM {source} WHERE {valued} ORDER BY s NULLS LAST")
                looked = LookedAt.of(cells.column("s"), self.columns[kind], self.reading)
                lines_of = {
                    "n": domain.column("n"),
                    "people": domain.column("people"),
                    "s": cells.column("s"),
                    **looked.columns(),
                }
                yield group, written(pa.table(lines_of))
                return
            holders = "".join(
                f", count(DISTINCT unit) FILTER (valued{at} > 0)::BIGINT AS with{at}" for at in range(len(self.valued))
            )
            of_classes = kind == len(self.valued)
            counted = f"sum(n)::BIGINT AS n, count(DISTINCT unit)::BIGINT AS people{holders} FROM {source}"
            query = f"SELECT class, {counted} GROUP BY class" if of_classes else f"SELECT {counted}"
            yield group, written(table_of(connection, query))


@dataclass(frozen=True, kw_only=True)
class DealSets:
    """Deals the rows of people in some files to groups of people."""

    rows: NumberedClassFiles
    """With the unit."""
    borders: bytes
    groups: int

    def __call__(self, parts: Sequence[Path]) -> Iterator[Message]:
        """Yield messages: `n` rows of a class and a `unit`."""
        with self.rows.opened(parts) as connection:
            lines = "SELECT s0 AS unit, class, count(*)::BIGINT AS n FROM numbered GROUP BY ALL"
            yield from dealt(connection, lines, "unit", self.borders, 0, self.groups)


@dataclass(frozen=True, kw_only=True)
class SetsOfPeople:
    """Lists the whole set of rows of every person of a group, and deals the sets."""

    groups: int

    def __call__(self, group: int, said: Sequence[bytes]) -> Iterator[Message]:
        """Yield messages: how many `people` have a set, their `n` rows, and how many of them are `nobodys` rows."""
        lines = pa.concat_tables([read_message(message) for message in said])
        with scanned(lines, threads=1) as (connection, source):
            sets = table_of(
                connection,
                f"WITH counted AS (SELECT unit, class, sum(n)::BIGINT AS n FROM {source} GROUP BY ALL), "
                "sets AS (SELECT unit, sum(n)::BIGINT AS n, "
                "string_agg(class || ' ' || n, ',' ORDER BY class) AS rows FROM counted GROUP BY unit) "
                "SELECT rows, count(*)::BIGINT AS people, sum(n)::BIGINT AS n, "
                "count(*) FILTER (unit IS NULL)::BIGINT AS nobodys FROM sets GROUP BY rows",
            )
        to = np.array([zlib.crc32(rows.encode()) % self.groups for rows in sets.column("rows").to_pylist()], dtype=int)
        order = np.argsort(to, kind="stable")
        sets = sets.take(pa.array(order))
        for own, start, end in runs_in(to[order]):
            yield from messages_of(own, sets.slice(start, end - start))


@dataclass(frozen=True, kw_only=True)
class CountSets:
    """Counts the people with each whole set of rows."""

    groups: int

    def __call__(self, group: int, said: Sequence[bytes]) -> Iterator[Message]:
        """Yield the `fewest` people with one set, the `n` rows, and how many are nobody's."""
        sets = pa.concat_tables([read_message(message) for message in said])
        with scanned(sets, threads=1) as (connection, source):
            counted = (
                "SELECT min(people)::BIGINT AS fewest, sum(n)::BIGINT AS n, sum(nobodys)::BIGINT AS nobodys FROM "
                f"(SELECT sum(people) AS people, sum(n) AS n, sum(nobodys) AS nobodys FROM {source} GROUP BY rows)"
            )
            yield group, written(table_of(connection, counted))
