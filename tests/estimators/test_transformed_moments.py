"""Moments behind TRR: what can be estimated from its answers, and where the paper's formulas fail."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.estimators.moments import PowerSums, estimate_moments
from anonkit.estimators.transformed_moments import published_moments, score_sums
from anonkit.mechanisms.number_randomizer import NumberRandomizer
from anonkit.published.channels.kary_response import RandomizedResponse
from anonkit.published.channels.transformed_response import PUBLISHED, TransformedResponse

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
