# SPDX-License-Identifier: Apache-2.0
"""Diversity of classes for high-cardinality quasi-identifiers, counted by workers: no pair comes here.

Workers that each read some files hand each other what they have counted (`PartWorkers.regrouped`). First the pairs of
class and value go to groups of neighbouring values: there each value gets its number among those of the group, and its
rows in the table are known. Then the pairs go to groups of classes, with the rows of all values in their order: there a
class is whole, and is measured by the code that measures it on one machine. What comes to this machine is every class
once a task, some values of each column by which values are divided into groups, and a few figures of each group.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.bundle.part_workers import Message
from anonkit.checks.class_counts import has_order, is_whole
from anonkit.checks.counted_as import CountedAs, LookedAt, ReadValues
from anonkit.checks.diversity import NOTHING, UniformClasses, uniform_shares, united, worst_of, worst_told
from anonkit.checks.people import Counts
from anonkit.checks.spread_files import (
    UNNUMBERED,
    DealPairs,
    SpreadClasses,
    lost,
    messages_of,
    read_message,
    refuse_strays,
    runs_in,
    table_of,
    written,
)
from anonkit.checks.table_scans import SpreadFiles, scanned


@dataclass(frozen=True, kw_only=True)
class CountedColumn:
    """A column whose values are counted in the classes."""

    name: str
    missing_is_value: bool
    is_target: bool = False
    """True: the classes of one value are wanted, not how diverse they are."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SpreadCounts:
    """The counts of all classes."""

    rows: Counts
    """Rows of each class, ascending by its cells, missing last."""
    sensitive: Mapping[str, Mapping[str, float]]
    uniform: UniformClasses | None


def measure_spread(
    files: SpreadFiles,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    missing_is_value: Sequence[str],
    recursive: Sequence[int],
    target: str | None,
    reading: ReadValues,
) -> SpreadCounts:
    """Count what `anonkit.checks.disclosure.measure` counts of rows that only workers read.

    Raises
    ------
    EngineError
        They cannot be read or counted, or what was counted does not add up.
    """
    attributes = [CountedColumn(name=name, missing_is_value=name in missing_is_value) for name in sensitive]
    if target is not None:
        attributes.append(CountedColumn(name=target, missing_is_value=True, is_target=True))
    columns = tuple(attribute.name for attribute in attributes)
    spread = SpreadClasses.of(files, quasi_identifiers, columns, reading)
    rows, groups = spread.rows, spread.groups
    deal = DealPairs(rows=spread.numbered, borders=spread.borders, groups=groups)
    rank = RankValues(
        attributes=tuple(attributes), classes=rows.size, borders=spread.borders, groups=groups, reading=reading
    )
    measure = MeasureClasses(
        attributes=tuple(attributes),
        ordered=tuple(map(has_order, spread.kinds)),
        whole=tuple(map(is_whole, spread.kinds)),
        reading=reading,
        rows=written(pa.table({"n": rows})),
        recursive=tuple(recursive),
        groups=groups,
    )
    n_groups = groups * len(attributes)
    said = files.workers.regrouped(deal, [rank, measure], files.runs, n_groups) if n_groups else []
    found: list[list[dict[str, Any]]] = [[] for _ in attributes]
    for group, message in said:
        found[group // groups].append(json.loads(message))
    for of_groups in found:
        held = sum(each["held"] for each in of_groups)
        if len(of_groups) != min(groups, rows.size) or any(each["overall"] != held for each in of_groups):
            raise lost()
    figures = {
        name: _told(of_groups) if rows.size else {**NOTHING, "strange": 0.0}
        for name, of_groups in zip(sensitive, found, strict=False)
    }
    return SpreadCounts(
        rows=rows, sensitive=figures, uniform=None if target is None else _uniform(target, rows, found[-1])
    )


def _told(of_groups: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the published figures of the worst class of all groups."""
    return {
        **worst_told(united(each["worst"] for each in of_groups)),
        "strange": float(max(each["strange"] for each in of_groups)),
    }


def _uniform(target: str, rows: Counts, found: Sequence[Mapping[str, Any]]) -> UniformClasses:
    sizes, classes = np.unique(rows, return_counts=True)
    counts, values = (np.array(found[0][name] if found else [], dtype=np.int64) for name in ("counts", "values"))
    uniform = sum(each["uniform"] for each in found)
    return uniform_shares(target, sizes, sizes * classes, uniform, counts, values)


# --- what tasks do -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RankValues:
    """Numbers the values of a group, and deals their pairs to groups of classes, each with the rows of all values."""

    attributes: tuple[CountedColumn, ...]
    classes: int
    """Number of classes."""
    borders: tuple[bytes, ...]
    groups: int
    """As in `SpreadClasses`."""
    reading: ReadValues

    def __call__(self, group: int, said: Sequence[bytes]) -> Iterator[Message]:
        """Yield messages: `part`, `class`, `value`, `n` of pairs; or `part` and `n`, the rows of its values in order.

        Values are numbered inside their part. A number comes with its value, a value with a cap with the cap.
        """
        at, part = divmod(group, self.groups)
        valued = "true" if self.attributes[at].missing_is_value else "s IS NOT NULL"
        with scanned(pa.concat_tables([read_message(message) for message in said]), threads=1) as (connection, source):
            refuse_strays(connection, source, "s", self.borders[at], part)
            pairs = table_of(
                connection,
                f"SELECT class, CASE WHEN {valued} THEN dense_rank() OVER (ORDER BY s NULLS LAST) - 1 "
                f"ELSE {UNNUMBERED} END AS value, n "
                f"FROM (SELECT class, s, sum(n)::BIGINT AS n FROM {source} GROUP BY ALL) "
                f"ORDER BY class % {self.groups}",
            )
            cells = table_of(connection, f"SELECT DISTINCT s FROM {source} WHERE {valued} ORDER BY s NULLS LAST")
        looked = LookedAt.of(cells.column("s"), self.attributes[at].name, self.reading)
        classes, values, rows = (pairs.column(name).to_numpy() for name in ("class", "value", "n"))
        held = values != UNNUMBERED
        domain = np.bincount(values[held], rows[held]).astype(np.int64)
        counts = written(pa.table({"part": pa.array(np.full(domain.size, part)), "n": domain, **looked.columns()}))
        for own in range(min(self.groups, self.classes)):
            yield at * self.groups + own, counts
        pairs = pairs.append_column("part", pa.array(np.full(rows.size, part)))
        for own, start, end in runs_in(classes % self.groups):
            yield from messages_of(at * self.groups + own, pairs.slice(start, end - start))


@dataclass(frozen=True, kw_only=True)
class MeasureClasses:
    """Measures the classes of a group, all of whose pairs have come together."""

    attributes: tuple[CountedColumn, ...]
    ordered: tuple[bool, ...]
    """By attribute: its values have an order."""
    whole: tuple[bool, ...]
    """By attribute: True for integers."""
    rows: bytes
    """`n`: the rows of each class."""
    recursive: tuple[int, ...]
    groups: int
    reading: ReadValues

    def __call__(self, group: int, said: Sequence[bytes]) -> Iterator[Message]:
        """Yield the figures of the worst class of the group, or the number of rows in classes of one value.

        And the rows with a value, of the group and of the whole table as the group received it: all groups add up to
        it.

        Raises
        ------
        EngineError
            A class has not as many rows as it should have: something was lost on the way.
        """
        at, own = divmod(group, self.groups)
        tables = [read_message(message) for message in said]
        overall, first, looked = self._domain([table for table in tables if "class" not in table.column_names])
        pairs = pa.concat_tables([table for table in tables if "class" in table.column_names])
        classes, values, rows, part = (pairs.column(name).to_numpy() for name in ("class", "value", "n", "part"))
        classes = classes // self.groups  # those of a group are neighbours then
        expected = read_message(self.rows).column("n").to_numpy()[own :: self.groups]
        if not np.array_equal(np.bincount(classes, rows, minlength=expected.size), expected):
            raise lost()
        if np.any(values >= first[part + 1] - first[part]):  # its part has not sent so many values
            raise lost()
        values = np.where(values == UNNUMBERED, UNNUMBERED, values + first[part])
        order = np.lexsort((values, classes))
        classes, values, rows = classes[order], values[order], rows[order]
        if self.attributes[at].is_target:
            held = np.ones(rows.size, dtype=bool)
            alike = np.bincount(classes, minlength=expected.size) == 1
            counts, n_values = np.unique(overall, return_counts=True)
            found = {"uniform": int(expected[alike].sum()), "counts": counts.tolist(), "values": n_values.tolist()}
        else:
            held = values != UNNUMBERED
            classes, values, of_pair = classes[held], values[held], rows[held].astype(np.float64)
            holders = np.bincount(classes, of_pair, minlength=expected.size)
            n_rows = int(read_message(self.rows).column("n").to_numpy().sum())
            name, whole = self.attributes[at].name, self.whole[at]
            counted = CountedAs.of(looked, name, self.reading, overall, n_rows, whole=whole)
            found = {
                "strange": counted.strange,
                "worst": worst_of(
                    [(classes, values, of_pair, holders[classes])] if classes.size else [],
                    overall.astype(np.float64),
                    self.ordered[at],
                    self.recursive,
                    some_have_none=bool((holders == 0).any()),
                    counted=counted,
                    members=expected,
                ),
            }
        found |= {"held": int(rows[held].sum()), "overall": int(overall.sum())}
        yield group, json.dumps(found).encode()

    def _domain(self, counted: Sequence[pa.Table]) -> tuple[Counts, Counts, LookedAt]:
        """Return the rows of every value, in their order, the number of the first of each part, and what they are."""
        tables = {table.column("part")[0].as_py(): table for table in counted if table.num_rows}
        by_part = {part: tables[part].column("n").to_numpy() for part in sorted(tables)}
        sizes = np.zeros(self.groups + 1, dtype=np.int64)
        for part, counts in by_part.items():
            sizes[part + 1] = counts.size
        nothing = np.zeros(0, dtype=np.int64)
        looked = LookedAt.from_tables([tables[part] for part in by_part])
        return np.concatenate([nothing, *by_part.values()]), np.cumsum(sizes), looked
