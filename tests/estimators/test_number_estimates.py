"""Power sums and moment estimates.

Moments behind TRR: what can be estimated from its answers, and where the paper's formulas fail.

Functions of a band's answers whose means bound the share of a bin, whatever the distribution.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.number_bins import Grid
from anonkit.estimators.number_estimates import (
    LARGEST_SEARCHED,
    PowerSums,
    ScoreSums,
    bounding_functions,
    estimate_moments,
    published_moments,
    score_sums,
)
from anonkit.mechanisms.randomizers import NumberRandomizer, randomizer_of
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.channels.number_channels import PUBLISHED, BandResponse, TransformedResponse


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


KEY = bytes(range(32))
SETTINGS = st.sampled_from(sorted(PUBLISHED))


def trr(setting: str = "N(1,1)", presence: RandomizedResponse | None = None) -> TransformedResponse:
    """One of the published settings."""
    multiplier, offset = PUBLISHED[setting]
    return TransformedResponse(multiplier=multiplier, offset=offset, presence=presence)


def sums_of(values: np.ndarray, origin: float = 0.0) -> PowerSums:
    """Power sums of rows of one class."""
    return PowerSums.of(values, np.zeros(len(values), dtype=np.int64), 1, origin)


def published_form(y: np.ndarray, mechanism: TransformedResponse) -> tuple[float, float]:
    """Eqs. 2 and 3 of the paper, straight from the numbers."""
    a, b = mechanism.multiplier, mechanism.offset
    mean = y.mean() / a.mean
    return mean, (y.var(ddof=1) - a.variance * mean**2 - b.variance) / (a.mean**2 + a.variance)


def unbiased_form(y: np.ndarray, mechanism: TransformedResponse) -> float:
    """Eq. 3 with (ȳ/Ā)² replaced by (ȳ² − S_y²/n) / Ā²."""
    a, b = mechanism.multiplier, mechanism.offset
    spread = y.var(ddof=1)
    square = (y.mean() ** 2 - spread / len(y)) / a.mean**2
    return float((spread - a.variance * square - b.variance) / (a.mean**2 + a.variance))


@given(SETTINGS, st.integers(0, 99), st.floats(-50, 50))
def test_the_published_estimates_are_those_of_the_paper(setting: str, seed: int, origin: float) -> None:
    """Eqs. 2 and 3 from power sums, wherever the powers are measured from."""
    y = np.random.default_rng(seed).normal(3, 2, 60)
    mechanism = trr(setting)
    mean, variance = published_moments(mechanism, sums_of(y, origin))
    assert (mean[0], variance[0]) == pytest.approx(published_form(y, mechanism), rel=1e-6, abs=1e-8)


@given(SETTINGS, st.integers(0, 99))
def test_the_repaired_variance_is_the_unbiased_form(setting: str, seed: int) -> None:
    """The general linear estimator gives exactly the unbiased form (rounding of y apart), and the same mean."""
    y = np.random.default_rng(seed).normal(3, 2, 60)
    mechanism = trr(setting)
    estimate = estimate_moments(score_sums(mechanism, sums_of(y)))
    rounding = mechanism.step**2 / 12 / (mechanism.multiplier.mean**2 + mechanism.multiplier.variance)
    assert estimate.mean[0] == pytest.approx(y.mean() / mechanism.multiplier.mean)
    assert estimate.variance[0] + rounding == pytest.approx(unbiased_form(y, mechanism), rel=1e-9)


@pytest.mark.slow
def test_the_papers_variance_is_biased_by_the_stated_amount() -> None:
    """Over 20,000 draws of 20 rows: −S_a² Var(y) / (n Ā² (Ā² + S_a²)) for the paper, nothing for the repaired form."""
    rng, n, mechanism = np.random.default_rng(5), 20, trr("N(1,1)")
    x = rng.normal(1.0, 1.0, (20_000, n))
    y = rng.normal(1, 1, x.shape) * x + rng.normal(0, 1, x.shape)
    paper = np.array([published_form(row, mechanism)[1] for row in y])
    repaired = np.array([unbiased_form(row, mechanism) for row in y])
    variance_of_y = 2 * 1.0 + 1.0 + 1.0
    error = paper.std() / math.sqrt(len(paper))
    assert paper.mean() == pytest.approx(1.0 - variance_of_y / (n * 2), abs=4 * error)
    assert repaired.mean() == pytest.approx(1.0, abs=4 * error)


def test_centring_makes_the_noise_independent_of_the_origin() -> None:
    """Birth years: the published form drowns the spread, the centred one does not."""
    x = np.random.default_rng(2).normal(1965, 8, 20_000)
    answers = NumberRandomizer(trr()).randomize(x, key=KEY, stream=0)
    raw = estimate_moments(score_sums(trr(), sums_of(answers, 1965)))
    centred_form = TransformedResponse.centred(*PUBLISHED["N(1,1)"], (1940, 1990))
    y = NumberRandomizer(centred_form).randomize(x, key=KEY, stream=0)
    centred = estimate_moments(score_sums(centred_form, sums_of(y, 1965)))
    assert raw.variance_error[0] > 100 * 64
    assert math.sqrt(centred.variance[0]) == pytest.approx(8, rel=0.2)
    assert centred.mean[0] == pytest.approx(1965, abs=1)


def test_missing_values_are_hidden_by_a_randomized_bit_and_estimated() -> None:
    """Absence shows up only through the bit; share, mean and variance come back within 4 standard errors."""
    mechanism = TransformedResponse.centred(*PUBLISHED["N(1,1)"], (0, 10), presence=RandomizedResponse.rrph(0.4))
    rng = np.random.default_rng(3)
    x = rng.normal(6, 1, 200_000)
    x[rng.random(200_000) < 0.3] = np.nan
    y = NumberRandomizer(mechanism).randomize(x, key=KEY, stream=0)
    assert np.isnan(y[np.isnan(x)]).mean() == pytest.approx(0.7, abs=0.01)
    assert np.isnan(y[~np.isnan(x)]).mean() == pytest.approx(0.3, abs=0.01)
    estimate = estimate_moments(score_sums(mechanism, sums_of(y, 5)))
    assert estimate.present[0] == pytest.approx(0.7, abs=4 * estimate.present_error[0])
    assert estimate.mean[0] == pytest.approx(6, abs=4 * estimate.mean_error[0])
    assert estimate.variance[0] == pytest.approx(1, abs=4 * estimate.variance_error[0])
    assert estimate.mean_error[0] < 0.1


def test_clear_numbers_come_back_exactly_and_lose_no_digits() -> None:
    """Nothing done: mean and variance are the ordinary ones, even far from zero."""
    x = np.random.default_rng(0).normal(1e9, 1, 1000)
    clear = TransformedResponse.clear()
    assert np.array_equal(NumberRandomizer(clear).randomize(x, key=KEY, stream=0), x)
    estimate = estimate_moments(score_sums(clear, sums_of(x, 1e9)))
    assert estimate.mean[0] == pytest.approx(x.mean(), abs=1e-6)
    assert estimate.variance[0] == pytest.approx(x.var(ddof=1), rel=1e-6)


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
