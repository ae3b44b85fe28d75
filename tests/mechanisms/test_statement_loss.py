"""The noise of a statement: each draw has its own law and rate, and scores are those that its query says."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from mechanisms.stated_tables import COLUMNS, drawing, of_choice, stating

from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.mechanisms.statement_loss import noisy_values, scores_of
from anonkit.promises.guarantee import ADD_OR_REMOVE
from anonkit.published.statements.noise_statement import (
    Count,
    ModeScore,
    RankScore,
    StatedDraw,
    Statement,
    Sum,
    ValueLines,
)
from anonkit.randomness import Randomness

_RUNS = 1000


def _words(seed: int) -> UniformStream:
    return UniformStream(Randomness.seeded(seed))


def test_scores_of_a_quantile_are_distances_from_its_rank() -> None:
    """Four rows in cells 0, 0, 1, 2 and one without a number: below the edges are 0, 2, 3, 4 of 4."""
    histogram = np.array([2, 1, 1, 1])

    assert scores_of(RankScore(of="age", numerator=1, denominator=2), histogram, 3).tolist() == [-4, 0, -2, -4]
    assert scores_of(RankScore(of="age", numerator=3, denominator=4), histogram, 3).tolist() == [-12, -4, 0, -4]


def test_scores_of_the_most_frequent_value_are_its_rows() -> None:
    """Missing values are a value like any other."""
    assert scores_of(ModeScore(of="sex"), np.array([3, 1, 5]), 2).tolist() == [3, 1, 5]


def test_noise_around_numbers_falls_with_the_rate_of_its_own_draw() -> None:
    """Of two draws of different rates each has the mean size of its own discrete Laplace law, within 5 deviations."""
    draws = (
        drawing(Count(by=("sex",)), name="loud", rate=1 << 50),
        drawing(Sum(of="age"), name="quiet", rate=1 << 52),
    )
    loud, quiet = [], []
    for seed in range(300):
        first, second = noisy_values(stating(*draws), [np.array([10, 0, -4]), np.array([7])], _words(seed))
        loud += [number - true for number, true in zip(first.numbers, (10, 0, -4), strict=True)]
        quiet += [number - 7 for number in second.numbers]

    for noise, decay in ((loud, 0.25), (quiet, 1.0)):
        mean, count = 1 / np.sinh(decay), len(noise)
        spread = np.sqrt(2 * np.exp(-decay)) / (1 - np.exp(-decay))
        assert abs(np.mean(np.abs(noise)) - mean) < 5 * spread / np.sqrt(count)


@pytest.mark.parametrize("law", ["permute-and-flip", "exponential"])
def test_a_choice_follows_the_exact_law_of_its_draw(law: str) -> None:
    """Frequencies of 1,000 choices against the probabilities by formula, within 5 deviations each."""
    draw = StatedDraw(name="mode", query=ModeScore(of="sex"), law=law, rate=3 << 51)
    statement = Statement(columns=COLUMNS, draws=(draw,), shows=ValueLines(), adjacency=ADD_OR_REMOVE, rows_per_unit=1)
    scores, words = np.array([2, 3, 1]), _words(7)
    found = Counter(noisy_values(statement, [scores], words)[0].numbers[0] for _ in range(_RUNS))

    for at, chance in enumerate(of_choice(law, tuple(scores.tolist()), 1.5)):
        assert abs(found[at] - _RUNS * chance) < 5 * np.sqrt(_RUNS * chance * (1 - chance))
