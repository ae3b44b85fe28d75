# SPDX-License-Identifier: Apache-2.0
"""Parts of columns that k rows share: safe cuts, pooled categories, and boxes as narrow as their rows allow.

A recoding is published, so its lists and cuts disclose facts of the source, suppressed rows included. A search may use
only values and cuts that k rows (people) share, in columns without a declared hierarchy.

**Safe cuts.** All points at which a column may be cut are in one order that is public, the roundest first
(`anonkit.domains.named_parts`). The line is divided at the first point of the order that has values on both sides, if
at least k rows (people) are on either side; a side with fewer is forgotten, and the other side is looked at alone;
sides with k are divided further. Rows of a forgotten side are never counted again, so they belong to the part beside
them without being listed.

**What the cuts disclose.** Only that certain intervals hold k rows. Take any set I of values that fewer than k rows
have. Every interval H that was looked at and not divided holds k rows, hence a value p outside I; move the rows of I in
H to p, and those of I in forgotten sides to such a p too. In H no point gets k rows on both sides (off the path to p
sides only lose rows, and had fewer than k), forgotten sides stay below k, and sides with k rows contain such an H whole
and keep them. So the same points divide, and the table with nobody in I has the same cuts: whoever knows all of this,
and the cuts, cannot place a value in I. The same holds of anything computed from the cuts alone.

**Narrowed boxes.** What a box shows is a union of parts that k rows (people) of the table have each, those between
which a search may cut, so that moving a row within its part changes nothing that is published. Of a declared hierarchy
it is a node that all rows of the box are in, so k.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import BoolArray, CodedColumn, IntArray
from anonkit.domains.named_parts import Point, gaps_between, place
from anonkit.k_anonymity.declared_detail import Hierarchy
from anonkit.k_anonymity.search.box_tree import BoxTree
from anonkit.published.recoding import LocalRecoding
from anonkit.published.recoding.boxes_and_centroids import NarrowedBoxes
from anonkit.report.blocks import ColumnFacts

_FEW = 4096  # rows whose people are counted before those of all rows are

IsHeavy = Callable[[int, int], bool]
"""Predicate: True where at least k rows (people) have one of the values first, …, last - 1."""


def heavy_borders(roundness: IntArray, is_heavy: IsHeavy) -> list[int]:
    """Return the cuts of values, as the numbers of the values that begin a part, ascending.

    Parameters
    ----------
    roundness : ndarray of shape (n_values - 1,)
        Place of the first point between two neighbouring values in the order of all points; -1 where there is none.
        Of equal places the later gap comes first.
    is_heavy : callable
        Whether k rows have the values of a range.
    """
    last_first = np.where(roundness < 0, np.iinfo(np.int64).max, roundness)[::-1]
    borders: list[int] = []
    waiting = [(0, roundness.size + 1)]
    while waiting:
        first, end = waiting.pop()
        if end - first < 2:
            continue
        gaps = last_first[roundness.size - end + 1 : roundness.size - first]
        at = end - 1 - int(np.argmin(gaps))
        if roundness[at - 1] < 0:
            continue
        left, right = is_heavy(first, at), is_heavy(at, end)
        if left and right:
            borders.append(at)
        waiting += [(first, at)] * left + [(at, end)] * right
    return sorted(borders)


def counter(codes: IntArray, n_values: int, k: int, holders: Sequence[IntArray]) -> IsHeavy:
    """Return a predicate of ranges of codes: True where k rows, or k of each kind of holders, have them.

    Ranges are [first, end). One sort of the rows, then O(rows of the range) per call with holders and O(1) without.
    Rows of holder -1 are held by nobody.
    """
    upto = np.append(0, np.cumsum(np.bincount(codes, minlength=n_values)))
    if not holders:
        return lambda first, end: bool(upto[end] - upto[first] >= k)
    order = np.argsort(codes, kind="stable")
    of_rows = [units[order] for units in holders]

    def is_heavy(first: int, end: int) -> bool:
        here = slice(upto[first], upto[end])
        # most ranges have k people among their first rows: the whole range is sorted only where they have not
        return all(_people(units[here][:_FEW]) >= k or _people(units[here]) >= k for units in of_rows)

    return is_heavy


def _people(units: IntArray) -> int:
    distinct = np.unique(units)
    return int(distinct.size - (distinct[:1] < 0).sum())


def heavy_cuts(column: CodedColumn, k: int, holders: Sequence[IntArray] = ()) -> list[tuple[int, Point]]:
    """Return the finest cuts of an ordered column that disclose nothing of fewer than k rows.

    Returns
    -------
    list of (code, point)
        Codes at which a part begins, ascending, and where the line is cut: above the value before, not above the
        value of the code. Every part has k rows (units); none is returned for a column without k present values.
    """
    values = column.values if column.missing is None else column.values[:-1]
    present = column.codes < len(values)
    gaps = gaps_between(values)
    is_heavy = counter(column.codes[present].astype(np.int64), len(values), k, [units[present] for units in holders])
    return [(at, gaps.point(at - 1)) for at in heavy_borders(gaps.roundness, is_heavy)]


def equal_width_cuts(points: Sequence[Point], n_bins: int) -> list[int]:
    """Choose those of some cuts that divide a column into bins of about equal width (step 1 of paper 001).

    Neither the smallest nor the largest value is used: the outermost parts are taken to be as wide as their
    neighbours, and each edge of `n_bins` equal bins moves to the nearest cut, the lower of two.

    Returns
    -------
    list of int
        Numbers of the points chosen, ascending; fewer than n_bins - 1 where several edges meet in one cut.
    """
    if len(points) < 2:
        return list(range(len(points)))
    # exact, so that a tie between two cuts falls the same way on every machine
    places = [Fraction(place(point)) for point in points]
    low, high = 2 * places[0] - places[1], 2 * places[-1] - places[-2]
    edges = [low + (high - low) * at / n_bins for at in range(1, n_bins)]
    return sorted({min(range(len(places)), key=lambda at: abs(places[at] - edge)) for edge in edges})


def declared_cuts(
    column: CodedColumn, bounds: tuple[float, float], n_bins: int, k: int, holders: Sequence[IntArray] = ()
) -> list[tuple[int, Point]]:
    """Return the edges of equal bins between public bounds, as far as k rows (units) are between each two.

    Returns
    -------
    list of (code, point)
        As `heavy_cuts` does.
    """
    low, high = (Fraction(str(bound)) for bound in bounds)
    edges = [low + (high - low) * at / n_bins for at in range(1, n_bins)]
    whole = all(isinstance(value, int) for value in column.values if value is not None)
    points: list[Point] = [-(-edge.numerator // edge.denominator) if whole else float(edge) for edge in edges]
    values = [place(value) for value in column.values if value is not None]  # type: ignore[arg-type]
    bins = np.array([sum(value >= point for point in points) for value in values], dtype=np.int64)  # type: ignore[operator]
    present = column.codes < len(values)
    codes = column.codes[present].astype(np.int64)
    is_heavy = counter(codes, len(values), k, [units[present] for units in holders])
    borders = heavy_borders(np.where(np.diff(bins) > 0, 0, -1), is_heavy)
    return [(at, points[int(bins[at]) - 1]) for at in borders]


Holders = Sequence[NDArray[np.int64]]
"""Possible person of each row, shape (n_rows,), -1 for nobody: the person, or the value of each candidate for it. None
where every row is a person. What k people hold, k values of each hold."""


@dataclass(frozen=True)
class Pooled:
    """Placeholder for all values of a column that are not listed."""

    with_missing: bool = False
    """True when fewer than k rows are missing: they are indistinguishable from the rest of the pool."""

    def __repr__(self) -> str:
        return "<pooled>"


@dataclass(frozen=True)
class Stretch:
    """Placeholder for the values of an ordered column between two neighbouring cuts."""

    low: Point | None
    """The cut at its lower end; None for the lowest part, which has none."""
    with_missing: bool = False
    """True when fewer than k rows are missing: they are indistinguishable from the rest of this part."""


def holder_counts(codes: NDArray[np.integer], n_codes: int, holders: Holders) -> NDArray[np.int64]:
    """Count the rows (distinct holders, where they are fewest) that have each code, shape (n_codes,)."""
    whole = codes.astype(np.int64)
    if not holders:
        return np.bincount(whole, minlength=n_codes).astype(np.int64)
    counts = []
    for units in holders:
        somebodys = units >= 0
        n_units = int(units.max(initial=0)) + 1
        pairs = np.unique(whole[somebodys] * n_units + units[somebodys])
        counts.append(np.bincount(pairs // n_units, minlength=n_codes).astype(np.int64))
    return np.asarray(np.minimum.reduce(counts))


def _holders(column: CodedColumn, which: NDArray[np.bool_], holders: Holders) -> int:
    rows = which[column.codes]
    if not holders:
        return int(rows.sum())
    return min(int(np.unique(units[rows & (units >= 0)]).size) for units in holders)


def pool_rare(column: CodedColumn, k: int, holders: Holders = ()) -> CodedColumn:
    """Merge the values of a categorical column that fewer than k rows (people) hold into one code that k rows hold.

    Where they are fewer together, the listed values that fewest hold join them. Missing joins them too, unless k rows
    are missing. Codes become: listed values in their order, the pool if there is one, missing last.
    """
    if column.ordered:
        return column
    counts = holder_counts(column.codes, column.size, holders)
    missing = np.zeros(column.size, dtype=bool)
    if column.missing is not None:
        missing[column.missing] = True
    pooled = counts < k
    if not pooled.any():
        return column
    while _holders(column, pooled, holders) < k and not pooled.all():
        rest = np.flatnonzero(~pooled & ~missing)
        pooled[rest[np.argmin(counts[rest])] if rest.size else column.missing] = True
    listed = np.flatnonzero(~pooled & ~missing)
    recode = np.full(column.size, listed.size, dtype=np.int32)
    recode[listed] = np.arange(listed.size, dtype=np.int32)
    own = missing & ~pooled
    recode[own] = listed.size + 1
    values: list[object] = [column.values[at] for at in listed.tolist()]
    values.append(Pooled(with_missing=bool((missing & pooled).any())))
    return replace(column, codes=recode[column.codes], values=[*values, *([None] if own.any() else [])])


def cut_parts(
    column: CodedColumn,
    k: int,
    holders: Holders = (),
    *,
    bins: int | None = None,
    bounds: tuple[float, float] | None = None,
) -> CodedColumn:
    """Merge the values of an ordered column into parts of k rows (people) each; no cut discloses fewer.

    Parameters
    ----------
    column : CodedColumn
        Ordered.
    bins : int, optional
        Merge further, into about so many bins of equal width: of the public bounds, or of what the cuts span.
    bounds : (low, high), optional
        Public bounds, used for bins only.

    Returns
    -------
    CodedColumn
        Its values are stretches; the column as it is where every value is a part of its own. Missing is a code of its
        own where k rows are missing, and else joins the highest part.
    """
    n_values = column.size - (column.missing is not None)
    if not column.ordered or n_values == 0:
        return column
    if bins is not None and bounds is not None:
        cuts = declared_cuts(column, bounds, bins, k, holders)
    else:
        cuts = heavy_cuts(column, k, holders)
        if bins is not None:
            cuts = [cuts[at] for at in equal_width_cuts([point for _, point in cuts], bins)]
    present = np.arange(column.size) < n_values
    shows_missing = _holders(column, ~present, holders) >= k and _holders(column, present, holders) >= k
    if bins is None and len(cuts) == n_values - 1 and (shows_missing or column.missing is None):
        return column
    part = np.searchsorted([at for at, _ in cuts], np.arange(column.size), side="right").astype(np.int32)
    values: list[object] = [Stretch(None), *(Stretch(point) for _, point in cuts)]
    if shows_missing:
        part[n_values:] = len(values)
        values.append(None)
    elif column.missing is not None:
        part[n_values:] = len(cuts)
        values[-1] = Stretch(cuts[-1][1] if cuts else None, with_missing=True)
    return replace(column, codes=part[column.codes], values=values)


MOST_PARTS = 128
"""Parts of an ordered column at whose ends boxes are narrowed; of more, every second cut, or third, … is an end."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NarrowedColumn:
    """The codes of one column that boxes show, where these are fewer than the tree leaves them."""

    sets: tuple[NDArray[np.int64], ...]
    """Codes that boxes show, each ascending and no two alike."""
    of_box: IntArray
    """Index of the set of each box, -1 where it shows all that the tree leaves it; shape (n_boxes,)."""


def narrowed_columns(
    columns: Sequence[CodedColumn],
    tree: BoxTree,
    box: IntArray,
    hierarchies: Mapping[str, Hierarchy],
    k: int,
    holders: Holders,
) -> list[NarrowedColumn]:
    """Return the labels of a tree's boxes in every column.

    Parameters
    ----------
    columns : sequence of CodedColumn
        As the tree was grown on them, shape (n_rows,) each.
    box : IntArray
        Leaf of each row, in [0, tree.n_leaves), shape (n_rows,).
    hierarchies : mapping of column name to Hierarchy
        Columns of which boxes show nodes.
    k : int
        Rows (people) that every part has.
    holders : sequence of IntArray
        Who may have each row; empty where each row is a person.

    Privacy
    -------
    Somebody who knows the algorithm learns that a row of the box is in its outermost parts, or has each of its
    categories. Each of these has k rows of the table.
    """
    allowed, regions = tree.regions()
    has_rows = np.bincount(box, minlength=tree.n_leaves) > 0
    found = []
    for number, column in enumerate(columns):
        region = _members(regions[number], column.size)[allowed[:, number]]
        hierarchy = hierarchies.get(column.name)
        if hierarchy is not None:
            shown = _nodes(hierarchy, column, box, region)
        else:
            shown = _spans(column, _parts(column, k, holders), box, region.shape[0])
        shown = np.where(has_rows[:, None], shown & region, region)
        found.append(_distinct(shown, region))
    return found


def _members(sets: Sequence[IntArray], size: int) -> BoolArray:
    """Return sets of codes as rows of truth values, shape (n_sets, size)."""
    members = np.zeros((len(sets), size), dtype=bool)
    for at, codes in enumerate(sets):
        members[at, codes] = True
    return members


def _distinct(shown: BoolArray, region: BoolArray) -> NarrowedColumn:
    """Return the different sets of codes of the boxes that show less than their region."""
    narrower = np.flatnonzero((shown != region).any(axis=1))
    packed, first, number = np.unique(
        np.packbits(shown[narrower], axis=1), axis=0, return_index=True, return_inverse=True
    )
    of_box = np.full(shown.shape[0], -1, dtype=np.int64)
    of_box[narrower] = number.reshape(-1)
    sets = tuple(np.flatnonzero(shown[narrower[at]]) for at in first[: len(packed)].tolist())
    return NarrowedColumn(sets=sets, of_box=of_box)


def _parts(column: CodedColumn, k: int, holders: Holders) -> IntArray:
    """Return the part of each code, shape (column.size,): what boxes show of a column is a union of these.

    Neighbouring values of an ordered column, of which missing is a part of its own. Of categories each that k rows
    have; the others, which a policy may declare, are one part with the rarest beside them, until k rows are in it.
    """
    if column.ordered:
        n_values = column.size - (column.missing is not None)
        width = -(-n_values // MOST_PARTS)
        part = np.arange(column.size) // max(width, 1)
        part[n_values:] = column.size
        return part
    counts = holder_counts(column.codes, column.size, holders)
    part = np.arange(column.size)
    rare = counts < k
    while rare.any() and not rare.all() and holder_counts((~rare[column.codes]).astype(np.int64), 2, holders)[0] < k:
        rest = np.flatnonzero(~rare)
        rare[rest[np.argmin(counts[rest])]] = True
    part[rare] = column.size
    return part


def _spans(column: CodedColumn, part: IntArray, box: IntArray, n_boxes: int) -> BoolArray:
    """Return the codes in the parts that the rows of each box have; of an ordered column those between, too."""
    has = np.zeros((n_boxes, int(part.max()) + 1), dtype=bool)
    has[box, part[column.codes]] = True
    if column.ordered:
        last = column.size - (column.missing is not None)
        values = has[:, : int(part[last - 1]) + 1] if last else has[:, :0]
        between = np.maximum.accumulate(values, axis=1) & np.maximum.accumulate(values[:, ::-1], axis=1)[:, ::-1]
        has[:, : values.shape[1]] = between
    return np.asarray(has[:, part])


def _nodes(hierarchy: Hierarchy, column: CodedColumn, box: IntArray, region: BoolArray) -> BoolArray:
    """Return the codes of the smallest node that all rows of each box are in, where its region holds it whole."""
    shown, open_ = region.copy(), np.ones(region.shape[0], dtype=bool)
    for groups in hierarchy.ladder.levels:
        group = groups[column.codes].astype(np.int64)
        low = np.full(region.shape[0], column.size, dtype=np.int64)
        high = np.full(region.shape[0], -1, dtype=np.int64)
        np.minimum.at(low, box, group)
        np.maximum.at(high, box, group)
        here = np.flatnonzero(open_ & (low == high))
        nodes = groups[None, :] == low[here, None]
        within = ~(nodes & ~region[here]).any(axis=1)
        shown[here[within]] = nodes[within]
        open_[here] = False
    return shown


def shown_boxes(
    recoding: LocalRecoding, shown: Sequence[Sequence[tuple[int, ...]]], of_box: Sequence[IntArray]
) -> NarrowedBoxes:
    """Return the labels of a recoding's boxes, as it is published.

    Parameters
    ----------
    shown : sequence of sequence of tuple of int
        Of each axis the sets of parts of boxes that show less than the tree leaves them.
    of_box : sequence of IntArray
        Of each axis the index of the set of each box, -1 where it shows all; shape (n_boxes,).
    """
    regions = recoding.regions()
    leaves = [number for number, node in enumerate(recoding.nodes) if node is None]
    sets: list[tuple[tuple[int, ...], ...]] = []
    set_of_boxes: list[list[int]] = []
    for axis, (narrow, index) in enumerate(zip(shown, of_box, strict=True)):
        known: dict[tuple[int, ...], int] = {}
        own = [frozenset(members) for members in narrow]
        found = []
        for node, at in zip(leaves, index.tolist(), strict=True):
            if node in regions:
                region = regions[node][axis]
                found.append(known.setdefault(tuple(sorted(region if at < 0 else region & own[at])), len(known)))
            else:  # what no row can be in shows nothing
                found.append(0)
        sets.append(tuple(known))
        set_of_boxes.append(found)
    return NarrowedBoxes(sets=tuple(sets), set_indices=tuple(zip(*set_of_boxes, strict=True)))


def box_facts(names: Sequence[str], recoding: LocalRecoding) -> dict[str, ColumnFacts]:
    """Return the share of the cuts that are on each column, and why the others are dropped."""
    cuts = np.bincount([node.axis for node in recoding.nodes if node is not None], minlength=len(recoding.axes))
    reason = (
        "no division by it was kept: others kept more of the target or the detail, or it showed no more than chance"
    )
    facts: dict[str, ColumnFacts] = {name: {"reason": reason} for name in names}
    for axis, n_cuts in zip(recoding.axes, cuts, strict=True):
        share = float(n_cuts / max(cuts.sum(), 1))
        facts[axis.name] = {
            "importance": share,
            "reason": f"the rows were divided in two {cuts.sum():,} times, {n_cuts:,} of them by this column"
            + ("" if recoding.narrowed is None else "; boxes show what their rows have of it"),
        }
    return facts
