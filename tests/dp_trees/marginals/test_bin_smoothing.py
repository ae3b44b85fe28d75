"""Counts of bins: smooth ones come nearer, spikes stay, sums are kept, and the remaining noise is returned."""

from __future__ import annotations

import numpy as np
import pytest

from anonkit.dp_trees.marginals.bin_smoothing import smoothed

BELL = 400 * np.exp(-(((np.arange(16) - 7) / 4) ** 2))
SPIKES = np.where(np.arange(16) % 5 == 2, 400.0, 10.0)


@pytest.mark.parametrize(
    ("truth", "deviation", "most"), [(BELL, 60.0, 0.7), (BELL, 5.0, 1.02), (SPIKES, 60.0, 1.05), (SPIKES, 5.0, 1.01)]
)
def test_squares_fall_where_neighbours_are_alike_and_hardly_rise_where_not(
    truth: np.ndarray, deviation: float, most: float
) -> None:
    """Two classes, one of half the rows; mean squared error over 300 draws, in that of the noise."""
    draw, both = np.random.default_rng(4), np.stack([truth, truth / 2])
    off = []
    for _ in range(300):
        found, _ = smoothed(both + draw.normal(0, deviation, both.shape), deviation**2)
        off.append(((found - both) ** 2).mean())
    assert np.mean(off) < most * deviation**2


def test_sums_are_kept_and_the_noise_that_is_left_is_told() -> None:
    """Flat counts, of which all differences are noise: sums to the last bit but rounding, variances by draws."""
    draw, found, told = np.random.default_rng(5), [], []
    for _ in range(400):
        counts = 100 + draw.normal(0, 10, (1, 12))
        smooth, left = smoothed(counts, 100.0)
        assert smooth.sum() == pytest.approx(counts.sum())
        found.append(smooth[0])
        told.append(left)
    assert np.mean(told) < 60
    assert np.var(found, axis=0).mean() == pytest.approx(np.mean(told), rel=0.5)


def test_one_bin_stays_as_it_is() -> None:
    """There is nothing beside it."""
    found, left = smoothed(np.array([[7.0], [-2.0]]), 3.0)
    assert found == pytest.approx(np.array([[7.0], [-2.0]]))
    assert left == pytest.approx([3.0])
