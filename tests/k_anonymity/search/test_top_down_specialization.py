"""A column on its way from dropped to full detail: one group at the start, every atom its own at the end.

Top-down specialization: the requirements hold, order does not matter, and it finds what was planted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.domains.coded_columns import UNLABELLED, CodedColumn
from anonkit.k_anonymity.search.equivalence import (
    AtLeastK,
    DistinctL,
    EntropyL,
    Partition,
    Requirement,
    TCloseness,
    released_partition,
)
from anonkit.k_anonymity.search.greedy_selection import suppressed_rows
from anonkit.k_anonymity.search.hierarchy_levels import Ladder, automatic_ladder, full_detail, tree_ladder, width_ladder
from anonkit.k_anonymity.search.importance import LabelledRows, PermutationImportance
from anonkit.k_anonymity.search.out_of_sample_predictions import ForestSize
from anonkit.k_anonymity.search.top_down_specialization import (
    CutColumn,
    DropReason,
    LadderColumn,
    Specialization,
    refinable_column,
    specialize,
)
from tests.conftest import USUAL_EIGHT
from tests.k_anonymity.search.coded_tables import coded, holds, requirements, tables


@st.composite
def _problems(draw: st.DrawFn) -> tuple[list[CodedColumn], np.ndarray, dict[str, float], list[Requirement], int, dict]:
    """Draw a table, class probabilities of some rows, importances, requirements, a limit and some ladders."""
    table = draw(tables())
    n_rows = table[0].codes.size
    n_classes = draw(st.sampled_from([0, 2, 3]))
    shares = st.lists(st.integers(1, 9), min_size=n_classes, max_size=n_classes)
    raw = np.array([draw(shares) for _ in range(n_rows)], dtype=float).reshape(n_rows, n_classes)
    probabilities = raw / np.maximum(raw.sum(axis=1, keepdims=True), 1)
    probabilities[[not draw(st.booleans()) for _ in range(n_rows)]] = np.nan
    importance = {column.name: float(draw(st.integers(-2, 5))) for column in table}
    makers = {column.name: draw(st.sampled_from([None, full_detail, automatic_ladder])) for column in table}
    ladders = {c.name: maker(c) for c in table if (maker := makers[c.name]) is not None}
    return table, probabilities, importance, draw(requirements(n_rows)), draw(st.integers(0, n_rows // 3)), ladders


def _released(table: list[CodedColumn], result: Specialization) -> list[np.ndarray]:
    groups = ((column, result.groups[column.name]) for column in table)
    return [of_code[column.codes] for column, of_code in groups if of_code is not None]


@settings(max_examples=150)
@given(_problems())
def test_what_is_released_meets_everything_asked(problem: Any) -> None:
    """The rows kept meet the requirements by definition; if one class of all rows does, within the limit."""
    table, probabilities, importance, asked, limit, ladders = problem
    result = specialize(table, probabilities, importance, asked, limit, ladders)
    assert holds(_released(table, result), ~result.suppressed, asked)
    reachable = not suppressed_rows(released_partition(table, dict.fromkeys(ladders | result.groups)), asked).any()
    assert not reachable or result.suppressed.sum() <= limit
    assert reachable or result.suppressed.all()


@given(_problems(), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_does_not_matter(problem: Any, shuffle: Any) -> None:
    """Shuffled rows and columns give the same groups, the same rows and the same steps."""
    table, probabilities, importance, asked, limit, ladders = problem
    order = list(range(table[0].codes.size))
    shuffle.shuffle(order)
    rows = np.array(order)
    mixed = [CodedColumn(name=c.name, codes=c.codes[rows], values=c.values, ordered=c.ordered) for c in table[::-1]]
    straight = specialize(table, probabilities, importance, asked, limit, ladders)
    again = specialize(mixed, probabilities[rows], importance, [one.at(rows) for one in asked], limit, ladders)
    assert straight.steps == again.steps
    assert straight.suppressed[rows].tolist() == again.suppressed.tolist()
    for name, groups in straight.groups.items():
        other = again.groups[name]
        assert (None if groups is None else groups.tolist()) == (None if other is None else other.tolist())


@given(_problems(), st.integers(2, 4))
def test_rows_that_guide_nothing_move_nothing(problem: Any, k: int) -> None:
    """A copy of every row whose label is hidden, twice the k and the limit: the same groups, at the same worth."""
    table, probabilities, importance, _, limit, ladders = problem
    alone = specialize(table, probabilities, importance, [AtLeastK(k)], limit, ladders)
    twice = [replace(column, codes=np.tile(column.codes, 2)) for column in table]
    hidden = np.full(probabilities.shape, np.nan)
    doubled = specialize(
        twice, np.concatenate([probabilities, hidden]), importance, [AtLeastK(2 * k)], 2 * limit, ladders
    )
    assert doubled.suppressed.tolist() == np.tile(alone.suppressed, 2).tolist()
    assert doubled.explained == alone.explained
    for name, groups in alone.groups.items():
        other = doubled.groups[name]
        assert (None if groups is None else groups.tolist()) == (None if other is None else other.tolist())


@given(_problems())
def test_groups_are_numbered_intervals_or_nodes(problem: Any) -> None:
    """Groups are 0, 1, … by smallest code; ordered columns without a ladder get intervals, ladders their nodes."""
    table, probabilities, importance, asked, limit, ladders = problem
    result = specialize(table, probabilities, importance, asked, limit, ladders)
    for column in table:
        groups = result.groups[column.name]
        assert (groups is None) == (column.name in result.dropped)
        if groups is None:
            continue
        assert [int(np.flatnonzero(groups == g)[0]) for g in range(groups.max() + 1)] == sorted(
            {groups.tolist().index(g) for g in groups.tolist()}
        )
        if column.name in ladders:
            nodes = {frozenset(np.flatnonzero(lv == g).tolist()) for lv in ladders[column.name].levels for g in lv}
            assert {frozenset(np.flatnonzero(groups == g).tolist()) for g in groups} <= nodes
        elif column.ordered:
            assert (np.diff(groups) >= 0).all()


def _guided(columns: list[CodedColumn], labels: np.ndarray) -> tuple[np.ndarray, dict[str, float]]:
    evidence = LabelledRows(columns, labels, size=ForestSize(trees=40))
    return evidence.class_probabilities(), dict(PermutationImportance().score(evidence).by_column)


def _groups(result: Specialization, name: str) -> list[int]:
    groups = result.groups[name]
    assert groups is not None
    return groups.tolist()


def test_a_planted_threshold_and_a_planted_set_of_categories_are_found() -> None:
    """Label: x above 40 and c among three of eight; with a large k little but these two cuts fits."""
    random = np.random.default_rng(0)
    x, c, noise = random.integers(0, 100, 3000), random.integers(0, 8, 3000), random.integers(0, 50, 3000)
    table = [coded("x", x, size=100, ordered=True), coded("c", c, size=8), coded("noise", noise, size=50)]
    labels = ((x > 40) & np.isin(c, [1, 4, 6])).astype(np.int64)
    result = specialize(table, *_guided(table, labels), [AtLeastK(400)], 0)
    assert result.groups["noise"] is None
    assert {code for code, group in enumerate(_groups(result, "c")) if group == _groups(result, "c")[1]} == {1, 4, 6}
    cuts = np.flatnonzero(np.diff(_groups(result, "x")))
    assert np.abs(cuts - 40).min() <= 1
    assert result.explained > 0.9
    assert result.dropped["noise"].reason is DropReason.SUPPRESSION


def test_an_interaction_without_main_effects_is_found() -> None:
    """Neither column is informative alone, so no first cut gains; importance says where to begin."""
    random = np.random.default_rng(0)
    a, b, x = (random.integers(0, 2, 1000) for _ in range(3))
    table = [coded("a", a), coded("b", b), coded("x", x)]
    result = specialize(table, *_guided(table, a ^ b), [AtLeastK(200)], 0)
    assert result.groups["x"] is None
    assert result.explained > 0.9


def test_detail_that_costs_nothing_is_kept_without_labels() -> None:
    """With nothing to guide, columns are refined in order of importance as far as k allows and no row goes."""
    random = np.random.default_rng(0)
    table = [coded(name, random.integers(0, 8, 400), size=8) for name in "abc"]
    result = specialize(table, np.empty((400, 0)), {"b": 2.0, "c": 1.0}, [AtLeastK(5)], 40)
    assert _groups(result, "b") == list(range(8))
    assert result.groups["c"] is not None
    assert result.groups["a"] is None
    assert not result.suppressed.any()


def test_full_detail_is_reached_beyond_the_grid_where_it_is_free() -> None:
    """300 numbers are searched as 64 ranges, but all are released when every one has k rows."""
    table = [coded("n", np.repeat(np.arange(300), 5), ordered=True)]
    result = specialize(table, np.empty((1500, 0)), {}, [AtLeastK(5)], 0)
    assert _groups(result, "n") == list(range(300))
    coarser = specialize(table, np.empty((1500, 0)), {}, [AtLeastK(6)], 0)
    assert 32 <= max(_groups(coarser, "n")) < 150


def test_a_value_as_common_as_many_ranges_does_not_hide_the_others() -> None:
    """Nine rows in ten are 0; the rest is still cut where the label changes."""
    random = np.random.default_rng(0)
    x = np.where(random.random(5000) < 0.9, 0, random.integers(1, 400, 5000))
    labels = ((x > 50) & (x < 60) | (x > 300)).astype(np.int64)
    table = [coded("x", x, size=400, ordered=True)]
    result = specialize(table, *_guided(table, labels), [AtLeastK(5)], 0)
    cuts = set(np.flatnonzero(np.diff(_groups(result, "x"))).tolist())
    assert min(abs(cut - 50) for cut in cuts) <= 8
    assert min(abs(cut - 300) for cut in cuts) <= 8


def test_suppression_is_spent_only_within_the_limit_and_only_for_a_gain() -> None:
    """Without a budget no row goes; with one, rows go for informative detail, never for noise alone."""
    random = np.random.default_rng(0)
    x, noise = random.integers(0, 40, 2000), random.integers(0, 300, 2000)
    table = [coded("x", x, size=40, ordered=True), coded("noise", noise, size=300)]
    guide = _guided(table, (x > 20).astype(np.int64))
    assert specialize(table, *guide, [AtLeastK(20)], 0).suppressed.sum() == 0
    spent = specialize(table, *guide, [AtLeastK(20)], 1000)
    assert spent.suppressed.sum() < 100
    assert sum(step.suppressed for step in spent.steps) == spent.suppressed.sum()


def test_declared_ladders_bound_the_groups() -> None:
    """Widths and trees are followed; `full_detail` keeps a column as it is or drops it."""
    random = np.random.default_rng(0)
    age, place = random.integers(0, 80, 2000), random.integers(0, 6, 2000)
    table = [coded("age", age, size=80, ordered=True), coded("place", place, size=6)]
    tree = [(f"v{code}", f"region {code // 3}", "anywhere") for code in range(6)]
    ladders: dict[str, Ladder] = {
        "age": width_ladder(table[0], [10, 20, 40]),
        "place": tree_ladder(table[1], tree),
    }
    guide = _guided(table, ((age >= 40) & (place < 3)).astype(np.int64))
    result = specialize(table, *guide, [AtLeastK(400)], 0, ladders)
    assert _groups(result, "age") == [0] * 40 + [1] * 40
    assert _groups(result, "place") == [0, 0, 0, 1, 1, 1]
    whole = specialize(table, *guide, [AtLeastK(400)], 0, {column.name: full_detail(column) for column in table})
    assert all(groups is None for groups in whole.groups.values())


def test_more_than_two_classes_guide_together() -> None:
    """Four classes that two columns determine are distinguished in the release."""
    random = np.random.default_rng(0)
    a, b, noise = random.integers(0, 6, 2000), random.integers(0, 6, 2000), random.integers(0, 30, 2000)
    table = [coded("a", a, size=6), coded("b", b, size=6, ordered=True), coded("noise", noise, size=30)]
    result = specialize(table, *_guided(table, (a >= 3) * 2 + (b >= 3)), [AtLeastK(300)], 0)
    assert (_groups(result, "a"), _groups(result, "b")) == ([0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1])


def test_diversity_keeps_classes_mixed_where_k_alone_makes_them_pure() -> None:
    """The guide wants classes pure in the target; l-diversity and t-closeness on the target forbid it."""
    random = np.random.default_rng(0)
    x = random.integers(0, 50, 3000)
    labels = (random.random(3000) < np.where(x > 25, 0.97, 0.03)).astype(np.int64)
    table = [coded("x", x, size=50, ordered=True)]
    guide = _guided(table, labels)

    def worst_share(*asked: Requirement) -> float:
        result = specialize(table, *guide, [AtLeastK(10), *asked], 0)
        partition = released_partition(table, result.groups)
        return float(max(labels[partition.classes == number].mean() for number in range(partition.n_classes)))

    assert worst_share() == 1.0
    assert worst_share(DistinctL(labels, 2)) < 1.0
    assert worst_share(EntropyL(labels, 1.5)) < 0.9
    assert worst_share(TCloseness(labels, 0.2)) < 0.75


def test_steps_are_taken_back_until_t_closeness_holds_on_the_whole_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """A count at the end that exceeds the limit undoes the last steps, and the reasons are written anew."""
    from anonkit.k_anonymity.search import top_down_specialization as specialization

    table = [coded("a", np.repeat([0, 1], 20)), coded("b", np.tile([0, 1], 20))]
    once = specialize(table, np.empty((40, 0)), {"a": 1.0}, [AtLeastK(5)], 0)
    assert len(once.steps) == 2

    def stricter(partition: Partition, asked: object) -> np.ndarray:
        return np.full(partition.classes.size, partition.n_classes > 2)

    monkeypatch.setattr(specialization, "suppressed_rows", stricter)
    result = specialize(table, np.empty((40, 0)), {"a": 1.0}, [AtLeastK(5)], 0)
    assert [step.column for step in result.steps] == ["a"]
    assert (result.groups["b"], result.suppressed.any()) == (None, False)
    assert result.dropped["b"].suppressed == 0


def test_why_a_column_is_dropped() -> None:
    """A constant column, one whose mildest cut costs too many rows, one not worth its rows."""
    random = np.random.default_rng(0)
    x, rare = random.integers(0, 2, 1000), (np.arange(1000) < 8).astype(int)
    table = [coded("constant", np.zeros(1000)), coded("x", x), coded("rare", rare)]
    guide = _guided(table, x)
    result = specialize(table, *guide, [AtLeastK(10)], 4)
    assert result.dropped["constant"].reason is DropReason.CONSTANT
    assert result.dropped["rare"].reason is DropReason.SUPPRESSION
    assert result.dropped["rare"].suppressed == 8
    assert result.dropped["rare"].available == 4
    assert specialize(table, *guide, [AtLeastK(10)], 50).dropped["rare"].reason is DropReason.UNINFORMATIVE


@pytest.mark.parametrize("n_rows", [0, 1, 2])
def test_tiny_tables(n_rows: int) -> None:
    """No row, one row, two rows: nothing released or one class, and no failure."""
    table = [coded("a", np.arange(n_rows), size=2), coded("b", np.zeros(n_rows), size=1, missing=True)]
    labels = np.arange(n_rows)
    result = specialize(table, *_guided(table, labels), [AtLeastK(2)], 0)
    assert result.groups == {"a": None, "b": None}
    assert result.suppressed.tolist() == [n_rows < 2] * n_rows


@pytest.mark.slow
@pytest.mark.parametrize(("names", "floors"), [(USUAL_EIGHT, (0.87, 0.87)), (None, (0.88, 0.895))])
def test_utility_on_adult_under_the_held_out_protocol(adult: Any, names: Any, floors: Any) -> None:
    """Half A's labels choose, half B scores the AUC of a forest on the release; k = 10, 0 and 1 % suppressed."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.metrics import roc_auc_score

    from anonkit.engines.local.local_engine import LocalEngine
    from anonkit.k_anonymity.supported_parts import pool_rare
    from anonkit.policy.declaration import Policy

    engine = LocalEngine()
    names = names or [name for name in adult.column_names if name != "income"]
    table = [pool_rare(column, 10) for column in engine.encode(engine.scan(adult, Policy()), names)]
    labels = np.array(adult.column("income").to_pylist()) == ">50K"
    half = np.random.default_rng(11).permutation(labels.size) < labels.size // 2
    evidence = LabelledRows(table, np.where(half, labels, UNLABELLED))
    guide = evidence.class_probabilities(), PermutationImportance().score(evidence).by_column
    for share, floor in zip((0.0, 0.01), floors, strict=True):
        result = specialize(table, *guide, [AtLeastK(10)], int(share * labels.size))
        cells = [np.where(result.suppressed, -1, groups) for groups in _released(table, result)]
        bits = np.hstack([cell[:, None] == np.unique(cell) for cell in cells]).astype(np.float32)
        forest = RandomForestClassifier(100, min_samples_leaf=5, n_jobs=-1, random_state=0).fit(
            bits[half], labels[half]
        )
        assert roc_auc_score(labels[~half], forest.predict_proba(bits[~half])[:, 1]) >= floor
        assert result.suppressed.mean() <= share


def test_no_column_is_refined_only_to_set_rows_apart_that_are_left_out() -> None:
    """Three rows of an extreme guide have values of their own in a column without other information: they stay."""
    rng = np.random.default_rng(0)
    useful = rng.integers(0, 2, 600)
    outlying = np.arange(600) < 3
    table = [coded("outlying", outlying.astype(int)), coded("useful", useful)]
    guide = np.where(outlying, 0.99, 0.3 + 0.05 * useful)
    result = specialize(
        table, np.stack([1 - guide, guide], axis=1), {"outlying": 1.0, "useful": 1.0}, [AtLeastK(10)], 6
    )
    assert result.groups["outlying"] is None
    assert result.groups["useful"] is not None
    assert result.suppressed.sum() == 0


COLUMN = CodedColumn(name="a", codes=np.array([0, 1, 2, 3, 3], dtype=np.int32), values=[1, 2, 5, 9], ordered=True)
ATOMS = np.arange(4, dtype=np.int32)


@pytest.mark.parametrize("with_ladder", [False, True])
def test_a_column_begins_dropped_and_ends_with_every_atom_apart(with_ladder: bool) -> None:
    """By cuts or along a hierarchy."""
    column = refinable_column(COLUMN, ATOMS, automatic_ladder(COLUMN) if with_ladder else None)
    assert isinstance(column, LadderColumn if with_ladder else CutColumn)
    assert column.n_groups == 1
    assert not column.is_finest
    finest = column.finest()
    assert finest.n_groups == 4
    assert finest.is_finest
    assert column.n_groups == 1  # what it was is left as it was


def test_a_column_of_one_value_has_nothing_to_refine() -> None:
    """It is the finest from the start."""
    constant = CodedColumn(name="a", codes=np.zeros(3, dtype=np.int32), values=[1], ordered=True)
    assert refinable_column(constant, np.zeros(1, dtype=np.int32), None).is_finest
