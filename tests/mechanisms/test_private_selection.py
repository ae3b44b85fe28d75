"""Private selection: the laws by enumeration, the loss for every change of scores, the samplers against the laws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from anonkit.errors import ParameterError
from anonkit.mechanisms.exact_samplers import UniformStream, exponential_mechanism, permute_and_flip
from anonkit.randomness import Randomness

ONE = 1 << 52


def law_of_permute_and_flip(scores: list[int], rate: float) -> np.ndarray:
    """The paper's algorithm, all orders enumerated."""
    chance = [math.exp(rate * (score - max(scores))) for score in scores]
    law = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        reached = 1.0
        for one in order:
            law[one] += reached * chance[one] / len(orders)
            reached *= 1 - chance[one]
    return law


def law_of_all_coins(scores: list[int], rate: float) -> np.ndarray:
    """The law of the code: all coins thrown, a uniform one of the heads taken; all outcomes enumerated."""
    chance = [math.exp(rate * (score - max(scores))) for score in scores]
    law = np.zeros(len(scores))
    for heads in itertools.product([False, True], repeat=len(scores)):
        weight = math.prod(p if head else 1 - p for p, head in zip(chance, heads, strict=True))
        for one, head in enumerate(heads):
            law[one] += weight / sum(heads) if head and weight else 0.0
    return law


def law_of_exponential(scores: list[int], rate: float) -> np.ndarray:
    """Probabilities proportional to exp(rate * score)."""
    weights = np.exp(rate * (np.array(scores) - max(scores)))
    return weights / weights.sum()


SCORES = st.lists(st.integers(-6, 6), min_size=2, max_size=5)


@given(SCORES, st.floats(0.01, 3))
def test_throwing_all_coins_is_permute_and_flip(scores: list[int], rate: float) -> None:
    """The first head of a random order is a uniform one of the heads."""
    assert law_of_all_coins(scores, rate) == pytest.approx(law_of_permute_and_flip(scores, rate), abs=1e-12)


@pytest.mark.parametrize("law", [law_of_permute_and_flip, law_of_exponential])
@given(data=st.data(), rate=st.floats(0.01, 3))
def test_the_loss_is_the_rate_times_the_width_of_the_changes(law, data, rate: float) -> None:  # type: ignore[no-untyped-def]
    """For any common shift: only the width of the range in which scores move counts."""
    scores = data.draw(SCORES)
    low, width = data.draw(st.integers(-4, 4)), data.draw(st.integers(0, 3))
    moves = data.draw(st.lists(st.integers(low, low + width), min_size=len(scores), max_size=len(scores)))
    before, after = law(scores, rate), law([s + m for s, m in zip(scores, moves, strict=True)], rate)
    loss = np.abs(np.log(before) - np.log(after)).max()
    assert loss <= rate * width + 1e-9


def test_the_width_is_used_up() -> None:
    """Some pair loses exactly what is charged."""
    many = [0] * 40
    before, after = law_of_exponential([*many, 0], 1.0), law_of_exponential([*many, 1], 1.0)
    assert np.log(after / before).max() > 0.95


CASES = [[0, 0], [3, 1, 0], [10, 9, 2, 2, -5]]


@pytest.mark.parametrize("scores", CASES)
@pytest.mark.parametrize(
    ("choose", "law"),
    [(permute_and_flip, law_of_permute_and_flip), (exponential_mechanism, law_of_exponential)],
)
def test_the_sampler_has_the_law(scores, choose, law) -> None:  # type: ignore[no-untyped-def]
    """Chi-square against the enumerated law, and a candidate that is not allowed is never chosen."""
    rate, n = 0.4, 20_000
    table = np.tile(np.array([*scores, 99]), (n, 1))
    allowed = np.ones(table.shape, dtype=bool)
    allowed[:, -1] = False
    chosen = choose(table, int(rate * ONE), UniformStream(Randomness.seeded(1)), allowed)
    assert chosen.max() < len(scores)
    assert chisquare(np.bincount(chosen, minlength=len(scores)), law(scores, rate) * n).pvalue > 1e-3


def test_a_choice_without_candidates_is_refused() -> None:
    """Nothing to choose from is a bug of the caller, not a row of zeros."""
    stream = UniformStream(Randomness.seeded(1))
    for choose in (permute_and_flip, exponential_mechanism):
        with pytest.raises(ParameterError, match="allowed"):
            choose(np.zeros((2, 2), dtype=np.int64), ONE, stream, np.array([[True, False], [False, False]]))
        with pytest.raises(ParameterError, match="shape"):
            choose(np.zeros((2, 0), dtype=np.int64), ONE, stream)


@pytest.mark.slow
def test_opendp_chooses_by_the_same_law() -> None:
    """OpenDP's noisy max under max divergence is permute-and-flip (alpha 1e-6: its noise has no seed)."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i32")), dp.linf_distance(T="i32", monotonic=True)
    measure = dp.m.make_noisy_max(*space, dp.max_divergence(), scale=2.0)
    scores = [3, 1, 0]
    drawn = np.bincount([measure(scores) for _ in range(20_000)], minlength=3)
    assert chisquare(drawn, law_of_permute_and_flip(scores, 0.5) * drawn.sum()).pvalue > 1e-6


@given(SCORES, st.data())
def test_weights_that_are_public_cost_nothing(scores: list[int], data: st.DataObject) -> None:
    """Over all moves of the scores within a width of 1 no ratio of probabilities exceeds exp(rate)."""
    weights = np.array(data.draw(st.lists(st.integers(1, 50), min_size=len(scores), max_size=len(scores))))
    rate = 0.7
    law = weights * law_of_exponential(scores, rate)
    for move in itertools.product([0, 1], repeat=len(scores)):
        other = weights * law_of_exponential([a + b for a, b in zip(scores, move, strict=True)], rate)
        ratio = (law / law.sum()) / (other / other.sum())
        assert max(ratio.max(), 1 / ratio.min()) <= math.exp(rate) * (1 + 1e-12)


def test_weighted_candidates_are_drawn_by_weight_and_score() -> None:
    """The sampler against the law; candidates that are not allowed have no weight."""
    scores, weights, rate = [0, 2, 1, 5], np.array([8, 1, 3, 100]), 0.5
    allowed = np.array([[True, True, True, False]])
    many = np.tile(np.array([scores]), (6_000, 1))
    words = UniformStream(Randomness.seeded(3))
    drawn = exponential_mechanism(many, round(rate * ONE), words, np.broadcast_to(allowed, many.shape), weights)
    law = weights[:3] * np.exp(rate * np.array(scores[:3]))
    found = np.bincount(drawn, minlength=4)
    assert found[3] == 0
    assert chisquare(found[:3], 6_000 * law / law.sum()).pvalue > 1e-3
    with pytest.raises(ParameterError, match="weights"):
        exponential_mechanism(many[:1], 1, words, weights=np.array([1, 0, 1, 1]))
