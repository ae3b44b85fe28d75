# SPDX-License-Identifier: Apache-2.0
"""The number of rows that share a row's class if its target and insensitive columns are known too.

k-anonymity counts rows that are alike in the quasi-identifiers. What is released unchanged beside them may be known as
well: who knows a salary looks for it in the class. So the classes are divided by these columns and counted again, from
the released cells alone: the smallest part, the share of rows alone in theirs, and the share in parts below k. Of a
measured number the rows within a width on either side are alike, since nobody knows a salary to the cent.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anonkit.checks.class_counts import has_order, is_whole
from anonkit.checks.class_relation import ClassMeasure, DealtClasses, TableOf
from anonkit.checks.counted_as import is_named_like_codes
from anonkit.checks.table_scans import Lines
from anonkit.documents import ReportPart
from anonkit.promises.guarantee import Check
from anonkit.promises.no_values import FEW_CODES, TOLERANCE

FEW_VALUES = FEW_CODES
"""Different values up to which numbers are codes rather than measures, and a sensitive column may be known."""
_CALENDAR = ("DATE", "TIME", "INTERVAL")


@dataclass(frozen=True, kw_only=True)
class KnownBeside:
    """The columns that may be known beside the quasi-identifiers, and the promised k."""

    columns: tuple[str, ...]
    """Target and insensitive columns that are released as they are."""
    sensitive: tuple[str, ...] = ()
    target: str | None = None
    """The one of the columns that is counted within a width where it is a measured number."""
    k: int


Sizes = Mapping[tuple[int, int, int, int], int]
"""Number of parts by their rows, people, rows that are alike with theirs, and people who have one of these."""


@dataclass(frozen=True, kw_only=True)
class PartFigures(ReportPart):
    """Figures of parts of the classes for the report."""

    columns: tuple[str, ...]
    k: int
    """The smallest part."""
    share_alone: float
    share_below_k: float


@dataclass(frozen=True, kw_only=True)
class AlikeParts:
    """Parts of the classes that are alike in some columns too."""

    columns: tuple[str, ...]
    sizes: Sizes

    def figures(self, k: int, *, by_people: bool) -> PartFigures:
        """Return the smallest part, and the shares alone and below k.

        Two published people of several rows may be one: they count as one.
        """
        at = 1 if by_people else 0
        found = [(_fewest(key, at), _fewest(key, at + 2), parts) for key, parts in self.sizes.items()]
        records = max(sum(own * parts for own, _, parts in found), 1)
        return PartFigures(
            columns=self.columns,
            k=min((size for _, size, _ in found), default=0),
            share_alone=sum(own * parts for own, size, parts in found if size == 1) / records,
            share_below_k=sum(own * parts for own, size, parts in found if size < k) / records,
        )

    def impossible_people(self, sizes: Sequence[Sequence[int]], everybody: int) -> int:
        """Count the published numbers of people of parts that no people of these parts can have.

        Parameters
        ----------
        everybody : int
            People of all classes, each of whom is in a part of it at least.
        """
        wrong = int(sum(own[1] * own[4] for own in sizes) < everybody)
        rows: dict[tuple[int, int], int] = defaultdict(int)
        for own, people, near, people_near, parts in sizes:
            rows[own, near] += parts
            wrong += not (min(own, 2) <= people <= own and min(near, 2) <= people_near <= near)
            wrong += people > people_near or parts < 1
        counted: dict[tuple[int, int], int] = defaultdict(int)
        for (own, _, near, _), parts in self.sizes.items():
            counted[own, near] += parts
        return int(wrong) + sum(rows[key] != counted[key] for key in rows.keys() | counted.keys())

    def with_people(self, published: Sequence[Sequence[int]]) -> AlikeParts:
        """Return the parts with their published numbers of people."""
        return replace(self, sizes={(own[0], own[1], own[2], own[3]): own[4] for own in published})

    @property
    def listed(self) -> tuple[tuple[int, ...], ...]:
        """The sizes for the `people` of the params."""
        return tuple((*key, parts) for key, parts in sorted(self.sizes.items()))


def _fewest(key: tuple[int, int, int, int], at: int) -> int:
    """Return a number of rows; or the fewest people that it may be, one of several rows being published as two."""
    return 1 if at % 2 and key[at] == 2 and key[at - 1] >= 2 else key[at]


@dataclass(frozen=True, kw_only=True)
class ClearParts(ReportPart, keys=("**of_known", "sensitive?=of_sensitive")):
    """The smallest parts of a table."""

    known: AlikeParts
    """Were target and insensitive columns known."""
    sensitive: AlikeParts | None = None
    """Were sensitive columns of few values known too; None where there is none."""
    width: float | None = None
    """Numbers of the target up to this apart are alike; None where only equal values are."""
    k: int
    """The one that is promised."""
    by_people: bool = False
    """True where the figures count people."""

    @property
    def of_known(self) -> PartFigures:
        """Figures of the parts, were target and insensitive columns known."""
        return self.known.figures(self.k, by_people=self.by_people)

    @property
    def of_sensitive(self) -> PartFigures | None:
        """Figures of the parts, were sensitive columns known too."""
        return None if self.sensitive is None else self.sensitive.figures(self.k, by_people=self.by_people)

    @property
    def of_people(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """Published numbers of the people of the parts, where the figures count people."""
        return () if not self.by_people else tuple(parts.listed for parts in (self.known, self.sensitive) if parts)

    def with_published_people(
        self, published: Sequence[Sequence[Sequence[int]]], everybody: int
    ) -> tuple[ClearParts, Check]:
        """Return the parts with their published people, and the check whether such people are possible."""
        kinds = [parts for parts in (self.known, self.sensitive) if parts is not None]
        wrong = abs(len(kinds) - len(published))
        wrong += sum(parts.impossible_people(own, everybody) for parts, own in zip(kinds, published, strict=False))
        check = Check(name="people_of_parts", passed=wrong == 0, observed=wrong, required=0)
        if wrong:
            return self, check
        again = [parts.with_people(own) for parts, own in zip(kinds, published, strict=True)]
        return replace(self, known=again[0], sensitive=(*again, None)[1], by_people=True), check


@dataclass(frozen=True, kw_only=True)
class KnownValues:
    """Facts of a column in a whole table, if it may be known."""

    few: bool
    """It is sensitive, and has few values."""
    width: float | None
    """Of the target; as in `ClearParts`."""


@dataclass(frozen=True, kw_only=True)
class KnownOfColumn:
    """Looks at the cells of a column that may be known."""

    column: str
    beside: KnownBeside

    def __call__(self, lines: Lines, _table_of: TableOf) -> KnownValues:
        """Look at them."""
        name, beside = self.column, self.beside
        width = width_of(lines, name) if name == beside.target else None
        return KnownValues(few=name in beside.sensitive and has_few(lines, name), width=width)


def clear_measures(beside: KnownBeside, values: Mapping[str, KnownValues], unit: str | None) -> list[PartsOfClasses]:
    """Return the measures of the parts of the classes: none, where nothing may be known beside the quasi-identifiers.

    Parameters
    ----------
    values : mapping
        Facts of target and sensitive columns, by column.
    unit : str, optional
        Column whose distinct values are people.
    """
    few = tuple(name for name in beside.sensitive if name not in beside.columns and values[name].few)
    if not beside.columns and not few:
        return []
    width = None if beside.target is None else values[beside.target].width
    kinds = (beside.columns, (*beside.columns, *few)) if few else (beside.columns,)
    measured = None if width is None else beside.target
    return [PartsOfClasses(parts=parts, measured=measured, width=width, unit=unit) for parts in kinds]


def clear_parts(
    measures: Sequence[PartsOfClasses], found: Sequence[Sequence[Sequence[Sequence[int]]]], k: int
) -> ClearParts | None:
    """Return the smallest parts, from what each measure found in all groups of classes."""
    if not measures:
        return None
    known, *sensitive = (
        AlikeParts(columns=measure.parts, sizes=_sizes_of(line for group in groups for line in group))
        for measure, groups in zip(measures, found, strict=True)
    )
    return ClearParts(
        known=known,
        sensitive=(*sensitive, None)[0],
        width=measures[0].width,
        k=k,
        by_people=measures[0].unit is not None,
    )


@dataclass(frozen=True, kw_only=True)
class PartsOfClasses(ClassMeasure):
    """Counts the parts of some classes that are alike in further columns."""

    parts: tuple[str, ...]
    """These columns."""
    measured: str | None
    """The one of them whose numbers are alike within a width."""
    width: float | None
    unit: str | None
    """Column whose distinct values are people."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that it looks at."""
        return (*self.parts, *(() if self.unit is None else (self.unit,)))

    def __call__(self, classes: DealtClasses) -> list[tuple[int, ...]]:
        """Return lines of sizes, and how many parts have them; see `_sizes_of`."""
        measured = self.measured if self.measured in self.parts else None
        query = _parts_query(classes.lines, self.parts, measured, self.width, self.unit)
        return [tuple(line) for line in classes.lines.connection.execute(query).fetchall()]


def _sizes_of(found: Iterable[Sequence[int]]) -> Sizes:
    """Return the number of parts of each size, from the lines of `_parts_query`."""
    sizes: dict[tuple[int, int, int, int], int] = defaultdict(int)
    for own, people, near, people_near, parts in found:
        sizes[own, people, near, people_near] += parts
    return dict(sizes)


def _parts_query(
    lines: Lines,
    columns: Sequence[str],
    measured: str | None,
    width: float | None,
    unit: str | None = None,
) -> str:
    """Return the SQL of how many `parts` have `n` rows, `people`, `near` rows like theirs, and `people_near`.

    One person with several rows is published as two. Without a `unit` every row is a person.
    """
    shown = [lines.column(name) for name in columns if name != measured]
    shorts = [f"p{at}" for at in range(len(shown) + 1)]
    listed = ", ".join(f"{column} AS {short}" for column, short in zip(["class", *shown], shorts, strict=True))
    whose = None if unit is None else lines.column(unit)
    if measured is None:
        people = "NULL" if whose is None else f"count(DISTINCT {whose})"
        of_parts = f"SELECT {listed}, {lines.rows()} AS n, {people} AS people FROM {lines.source} GROUP BY ALL"
        of_parts = f"SELECT n, people, n AS near, people AS people_near FROM ({of_parts})"
    else:
        part = ", ".join(shorts)
        cells = f"{listed}, {lines.column(measured)}::DOUBLE AS number, {whose or 'NULL'} AS whose, {lines.rows()} AS n"
        frame = f"(PARTITION BY {part} ORDER BY number RANGE BETWEEN {width!r} PRECEDING AND {width!r} FOLLOWING)"
        whole = "NULL::BIGINT" if unit is None else f"count(DISTINCT whose) OVER {frame}"
        near = f"sum(n) OVER {frame} AS near, {whole} AS people_near"
        of_parts = (
            f"SELECT sum(n)::BIGINT AS n, count(DISTINCT whose) AS people, any_value(near)::BIGINT AS near, "
            f"any_value(people_near) AS people_near FROM (SELECT {part}, number, whose, n, {near} FROM "
            f"(SELECT {cells} FROM {lines.source} GROUP BY ALL)) GROUP BY {part}, number"
        )
    sizes = (
        "n, n, near, near"
        if unit is None
        else ("n, greatest(people, least(n, 2)), near, greatest(people_near, least(near, 2))")
    )
    return f"SELECT {sizes}, count(*)::BIGINT FROM ({of_parts}) WHERE n > 0 GROUP BY ALL"


def has_few(lines: Lines, name: str) -> bool:
    """Return True if a column has few different values; a missing one is one."""
    query = f"SELECT count(*) FROM (SELECT DISTINCT {lines.column(name)} FROM {lines.source} LIMIT {FEW_VALUES + 1})"
    ((found,),) = lines.connection.execute(query).fetchall()
    return int(found) <= FEW_VALUES


def is_number(kind: str) -> bool:
    """Return True if a type is one of numbers, not of strings, truth values, dates or times."""
    return has_order(kind) and not kind.startswith(_CALENDAR)


def is_measured(name: str, kind: str) -> bool:
    """Return by type and header whether close numbers are alike; few different ones are codes all the same."""
    return is_number(kind) and not (is_whole(kind) and is_named_like_codes(name))


def width_of(lines: Lines, name: str) -> float | None:
    """Return the width within which numbers of a column are alike, by the middle 90 %; None where it is no measure."""
    (kind,) = lines.connection.sql(f"SELECT {lines.column(name)} FROM {lines.source} LIMIT 0").types
    if not is_measured(name, str(kind)) or has_few(lines, name):
        return None
    counts = f"(SELECT {lines.column(name)} AS cell, {lines.rows()} AS n FROM {lines.source} GROUP BY ALL)"
    ends = lines.connection.execute(
        "SELECT min(number) FILTER (20 * upto >= rows), min(number) FILTER (20 * upto >= 19 * rows) FROM "
        f"(SELECT cell::DOUBLE AS number, sum(n) OVER (ORDER BY cell) AS upto, sum(n) OVER () AS rows FROM {counts} "
        "WHERE cell IS NOT NULL)"
    ).fetchall()
    return width_between(*ends[0])


def width_between(low: float, high: float) -> float:
    """Return the width that follows from the ends of the middle 90 %, to two digits."""
    width = TOLERANCE * (high - low)
    return float(f"{width:.1e}") if math.isfinite(width) and width > 0 else 0.0


def same_width(params: Mapping[str, Any], found: ClearParts | None) -> bool:
    """Return True if the params state the width that the table has."""
    return params.get("target_width") == (None if found is None else found.width)
