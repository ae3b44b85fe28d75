"""TRR: what it publishes, what can be estimated from it, and where the paper's formulas fail."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.errors import ParameterError, ReleaseFormatError
from anonkit.estimators.moments import PowerSums, estimate_moments
from anonkit.estimators.transformed_moments import mean_error_fixed_rows, published_moments, score_sums
from anonkit.mechanisms.number_randomizer import NumberRandomizer, drawn
from anonkit.published.channels.kary_response import RandomizedResponse
from anonkit.published.channels.transformed_response import PUBLISHED, Draw, TransformedResponse, breach_width
from anonkit.randomness import Randomness

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


@given(SETTINGS, st.integers(0, 99))
def test_the_error_of_the_mean_for_given_rows_is_that_of_the_paper(setting: str, seed: int) -> None:
    """Σ(S_a² y² + Ā² S_b²) / (n² Ā² (Ā² + S_a²))."""
    y = np.random.default_rng(seed).normal(3, 2, 40)
    mechanism = trr(setting)
    a, b = mechanism.multiplier, mechanism.offset
    expected = (a.variance * (y**2).sum() + 40 * a.mean**2 * b.variance) / (1600 * a.mean**2 * (a.mean**2 + a.variance))
    assert mean_error_fixed_rows(mechanism, sums_of(y))[0] == pytest.approx(math.sqrt(expected))


@pytest.mark.parametrize("setting", sorted(PUBLISHED))
def test_published_numbers_have_the_stated_moments(setting: str) -> None:
    """Mean and variance of what is published follow from those of the data, within 5 standard errors."""
    mechanism = trr(setting)
    x = np.random.default_rng(1).normal(4, 2, 200_000)
    y = NumberRandomizer(mechanism).randomize(x, key=KEY, stream=0)
    mean, variance = mechanism.answer_moments(np.array([x.mean()]), np.array([x.var()]))
    assert y.mean() == pytest.approx(mean[0], abs=5 * math.sqrt(variance[0] / len(x)))
    assert y.var() == pytest.approx(variance[0], rel=0.05)


@pytest.mark.parametrize("shapes", [("normal", "normal"), ("uniform", "normal"), ("uniform", "uniform")])
@pytest.mark.parametrize("value", [-7.0, 2.0, 9.0])
def test_one_value_is_published_with_the_distribution_of_a_x_plus_b(shapes: tuple[str, str], value: float) -> None:
    """However many draws it takes: against as many sums of separate draws, by the Kolmogorov-Smirnov test."""
    from scipy.stats import ks_2samp

    a, b = (Draw(mean=mean, variance=2.0, shape=shape) for mean, shape in zip((1.5, 0.0), shapes, strict=True))  # type: ignore[arg-type]
    mechanism = TransformedResponse(multiplier=a, offset=b, centre=2.0, scale=3.0)
    shown = NumberRandomizer(mechanism).randomize(np.full(20_000, value), key=KEY, stream=0)
    words = Randomness.seeded(7).words(40_000)
    separate = 2.0 + drawn(a, words[:20_000]) * (value - 2.0) + 3.0 * drawn(b, words[20_000:])
    assert ks_2samp(shown, separate).pvalue > 1e-3


@pytest.mark.parametrize("shape", ["normal", "uniform"])
def test_draws_have_their_mean_and_variance(shape: str) -> None:
    """Both families, within 5 standard errors; uniform ones stay within their support."""
    draw = Draw(mean=2.0, variance=9.0, shape=shape)  # type: ignore[arg-type]
    values = drawn(draw, Randomness.seeded(3).words(200_000))
    assert values.mean() == pytest.approx(2.0, abs=5 * 3 / math.sqrt(200_000))
    assert values.var() == pytest.approx(9.0, rel=0.03)
    if shape == "uniform":
        assert np.abs(values - 2.0).max() <= 3 * math.sqrt(3)


def test_extreme_words_give_finite_draws() -> None:
    """The smallest and the largest word are no infinity."""
    words = np.array([0, 2**64 - 1], dtype=np.uint64)
    assert np.all(np.isfinite(drawn(Draw(mean=0, variance=1), words)))


def test_published_numbers_lie_on_the_grid() -> None:
    """Every published number is a whole multiple of the step: no low bits tell of the true one."""
    mechanism = TransformedResponse.centred(*PUBLISHED["N(1,1)"], (17, 90))
    y = NumberRandomizer(mechanism).randomize(np.random.default_rng(0).uniform(17, 90, 5000), key=KEY, stream=0)
    assert np.all(np.mod(y, mechanism.step) == 0)


@given(st.integers(0, 2**40), st.integers(0, 60), st.integers(1, 60))
def test_a_batch_is_randomized_as_its_rows_are(first: int, lead: int, n: int) -> None:
    """Published numbers depend on key, stream and row number, not on the batch, to the last bit."""
    mechanism = trr("N(2,10)", RandomizedResponse.rrph(0.5))
    x = np.random.default_rng(n).normal(5, 3, lead + n)
    x[::3] = np.nan
    whole = NumberRandomizer(mechanism).randomize(x, key=KEY, stream=1, first_row=first)
    part = NumberRandomizer(mechanism).randomize(x[lead:], key=KEY, stream=1, first_row=first + lead)
    assert np.array_equal(whole[lead:], part, equal_nan=True)


def test_blocks_do_not_show_in_the_answers() -> None:
    """Numbers are the same across the block size the work is cut into."""
    mechanism, x = trr(), np.random.default_rng(0).normal(5, 3, 70_000)
    whole = NumberRandomizer(mechanism).randomize(x, key=KEY, stream=0)
    parts = [
        NumberRandomizer(mechanism).randomize(x[at : at + 999], key=KEY, stream=0, first_row=at)
        for at in range(0, 70_000, 999)
    ]
    assert np.array_equal(whole, np.concatenate(parts))


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


def test_a_missing_value_without_presence_bit_is_refused() -> None:
    """A NaN passed through would reveal absence exactly; the message counts."""
    with pytest.raises(ParameterError, match="1 of 2 values are missing"):
        NumberRandomizer(trr()).randomize(np.array([1.0, np.nan]), key=KEY, stream=0)


def test_clear_numbers_come_back_exactly_and_lose_no_digits() -> None:
    """Nothing done: mean and variance are the ordinary ones, even far from zero."""
    x = np.random.default_rng(0).normal(1e9, 1, 1000)
    clear = TransformedResponse.clear()
    assert np.array_equal(NumberRandomizer(clear).randomize(x, key=KEY, stream=0), x)
    estimate = estimate_moments(score_sums(clear, sums_of(x, 1e9)))
    assert estimate.mean[0] == pytest.approx(x.mean(), abs=1e-6)
    assert estimate.variance[0] == pytest.approx(x.var(ddof=1), rel=1e-6)


def test_there_is_no_epsilon() -> None:
    """TRR promises nothing, and says why."""
    assert trr().epsilon == math.inf
    assert trr().assumptions[0].startswith("No formal guarantee")


def test_the_warning_figures_are_those_of_the_specification() -> None:
    """1.22 r²/√n for N(1,1), 2.47 r²/√n for N(2,10)."""
    assert trr("N(1,1)").relative_error_of_variance(1, 1) == pytest.approx(1.2247, abs=1e-4)
    expected = 2.474 * 25 / math.sqrt(25_000)
    assert trr("N(2,10)").relative_error_of_variance(5, 25_000) == pytest.approx(expected, rel=1e-3)


def test_breach_widths_are_those_of_the_table() -> None:
    """Table 2 of the paper, in standard deviations."""
    for confidence, width in ((0.999, 6.58), (0.99, 5.15), (0.95, 3.92), (0.5, 1.35)):
        assert breach_width(1.0, confidence) == pytest.approx(width, abs=0.005)
    with pytest.raises(ParameterError):
        breach_width(1.0, 1.0)


def test_a_mean_of_zero_is_refused() -> None:
    """E[y] = E[b] whatever x: the mean cannot be identified."""
    with pytest.raises(ParameterError, match="mean of a"):
        TransformedResponse(multiplier=Draw(mean=0, variance=1), offset=Draw(mean=0, variance=1))


@pytest.mark.parametrize(
    "change",
    [{"offset": Draw(mean=1, variance=1)}, {"scale": 0.0}, {"step": -1.0}, {"bounds": (1.0, 1.0)}],
)
def test_impossible_parameters_are_refused(change: dict[str, object]) -> None:
    """An offset with a mean, no scale, no step, bounds in the wrong order."""
    multiplier, offset = PUBLISHED["N(1,1)"]
    with pytest.raises(ParameterError):
        TransformedResponse(**{"multiplier": multiplier, "offset": offset, **change})  # type: ignore[arg-type]
    with pytest.raises(ParameterError):
        Draw(mean=math.nan, variance=1)
    with pytest.raises(ParameterError, match="shape"):
        Draw(mean=0, variance=1, shape="cauchy")  # type: ignore[arg-type]


def test_params_bring_the_mechanism_back() -> None:
    """Moments and constants survive the params file; a damaged one is refused."""
    mechanism = TransformedResponse.centred(*PUBLISHED["N(2,10)"], (0, 9), presence=RandomizedResponse.rrph(0.5))
    assert TransformedResponse.from_params(mechanism.to_params()) == mechanism
    with pytest.raises(ReleaseFormatError):
        TransformedResponse.from_params({"multiplier": {}})


def test_a_draw_without_variance_is_its_mean() -> None:
    """Whatever the word: a constant factor or a constant shift."""
    words = np.array([0, 1, 2**63, 2**64 - 1], dtype=np.uint64)
    for shape in ("normal", "uniform"):
        draw = Draw(mean=2.5, variance=0, shape=shape)  # type: ignore[arg-type]
        assert drawn(draw, words).tolist() == [2.5] * 4


def test_presence_is_a_bit() -> None:
    """A randomizer of three answers cannot say whether a value is there; a damaged one in the params is named."""
    multiplier, offset = PUBLISHED["N(1,1)"]
    with pytest.raises(ParameterError, match="between two answers"):
        TransformedResponse(multiplier=multiplier, offset=offset, presence=RandomizedResponse.equal(3, 0.5))
    params = trr(presence=RandomizedResponse.rrph(0.5)).to_params()
    params["presence"]["blind_weights"] = ["x", "y"]
    with pytest.raises(ReleaseFormatError, match="randomized response"):
        TransformedResponse.from_params(params)
