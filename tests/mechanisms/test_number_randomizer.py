"""Numbers published by TRR: their distribution, their grid, and that a row is drawn alone.

Normal numbers from uniform ones: to the last digits, everywhere a random word can lead.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from anonkit.errors import ParameterError
from anonkit.mechanisms.randomizers import NumberRandomizer, normal_quantile, samples_of
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.channels.number_channels import PUBLISHED, ContinuousDraw, TransformedResponse
from anonkit.randomness import Randomness

SMALLEST = 2.0**-53
"""The share that the word 0 represents."""


def test_it_is_the_inverse_of_the_distribution_function() -> None:
    """Against another library, on a fine grid and far into both tails, within 4e-15 relative error."""
    tail = np.geomspace(SMALLEST, 0.5, 20_001)[:-1]
    shares = np.concatenate([np.linspace(0, 1, 100_001)[1:-1], tail, 1 - tail])
    known = ndtri(shares)
    assert np.allclose(normal_quantile(shares), known, rtol=4e-15, atol=1e-15)


@given(st.lists(st.floats(SMALLEST, 1 - SMALLEST), min_size=1, max_size=20))
def test_a_number_does_not_depend_on_its_neighbours(shares: list[float]) -> None:
    """Alone or in an array, to the last bit; and it is the number of the standard library."""
    together = normal_quantile(np.array(shares))
    assert together.tolist() == [float(normal_quantile(np.array([share]))[0]) for share in shares]
    assert np.allclose(together, [NormalDist().inv_cdf(share) for share in shares], rtol=1e-13, atol=1e-15)


def test_both_sides_mirror_each_other() -> None:
    """Shares p and 1 - p lie at -x and x; one half at 0."""
    shares = (np.arange(1, 5_000) / 10_000).round(4)
    assert np.allclose(normal_quantile(shares), -normal_quantile(1 - shares), rtol=1e-11)
    assert normal_quantile(np.array([0.5])).tolist() == [0.0]


KEY = bytes(range(32))
SETTINGS = st.sampled_from(sorted(PUBLISHED))


def trr(setting: str = "N(1,1)", presence: RandomizedResponse | None = None) -> TransformedResponse:
    """One of the published settings."""
    multiplier, offset = PUBLISHED[setting]
    return TransformedResponse(multiplier=multiplier, offset=offset, presence=presence)


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
    """For any number of draws: against as many sums of separate draws, by the Kolmogorov-Smirnov test."""
    from scipy.stats import ks_2samp

    a, b = (
        ContinuousDraw(mean=mean, variance=2.0, shape=shape) for mean, shape in zip((1.5, 0.0), shapes, strict=True)
    )  # type: ignore[arg-type]
    mechanism = TransformedResponse(multiplier=a, offset=b, centre=2.0, scale=3.0)
    shown = NumberRandomizer(mechanism).randomize(np.full(20_000, value), key=KEY, stream=0)
    words = Randomness.seeded(7).words(40_000)
    separate = 2.0 + samples_of(a, words[:20_000]) * (value - 2.0) + 3.0 * samples_of(b, words[20_000:])
    assert ks_2samp(shown, separate).pvalue > 1e-3


@pytest.mark.parametrize("shape", ["normal", "uniform"])
def test_draws_have_their_mean_and_variance(shape: str) -> None:
    """Both families, within 5 standard errors; uniform ones stay within their support."""
    draw = ContinuousDraw(mean=2.0, variance=9.0, shape=shape)  # type: ignore[arg-type]
    values = samples_of(draw, Randomness.seeded(3).words(200_000))
    assert values.mean() == pytest.approx(2.0, abs=5 * 3 / math.sqrt(200_000))
    assert values.var() == pytest.approx(9.0, rel=0.03)
    if shape == "uniform":
        assert np.abs(values - 2.0).max() <= 3 * math.sqrt(3)


def test_extreme_words_give_finite_draws() -> None:
    """The smallest and the largest word are no infinity."""
    words = np.array([0, 2**64 - 1], dtype=np.uint64)
    assert np.all(np.isfinite(samples_of(ContinuousDraw(mean=0, variance=1), words)))


def test_published_numbers_lie_on_the_grid() -> None:
    """Every published number is a whole multiple of the step: no low bits disclose the true one."""
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


def test_a_missing_value_without_presence_bit_is_refused() -> None:
    """A NaN passed through would reveal absence exactly; the message counts."""
    with pytest.raises(ParameterError, match="1 of 2 values are missing"):
        NumberRandomizer(trr()).randomize(np.array([1.0, np.nan]), key=KEY, stream=0)


def test_a_draw_without_variance_is_its_mean() -> None:
    """Every random word gives the constant factor or the constant shift."""
    words = np.array([0, 1, 2**63, 2**64 - 1], dtype=np.uint64)
    for shape in ("normal", "uniform"):
        draw = ContinuousDraw(mean=2.5, variance=0, shape=shape)  # type: ignore[arg-type]
        assert samples_of(draw, words).tolist() == [2.5] * 4


def test_clear_numbers_are_published_as_they_are() -> None:
    """A copy, missing values included."""
    numbers = np.array([1.5, np.nan, -2.25])
    published = NumberRandomizer(TransformedResponse.clear()).randomize(numbers, key=bytes(32), stream=0)
    assert np.array_equal(published, numbers, equal_nan=True)
    assert published is not numbers
