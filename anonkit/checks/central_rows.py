# SPDX-License-Identifier: Apache-2.0
"""Check that the released rows can have been drawn from the published model.

What is deterministic is compared exactly (cells with their counts; rows of noisy tables, up to one each); what is
drawn, by Bernstein's inequality, so loosely that a true release fails once in a billion.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.bundle.data_files import each_part, iter_batches, parts_of, read_rows
from anonkit.checks.account_lines import gaussian_variance
from anonkit.checks.central_marginal_plan import forest_checks, is_none, is_thresholded
from anonkit.checks.central_model import PublishedLeaf, expected_values, leaves_of, region_of_nodes, split_facts
from anonkit.checks.central_params import TAXONOMY, BoolArray, Family, PublicColumn, PublicDomain, PublicFacts
from anonkit.checks.central_rule import rows_of_cells
from anonkit.checks.row_rules import ClassRules, changed_at_most, masks_of, rules_of
from anonkit.promises.guarantee import Check

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

_PIECE_ROWS = 1 << 18  # most rows that a release draws together
_PIECE_CELLS = 1 << 23  # and most cells
_BATCH_ROWS = 1 << 16
_FALSE_ALARM = 1e-9
"""Probability that sound rows fail one comparison: a convention."""
_ROWS_WITHOUT_COUNTS = 10_000
"""Rows of a release whose leaves publish labels and no counts: part of the format."""
_SCORE_UNIT = 0.001
"""Unit of published scores: part of the format."""


def row_checks(data: Path, params: Mapping[str, Any], facts: PublicFacts) -> Iterator[Check]:
    """Check the released rows, by column and class.

    Parameters
    ----------
    data : path
    params : mapping
        Its trees, tables and scores were checked before.
    facts : PublicFacts
    """
    if facts.family.has_trees and facts.parameters["as_"] == "cells":
        yield _cells_check(data, params, facts)
        return
    compared = {
        Family.MARGINALS: _rows_of_mixtures,
        Family.TABLES: _counted_tables,
        Family.STACKED: _labels_by_scores,
    }.get(facts.family, _rows_of_leaves)
    yield from _differences(compared(data, params, facts))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Compared:
    """Rows by class and code of an attribute, and what the model says."""

    name: str
    found: IntArray
    """Shape (n_classes, codes)."""
    expected: FloatArray
    """Mean, the same shape."""
    allowed: FloatArray
    """Most by which rounding moves the mean, the same shape."""
    is_random: bool = True
    """True: the rest is chance; False: there is none."""
    kind: str = "rows_from_model"
    """Name of the check."""


def _differences(compared: Iterator[_Compared] | Iterator[_Compared | Check]) -> Iterator[Check]:
    for pair in compared:
        if isinstance(pair, Check):
            yield pair
            continue
        bound = pair.allowed + 1e-6
        if pair.is_random:
            most = pair.expected + pair.allowed
            size = math.log(2 * pair.found.size / _FALSE_ALARM)
            bound = bound + np.where(most > 0, size / 3 + np.sqrt(size * size / 9 + 2 * most * size), 0.0)
        wrong = int((np.abs(pair.found - pair.expected) > bound).sum())
        yield Check(name=f"{pair.kind}:{pair.name}", passed=wrong == 0, observed=wrong, required=0)


# --- codes -------------------------------------------------------------------------------------------------------


def _batches(
    part: Path, facts: PublicFacts, others: Sequence[str] = ()
) -> Iterator[tuple[IntArray, list[IntArray], list[IntArray], pa.RecordBatch]]:
    """Yield labels, codes and places in cells of the rows of a file, and the rows as they are shown.

    Those with a cell outside its domain, which are counted elsewhere, are left out. Of what is no number in a cell the
    place is its code.

    Parameters
    ----------
    others : sequence of str
        Columns that are shown besides.
    """
    names = list(dict.fromkeys([*(column.name for column in facts.columns), *others]))
    finer = [_cells_of_places(column, facts) for column in facts.columns]
    for batch in iter_batches(part, names, batch_rows=_BATCH_ROWS):
        places = [
            codes_of(batch.column(column.name), column, 1 if own is None else facts.family.places)
            for column, own in zip(facts.columns, finer, strict=True)
        ]
        known = np.all([own >= 0 for own in places], axis=0)
        places = [own[known] for own in places]
        used = [own if cells is None else cells[own] for own, cells in zip(places, finer, strict=True)]
        first = int(facts.has_target)
        labels = used[0] if first else np.zeros(int(known.sum()), dtype=np.int64)
        yield labels, used[first:], places[first:], batch if known.all() else batch.filter(pa.array(known))


def _cells_of_places(column: PublicColumn, facts: PublicFacts) -> IntArray | None:
    """Return the code of each place in the cells of a column, missing included; None where it shows none.

    It shows none where it holds categories, or is a number to predict.
    """
    domain = column.domain
    if facts.family.places == 1 or domain.bounds is None or domain.fine:
        return None
    absent = np.full(int(domain.has_missing), domain.cells, dtype=np.int64)
    return np.append(domain.grid.cells_of_parts(facts.family.places), absent)


def codes_of(cells: pa.Array, column: PublicColumn, parts: int = 1) -> IntArray:
    """Return the code of each cell, -1 outside the domain, shape (n_rows,).

    Parameters
    ----------
    parts : int
        Of each cell of a number: with more than one, codes are those of the parts, missing after the last of them.
    """
    domain = column.domain
    values = cells.dictionary_decode() if isinstance(cells, pa.DictionaryArray) else cells
    absent = np.asarray(values.is_null().to_numpy(zero_copy_only=False), dtype=bool)
    if domain.bounds is None:
        known = pc.index_in(values.cast(pa.string()), value_set=pa.array(domain.categories, pa.string()))
        codes = np.asarray(pc.fill_null(known, -1).to_numpy(zero_copy_only=False), dtype=np.int64)
        return np.where(absent, _absent(domain), codes)
    low, high = domain.bounds
    numbers = np.asarray(pc.fill_null(values.cast(pa.float64()), low).to_numpy(zero_copy_only=False))
    if domain.fine:
        return np.where(absent, _absent(domain), _bins(_places(numbers, domain), domain))
    if domain.multiples is not None:
        grid = domain.grid.divided(parts) if parts > 1 else domain.grid
        codes, size = grid.codes_of_multiples(numbers), grid.middles.size
    else:
        size = domain.cells * parts
        parted = np.floor((numbers - low) / (high - low) * size)
        codes = np.where((parted >= 0) & (parted < size), parted, -1).astype(np.int64)
    return np.where(absent, size if domain.has_missing else -1, codes)


def _absent(domain: PublicDomain) -> int:
    return domain.cells if domain.has_missing else -1


def _places(numbers: FloatArray, domain: PublicDomain) -> IntArray:
    """Return the cell of the grid of a target that each number is in; -1 outside the bounds."""
    if domain.multiples is not None:
        return domain.grid.codes_of_multiples(numbers)
    low, high = domain.bounds or (math.nan, math.nan)
    places = np.floor((numbers - low) / (high - low) * domain.fine)
    return np.where((places >= 0) & (places < domain.fine), places, -1).astype(np.int64)


def _bins(places: IntArray, domain: PublicDomain) -> IntArray:
    return np.where(places < 0, -1, np.searchsorted(np.array(domain.ends), places, side="right"))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Tally:
    """Rows of a release, counted."""

    by_class: IntArray
    counts: Sequence[IntArray]
    """Of each attribute by class and code."""
    sums: Sequence[FloatArray]
    """The same shapes: class weights of the rows added up, where rows are weighed."""
    places: Sequence[IntArray]
    """Of each attribute by place in its cells."""

    def plus(self, other: _Tally) -> _Tally:
        """Return the tally of both."""
        return _Tally(
            by_class=self.by_class + other.by_class,
            counts=[one + more for one, more in zip(self.counts, other.counts, strict=True)],
            sums=[one + more for one, more in zip(self.sums, other.sums, strict=True)],
            places=[one + more for one, more in zip(self.places, other.places, strict=True)],
        )


def _tally(data: Path, facts: PublicFacts, weigh: _Chances | None = None) -> _Tally:
    """Count rows by class, code and place of each attribute; with `weigh` also add up its class weights of each row."""
    return reduce(_Tally.plus, each_part(partial(_tally_of_part, facts=facts, weigh=weigh), parts_of(data)))


def _tally_of_part(part: Path, facts: PublicFacts, weigh: _Chances | None) -> _Tally:
    """Count and add up the rows of one file; see `_tally`."""
    classes = facts.n_classes
    counts = [np.zeros((classes, attribute.domain.size), dtype=np.int64) for attribute in facts.attributes]
    sums = [np.zeros((classes, attribute.domain.size)) for attribute in facts.attributes]
    finer = [_cells_of_places(one, facts) for one in facts.attributes]
    in_places = [np.zeros(0 if cells is None else cells.size, dtype=np.int64) for cells in finer]
    by_class = np.zeros(classes, dtype=np.int64)
    for labels, codes, places, shown in _batches(part, facts, () if weigh is None else weigh.rules.columns):
        by_class += np.bincount(labels, minlength=classes)
        weights = None if weigh is None else weigh(codes, shown)
        for at, own in enumerate(codes):
            size = facts.attributes[at].domain.size
            counts[at] += np.bincount(labels * size + own, minlength=classes * size).reshape(classes, size)
            if in_places[at].size:
                in_places[at] += np.bincount(places[at], minlength=in_places[at].size)
            for c in range(classes if weights is not None else 0):
                sums[at][c] += np.bincount(own, weights=weights[:, c], minlength=size)  # type: ignore[index]
    return _Tally(by_class=by_class, counts=counts, sums=sums, places=in_places)


def _in_cells(tally: _Tally, facts: PublicFacts, ruled: set[str]) -> Iterator[_Compared]:
    """Compare the places of numbers in their cells with equal shares of them; rules change those of their columns."""
    for column, found in zip(facts.attributes, tally.places, strict=True):
        cells = _cells_of_places(column, facts)
        if cells is not None and column.name not in ruled:
            expected = (np.bincount(cells, weights=found) / np.bincount(cells))[cells]
            shape = (1, found.size)
            yield _Compared(
                name=column.name,
                found=found.reshape(shape),
                expected=expected.reshape(shape),
                allowed=np.zeros(shape),
                kind="places_in_cells",
            )


# --- noisy tables ------------------------------------------------------------------------------------------------


def _counted_tables(data: Path, params: Mapping[str, Any], facts: PublicFacts) -> Iterator[_Compared]:
    """Compare the rows of dp-nb: each class as often as its tables together say, each code by its share, up to one."""
    tally = _tally(data, facts)
    by_class, counts = tally.by_class, tally.counts
    tables = [np.array(attribute["counts"], dtype=np.float64) for attribute in params["attributes"]]
    variance = gaussian_variance if facts.is_gaussian(params) else _variance
    spread = [variance(params["class_rate"])]
    spread += [
        variance(attribute["rate"]) * table.shape[1]
        for attribute, table in zip(params["attributes"], tables, strict=True)
    ]
    sums = [np.array(params["class_counts"], dtype=np.float64), *(table.sum(axis=1) for table in tables)]
    weights = 1 / np.array(spread)
    sizes = np.maximum(weights @ np.stack(sums) / weights.sum(), 0.0)
    one_each = np.ones((facts.n_classes, 1))
    yield _Compared(
        name=facts.target.name,
        found=by_class[:, np.newaxis],
        expected=sizes[:, np.newaxis],
        allowed=one_each,
        is_random=False,
    )
    # rows are drawn piece by piece, classes one after another, and each piece of a class is rounded by itself
    together = _rows_together(len(facts.columns))
    pieces = np.minimum(by_class // together + 2, max(-(-int(by_class.sum()) // together), 1))
    thresholded, gaussian = is_thresholded(params), facts.is_gaussian(params)
    shares_of: dict[str, FloatArray] = {facts.target.name: np.eye(facts.n_classes)}
    for at, (column, table) in enumerate(zip(facts.attributes, tables, strict=True)):
        rate = params["attributes"][at]["rate"]
        if thresholded and column.domain.has_missing and is_none([(table[:, -1], rate)], gaussian=gaussian):
            of_values = np.stack([_share(own, size) for own, size in zip(table[:, :-1], sizes, strict=True)])
            shares_of[column.name] = np.column_stack([of_values, np.zeros(len(table))])
        else:
            shares_of[column.name] = np.stack([_share(own, size) for own, size in zip(table, sizes, strict=True)])
    changed = changed_at_most(masks_of(params, facts), by_class.astype(np.float64), shares_of)
    ruled = rules_of(params).columns
    for column, rows in zip(facts.attributes, counts, strict=True):
        expected = shares_of[column.name] * by_class[:, np.newaxis]
        allowed = np.broadcast_to(pieces[:, np.newaxis], rows.shape) + (changed if column.name in ruled else 0.0)
        yield _Compared(name=column.name, found=rows, expected=expected, allowed=allowed, is_random=False)
    yield from _in_cells(tally, facts, ruled)


def _rows_together(n_columns: int) -> int:
    """Return the number of rows of so many columns that a release draws together."""
    return max(1, min(_PIECE_ROWS, _PIECE_CELLS // n_columns))


def _variance(rate: int) -> float:
    loss = rate / 2**52
    return 2 * math.exp(-loss) / math.expm1(-loss) ** 2


def _share(counts: FloatArray, size: float) -> FloatArray:
    """Return the distribution nearest to counts over their class size: all moved alike, and cut off at 0."""
    if size <= 0:
        return np.full(counts.shape, 1 / counts.size)
    shares = np.sort(counts / size)[::-1]
    surplus = (np.cumsum(shares) - 1) / np.arange(1, shares.size + 1)
    last = int(np.flatnonzero(shares > surplus)[-1])
    moved = np.maximum(counts / size - surplus[last], 0.0)
    return np.asarray(moved / moved.sum())


# --- mixtures ---------------------------------------------------------------------------------------------------------


def _rows_of_mixtures(data: Path, params: Mapping[str, Any], facts: PublicFacts) -> Iterator[_Compared]:
    """Compare rows with the mixture they are drawn from: each class exactly, each value by what rounding allows."""
    split = split_facts(params, facts)
    tally = _tally(data, split)
    by_class, counts = tally.by_class, tally.counts
    rows = np.array([own["rows"] for own in params["mixtures"]], dtype=np.float64)
    exact = np.zeros((rows.size, 1))
    name = split.target.name or "all rows"
    yield _Compared(
        name=name, found=by_class[:, np.newaxis], expected=rows[:, np.newaxis], allowed=exact, is_random=False
    )
    ruled, changed = rules_of(params).columns, _changed_of_mixtures(params, split, facts)
    for column, found, (expected, allowed) in zip(
        split.attributes, counts, expected_values(params, split, _rows_together(len(facts.columns))), strict=True
    ):
        allowed = allowed + (changed if column.name in ruled else 0.0)
        yield _Compared(name=column.name, found=found, expected=expected, allowed=allowed, is_random=False)
    yield from _in_cells(tally, split, ruled)


def _changed_of_mixtures(params: Mapping[str, Any], split: PublicFacts, facts: PublicFacts) -> float:
    """Return a bound on the rows of the mixtures that break a public rule, but for a chance."""
    masks = masks_of(params, facts)
    if not masks:
        return 0.0
    ends = np.cumsum([column.domain.size for column in split.attributes])
    rows, every, classes = [], [], []
    for at, own in enumerate(params["mixtures"]):
        weights = np.array(own["weights"], dtype=np.float64)
        rows.append(own["rows"] * weights / weights.sum())
        every.append(np.array(own["shares"], dtype=np.float64).reshape(weights.size, -1))
        classes.append(np.full(weights.size, at))
    parts = np.split(np.concatenate(every), ends[:-1], axis=1)
    shares = {
        column.name: part / part.sum(axis=1, keepdims=True)
        for column, part in zip(split.attributes, parts, strict=True)
    }
    if split.has_target:
        shares[split.target.name] = np.eye(split.n_classes)[np.concatenate(classes)]
    return changed_at_most(masks, np.concatenate(rows), shares)


# --- trees -------------------------------------------------------------------------------------------------------


def _rows_of_leaves(data: Path, params: Mapping[str, Any], facts: PublicFacts) -> Iterator[_Compared]:
    """Compare rows that were drawn evenly from the boxes of leaves, as many as their counts."""
    if any(attribute.split == TAXONOMY for attribute in facts.attributes):
        return
    trees = params["trees"]
    share = 1.0 if params["rows_per_tree"]["kind"] == "disjoint" else 1 / len(trees)
    shapes = [(facts.n_classes, attribute.domain.size) for attribute in facts.attributes]
    expected, allowed = [np.zeros(shape) for shape in shapes], [np.zeros(shape) for shape in shapes]
    for tree in trees:
        leaves = list(leaves_of(tree, facts))
        weights = _weights(leaves, facts) * share
        boxes = [
            np.array([[] if leaf.box is None else leaf.box[at] for leaf in leaves], dtype=np.float64)
            for at in range(len(facts.attributes))
        ]
        weights = weights * np.all([box.any(axis=1) for box in boxes], axis=0)[:, np.newaxis]
        for at, box in enumerate(boxes):
            if facts.attributes[at].domain.has_missing:  # drawn where a leaf has nothing else
                box[:, -1] *= ~box[:, :-1].any(axis=1)
            evenly = box / np.maximum(box.sum(axis=1, keepdims=True), 1)
            expected[at] += weights.T @ evenly
            allowed[at] += (weights > 0).astype(np.float64).T @ evenly
    for column, rows, mean, slack in zip(facts.attributes, _tally(data, facts).counts, expected, allowed, strict=True):
        yield _Compared(name=column.name, found=rows, expected=mean, allowed=slack)


def _weights(leaves: Sequence[PublishedLeaf], facts: PublicFacts) -> FloatArray:
    """Return the number of rows of each class that the leaves of a tree represent, shape (n_leaves, n_classes)."""
    out = np.zeros((len(leaves), facts.n_classes))
    for at, leaf in enumerate(leaves):
        if leaf.counts is not None:
            out[at] = leaf.counts
        elif leaf.label is not None and leaf.box is not None:  # pragma: no branch - no taxonomy comes here
            out[at, leaf.label] = _ROWS_WITHOUT_COUNTS * math.prod(float(box.mean()) for box in leaf.box)
    total = float(out.sum())
    if total <= 0:
        return np.zeros_like(out)
    flat = np.sort(out.reshape(-1))[::-1]
    surplus = (np.cumsum(flat) - total) / np.arange(1, flat.size + 1)
    last = int(np.flatnonzero(flat > surplus)[-1])
    return np.asarray(np.maximum(out - surplus[last], 0.0))


def _cells_check(data: Path, params: Mapping[str, Any], facts: PublicFacts) -> Check:
    """Compare generalized cells and their counts with the leaves: the same lines, in any order."""
    ordered = [attribute for attribute in facts.attributes if attribute.split != TAXONOMY]
    expected: Counter[tuple[Any, ...]] = Counter()
    for tree in params["trees"]:
        for leaf in leaves_of(tree, facts):
            words = [
                _words(attribute, box)
                for attribute, box in zip(facts.attributes, leaf.box or [None] * len(facts.attributes), strict=True)
                if attribute.split != TAXONOMY
            ]
            for c, label in enumerate(facts.target.domain.labels()):
                if leaf.counts is not None:
                    expected[(*words, label, leaf.counts[c])] += 1
                elif leaf.label == c:
                    expected[(*words, label, None)] += 1
    below_groups = any(attribute.split == TAXONOMY for attribute in facts.attributes)
    names = [*(attribute.name for attribute in ordered if not below_groups), facts.target.name, "count"]
    if below_groups:  # boxes below a group are not followed: classes and counts alone
        expected = Counter({key[-2:]: 0 for key in expected}) + _last_two(expected)
    table = read_rows(data, names).to_pydict()
    observed = Counter(zip(*(table[name] for name in names), strict=True))
    wrong = sum(((expected - observed) + (observed - expected)).values())
    return Check(name="cells_from_model", passed=wrong == 0, observed=wrong, required=0)


def _last_two(lines: Counter[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    out: Counter[tuple[Any, ...]] = Counter()
    for key, times in lines.items():
        out[key[-2:]] += times
    return out


def _words(column: PublicColumn, box: BoolArray | None) -> str | None:
    """Return the codes of a cell as the table has them."""
    if box is None:
        return None
    if box.all():
        return "*"
    if not box.any():
        return "none"
    domain = column.domain
    if domain.bounds is None:
        return "|".join(
            "missing" if label is None else label for label, own in zip(domain.labels(), box, strict=True) if own
        )
    parts = []
    inside = np.flatnonzero(box[: domain.cells])
    if inside.size:
        edges = domain.grid.edges
        for run in np.split(inside, np.flatnonzero(np.diff(inside) > 1) + 1):
            closing = "]" if run[-1] == domain.cells - 1 else ")"
            parts.append(f"[{edges[run[0]]:g}, {edges[run[-1] + 1]:g}{closing}")
    return "|".join([*parts, *(["missing"] if domain.has_missing and box[-1] else [])])


# --- scores ------------------------------------------------------------------------------------------------------


def _labels_by_scores(data: Path, params: Mapping[str, Any], facts: PublicFacts) -> Iterator[_Compared | Check]:
    """Compare the classes of rows with the probabilities that scores give them, and missing cells with their counts."""
    scores = params["scores"]
    regions = np.array(region_of_nodes(params["trees"][0], scores["regions"]), dtype=np.int64)
    leaves = [np.array(table, dtype=np.int64) for table in scores["leaves"]]
    tables = [
        np.array([attribute[at] for attribute in scores["attributes"]], dtype=np.int64)
        for at in range(len(facts.attributes))
    ]
    rules = ClassRules.of(params, facts)
    chances = _Chances(trees=params["trees"], facts=facts, regions=regions, leaves=leaves, tables=tables, rules=rules)
    tally = _tally(data, facts, chances)
    for column, rows, mean in zip(facts.attributes, tally.counts, tally.sums, strict=True):
        yield _Compared(name=column.name, found=rows, expected=mean, allowed=np.zeros(rows.shape))
    yield from _in_cells(tally, facts, rules_of(params).columns)
    missing = {column.name: int(rows[:, -1].sum()) for column, rows in zip(facts.attributes, tally.counts, strict=True)}
    yield from forest_checks(params, facts, missing)
    if facts.target.domain.fine:
        yield _numbers_in_bins(data, params["target"]["histogram"], facts, rules)


def _numbers_in_bins(data: Path, histogram: Mapping[str, Any], facts: PublicFacts, rules: ClassRules) -> _Compared:
    """Compare the numbers of a target within their bins with the published histogram of it.

    Rows that may have a part of their bin alone are left out: a public rule is about them.
    """
    domain = facts.target.domain
    found: IntArray = np.sum(each_part(partial(_places_of_part, rules=rules), parts_of(data)), axis=0)
    rows, expected = rows_of_cells(histogram["counts"][: domain.fine], histogram["rate"]), np.zeros(domain.fine)
    for first, last in itertools.pairwise((0, *domain.ends)):
        own = rows[first:last] if rows[first:last].sum() > 0 else np.ones(last - first)
        expected[first:last] = found[first:last].sum() * own / own.sum()
    shape = (1, domain.fine)
    return _Compared(
        name=facts.target.name,
        found=found.reshape(shape),
        expected=expected.reshape(shape),
        allowed=np.zeros(shape),
    )


def _places_of_part(part: Path, rules: ClassRules) -> IntArray:
    """Count the cells of the grid of a target that the numbers of one file are in, shape (fine cells,)."""
    target = rules.target
    found = np.zeros(target.domain.fine, dtype=np.int64)
    for batch in iter_batches(part, [target.name, *rules.columns], batch_rows=_BATCH_ROWS):
        free = pa.array(~rules.forbidden(batch).any(axis=1)) if rules.rules else None
        shown = batch.column(target.name) if free is None else batch.column(target.name).filter(free)
        places = _places(pc.drop_null(shown).to_numpy(zero_copy_only=False), target.domain)
        found += np.bincount(places[places >= 0], minlength=target.domain.fine)
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class _Chances:
    """Probabilities of the classes that published scores give rows: a function of the codes of the rows alone."""

    trees: Sequence[Sequence[Mapping[str, Any]]]
    facts: PublicFacts
    regions: IntArray
    """Region of each node of the first tree."""
    leaves: Sequence[IntArray]
    """Scores of the nodes of each tree, shape (n_nodes, n_classes)."""
    tables: Sequence[IntArray]
    """Scores of the codes of each attribute in each region, shape (n_regions, codes, n_classes)."""
    rules: ClassRules
    """The public rules that name the target."""

    def __call__(self, codes: list[IntArray], shown: pa.RecordBatch) -> FloatArray:
        """Return the probabilities of rows, of which a rule reads what they show, shape (n_rows, n_classes)."""
        places = [_leaf_of_rows(tree, self.facts, codes) for tree in self.trees]
        region = self.regions[places[0]]
        total = sum((table[place] for table, place in zip(self.leaves, places, strict=True)), np.zeros(()))
        total = total + sum((table[region, own] for table, own in zip(self.tables, codes, strict=True)), np.zeros(()))
        total = np.asarray(total * _SCORE_UNIT, dtype=np.float64)
        raised = np.exp(total - total.max(axis=1, keepdims=True))
        if self.rules.rules:
            raised = np.where(self.rules.forbidden_classes(shown), 0.0, raised)
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _leaf_of_rows(tree: Sequence[Mapping[str, Any]], facts: PublicFacts, codes: list[IntArray]) -> IntArray:
    """Return the node that each row ends in, shape (n_rows,)."""
    names = {attribute.name: at for at, attribute in enumerate(facts.attributes)}
    place = np.zeros(codes[0].size if codes else 0, dtype=np.int64)
    for number, node in enumerate(tree):  # children come after their parents
        if "children" not in node:
            continue
        here = np.flatnonzero(place == number)
        at = names[node["attribute"]]
        children = np.array(node["children"], dtype=np.int64)
        place[here] = children[facts.attributes[at].goes_to(int(node.get("at", 0)))[codes[at][here]]]
    return place
