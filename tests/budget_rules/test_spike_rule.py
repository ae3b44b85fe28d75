"""The rule of spikes: few public candidates, and thresholds that noise alone hardly reaches."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.budget_rules.spike_rule import (
    GAUSSIAN,
    LAPLACE,
    MOST_CANDIDATES,
    MOST_FOUND,
    Amount,
    candidates_of,
    found_among,
    spacing_of,
    spike_units,
    threshold_of,
)


@pytest.mark.parametrize(
    ("low", "high", "every"), [(0, 99, 1), (1, 197, 1), (0, 198, 10), (0, 99_999, 1000), (-950, 950, 10)]
)
def test_candidates_are_few_and_public(low: int, high: int, every: int) -> None:
    """Both bounds, and round values between: no more than 200."""
    places = candidates_of(low, high)
    assert spacing_of(low, high) == every
    assert places[0] == low
    assert places[-1] == high
    assert len(places) <= MOST_CANDIDATES
    assert all(place % every == 0 for place in places[1:-1])
    assert list(places) == sorted(set(places))


@given(st.integers(1, 1 << 60), st.integers(1, 300))
def test_histograms_of_all_columns_lose_a_twenty_fifth(units: int, columns: int) -> None:
    """And hardly less: rounding takes a unit of each column at most."""
    assert units - 25 * columns - 25 < 25 * columns * spike_units(units, columns) <= units


@given(st.lists(st.integers(-50, 10**6), min_size=2, max_size=201), st.floats(0.01, 5))
def test_noise_alone_reaches_a_threshold_in_one_of_a_hundred_histograms(noisy: list[int], epsilon: float) -> None:
    """By the exact tail of discrete Laplace noise in every cell; and a spike has a twentieth of the noisy rows."""
    threshold = threshold_of(noisy, int(epsilon * 2**52))
    tail = math.exp(-epsilon * threshold) / (1 + math.exp(-epsilon))
    assert tail * len(noisy) <= 0.01
    assert 20 * threshold >= sum(noisy)
    assert threshold <= max(sum(noisy) / 20, math.log(100 * len(noisy)) / epsilon) + 2


@given(st.lists(st.integers(-20, 60), min_size=1, max_size=30), st.integers(-5, 60))
def test_the_largest_counts_above_the_threshold_are_found(noisy: list[int], threshold: int) -> None:
    """In ascending order of their values, eight at most, whatever the count of all other cells is."""
    candidates = [10 * at for at in range(len(noisy))]
    found = found_among(candidates, [*noisy, 10**6], threshold)
    above = sorted((count for count in noisy if count >= threshold), reverse=True)
    assert sorted((noisy[value // 10] for value in found), reverse=True) == above[:MOST_FOUND]
    assert list(found) == sorted(set(found))


@pytest.mark.parametrize(("law", "power"), [(LAPLACE, 1), (GAUSSIAN, 2)])
def test_the_noise_of_a_cell_is_its_mean_distance_from_the_count(law: str, power: int) -> None:
    """By summation of the discrete law with the loss of a share: exp(-epsilon |x|), or exp(-rho x ** 2)."""
    amount, share = Amount(law=law, loss=0.04), 0.25
    weights = [math.exp(-amount.loss * share * abs(x) ** power) for x in range(-3000, 3001)]
    mean = sum(abs(x) * weight for x, weight in zip(range(-3000, 3001), weights, strict=True)) / sum(weights)
    assert amount.noise(share) == pytest.approx(mean, rel=1e-2)
