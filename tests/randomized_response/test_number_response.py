"""The rule that chooses how a number is answered."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from anonkit.published.channels.band_response import BandResponse
from anonkit.published.channels.kary_response import RandomizedResponse
from anonkit.randomized_response.number_response import BINS, best_number_response, distribution_error


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


@pytest.mark.untraced
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


@pytest.mark.untraced
def test_many_classes_leave_few_bins_to_choose_from() -> None:
    """At most 2,048 pairs of class and cell are judged; beyond them the fewest bins are taken unseen."""
    for segments in (40, 900):
        cells, channel = best_number_response(2.0, segments=segments, has_missing=False)
        assert cells == 4 or segments * cells <= 2048
        assert channel.n_inputs == segments * cells
