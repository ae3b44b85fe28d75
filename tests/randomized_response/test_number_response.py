"""The rule that chooses how a number is answered.

The rule that chooses between one value and a set of them, and the search of the sets.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.published.channels.category_channels import MOST_PAIRS, RandomizedResponse, SetResponse
from anonkit.published.channels.number_channels import BandResponse
from anonkit.published.channels.response_channel import TruthOrBlind
from anonkit.randomized_response.number_response import (
    BINS,
    best_category_response,
    best_number_response,
    distribution_error,
    flattest_set,
)


def variance(channel: TruthOrBlind) -> float:
    """Mean variance of the estimated shares of equally frequent pairs, from the inverse of the whole matrix."""
    inverse = np.linalg.inv(channel.response_matrix())
    shares = np.full(channel.n_inputs, 1 / channel.n_inputs)
    answers = shares @ channel.response_matrix()
    return float((answers @ inverse**2 - shares**2).mean())


@settings(max_examples=40)
@given(st.floats(0.05, 4), st.integers(1, 3), st.integers(2, 14))
def test_a_set_is_taken_where_it_has_less_noise(epsilon: float, segments: int, values: int) -> None:
    """Never more variance than randomized response, by inversion; a set only where a tenth of it is saved."""
    chosen = best_category_response(epsilon, segments=segments, values=values)
    single = RandomizedResponse.from_epsilon(segments * values, epsilon)
    assert chosen.epsilon <= epsilon
    if isinstance(chosen, SetResponse):
        assert variance(chosen) < 0.93 * variance(single)
        assert (chosen.segments, chosen.values, chosen.members[0]) == (segments, values, 0)
    else:
        assert chosen == single


@pytest.mark.parametrize(
    ("epsilon", "segments", "values", "gain"),
    [(0.1, 2, 9, 3.5), (0.5, 2, 42, 10), (1.0, 2, 16, 2.5), (1.0, 2, 42, 6), (1.0, 7, 10, 5), (2.0, 2, 42, 2)],
)
def test_large_domains_gain_much(epsilon: float, segments: int, values: int, gain: float) -> None:
    """The factor of rows saved for the same error, at three quarters of what any answer could reach."""
    pairs = segments * values
    chosen = best_category_response(epsilon, segments=segments, values=values)
    found = variance(RandomizedResponse.from_epsilon(pairs, epsilon)) / variance(chosen)
    assert found > gain
    # the bound of subset selection, all sets of the best size alike (Ye and Barg 2018)
    r = math.exp(epsilon)
    size = round(pairs / (r + 1))
    seen, other = size * r, (size - 1) * r * size / (pairs - 1) + (pairs - size) * size / (pairs - 1)
    total = size * r + pairs - size
    p, q = seen / total, other / total
    best = ((p + (pairs - 1) * q) / pairs * (1 - (p + (pairs - 1) * q) / pairs)) / (p - q) ** 2
    assert variance(chosen) < best / 0.62


def test_a_difference_set_is_found() -> None:
    """Seven values, sets of three: the lines of the plane of seven points, all frequencies of strength 2."""
    noise, members = flattest_set(1, 7, 3)
    assert noise == pytest.approx(0.5)
    apart = sorted((one - other) % 7 for one in members for other in members if one != other)
    assert apart == [1, 2, 3, 4, 5, 6]


def test_the_sets_are_the_same_everywhere() -> None:
    """Written down from one machine: what is searched decides what a release publishes."""
    assert flattest_set(2, 9, 5)[1] == EXPECTED[2, 9, 5]
    assert flattest_set(3, 8, 7)[1] == EXPECTED[3, 8, 7]
    assert flattest_set(2, 42, 23)[1] == EXPECTED[2, 42, 23]


@pytest.mark.parametrize(("segments", "values"), [(1, 3), (1, 2), (2, 1), (2, MOST_PAIRS // 2 + 1)])
def test_very_small_and_very_large_domains_stay_with_one_value(segments: int, values: int) -> None:
    """No set is smaller, or the matrix of all pairs would be too large to undo."""
    assert isinstance(best_category_response(0.5, segments=segments, values=values), RandomizedResponse)


def test_a_domain_of_thousands_is_searched_once() -> None:
    """One size and one start beyond 256 pairs: a set that is far better than one value all the same."""
    chosen = best_category_response(1.0, segments=2, values=150)
    assert isinstance(chosen, SetResponse)
    assert len(chosen.members) == round(300 / (math.e + 1))
    assert variance(chosen) < variance(RandomizedResponse.from_epsilon(300, 1.0)) / 20


def test_at_a_large_epsilon_one_value_tells_more() -> None:
    """From some epsilon on the truth is the likeliest answer, and a set says less."""
    assert isinstance(best_category_response(5.0, segments=2, values=42), RandomizedResponse)


EXPECTED: dict[tuple[int, int, int], tuple[int, ...]] = {
    (2, 9, 5): (0, 2, 6, 9, 10),
    (3, 8, 7): (0, 2, 5, 6, 9, 10, 16),
    (2, 42, 23): (0, 3, 4, 5, 7, 13, 14, 18, 19, 21, 22, 24, 27, 46, 50, 51, 57, 62, 63, 67, 69, 77, 79),
}


@pytest.mark.parametrize("segments", [1, 3])
def test_bins_have_the_variance_of_the_moment_estimate(segments: int) -> None:
    """With 64 bins, where a line within a cell misses nothing, the error is that of inverting the response matrix."""
    channel = RandomizedResponse.from_epsilon(64 * segments, 2.0)
    edges = np.linspace(-4, 4, 65)
    bell = np.diff([NormalDist().cdf(edge) for edge in edges])
    shares = np.tile(bell / bell.sum(), segments) / segments
    answers = channel.forward(shares)
    inverse = np.linalg.inv(channel.response_matrix())
    covariance = inverse.T @ (np.diag(answers) - np.outer(answers, answers)) @ inverse
    sums = np.tril(np.ones((64, 64)))[:-1] * segments
    expected = np.mean(np.diag(sums @ covariance[:64, :64] @ sums.T)) / (1000 * segments)

    assert distribution_error(channel, 64, 64, segments=segments) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 2.0, 4.0, 10.0])
@pytest.mark.parametrize("segments", [1, 2, 5])
@pytest.mark.parametrize("has_missing", [False, True])
def test_no_candidate_has_a_smaller_error(epsilon: float, segments: int, has_missing: bool) -> None:
    """The chosen mechanism is the best of bins, square wave and piecewise."""
    cells, chosen = best_number_response(epsilon, segments=segments, has_missing=has_missing)
    knots = 8 if isinstance(chosen, BandResponse) else cells
    least = distribution_error(chosen, cells, knots, segments=segments)
    for bins in BINS:
        other = RandomizedResponse.from_epsilon(segments * (bins + has_missing), epsilon)
        assert least <= distribution_error(other, bins, bins, segments=segments)
    for make in (BandResponse.square_wave, BandResponse.piecewise):
        band = make(epsilon, 64, has_missing=has_missing, segments=segments)
        assert least <= distribution_error(band, 64, 8, segments=segments)


def test_each_of_the_three_is_the_best_somewhere() -> None:
    """Few bins at a small epsilon, piecewise in the middle, square wave with the class apart."""
    few, bins = best_number_response(0.25, segments=1, has_missing=False)
    assert (few, type(bins)) == (4, RandomizedResponse)
    assert best_number_response(2.0, segments=3, has_missing=False)[1] == BandResponse.piecewise(2.0, 64, segments=3)
    assert best_number_response(2.5, segments=1, has_missing=False)[1] == BandResponse.square_wave(2.5, 64)


def test_above_the_largest_band_bins_remain() -> None:
    """At epsilon 20 no band is left, and fine bins are the most informative."""
    cells, channel = best_number_response(20.0, segments=2, has_missing=True)
    assert cells >= 32
    assert isinstance(channel, RandomizedResponse)


def test_the_realised_loss_is_never_above_the_target() -> None:
    """Any choice keeps epsilon."""
    for epsilon in np.linspace(0.05, 15, 30):
        assert best_number_response(float(epsilon), segments=2, has_missing=True)[1].epsilon <= epsilon


def test_many_classes_leave_few_bins_to_choose_from() -> None:
    """At most 2,048 pairs of class and cell are judged; beyond them the fewest bins are taken unseen."""
    for segments in (40, 900):
        cells, channel = best_number_response(2.0, segments=segments, has_missing=False)
        assert cells == 4 or segments * cells <= 2048
        assert channel.n_inputs == segments * cells
