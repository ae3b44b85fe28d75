"""Minimal sample uniques and their scores: the tables of the literature, and brute force."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from anonkit.estimators.minimal_uniques import (
    affordable_size,
    dis_score,
    dis_suda_scores,
    distinction_and_separation,
    minimal_sample_uniques,
)

PRACTICE_GUIDE = ("U U U U R U U U U U", "F F F M F M F M F F", "Si Si Pi Sc Sc Sc Pc Ps Si Si", "E E N E U E N U N N")
"""Residence, gender, education and labour of the ten rows of a practice guide of statistical disclosure control."""

tables = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 3), st.integers(0, 1)), min_size=1, max_size=25
)


def _coded(columns: tuple[str, ...]) -> list[NDArray[np.int32]]:
    return [np.unique(column.split(), return_inverse=True)[1].astype(np.int32) for column in columns]


def _of(rows: list[tuple[int, ...]]) -> list[NDArray[np.int32]]:
    return [np.array(column, np.int32) for column in zip(*rows, strict=True)]


def _ones(number: int) -> NDArray[np.int64]:
    return np.ones(number, np.int64)


def _brute_force(rows: list[tuple[int, ...]], people: list[int], largest: int) -> dict[int, list[tuple[int, ...]]]:
    """Return the minimal sample uniques of each row by looking at every pair of rows for every set of columns."""
    number, found = len(rows[0]), {}
    for at, row in enumerate(rows):
        minimal: list[tuple[int, ...]] = []
        for size in range(1, largest + 1):
            for chosen in combinations(range(number), size):
                if any(set(smaller) <= set(chosen) for smaller in minimal):
                    continue
                alike = [p for other, p in zip(rows, people, strict=True) if all(other[c] == row[c] for c in chosen)]
                if set(alike) == {people[at]}:
                    minimal.append(chosen)
        found[at] = minimal
    return found


def test_the_table_of_the_practice_guide() -> None:
    """Rows 3, 5, 7 and 8 are unique, with the scores that are printed there."""
    found = minimal_sample_uniques(_coded(PRACTICE_GUIDE), _ones(10))
    assert found.scores.tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
    assert [found.of_size(size) for size in (1, 2, 3)] == [4, 5, 0]


def test_dis_suda_of_the_practice_guide() -> None:
    """At one per cent: four unique rows and three pairs."""
    dis = dis_score(4, 3, 0.01)
    assert dis == pytest.approx(0.00668896, abs=6e-9)
    scores = dis_suda_scores(np.array([0.0, 0, 6, 0, 12, 0, 6, 10, 0, 0]), dis, 4)
    assert scores[[2, 4, 6, 7]] == pytest.approx([0.004987, 0.011383, 0.004987, 0.009167], abs=6e-7)
    assert scores[[0, 1, 3, 5, 8, 9]].tolist() == [0] * 6


@given(tables, st.integers(1, 3))
def test_brute_force_finds_the_same(rows: list[tuple[int, ...]], largest: int) -> None:
    """Every minimal sample unique, every score, every column's share."""
    wanted = _brute_force(rows, list(range(len(rows))), largest)
    found = minimal_sample_uniques(_of(rows), _ones(len(rows)), largest=largest)
    assert found.scores.tolist() == [sum(math.factorial(4 - len(s)) for s in wanted[at]) for at in range(len(rows))]
    for size in range(1, largest + 1):
        assert found.of_size(size) == sum(len(s) == size for sets in wanted.values() for s in sets)
    total = sum(math.factorial(4 - len(s)) for sets in wanted.values() for s in sets)
    for column in range(4):
        part = sum(math.factorial(4 - len(s)) for sets in wanted.values() for s in sets if column in s)
        assert found.column_shares[column] == pytest.approx(part / total if total else 0)


@given(tables)
def test_figures_of_every_set(rows: list[tuple[int, ...]]) -> None:
    """Unique rows, distinction and separation are those of counting all rows, though unique rows are left out.

    Only sets that hold columns by which every row is unique are not looked at.
    """
    looked_at = minimal_sample_uniques(_of(rows), _ones(len(rows))).sets
    counted = {}
    for size in (1, 2, 3):
        for chosen in combinations(range(4), size):
            keys = [tuple(row[at] for at in chosen) for row in rows]
            sizes = [keys.count(key) for key in set(keys)]
            counted[chosen] = (sizes.count(1), *distinction_and_separation([(each, 1) for each in sizes]))
    for each in looked_at:
        assert (each.unique_rows, each.distinction, each.separation) == pytest.approx(counted[each.columns])
    skipped = set(counted) - {each.columns for each in looked_at}
    assert all(counted[chosen][0] == len(rows) for chosen in skipped)


@given(tables)
def test_equal_rows_may_be_handed_over_once(rows: list[tuple[int, ...]]) -> None:
    """A row that represents several is counted so."""
    distinct = sorted(set(rows))
    number = np.array([rows.count(row) for row in distinct])
    whole, once = minimal_sample_uniques(_of(rows), _ones(len(rows))), minimal_sample_uniques(_of(distinct), number)
    assert list(whole.sets) == list(once.sets)
    assert whole.column_scores.tolist() == once.column_scores.tolist()
    assert sorted(whole.scores[whole.scores > 0]) == sorted(once.scores[once.scores > 0])


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 3), st.integers(0, 4)), min_size=1))
def test_people_with_several_rows(rows: list[tuple[int, ...]]) -> None:
    """A set of columns makes somebody unique by whose values nobody else has a row."""
    values, people = [row[:3] for row in rows], [row[3] for row in rows]
    wanted = _brute_force(values, people, 3)
    found = minimal_sample_uniques(_of(values), _ones(len(rows)), np.array(people, np.int32))
    assert found.scores.tolist() == [sum(math.factorial(3 - len(s)) for s in wanted[at]) for at in range(len(rows))]


def test_the_sets_of_a_table_of_five_rows() -> None:
    """Distinction and separation of the table that the reference works by hand."""
    sex, state, age = [0, 0, 1, 1, 0], [0, 1, 2, 1, 0], [0, 1, 1, 2, 0]
    assert distinction_and_separation([(3, 1), (2, 1)]) == pytest.approx((0.4, 0.6))
    found = {
        s.columns: (s.distinction, s.separation)
        for s in minimal_sample_uniques([np.array(c, np.int32) for c in (sex, state, age)], _ones(5)).sets
    }
    assert found[(0,)] == pytest.approx((0.4, 0.6))
    assert found[(1,)] == pytest.approx((0.6, 0.8))


def test_nothing_to_tell_apart() -> None:
    """One class: no score, no share; one row: alone by anything."""
    same = minimal_sample_uniques([np.zeros(5, np.int32)] * 2, _ones(5))
    assert not same.scores.any()
    assert same.column_shares.tolist() == [0, 0]
    assert not dis_suda_scores(same.scores, 0.0, 2).any()
    assert dis_score(0, 3, 0.1) == 0
    assert dis_score(3, 0, 1.0) == 1
    single = minimal_sample_uniques([np.zeros(1, np.int32)] * 2, _ones(1))
    assert single.of_size(1) == 2
    assert single.of_size(2) == 0
    assert single.sets[0].separation == 1


def test_many_columns_are_scored_and_their_sets_bounded() -> None:
    """(M - 1)! of 200 columns is no float: shares add up as those of few columns do."""
    rng = np.random.default_rng(2)
    columns = [rng.integers(0, 9, 12).astype(np.int32) for _ in range(200)]
    found = minimal_sample_uniques(columns, np.ones(12, np.int64), largest=1)
    assert np.isfinite(found.scores).all()
    alone = [np.count_nonzero(np.bincount(codes) == 1) for codes in columns]
    assert found.column_shares == pytest.approx(np.array(alone) / sum(alone))
    assert [affordable_size(*of) for of in ((11, 10**6), (300, 600), (300, 10**6), (2, 5), (1, 5))] == [3, 2, 1, 2, 1]
