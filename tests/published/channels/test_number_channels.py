"""Band response: square wave and piecewise mechanism on a grid, missing values, classes hidden together with values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.errors import ParameterError, ReleaseFormatError
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.channels.number_channels import BandResponse
from anonkit.published.exact_losses import worst_ratio
from tests.published.channels.channel_strategies import band_channels

KEY = bytes(range(32))


@given(band_channels())
def test_no_answer_is_likelier_than_the_claim_allows(channel: BandResponse) -> None:
    """The worst ratio over all inputs and answers, by enumeration, is at most the stated one, and rows are whole."""
    weights = channel.weights()
    assert all(sum(row) == 2**channel.word_bits for row in weights)
    found = worst_ratio(weights)
    assert found is not None
    assert found <= channel.ratio


@given(st.floats(0.05, 11), st.integers(2, 40))
def test_the_claim_is_reached(epsilon: float, positions: int) -> None:
    """Without missing the worst ratio is that of a place inside one band and outside another."""
    channel = BandResponse.square_wave(epsilon, positions)
    assert channel.epsilon <= epsilon
    assert channel.epsilon == pytest.approx(epsilon, rel=2e-3)
    assert worst_ratio(channel.weights()) == channel.ratio


@given(band_channels(), st.integers(0, 9))
def test_running_sums_agree_with_the_matrix(channel: BandResponse, seed: int) -> None:
    """Forward and backward without the matrix are what the matrix gives."""
    rng, matrix = np.random.default_rng(seed), channel.response_matrix()
    shares, answers = rng.random((2, channel.n_inputs)), rng.random((2, channel.n_outputs))
    assert np.allclose(channel.forward(shares), shares @ matrix)
    assert np.allclose(channel.backward(answers), answers @ matrix.T)


@given(band_channels())
def test_scores_are_unbiased_for_every_input(channel: BandResponse) -> None:
    """The means of the four scores under each true code are: in the segment, present, i and i²."""
    positions, segments = channel.positions, channel.segments
    means = np.tensordot(channel.response_matrix(), channel.power_scores(positions, segments), axes=(1, 0))
    for code in range(channel.n_inputs):
        segment, position = divmod(code, positions + channel.has_missing)
        expected = np.zeros((segments, 4))
        present = position < positions
        expected[segment] = [1, 1, position, position**2] if present else [1, 0, 0, 0]
        scale = np.abs(channel.power_scores(positions, segments)).max()
        assert np.allclose(means[code], expected, atol=1e-9 * max(scale, 1))


def test_the_bands_are_those_of_the_papers() -> None:
    """Square wave: 2b of the range; piecewise: e^(−ε/2) of it."""
    epsilon, n = 1.0, 1000
    e = math.exp(epsilon)
    b = (epsilon * e - e + 1) / (2 * e * (e - 1 - epsilon))
    assert BandResponse.square_wave(epsilon, n).band == round(2 * b * n)
    assert BandResponse.piecewise(epsilon, n).band == round(math.exp(-0.5) * n)


def test_the_piecewise_mechanism_has_the_variance_of_its_paper() -> None:
    """Worst case t = ±1: t²/(e^{ε/2} − 1) + (e^{ε/2} + 3) / (3 (e^{ε/2} − 1)²), on a fine grid."""
    epsilon, n = 2.0, 512
    channel = BandResponse.piecewise(epsilon, n)
    scores = channel.power_scores(n)[:, 0, 2]
    value = (scores - (n - 1) / 2) / (n / 2)
    matrix, s = channel.response_matrix(), math.exp(epsilon / 2)
    for t, row in ((1.0, matrix[-1]), (0.0, matrix[n // 2])):
        variance = row @ value**2 - (row @ value) ** 2
        assert variance == pytest.approx(t**2 / (s - 1) + (s + 3) / (3 * (s - 1) ** 2), rel=0.01)


def test_a_band_of_one_is_randomized_response() -> None:
    """Band width 1 gives the response matrix of randomized response, up to rounding."""
    band = BandResponse.square_wave(8.0, 16, has_missing=True)
    plain = RandomizedResponse.from_epsilon(17, 8.0)
    assert band.band == 1
    assert np.allclose(band.response_matrix(), plain.response_matrix(), atol=1e-6)


@given(band_channels())
def test_the_marginal_is_the_sum_over_classes(channel: BandResponse) -> None:
    """Nobody looking at the class: answers of all classes with one value add up, word by word."""
    alone = channel.marginal(channel.segments)
    weights = np.array(channel.weights(), dtype=object)
    summed = weights.reshape(channel.n_inputs, channel.segments, -1).sum(axis=1)
    expected = np.array(alone.weights(), dtype=object)
    assert np.array_equal(summed.reshape(channel.segments, -1, alone.n_outputs)[0], expected)


@given(band_channels())
def test_params_bring_the_channel_back(channel: BandResponse) -> None:
    """The integers of the params file define the channel."""
    assert BandResponse.from_params(channel.to_params()) == channel


def test_impossible_parameters_are_refused() -> None:
    """ε out of range, one position, weights that do not fit, a grid of another size, damaged params."""
    for epsilon, positions in ((0, 8), (13, 8), (1, 1)):
        with pytest.raises(ParameterError):
            BandResponse.square_wave(epsilon, positions)
    with pytest.raises(ParameterError, match="add up"):
        BandResponse(positions=4, band=2, blind_weight=2**30, excess_weight=2**30)
    with pytest.raises(ParameterError, match="at least 1"):
        BandResponse(positions=4, band=0, blind_weight=1, excess_weight=1)
    with pytest.raises(ParameterError, match="grid"):
        BandResponse.square_wave(1, 8).power_scores(9)
    with pytest.raises(ParameterError, match="classes"):
        BandResponse.square_wave(1, 8).marginal(2)
    with pytest.raises(ReleaseFormatError):
        BandResponse.from_params({"positions": 4})


@pytest.mark.parametrize(
    ("positions", "bits", "share"), [(64, 32, 4094 / 4096), (60_000, 64, 4094 / 4096), (10**14, 64, 0.99)]
)
def test_words_are_as_wide_as_the_rounding_needs(positions: int, bits: int, share: float) -> None:
    """32 bits where they keep the ratio within 1 in 4096 of the target, else 64; never more than was requested."""
    channel = BandResponse.piecewise(12.0, positions)
    assert channel.word_bits == bits
    assert channel.epsilon <= 12.0
    assert math.expm1(channel.epsilon) >= math.expm1(12.0) * share
