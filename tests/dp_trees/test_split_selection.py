"""Choosing splits: at the planned rates, by the laws of the mechanisms, among the allowed.

Scores of splits: their sensitivities by brute force, their values by the textbook.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from anonkit.dp_trees.split_selection import (
    ENTROPY,
    GINI,
    INFORMATION_GAIN,
    MAX_CLASS,
    SCORES,
    CutThenAttribute,
    JointSelection,
    NoisyCounts,
    Score,
    SplitSelection,
    Tables,
    Terms,
    noisy_gain_ratio,
    noisy_information_gain,
    sulq_information,
)
from anonkit.mechanisms.accounting import draw_units, sensitivity_of
from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.published.statements.noise_statement import EXPONENTIAL, PERMUTE_AND_FLIP
from anonkit.published.tree_model import Split
from anonkit.randomness import Randomness
from tests.dp_trees.tables import attribute
from tests.mechanisms.test_private_selection import law_of_exponential, law_of_permute_and_flip


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
    assert moved.max() - moved.min() <= sensitivity_of(score.query(classes, rows))


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("max_rows", [1, 2, 3, 7, 20])
@pytest.mark.parametrize(("classes", "most"), [(2, 40), (3, 12)])
def test_the_width_holds_for_tables_of_more_rows_than_it_is_planned_for(
    name: str, max_rows: int, classes: int, most: int
) -> None:
    """By brute force: up to twenty times the rows, as a table may hold, or a bootstrap of one."""
    score = SCORES[name]
    moved = changes(score, all_tables(classes, most), max_rows)
    assert moved.max() - moved.min() <= sensitivity_of(score.query(classes, max_rows))


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
    assert abs(moved) <= sensitivity_of(score.query(2, max_rows))
    assert -(1 << 62) < int(score.of(before, max_rows)[0]) < 1 << 62


@pytest.mark.parametrize("score", [GINI, MAX_CLASS])
@given(counts=st.lists(st.integers(0, 1 << 25), min_size=4, max_size=4), label=st.integers(0, 1))
def test_large_tables_keep_the_sign_and_the_width_exactly(score: Score, counts: list[int], label: int) -> None:
    """Integer arithmetic all the way: a row that comes moves the score one way only, by no more than the width."""
    before = np.array(counts, dtype=np.int64).reshape(1, 2, 2)
    after = before.copy()
    after[0, 0, label] += 1
    moved = int(score.of(after, 1 << 28)[0] - score.of(before, 1 << 28)[0])
    low, high = (-sensitivity_of(score.query(2, 1 << 28)), 0) if score is GINI else (0, 1)
    assert low <= moved <= high


@given(st.lists(st.integers(0, 1 << 26), min_size=2, max_size=2), st.integers(0, 1))
def test_the_entropy_of_large_tables_keeps_its_width(counts: list[int], label: int) -> None:
    """Float rounding is inside the two steps of slack."""
    before = np.array([[counts]], dtype=np.int64)
    after = before.copy()
    after[0, 0, label] += 1
    moved = int(ENTROPY.of(after, 1 << 27)[0] - ENTROPY.of(before, 1 << 27)[0])
    assert -sensitivity_of(ENTROPY.query(2, 1 << 27)) <= moved <= 2


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
        assert moved.max() - moved.min() >= share * sensitivity_of(score.query(2, 81))


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


ONE = 1 << 52
CHOICES = 12_000
ATTRIBUTES = (attribute("a", 3), attribute("n", 4, Split.CUT))
TERMS = Terms(candidates=2, fewest_numbers=1, numbers=1, n_classes=2, max_rows=100)
A = np.array([[3, 0], [1, 2], [0, 1]])
N = np.array([[2, 0], [2, 0], [0, 2], [0, 1]])


def tables(nodes: int, *, second: bool = True) -> Tables:
    """The same counts in every node; the number is a candidate of all, or of none."""
    everyone = np.arange(nodes)
    counts = [(0, everyone, np.tile(A, (nodes, 1, 1)))]
    if second:
        counts.append((1, everyone, np.tile(N, (nodes, 1, 1))))
    return Tables(attributes=ATTRIBUTES, nodes=nodes, counts=counts)


SELECTIONS: dict[str, SplitSelection] = {
    "joint": JointSelection(score=MAX_CLASS),
    "cut first": CutThenAttribute(score=MAX_CLASS),
    "counts": NoisyCounts(measure=noisy_information_gain),
    "counts, drawn": NoisyCounts(measure=noisy_information_gain, exponential=True),
}


@pytest.mark.parametrize("name", SELECTIONS)
@pytest.mark.parametrize("units", [ONE // 10, ONE, 5 * ONE])
def test_the_draws_cost_at_most_what_they_may(name: str, units: int) -> None:
    """And nearly all of it."""
    spent = sum(draw_units(draw) for draw in SELECTIONS[name].draws(2, units, TERMS))
    assert units * (1 - 1e-9) <= spent <= units


@pytest.mark.parametrize(
    ("mechanism", "law"), [(PERMUTE_AND_FLIP, law_of_permute_and_flip), (EXPONENTIAL, law_of_exponential)]
)
def test_a_joint_choice_has_the_law_of_its_mechanism(mechanism: str, law) -> None:  # type: ignore[no-untyped-def]
    """Over all splits of all attributes at once: max-class sums by hand."""
    chosen = JointSelection(score=MAX_CLASS, mechanism=mechanism).choose(
        tables(CHOICES), ONE, TERMS, UniformStream(Randomness.seeded(1))
    )
    scores = [6, 6, 7, 5]  # a; n cut after 0, 1, 2
    scores[1:] = [2 + 3, 4 + 3, 4 + 1]
    found = np.bincount(np.where(chosen.attribute == 0, 0, 1 + chosen.split), minlength=4)
    assert chisquare(found, law(scores, 1.0) * CHOICES).pvalue > 1e-3


def test_cut_then_attribute_is_two_choices_at_half_the_rate() -> None:
    """The law is the product: the cut among cuts, then the attribute against it."""
    chosen = CutThenAttribute(score=MAX_CLASS).choose(tables(CHOICES), ONE, TERMS, UniformStream(Randomness.seeded(2)))
    cuts = [5, 7, 5]
    of_cut = law_of_exponential(cuts, 0.5)
    expected = np.zeros(4)
    for cut, share in enumerate(of_cut):
        first, second = law_of_exponential([6, cuts[cut]], 0.5)
        expected[0] += share * first
        expected[1 + cut] = share * second
    found = np.bincount(np.where(chosen.attribute == 0, 0, 1 + chosen.split), minlength=4)
    assert chisquare(found, expected * CHOICES).pvalue > 1e-3


def test_values_against_the_rest_stand_beside_the_attributes_of_the_second_choice() -> None:
    """A cut of the number first, then one draw among it, the attribute with a branch each, and every single value."""
    attributes = (*ATTRIBUTES, attribute("b", 3, Split.ONE_VS_REST))
    everyone = np.arange(CHOICES)
    counts = [(at, everyone, np.tile(block, (CHOICES, 1, 1))) for at, block in enumerate((A, N, A))]
    chosen = CutThenAttribute(score=MAX_CLASS).choose(
        Tables(attributes=attributes, nodes=CHOICES, counts=counts), ONE, TERMS, UniformStream(Randomness.seeded(6))
    )
    cuts, values = [5, 7, 5], [3 + 3, 2 + 3, 1 + 4]  # the values: 3 0 | 1 3, then 1 2 | 3 1, then 0 1 | 4 2
    expected = np.zeros(7)
    for cut, share in enumerate(law_of_exponential(cuts, 0.5)):
        second = law_of_exponential([6, cuts[cut], *values], 0.5)
        expected[[0, 4, 5, 6]] += share * second[[0, 2, 3, 4]]
        expected[1 + cut] = share * second[1]
    found = np.bincount(np.array([0, 1, 4])[chosen.attribute] + chosen.split, minlength=7)
    assert chisquare(found, expected * CHOICES).pvalue > 1e-3


def test_a_noisy_measure_may_be_drawn_by_the_exponential_mechanism() -> None:
    """The law of exp(epsilon q / 2) over measures in [0, 1]; those outside are cut to it."""

    def told(children: np.ndarray) -> np.ndarray:
        return np.tile([0.25] if children.shape[2] == 3 else [-3.0, 0.5, 7.0], (children.shape[0], 1))

    selection = NoisyCounts(measure=told, undivided=True, exponential=True)
    chosen = selection.choose(tables(CHOICES), 3 * ONE, TERMS, UniformStream(Randomness.seeded(5)))
    found = np.bincount(np.where(chosen.attribute == 0, 0, 1 + chosen.split), minlength=4)
    assert chisquare(found, law_of_exponential([1, 0, 2, 4], 3 / 8) * CHOICES).pvalue > 1e-3


def test_undivided_counts_cost_their_number() -> None:
    """The line says as often the units as there are tables; attributes used up above are not tried again."""
    selection = NoisyCounts(measure=noisy_information_gain, undivided=True)
    multiway = replace(TERMS, candidates=4, fewest_numbers=0, numbers=0, reused=0)
    for level, times in enumerate([4, 3, 2, 1, 1]):
        (draw,) = selection.draws(level, ONE, multiway)
        assert (draw.times, draw.rate, draw_units(draw)) == (times, ONE, times * ONE)
    (draw,) = selection.draws(1, ONE, replace(multiway, reused=1))
    assert draw.times == 4  # a number can be cut again, and a value be separated from the rest


def test_the_rows_of_children_are_those_of_the_noisy_counts() -> None:
    """With hardly any noise they are the true ones; totals that were measured separately depend on none."""
    selection = NoisyCounts(measure=noisy_information_gain)
    chosen = selection.choose(tables(3), 60 * ONE, TERMS, UniformStream(Randomness.seeded(6)))
    assert chosen.rows is not None
    assert chosen.rows.tolist() == [[4, 3, 0]] * 3  # cut in the middle
    apart = NoisyCounts(measure=sulq_information, separate_totals=True)
    assert apart.choose(tables(3), ONE, TERMS, UniformStream(Randomness.seeded(6))).rows is None


@pytest.mark.parametrize("name", SELECTIONS)
def test_what_is_no_candidate_is_never_chosen(name: str) -> None:
    """For any noise a candidate that is excluded is never chosen."""
    chosen = SELECTIONS[name].choose(tables(500, second=False), ONE // 100, TERMS, UniformStream(Randomness.seeded(3)))
    assert not chosen.attribute.any()
    assert not chosen.split.any()


def test_much_budget_takes_the_best_split() -> None:
    """The number cut in the middle separates the classes."""
    for name, selection in SELECTIONS.items():
        if name == "counts, drawn":
            continue  # its measure is cut to [0, 1], where both splits are as good
        chosen = selection.choose(tables(50), 30 * ONE, TERMS, UniformStream(Randomness.seeded(4)))
        assert np.mean((chosen.attribute == 1) & (chosen.split == 1)) > 0.9
