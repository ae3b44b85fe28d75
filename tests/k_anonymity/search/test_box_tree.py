"""Workload-aware Mondrian: a tree of boxes for rows seen and unseen."""

from __future__ import annotations

import itertools
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.domains.coded_columns import UNLABELLED, CodedColumn
from anonkit.errors import GuaranteeError, ParameterError
from anonkit.k_anonymity.search.box_tree import BoxTree, grow_boxes
from anonkit.k_anonymity.search.equivalence import AtLeastK, DistinctL
from anonkit.k_anonymity.search.hierarchy_levels import Ladder, number_groups

SECRET = "Zaphod"


def _column(
    name: str, codes: np.ndarray, *, ordered: bool, missing: bool = False, size: int | None = None
) -> CodedColumn:
    size = size or int(codes.max(initial=0)) + 1
    values: list[object] = [float(at) if ordered else f"{SECRET}{at}" for at in range(size - missing)]
    return CodedColumn(name=name, codes=codes.astype(np.int32), values=[*values, *([None] * missing)], ordered=ordered)


def _table(seed: int, n_rows: int = 80, n_classes: int = 2) -> tuple[list[CodedColumn], np.ndarray]:
    """Two numbers, one with missing values, and two categories; codes that nobody has; some rows without a label."""
    rng = np.random.default_rng(seed)
    columns = [
        _column("age", rng.integers(0, 7, n_rows), ordered=True, size=8),
        _column("hours", rng.integers(1, 5, n_rows), ordered=True, missing=True, size=5),
        _column("job", rng.choice([0, 1, 2, 4], n_rows), ordered=False, size=5),
        _column("place", rng.integers(0, 3, n_rows), ordered=False, missing=True, size=3),
    ]
    labels = (columns[0].codes + columns[2].codes + rng.integers(0, 4, n_rows)) * n_classes // 14
    return columns, np.where(rng.random(n_rows) < 0.2, UNLABELLED, labels)


def _routed(tree: BoxTree, codes: list[np.ndarray]) -> np.ndarray:
    """Send every row down the tree, one by one."""
    leaves = []
    for row in zip(*codes, strict=True):
        node = 0
        while tree.column[node] >= 0:
            goes_left = row[tree.column[node]] in set(tree.left_codes(node).tolist())
            node = int(tree.left[node]) + (not goes_left)
        leaves.append(tree.leaf[node])
    return np.array(leaves)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 9), st.sampled_from([1, 2, 3]))
def test_the_tree_puts_every_row_where_it_was_grown(seed: int, k: int, n_classes: int) -> None:
    """Assigning the rows the tree was grown from gives their boxes, each of at least k rows."""
    columns, labels = _table(seed, n_classes=n_classes)
    tree, partition = grow_boxes(columns, labels, [AtLeastK(k)])
    codes = [column.codes for column in columns]
    assert (tree.assign(codes) == partition.classes).all()
    assert (_routed(tree, codes) == partition.classes).all()
    assert partition.sizes().min() >= k
    assert partition.n_classes == tree.n_leaves


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 9))
def test_boxes_are_disjoint_and_cover_every_combination_of_codes(seed: int, k: int) -> None:
    """Exactly one box allows a combination, seen or not, and it is the one the tree assigns."""
    columns, labels = _table(seed)
    tree, _ = grow_boxes(columns, labels, [AtLeastK(k)])
    allowed, sets = tree.regions()
    every = np.array(list(itertools.product(*(range(column.size) for column in columns)))).T
    inside = np.ones((tree.n_leaves, every.shape[1]), dtype=bool)
    for number, codes in enumerate(every):
        holds = np.array([np.isin(codes, found) for found in sets[number]])
        inside &= holds[allowed[:, number]]
    assert (inside.sum(axis=0) == 1).all()
    assert (inside.argmax(axis=0) == tree.assign(list(every))).all()


@pytest.mark.slow
@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10**6), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_and_the_names_of_units_do_not_matter(seed: int, random: Random) -> None:
    """The same rows in another order, their columns in another order, their units renamed: the same boxes."""
    columns, labels = _table(seed)
    units = np.arange(labels.size) // 2
    secret = np.arange(labels.size) % 3
    _, before = grow_boxes(columns, labels, [AtLeastK(4, units), DistinctL(secret, 2)])
    rows = np.array(random.sample(range(labels.size), labels.size))
    order = random.sample(range(4), 4)
    renamed = np.array(random.sample(range(labels.size), labels.size))[units]
    shuffled = [replace(columns[number], codes=columns[number].codes[rows]) for number in order]
    tree, after = grow_boxes(shuffled, labels[rows], [AtLeastK(4, renamed[rows]), DistinctL(secret[rows], 2)])
    assert (after.classes == before.classes[rows]).all()
    assert (tree.assign([column.codes for column in shuffled]) == after.classes).all()


def test_one_seed_gives_one_tree() -> None:
    """Growing twice gives the same arrays; another seed may not."""
    columns, labels = _table(1)
    first, second = (grow_boxes(columns, labels, [AtLeastK(3)], seed=7)[0] for _ in range(2))
    assert all(
        (getattr(first, name) == getattr(second, name)).all() for name in ("column", "left", "at_most", "listed")
    )


def test_unlabelled_rows_count_for_k() -> None:
    """Rows that guide nothing fill boxes like all others."""
    column = _column("a", np.arange(4).repeat(4), ordered=True)
    labels = np.tile([0, 1, UNLABELLED, UNLABELLED], 4)
    assert grow_boxes([column], labels, [AtLeastK(4)])[1].n_classes == 4


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.sampled_from([2, 3]), st.booleans(), st.booleans())
def test_hidden_rows_move_no_cut(seed: int, k: int, n_classes: int, of_number: bool, declared: bool) -> None:
    """A hidden copy of every row, and twice the k: the boxes are the same, whatever a forest predicts of the copies."""
    columns, labels = _table(seed, n_classes=n_classes)
    numbers = np.where(labels == UNLABELLED, np.nan, labels + 0.5) if of_number else None
    ladders = (
        {"job": Ladder("job", (number_groups(np.arange(5)), number_groups(np.arange(5) // 2)))} if declared else {}
    )
    _, boxes = grow_boxes(columns, labels, [AtLeastK(k)], ladders, numbers=numbers)
    twice = [replace(column, codes=np.tile(column.codes, 2)) for column in columns]
    _, doubled = grow_boxes(
        twice,
        np.append(labels, np.full(labels.size, UNLABELLED)),
        [AtLeastK(2 * k)],
        ladders,
        numbers=None if numbers is None else np.append(numbers, np.full(labels.size, np.nan)),
        hidden=np.arange(2 * labels.size) >= labels.size,
    )
    assert (doubled.classes == np.tile(boxes.classes, 2)).all()


def test_a_table_of_hidden_rows_alone_is_cut_by_its_detail() -> None:
    """Nothing guides, and k counts every row."""
    column = _column("a", np.arange(4).repeat(4), ordered=True)
    _, boxes = grow_boxes([column], np.full(16, UNLABELLED), [AtLeastK(4)], hidden=np.ones(16, dtype=bool))
    assert boxes.n_classes == 4


@pytest.mark.parametrize("n_rows", [0, 1, 4])
def test_fewer_rows_than_k_are_refused_with_counts_only(n_rows: int) -> None:
    """The error states the number of rows, and no value."""
    column = _column("a", np.zeros(n_rows), ordered=False, size=1)
    with pytest.raises(GuaranteeError) as refused:
        grow_boxes([column], np.zeros(n_rows, dtype=np.int64), [AtLeastK(5)])
    assert SECRET not in str(refused.value)
    assert (str(n_rows) if n_rows else "no rows") in str(refused.value)


def test_a_table_that_breaks_a_requirement_as_a_whole_is_refused() -> None:
    """One sensitive value in the whole table is not two in any box."""
    columns, labels = _table(0)
    with pytest.raises(GuaranteeError, match="distinct l-diversity"):
        grow_boxes(columns, labels, [AtLeastK(2), DistinctL(np.zeros(80, dtype=np.int64), 2)])


@pytest.mark.parametrize("labels", [[0] * 40, [UNLABELLED] * 40, [0, 1] * 20], ids=["one class", "no label", "two"])
def test_a_constant_column_is_one_box(labels: list[int]) -> None:
    """If no value distinguishes rows, all rows share the box of everything."""
    columns = [_column(name, np.zeros(40), ordered=name == "a", size=2) for name in "ab"]
    tree, partition = grow_boxes(columns, np.array(labels), [AtLeastK(2)])
    allowed, sets = tree.regions()
    assert partition.n_classes == tree.n_leaves == 1
    assert [found[index].tolist() for found, index in zip(sets, allowed[0], strict=True)] == [[0, 1], [0, 1]]


@pytest.mark.slow
def test_ten_thousand_categories_are_cut_in_a_few_steps() -> None:
    """A column of 10^4 categories is no harder than others."""
    rng = np.random.default_rng(0)
    codes = np.concatenate([np.arange(10**4), rng.zipf(1.3, 10**4) % 10**4])
    columns = [_column("a", codes, ordered=False), _column("b", rng.integers(0, 3, 2 * 10**4), ordered=True)]
    tree, partition = grow_boxes(columns, codes % 7, [AtLeastK(10)], jointly=True)
    assert (tree.assign([column.codes for column in columns]) == partition.classes).all()
    assert partition.sizes().min() >= 10
    assert tree.n_leaves > 500


@pytest.mark.parametrize("code", [-1, 8])
def test_codes_the_tree_was_not_grown_for_are_refused(code: int) -> None:
    """A value without a box is an error, not a guess."""
    columns, labels = _table(0)
    tree, _ = grow_boxes(columns, labels, [AtLeastK(3)])
    with pytest.raises(ParameterError, match="column 0"):
        tree.assign([np.array([code]), *(np.array([0]) for _ in range(3))])


def test_boxes_follow_the_labels() -> None:
    """Of two columns alike in detail, the one that predicts the class is cut, the other stays whole."""
    rng = np.random.default_rng(0)
    useful, useless = rng.integers(0, 2, (2, 400))
    columns = [_column("a", useless, ordered=False), _column("b", useful, ordered=False)]
    tree, _ = grow_boxes(columns, useful, [AtLeastK(150)])
    assert tree.column.tolist() == [1, -1, -1]
