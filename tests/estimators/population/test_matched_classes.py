"""Risk against a file of the population, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from anonkit.estimators.population.matched_classes import matched_classes


def test_the_measures_are_those_worked_out_by_hand() -> None:
    """Three rows among ten people, one of two, two of two; one class is nowhere in the population."""
    found = matched_classes(np.array([3, 1, 2, 4]), np.array([10, 2, 2, 0]))
    assert found["unmatched_classes"] == 1
    assert found["k_map"] == 2
    assert found["journalist"]["max"] == 0.5
    marketer = (3 / 10 + 1 / 2 + 2 / 2) / 6
    assert found["marketer"] == pytest.approx(marketer)
    assert found["journalist"]["mean"] == pytest.approx(max(3 / 14, marketer))
    assert found["delta_presence"]["max"] == 1.0
    assert found["delta_presence"]["mean"] == pytest.approx((3 * 0.3 + 1 * 0.5 + 2 * 1.0) / 6)


def test_a_population_that_lacks_somebody_gives_no_share_above_one() -> None:
    """Five rows of four people."""
    assert matched_classes(np.array([5]), np.array([4]))["delta_presence"] == {"max": 1.0, "mean": 1.0}


def test_a_population_of_others_has_no_k() -> None:
    """No class is met."""
    assert matched_classes(np.array([5, 1]), np.array([0, 0])) == {"unmatched_classes": 2, "k_map": None}
