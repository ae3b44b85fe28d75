"""Choosing splits: at the planned rates, by the laws of the mechanisms, among the allowed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from anonkit.dp_trees.scores import MAX_CLASS, noisy_information_gain
from anonkit.dp_trees.split_selection import CutThenAttribute, JointSelection, NoisyCounts, Selection, Tables, Terms
from anonkit.mechanisms.accounting import EXPONENTIAL, PERMUTE_AND_FLIP
from anonkit.mechanisms.discrete_laplace import Words
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


SELECTIONS: dict[str, Selection] = {
    "joint": JointSelection(score=MAX_CLASS),
    "cut first": CutThenAttribute(score=MAX_CLASS),
    "counts": NoisyCounts(measure=noisy_information_gain),
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
        tables(CHOICES), ONE, TERMS, Words(Randomness.seeded(1))
    )
    scores = [6, 6, 7, 5]  # a; n cut after 0, 1, 2
    scores[1:] = [2 + 3, 4 + 3, 4 + 1]
    found = np.bincount(np.where(chosen.attribute == 0, 0, 1 + chosen.split), minlength=4)
    assert chisquare(found, law(scores, 1.0) * CHOICES).pvalue > 1e-3


def test_cut_then_attribute_is_two_choices_at_half_the_rate() -> None:
    """The law is the product: the cut among cuts, then the attribute against it."""
    chosen = CutThenAttribute(score=MAX_CLASS).choose(tables(CHOICES), ONE, TERMS, Words(Randomness.seeded(2)))
    cuts = [5, 7, 5]
    of_cut = law_of_exponential(cuts, 0.5)
    expected = np.zeros(4)
    for cut, share in enumerate(of_cut):
        first, second = law_of_exponential([6, cuts[cut]], 0.5)
        expected[0] += share * first
        expected[1 + cut] = share * second
    found = np.bincount(np.where(chosen.attribute == 0, 0, 1 + chosen.split), minlength=4)
    assert chisquare(found, expected * CHOICES).pvalue > 1e-3


@pytest.mark.parametrize("name", SELECTIONS)
def test_what_is_no_candidate_is_never_chosen(name: str) -> None:
    """Whatever the noise."""
    chosen = SELECTIONS[name].choose(tables(500, second=False), ONE // 100, TERMS, Words(Randomness.seeded(3)))
    assert not chosen.attribute.any()
    assert not chosen.split.any()


def test_much_budget_takes_the_best_split() -> None:
    """The number cut in the middle separates the classes."""
    for selection in SELECTIONS.values():
        chosen = selection.choose(tables(50), 30 * ONE, TERMS, Words(Randomness.seeded(4)))
        assert np.mean((chosen.attribute == 1) & (chosen.split == 1)) > 0.9
