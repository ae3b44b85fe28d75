"""Power sums and moment estimates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.attribute_domains import Grid
from anonkit.estimators.moments import PowerSums, ScoreSums, estimate_moments
from anonkit.mechanisms.code_randomizers import randomizer_of
from anonkit.published.channels.band_response import BandResponse
from anonkit.published.channels.kary_response import RandomizedResponse

KEY = bytes(range(32))
VALUES = st.lists(st.floats(-50, 50) | st.just(np.nan), min_size=1, max_size=30)


@given(VALUES, VALUES, st.floats(-20, 20), st.floats(-20, 20))
def test_power_sums_of_parts_add_up(first: list[float], second: list[float], origin: float, other: float) -> None:
    """Sums about different origins add up to the sums of the whole."""
    halves = ((first, origin), (second, other))
    parts = [PowerSums.of(np.array(v), np.zeros(len(v), dtype=int), 1, about) for v, about in halves]
    both = np.array(first + second)
    whole = PowerSums.of(both, np.zeros(len(both), dtype=int), 1, origin)
    total = parts[0] + parts[1]
    assert np.allclose(total.sums, whole.sums, rtol=1e-9, atol=1e-4)
    assert np.array_equal(total.blanks, whole.blanks)


@pytest.mark.parametrize(
    "channel",
    [
        RandomizedResponse.from_epsilon(33, 3.0),
        BandResponse.square_wave(2.0, 32, has_missing=True),
        BandResponse.piecewise(3.0, 32, has_missing=True),
    ],
    ids=["bins", "square wave", "piecewise"],
)
def test_moments_come_back_from_every_mechanism_on_a_grid(channel: RandomizedResponse | BandResponse) -> None:
    """Share, mean and variance of two classes are within 4 standard errors of the truth, which are small."""
    grid = Grid(lower=-3, upper=9, cells=32, has_missing=True)
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 2, 300_000)
    x = rng.normal(1 + 2 * classes, 1 + 0.5 * classes)
    x[rng.random(300_000) < 0.2] = np.nan
    codes = grid.encode(x)
    answers = randomizer_of(channel).randomize(codes, key=KEY, stream=0)
    counts = np.zeros((2, channel.n_outputs))
    np.add.at(counts, (classes, answers), 1)
    estimate = estimate_moments(ScoreSums.of_counts(counts, channel, grid))
    truth = grid.decode(codes)
    for each in range(2):
        shown = truth[(classes == each) & ~np.isnan(truth)]
        assert estimate.present[each] == pytest.approx(0.8, abs=4 * estimate.present_error[each] + 0.003)
        assert estimate.mean[each] == pytest.approx(shown.mean(), abs=4 * estimate.mean_error[each])
        assert estimate.variance[each] == pytest.approx(shown.var(), abs=4 * estimate.variance_error[each])
    assert estimate.mean_error.max() < 0.1


def test_randomized_labels_are_undone_in_the_moments() -> None:
    """With a label answered truthfully half of the time the class means still come back, with a larger error."""
    grid, label = Grid(lower=-3, upper=9, cells=64), RandomizedResponse.rrph(0.5)
    channel = RandomizedResponse.clear(64)
    rng = np.random.default_rng(1)
    classes = rng.integers(0, 2, 100_000)
    codes = grid.encode(rng.normal(1 + 2 * classes, 1))
    published = randomizer_of(label).randomize(classes, key=KEY, stream=0)
    counts = np.zeros((2, 64))
    np.add.at(counts, (published, codes), 1)
    sums = ScoreSums.of_counts(counts, channel, grid)
    naive = estimate_moments(sums)
    undone = estimate_moments(sums, label.unmix(np.eye(2)))
    assert abs(naive.mean[0] - 1) > 0.3
    assert undone.mean == pytest.approx([1, 3], abs=4 * undone.mean_error.max())
    assert np.all(undone.mean_error > naive.mean_error)
    assert undone.head(1).mean.shape == (1,)
