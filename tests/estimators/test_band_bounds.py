"""Functions of a band's answers whose means bound the share of a bin, whatever the distribution."""

from __future__ import annotations

import numpy as np
import pytest

from anonkit.estimators.band_bounds import LARGEST_SEARCHED, bounding_functions
from anonkit.published.channels.band_response import BandResponse


@pytest.mark.parametrize("has_missing", [False, True])
@pytest.mark.parametrize("segments", [1, 3])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0, 10.0])
def test_means_lie_on_the_right_side_of_every_indicator(epsilon: float, segments: int, has_missing: bool) -> None:
    """By the exact response matrix: under every true code the mean is at least (at most) the indicator of its bin."""
    for make in (BandResponse.square_wave, BandResponse.piecewise):
        band = make(epsilon, 16, has_missing=has_missing, segments=segments)
        functions = bounding_functions(band, 4, segments, 1000, 0.95)
        inside = np.kron(np.eye(4), np.ones((4, 1)))
        if has_missing:
            inside = np.block([[inside, np.zeros((16, 1))], [np.zeros((1, 4)), 1.0]])
        for segment in range(segments):
            wanted = np.zeros((segments, *inside.shape))
            wanted[segment] = inside
            for found, sign in ((functions.upper, 1), (functions.lower, -1)):
                placed = np.zeros((segments, *found.shape))
                placed[segment] = found
                means = band.response_matrix() @ band.unblinded(placed.reshape(-1, found.shape[1]))
                scale = 1e-9 * (1 + np.abs(found).max() / band.truth_probability)
                assert (sign * (means - wanted.reshape(means.shape)) >= -scale).all()


def test_more_answers_and_wider_bins_tell_more() -> None:
    """The gap between the two means, under equal positions, shrinks with the rows and is small for half of the grid."""
    band = BandResponse.piecewise(3.0, 64)

    def gap(bins: int, rows: int) -> float:
        functions = bounding_functions(band, bins, 1, rows, 0.95)
        kernel = band.response_matrix()
        return float(((kernel @ band.unblinded(functions.upper - functions.lower)).mean(axis=0)).mean() * bins)

    assert gap(2, 100_000) < gap(2, 1_000) < gap(8, 1_000)
    assert gap(2, 100_000) < 0.1


def test_a_grid_too_fine_to_search_is_told_nothing() -> None:
    """Beyond 128 positions the bounds are 0 and 1, which are true of every share."""
    functions = bounding_functions(BandResponse.piecewise(3.0, 2 * LARGEST_SEARCHED), 2, 1, 1000, 0.95)
    assert (functions.upper == 1).all()
    assert (functions.lower == 0).all()
