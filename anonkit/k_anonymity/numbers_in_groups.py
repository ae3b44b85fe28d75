# SPDX-License-Identifier: Apache-2.0
"""Groups of rows by their numbers, the means they show, and the centroids that are published.

Rows of one combination of categories are grouped by MDAV. Groups that break a requirement join the nearest one of their
combination. A mean is rounded to a published unit, and withheld where it would disclose the number of one person, by
the rules of `anonkit.k_anonymity.class_means`.

Which rows are a group is no function of the published centroids: a row may be nearer to another centroid than to its
own. So the groups themselves stay in memory while the release is made, by the distinct combinations of the table; they
leave with it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.domains.cell_values import cell_numbers, cell_texts
from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray, combine, densify
from anonkit.errors import PolicyError
from anonkit.k_anonymity.class_means import Contributions, number_distances
from anonkit.k_anonymity.preparing import Prepared
from anonkit.k_anonymity.search.equivalence import Partition, Requirement
from anonkit.k_anonymity.search.greedy_selection import suppressed_rows
from anonkit.k_anonymity.search.microaggregation import BLOCK, means_of, microaggregated
from anonkit.k_anonymity.supported_parts import Holders
from anonkit.published.recoding import UNKNOWN, Centroids, GlobalRecoding, MeanAxis
from anonkit.published.recoding.boxes_and_centroids import RULES


@dataclass(frozen=True, kw_only=True, eq=False)
class RowKeys:
    """The distinct combinations of strings and numbers of a table, in ascending order, and the place of each of them.

    A combination is looked up column by column: what was found so far and the code of the next cell are one integer.
    """

    texts: tuple[pa.Array, ...]
    """Of each column of strings: its values, ascending."""
    numbers: tuple[FloatArray, ...]
    """Of each column of numbers: its values, ascending, without NaN."""
    pairs: tuple[IntArray, ...]
    """Of each column: the integers of the combinations up to it, ascending."""

    @classmethod
    def of(cls, texts: Sequence[pa.Array], numbers: Sequence[FloatArray]) -> tuple[RowKeys, IntArray]:
        """Return the combinations of some rows, and the place of each row among them, shape (n_rows,)."""
        text_values = tuple(array.unique().drop_null().sort() for array in texts)
        number_values = tuple(np.unique(column[~np.isnan(column)]) for column in numbers)
        keys, at = cls(texts=text_values, numbers=number_values, pairs=()), np.zeros(1, np.int64)
        pairs: list[IntArray] = []
        for codes, width in keys._coded(texts, numbers):
            found, at = np.unique(at * width + codes, return_inverse=True)
            pairs.append(found)
        return cls(texts=text_values, numbers=number_values, pairs=tuple(pairs)), at.reshape(-1)

    @property
    def size(self) -> int:
        """Number of combinations."""
        return int(self.pairs[-1].size)

    def places(self, texts: Sequence[pa.Array], numbers: Sequence[FloatArray]) -> IntArray:
        """Return the place of each row's combination, `UNKNOWN` where the table has no such, shape (n_rows,)."""
        at, known = np.zeros(1, np.int64), np.ones(1, bool)
        for (codes, width), pairs in zip(self._coded(texts, numbers), self.pairs, strict=True):
            pair = at * width + codes
            at = np.minimum(np.searchsorted(pairs, pair), max(pairs.size - 1, 0))
            known = known & (codes != UNKNOWN) & (pairs[at] == pair if pairs.size else False)
        return np.where(known, at, UNKNOWN)

    def _coded(self, texts: Sequence[pa.Array], numbers: Sequence[FloatArray]) -> list[tuple[IntArray, int]]:
        """Return the codes of every column and their number: `UNKNOWN` for other values, the last for missing."""
        coded = []
        for array, values in zip(texts, self.texts, strict=True):
            codes = pc.fill_null(pc.index_in(array, value_set=values), UNKNOWN).to_numpy(zero_copy_only=False)
            missing = array.is_null().to_numpy(zero_copy_only=False)
            coded.append((np.where(missing, len(values), codes).astype(np.int64), len(values) + 1))
        for column, own in zip(numbers, self.numbers, strict=True):
            at = np.minimum(np.searchsorted(own, column), max(own.size - 1, 0))
            same = own[at] == column if own.size else np.zeros(column.size, bool)
            coded.append((np.where(np.isnan(column), own.size, np.where(same, at, UNKNOWN)), own.size + 1))
        return coded


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupedRecoding:
    """The recoding of one table in groups: the centroid of each of its combinations."""

    published: GlobalRecoding
    """The centroids, for `params.json`."""
    keys: RowKeys
    centroid_of: IntArray
    """Place of the centroid of each combination, `UNKNOWN` for those that are left out, shape (keys.size,)."""

    def apply(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], NDArray[np.bool_]]:
        """Return the released quasi-identifier columns, and which rows are left out or are none of the table."""
        out, unknown = self.published.apart_from_means(batch)
        centroids, names = self.published.centroids, self.published.mean_names
        assert centroids is not None  # noqa: S101 - a recoding in groups has some
        place = self.keys.places(*texts_and_numbers(out, batch, names))
        at = np.where(place == UNKNOWN, UNKNOWN, self.centroid_of[place])
        shown = {**out, **{name: centroids.taken(name, at) for name in names}}
        return {column.name: shown[column.name] for column in self.published.columns}, unknown | (at == UNKNOWN)

    def types(self, schema: pa.Schema) -> dict[str, pa.DataType]:
        """Return the type of every released quasi-identifier."""
        return self.published.types(schema)


def texts_and_numbers(
    shown: dict[str, pa.Array], batch: pa.RecordBatch, means: Sequence[str]
) -> tuple[list[pa.Array], list[FloatArray]]:
    """Return released categories as strings, and the numbers of which means are shown, NaN for missing."""
    texts = [cell_texts(array) for array in shown.values()]
    return texts, [cell_numbers(batch.column(name)) for name in means]


FEWEST = 3
"""Least rows of a group: of two, each works out the number of the other."""

_SMALLEST = -300
"""Power of ten below which no unit is: its inverse is a double."""
_SAME = 1e-12
"""Spread of means, in parts of the largest, that rounding leaves of equal numbers."""
_SQUARES = 1e150
"""Numbers whose squares are doubles: columns with larger ones are not measured."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupedNumbers:
    """The rows of a table in groups, with figures for its owner."""

    recoding: GroupedRecoding
    owner: Mapping[str, Any]
    """Number of groups, information that their means lose, rows that were grouped in blocks."""
    figures: Mapping[str, Any]
    """Of the means, by name: how many each rule withholds, their distances from the numbers."""


def group_numbers(
    prepared: Prepared,
    categories: GlobalRecoding,
    names: Sequence[str],
    order: Sequence[str],
    steps: Mapping[str, float],
    *,
    block: int = BLOCK,
) -> GroupedNumbers:
    """Group the rows of a table.

    Parameters
    ----------
    categories : GlobalRecoding
        Of the columns without means.
    names : sequence of str
        Columns of which means are shown, at least one.
    order : sequence of str
        All columns, in the order of the recoding.
    steps : mapping of column name to float
        Declared steps of numbers.
    block : int
        See `microaggregated`.

    Raises
    ------
    PolicyError
        A column has infinite numbers.
    """
    batch = rows_as_batch(prepared, [*(column.name for column in categories.columns), *names])
    shown, unknown = categories.apply(batch)
    texts, numbers = texts_and_numbers(shown, batch, names)
    _refuse_infinite(names, numbers)
    keys, entry = RowKeys.of(texts, numbers)
    own = _numbers_of(keys, entry, numbers)
    stratum = _strata(keys, len(texts), own)
    out = unknown | suppressed_rows(Partition(*densify(stratum[entry])), prepared.requirements)
    weights = np.bincount(entry[~out], minlength=keys.size)
    rows = _Rows.of(stratum, own, weights)
    groups = _grouped(rows, weights, max(prepared.k, FEWEST), block)
    groups = _merged(rows, weights, groups, entry, ~out, prepared.requirements)
    there = groups != UNKNOWN
    groups = np.where(there, densify(np.maximum(groups, 0))[0] if there.all() else _renumbered(groups, there), UNKNOWN)
    shown_means = _Means.of(rows, weights, groups, entry, names, steps, prepared)
    categories_of = _example_texts(texts, entry, groups)
    centroids, centroid_of = shown_means.published(list(zip(shown, categories_of, strict=True)), groups)
    columns = {column.name: column for column in categories.columns} | {
        name: MeanAxis(name=name, unit=shown_means.units[name]) for name in names
    }
    published = GlobalRecoding(columns=tuple(columns[name] for name in order), centroids=centroids)
    owner, figures = _figures(rows, weights, groups, shown_means, block)
    return GroupedNumbers(
        recoding=GroupedRecoding(published=published, keys=keys, centroid_of=centroid_of),
        owner=owner,
        figures=figures,
    )


def unit_of(spread: float) -> float:
    """Return the power of ten that leaves two significant digits of a standard deviation; 1 of none."""
    places = math.floor(math.log10(spread)) + 1 - RULES["digits"] if spread > 0 else 0
    return float(f"1e{max(places, _SMALLEST)}")


def scale_of(means: Sequence[Any]) -> tuple[float, float]:
    """Return the mean of the means of a column that are there, and their standard deviation."""
    own = np.array([mean for mean in means if mean is not None], np.float64)
    if not own.size:
        return 0.0, 0.0
    largest = float(np.abs(own).max()) or 1.0  # squares of what is left are doubles
    small = own / largest
    return float(f"{small.mean() * largest:.6g}"), float(f"{small.std() * largest:.6g}") if np.ptp(small) > 0 else 0.0


def rounded(means: FloatArray, unit: float) -> FloatArray:
    """Return the nearest multiples of a unit, each the double that is written so."""
    parts = round(1 / unit) if unit < 1 else 0
    exact = parts > 0 and math.isclose(parts * unit, 1.0, rel_tol=1e-12)
    with np.errstate(over="ignore"):
        found = np.rint(means * parts) / parts if exact else np.rint(means / unit) * unit
        found = np.where(np.isfinite(found), found, np.trunc(means / unit) * unit)  # the largest doubles
    return found + 0.0  # 0 has no sign


@dataclass(frozen=True, kw_only=True, eq=False)
class _Rows:
    """The distinct combinations of a table, in ascending order: their stratum first."""

    stratum: IntArray
    """Combination of categories, and of missing numbers, of each entry, shape (n_entries,)."""
    numbers: FloatArray
    """Numbers of each entry, NaN where missing, shape (n_entries, n_columns)."""
    points: FloatArray
    """They, standardized over the rows that are released; 0 where missing."""

    @classmethod
    def of(cls, stratum: IntArray, own: FloatArray, weights: IntArray) -> _Rows:
        """Return the combinations of a table, and how far apart those are that rows of the release have."""
        largest = np.nanmax(np.abs(own[weights > 0]), axis=0, initial=0.0)
        largest = np.maximum(largest, np.finfo(np.float64).tiny)
        small = np.where(weights[:, None] > 0, own, np.nan) / largest  # whose squares are doubles
        rows = weights[:, None] * ~np.isnan(small)
        total = np.maximum(rows.sum(axis=0), 1)
        mean = np.nansum(small * rows, axis=0) / total
        spread = np.sqrt(np.nansum((small - mean) ** 2 * rows, axis=0) / total)
        points = np.nan_to_num((small - mean) / np.where(spread > 0, spread, 1.0), nan=0.0)
        return cls(stratum=stratum, numbers=own, points=points)


def _numbers_of(keys: RowKeys, entry: IntArray, numbers: Sequence[FloatArray]) -> FloatArray:
    """Return the numbers of each combination, shape (n_entries, n_columns)."""
    example = np.empty(keys.size, np.int64)
    example[entry] = np.arange(entry.size)
    return np.column_stack([column[example] for column in numbers])


def _strata(keys: RowKeys, n_texts: int, numbers: FloatArray) -> IntArray:
    """Return the combination of categories and of missing numbers of each entry, dense."""
    place = np.arange(keys.size)
    for level in range(len(keys.pairs) - 1, n_texts - 1, -1):  # back to what was found before the first number
        width = keys.numbers[level - n_texts].size + 1
        place = keys.pairs[level][place] // width
    missing = [np.isnan(column).astype(np.int64) for column in numbers.T]
    return combine([place, *missing], keys.size)[0]


def rows_as_batch(prepared: Prepared, names: Sequence[str]) -> pa.RecordBatch:
    """Return some columns of the releasable rows as one batch."""
    assert prepared.rows is not None  # noqa: S101 - the preparation of a method with means asks for them
    listed = list(dict.fromkeys(names))
    batches = [batch.select(listed) for batch in prepared.rows.batches(listed)]
    table = pa.Table.from_batches(batches).combine_chunks()
    arrays = [column.chunk(0) if column.num_chunks == 1 else column.combine_chunks() for column in table.columns]
    return pa.RecordBatch.from_arrays(arrays, names=listed)


def _refuse_infinite(names: Sequence[str], numbers: Sequence[FloatArray]) -> None:
    for name, column in zip(names, numbers, strict=True):
        if n_infinite := int(np.isinf(column).sum()):
            what = "an infinite number, which has" if n_infinite == 1 else f"{n_infinite} infinite numbers, which have"
            raise PolicyError(
                f"column {name!r} has {what} no mean",
                "make them missing, or declare bounds, which cap them",
            )


def _grouped(rows: _Rows, weights: IntArray, k: int, block: int) -> IntArray:
    """Return the group of each entry, `UNKNOWN` of those that no row of the release has, shape (n_entries,)."""
    groups, n_groups = np.full(weights.size, UNKNOWN, np.int64), 0
    there = np.flatnonzero(weights)
    order = there[np.argsort(rows.stratum[there], kind="stable")]
    ends = np.flatnonzero(np.diff(rows.stratum[order], append=-1)) + 1
    for first, last in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
        members = order[first:last]
        own = microaggregated(rows.points[members], weights[members], k, block=block)
        groups[members] = own + n_groups
        n_groups += int(own.max()) + 1
    return groups


def _merged(
    rows: _Rows,
    weights: IntArray,
    groups: IntArray,
    entry: IntArray,
    inside: BoolArray,
    requirements: Sequence[Requirement],
) -> IntArray:
    """Join every group that breaks a requirement to the nearest of its stratum, until none does that has another.

    Groups that break one and are alone in their stratum are left out.
    """
    own = [requirement.at(inside) for requirement in requirements]
    everything = np.ones(int(inside.sum()), bool)
    while (groups != UNKNOWN).any():
        n_groups = int(groups.max()) + 1
        partition = Partition(groups[entry[inside]], n_groups)
        broken = np.zeros(n_groups, bool)
        for requirement in own:
            broken |= requirement.violated(partition, everything)
        there = groups != UNKNOWN
        stratum = np.zeros(n_groups, np.int64)
        stratum[groups[there]] = rows.stratum[there]
        means = means_of(rows.points[there], weights[there], groups[there], n_groups)
        joined = _joined(broken, stratum, means)
        if (joined == np.arange(n_groups)).all():
            left_out = there & broken[np.maximum(groups, 0)]
            return np.where(left_out, UNKNOWN, groups)
        groups = np.where(there, densify(joined)[0][np.maximum(groups, 0)], UNKNOWN)
    return groups


def _joined(broken: BoolArray, stratum: IntArray, means: FloatArray) -> IntArray:
    """Return the first of the groups that each group is joined with, itself where none, shape (n_groups,)."""
    from scipy.spatial import cKDTree  # not before a group breaks a requirement

    root = np.arange(broken.size)

    def found(at: int) -> int:
        while root[at] != at:
            at = int(root[at])
        return at

    for number in np.unique(stratum[broken]).tolist():
        members = np.flatnonzero(stratum == number)
        mine = np.flatnonzero(broken[members])
        if members.size == 1:
            continue
        near = cKDTree(means[members]).query(means[members[mine]], k=2)[1]
        for at, (first, second) in zip(mine.tolist(), near.tolist(), strict=True):
            pair = found(int(members[at])), found(int(members[second if first == at else first]))
            root[max(pair)] = min(pair)
    return np.array([found(at) for at in range(root.size)], np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Means:
    """The means that the groups of a table show."""

    names: Sequence[str]
    means: FloatArray
    """Rounded means of every group, NaN where it shows none, shape (n_groups, n_columns)."""
    missing: BoolArray
    """Groups whose rows have no number, shape (n_groups, n_columns)."""
    withheld: Mapping[str, Mapping[str, int]]
    """Groups whose mean is withheld, by column and rule."""
    units: Mapping[str, float]
    """Of what the means of each column are multiples."""

    @classmethod
    def of(
        cls,
        rows: _Rows,
        weights: IntArray,
        groups: IntArray,
        entry: IntArray,
        names: Sequence[str],
        steps: Mapping[str, float],
        prepared: Prepared,
    ) -> _Means:
        """Compute the means, withhold those that disclose the number of one person, and round the others.

        The unit follows from the means that are shown: a number that is in none of them has no part in it.
        """
        there = groups != UNKNOWN
        n_groups = int(groups.max(initial=-1)) + 1
        own, of_group = rows.numbers[there], groups[there]
        missing = np.zeros((n_groups, len(names)), bool)
        missing[of_group] = np.isnan(own)
        largest = np.maximum(np.nanmax(np.abs(own), axis=0, initial=0.0), np.finfo(np.float64).tiny)
        small = means_of(np.nan_to_num(own / largest), weights[there], of_group, n_groups)
        at_row, withheld, units = groups[entry], {}, {}
        n_rows = np.bincount(of_group, weights=weights[there], minlength=n_groups)
        inside = at_row != UNKNOWN
        means = np.empty(small.shape)
        for column, name in enumerate(names):
            sizes = np.abs(np.nan_to_num(rows.numbers[entry[inside], column] / largest[column]))
            rules = _broken_rules(
                at_row[inside], sizes, [each[inside] for each in prepared.holders], n_groups, max(prepared.k, FEWEST)
            )
            hidden = np.logical_or.reduce(list(rules.values())) | missing[:, column]
            spread = _spread(small[~hidden, column], n_rows[~hidden]) * float(largest[column])
            units[name] = steps.get(name) or unit_of(spread)
            means[:, column] = rounded(small[:, column] * largest[column], units[name])
            means[hidden, column] = np.nan
            withheld[name] = {rule: int((hits & ~missing[:, column]).sum()) for rule, hits in rules.items()}
        return cls(names=names, means=means, missing=missing, withheld=withheld, units=units)

    def published(
        self, categories: Sequence[tuple[str, Sequence[str | None]]], groups: IntArray
    ) -> tuple[Centroids, IntArray]:
        """Return the combinations that the groups show, each once and in ascending order, and that of each entry."""
        columns = [list(texts) for _, texts in categories]
        columns += [[None if math.isnan(each) else each for each in own] for own in self.means.T.tolist()]
        lines = list(zip(*columns, *self.missing.T.tolist(), strict=True))
        order = sorted(
            set(lines), key=lambda line: [(cell is None, cell) if cell is not None else (True,) for cell in line]
        )
        place = {line: at for at, line in enumerate(order)}
        cells = list(zip(*order, strict=True)) if order else [()] * (len(columns) + len(self.names))
        n_texts, n_means = len(categories), len(self.names)
        centroids = Centroids(
            categories=tuple((name, cells[at]) for at, (name, _) in enumerate(categories)),
            means=tuple((name, cells[n_texts + at]) for at, name in enumerate(self.names)),
            scale=tuple(scale_of(cells[n_texts + at]) for at in range(n_means)),
            missing=tuple(
                (name, frozenset(np.flatnonzero(cells[n_texts + n_means + at]).tolist()))
                for at, name in enumerate(self.names)
            ),
        )
        of_group = np.array([*(place[line] for line in lines), UNKNOWN], np.int64)
        return centroids, of_group[groups]


def _spread(means: FloatArray, n_rows: FloatArray) -> float:
    """Return the standard deviation of the rows' means; of one mean its size."""
    if not means.size:
        return 0.0
    largest = float(np.abs(means).max())
    spread = math.sqrt(float(np.average((means - np.average(means, weights=n_rows)) ** 2, weights=n_rows)))
    return spread if spread > _SAME * largest else largest


def _broken_rules(groups: IntArray, sizes: FloatArray, holders: Holders, n_groups: int, k: int) -> dict[str, BoolArray]:
    """Return by rule of `class_means` which groups break it, each of shape (n_groups,)."""
    found: dict[str, BoolArray] = {}
    for holder in holders or [np.full(groups.size, UNKNOWN)]:  # a row of nobody is a person of its own
        people = np.where(holder >= 0, holder, int(holder.max(initial=0)) + 1 + np.arange(holder.size))
        pair, n_pairs = combine([groups, people], groups.size)
        at = np.zeros(n_pairs, np.int64)
        at[pair] = groups
        own = np.bincount(pair, weights=sizes, minlength=n_pairs).astype(np.float64)
        for rule, hits in Contributions(at=at, sizes=own).withheld(n_groups, k).items():
            found[rule] = hits | found.get(rule, False)
    return found


def _renumbered(groups: IntArray, there: BoolArray) -> IntArray:
    """Return the numbers of groups without gaps; those of entries that are left out do not matter."""
    again = np.zeros(groups.size, np.int64)
    again[there] = densify(groups[there])[0]
    return again


def _example_texts(texts: Sequence[pa.Array], entry: IntArray, groups: IntArray) -> list[list[str | None]]:
    """Return the category of every group in each column of categories."""
    of_row = groups[entry]
    example = np.zeros(int(groups.max(initial=-1)) + 1, np.int64)
    inside = np.flatnonzero(of_row != UNKNOWN)
    example[of_row[inside]] = inside
    return [array.take(pa.array(example)).to_pylist() for array in texts]


def _figures(
    rows: _Rows, weights: IntArray, groups: IntArray, shown: _Means, block: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return figures of the groups for the owner, and those of their means by name."""
    there = groups != UNKNOWN
    if not there.any():
        return {"groups": 0}, {}
    own, of_group, n_rows = rows.points[there], groups[there], weights[there]
    n_groups = int(of_group.max()) + 1
    lost = float((n_rows @ (own - means_of(own, n_rows, of_group, n_groups)[of_group]) ** 2).sum())
    whole = float((n_rows @ (own - n_rows @ own / n_rows.sum()) ** 2).sum())
    crowded = np.bincount(rows.stratum[there])[rows.stratum[there]] > block
    return {
        "groups": n_groups,
        "information_loss": lost / whole if whole > 0 else 0.0,
        "rows_in_blocks": int(n_rows[crowded].sum()),
    }, {
        "means": {name: {"classes": n_groups, **rules} for name, rules in shown.withheld.items()},
        "number_distances": _distances(rows.numbers[there], shown.means[of_group], n_rows),
    }


def _distances(own: FloatArray, shown: FloatArray, n_rows: IntArray) -> dict[str, Any]:
    """Return the distances of means from numbers, of the rows that show every mean."""
    columns = np.isfinite(shown).any(axis=0)
    whole = np.isfinite(shown[:, columns]).all(axis=1)
    own, shown = own[whole][:, columns], shown[whole][:, columns]
    if not own.size or not (np.abs(own) < _SQUARES).all():
        return {}
    return {"means": number_distances(own, shown, n_rows[whole].astype(np.float64))}
