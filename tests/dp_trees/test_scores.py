"""Scores of splits: their sensitivities by brute force, their values by the textbook."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.dp_trees.scores import (
    ENTROPY,
    GINI,
    INFORMATION_GAIN,
    MAX_CLASS,
    SCORES,
    Score,
    noisy_gain_ratio,
    noisy_information_gain,
    sulq_information,
)


def changes(score: Score, tables: np.ndarray, max_rows: int) -> np.ndarray:
    """Return the change of the score by one more row in the first child, for every table and class of that row."""
    before = score.of(tables, max_rows)
    moved = []
    for label in range(tables.shape[-1]):
        more = tables.copy()
        more[..., 0, label] += 1
        moved.append(score.of(more, max_rows) - before)
    return np.concatenate(moved)


def all_tables(classes: int, most: int) -> np.ndarray:
    """Every table of one child and one that stays as it is."""
    one = np.array(list(itertools.product(range(most + 1), repeat=classes)), dtype=np.int64)
    other = np.tile(np.arange(classes)[::-1], (len(one), 1))
    return np.stack([one, other], axis=1)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize(("classes", "most"), [(2, 40), (3, 12), (4, 5)])
def test_the_width_covers_every_change_of_one_row(name: str, classes: int, most: int) -> None:
    """By brute force over all small tables; the bound on rows is as tight as the tables allow."""
    score, tables = SCORES[name], all_tables(classes, most)
    rows = int(tables.sum(axis=(1, 2)).max()) + 1
    moved = changes(score, tables, rows)
    # what all candidates share does not count: the range of the changes is what a choice pays
    assert moved.max() - moved.min() <= score.width(classes, rows)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("max_rows", [1, 2, 3, 7, 20])
@pytest.mark.parametrize(("classes", "most"), [(2, 40), (3, 12)])
def test_the_width_holds_for_tables_of_more_rows_than_it_is_planned_for(
    name: str, max_rows: int, classes: int, most: int
) -> None:
    """By brute force: up to twenty times the rows, as a table may hold, or a bootstrap of one."""
    score = SCORES[name]
    moved = changes(score, all_tables(classes, most), max_rows)
    assert moved.max() - moved.min() <= score.width(classes, max_rows)


@given(st.lists(st.integers(0, 300), min_size=2, max_size=4), st.integers(1, 1000))
def test_the_entropy_of_a_table_within_the_bound_is_not_capped(counts: list[int], spare: int) -> None:
    """The cap changes nothing where it is not needed."""
    table = np.array([[counts]], dtype=np.int64)
    rows = sum(counts)
    plain = -sum(c * math.log2(c / rows) for c in counts if c)
    assert ENTROPY.of(table, max(1, rows) - 1 + spare)[0] / 256 == pytest.approx(-plain, abs=1 / 256)


@pytest.mark.parametrize("name", SCORES)
@given(
    counts=st.lists(st.integers(0, 1 << 44), min_size=4, max_size=4),
    label=st.integers(0, 1),
    max_rows=st.integers(1, 1 << 28),
)
def test_the_width_holds_for_tables_of_any_size(name: str, counts: list[int], label: int, max_rows: int) -> None:
    """Nothing overflows, and no table is too large: so none has to be refused."""
    score, before = SCORES[name], np.array(counts, dtype=np.int64).reshape(1, 2, 2)
    after = before.copy()
    after[0, 0, label] += 1
    moved = int(score.of(after, max_rows)[0] - score.of(before, max_rows)[0])
    assert abs(moved) <= score.width(2, max_rows)
    assert -(1 << 62) < int(score.of(before, max_rows)[0]) < 1 << 62


@pytest.mark.parametrize("score", [GINI, MAX_CLASS])
@given(counts=st.lists(st.integers(0, 1 << 25), min_size=4, max_size=4), label=st.integers(0, 1))
def test_large_tables_keep_the_sign_and_the_width_exactly(score: Score, counts: list[int], label: int) -> None:
    """Integer arithmetic all the way: a row that comes moves the score one way only, by no more than the width."""
    before = np.array(counts, dtype=np.int64).reshape(1, 2, 2)
    after = before.copy()
    after[0, 0, label] += 1
    moved = int(score.of(after, 1 << 28)[0] - score.of(before, 1 << 28)[0])
    low, high = (-score.width(2, 1 << 28), 0) if score is GINI else (0, 1)
    assert low <= moved <= high


@given(st.lists(st.integers(0, 1 << 26), min_size=2, max_size=2), st.integers(0, 1))
def test_the_entropy_of_large_tables_keeps_its_width(counts: list[int], label: int) -> None:
    """Float rounding is inside the two steps of slack."""
    before = np.array([[counts]], dtype=np.int64)
    after = before.copy()
    after[0, 0, label] += 1
    assert -ENTROPY.width(2, 1 << 27) <= int(ENTROPY.of(after, 1 << 27)[0] - ENTROPY.of(before, 1 << 27)[0]) <= 2


@pytest.mark.parametrize("score", [GINI, MAX_CLASS, ENTROPY])
@given(
    counts=st.lists(st.lists(st.integers(0, 1 << 30), min_size=2, max_size=2), min_size=2, max_size=40),
    label=st.integers(0, 1),
)
def test_a_row_moves_the_score_of_its_child_and_no_rounding_of_others(
    score: Score, counts: list[list[int]], label: int
) -> None:
    """For any number of children and rows the score moves as in a table of that child alone, to the step."""
    before = np.array([counts], dtype=np.int64)
    after = before.copy()
    after[0, 0, label] += 1
    moved = score.of(after, 1 << 27) - score.of(before, 1 << 27)
    alone = score.of(after[:, :1], 1 << 27) - score.of(before[:, :1], 1 << 27)
    assert moved.tolist() == alone.tolist()


def test_the_widths_are_nearly_reached() -> None:
    """No score is noised much more than it must be (information gain is: its paper bounds it by its range)."""
    for score, share in ((MAX_CLASS, 1.0), (GINI, 0.95), (ENTROPY, 0.9)):
        tables = all_tables(2, 80)
        moved = changes(score, tables, 81)
        assert moved.max() - moved.min() >= share * score.width(2, 81)


def test_values_are_those_of_the_textbook() -> None:
    """One split of ten rows, counted by hand."""
    children = np.array([[[4, 0], [2, 4]]])
    entropy = 6 * -(1 / 3 * math.log2(1 / 3) + 2 / 3 * math.log2(2 / 3))
    assert MAX_CLASS.of(children, 10).tolist() == [8]
    assert GINI.of(children, 10)[0] / 256 == pytest.approx(-6 * (1 - 1 / 9 - 4 / 9), abs=1 / 256)
    assert ENTROPY.of(children, 10)[0] / 256 == pytest.approx(-entropy, abs=1 / 256)
    assert INFORMATION_GAIN.of(children, 10)[0] / 256 == pytest.approx(-entropy / 10, abs=1 / 256)
    whole = 10 * -(0.6 * math.log2(0.6) + 0.4 * math.log2(0.4))
    noisy = children[np.newaxis].astype(float)
    assert noisy_information_gain(noisy)[0, 0] == pytest.approx(whole - entropy)
    assert noisy_gain_ratio(noisy)[0, 0] == pytest.approx((whole - entropy) / whole)
    told = np.concatenate([noisy, noisy.sum(axis=-1, keepdims=True)], axis=-1)
    assert sulq_information(told)[0, 0] == pytest.approx(-entropy)


def test_measures_take_any_noise() -> None:
    """Negative and empty counts give numbers, never NaN."""
    noisy = np.random.default_rng(1).integers(-5, 5, (50, 3, 4, 3)).astype(float)
    for measure in (noisy_information_gain, noisy_gain_ratio, sulq_information):
        assert np.isfinite(measure(noisy)).all()
        assert np.isfinite(measure(np.zeros_like(noisy))).all()
