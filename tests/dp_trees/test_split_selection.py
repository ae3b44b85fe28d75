"""Choosing splits: at the planned rates, by the laws of the mechanisms, among the allowed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare

from anonkit.dp_trees.scores import MAX_CLASS, noisy_information_gain, sulq_information
from anonkit.dp_trees.split_selection import (
    CutThenAttribute,
    JointSelection,
    NoisyCounts,
    SplitSelection,
    Tables,
    Terms,
)
from anonkit.mechanisms.accounting import EXPONENTIAL, PERMUTE_AND_FLIP
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.published.tree_attributes import Split
from anonkit.randomness import Randomness
from tests.dp_trees.tables import attribute
from tests.mechanisms.test_private_selection import law_of_exponential, law_of_permute_and_flip

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
    spent = sum(draw.units for draw in SELECTIONS[name].draws(2, units, TERMS))
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
        assert (draw.times, draw.rate, draw.units) == (times, ONE, times * ONE)
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
