"""Differences of two models row by row: their intervals, and the rows they need in common."""

from __future__ import annotations

import numpy as np
import pytest

from anonkit.comparing.paired_scores import of_classes, of_numbers


def test_the_interval_of_a_difference_is_that_of_resampled_rows() -> None:
    """Two classifiers, and two predictions of a number, on 1,500 rows: as wide as the bootstrap's, within a fifth."""
    draw = np.random.default_rng(3)
    truth = draw.integers(0, 2, 1500)
    shared = draw.normal(0, 1, 1500)
    scores = [1 / (1 + np.exp(-(truth - 0.5 + shared + draw.normal(0, 0.3, 1500)))) for _ in range(2)]
    shares = [np.column_stack([1 - one, one]) for one in scores]
    numbers = truth + draw.normal(0, 1, 1500)
    guesses = [truth + 0.2 * draw.normal(0, 1, 1500) for _ in range(2)]
    for measured, given, target in ((of_classes, shares, truth), (of_numbers, guesses, numbers)):
        difference = measured(given[0], target).less(measured(given[1], target))  # type: ignore[operator]
        assert difference is not None
        value, (low, high) = difference
        again = []
        for _ in range(300):
            rows = draw.integers(0, 1500, 1500)
            again.append(measured(given[0][rows], target[rows]).value - measured(given[1][rows], target[rows]).value)  # type: ignore[operator]
        assert low < value < high
        assert (high - low) / 3.92 == pytest.approx(np.std(again), rel=0.2)


def test_scores_on_other_rows_are_not_set_against_each_other() -> None:
    """Without the same rows there is no difference row by row."""
    one = of_numbers(np.arange(5.0), np.arange(5.0) ** 2)
    assert one.less(of_numbers(np.arange(4.0), np.arange(4.0) ** 2)) is None
