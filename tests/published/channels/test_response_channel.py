"""The inherited verbs of every channel: matrix, blanket, moments and scores, against the structured ones.

Response matrices of one's own, and Warner's model.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.errors import ParameterError, ReleaseFormatError
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.channels.number_channels import BandResponse
from anonkit.published.channels.response_channel import Channel, ResponseMatrix, TruthOrBlind
from tests.published.channels.channel_strategies import stochastic_matrices

KEY = bytes(range(32))


@given(stochastic_matrices())
def test_words_follow_the_matrix_and_keep_its_zeros(matrix: list[list[float]]) -> None:
    """Each entry is within one word of its probability; what is impossible stays impossible."""
    channel = ResponseMatrix.from_probabilities(matrix)
    words, wanted = np.array(channel.weights()), np.array(matrix)
    assert np.all(words.sum(axis=1) == 2**32)
    assert np.abs(words / 2**32 - wanted).max() <= 2 / 2**32
    assert np.all((words == 0) == (wanted == 0))


def test_warner_has_the_epsilon_and_breach_of_its_formulas() -> None:
    """ε = ln(p / (1 − p)) and breach p² + (1 − p)², on either side of one half."""
    for p in (0.9, 0.6, 0.3):
        channel = ResponseMatrix.warner(p)
        assert channel.epsilon == pytest.approx(abs(math.log(p / (1 - p))), rel=1e-8)
        assert channel.breach() == pytest.approx(p**2 + (1 - p) ** 2)


def test_an_answer_only_some_inputs_give_costs_everything() -> None:
    """A zero beside a positive entry of a column makes ε infinite."""
    assert ResponseMatrix.from_probabilities([[0.5, 0.5], [0.0, 1.0]]).epsilon == math.inf


def test_a_matrix_without_inverse_says_so() -> None:
    """Warner's model with one half cannot be undone."""
    with pytest.raises(ParameterError, match="no inverse"):
        ResponseMatrix.warner(0.5).unmix(np.array([1.0, 1.0]))


@given(stochastic_matrices())
def test_params_bring_the_matrix_back(matrix: list[list[float]]) -> None:
    """The words of the params file define the channel."""
    channel = ResponseMatrix.from_probabilities(matrix)
    assert ResponseMatrix.from_params(channel.to_params()) == channel


def test_bad_matrices_are_refused() -> None:
    """Not square, not adding up, negative, of another word size, or damaged."""
    for matrix in ([[1.0, 0.0]], [[0.5, 0.4], [0.5, 0.5]], [[1.5, -0.5], [0.0, 1.0]]):
        with pytest.raises(ParameterError):
            ResponseMatrix.from_probabilities(matrix)
    with pytest.raises(ParameterError, match="word_bits"):
        ResponseMatrix(rows=((2**32,),), word_bits=64)
    with pytest.raises(ReleaseFormatError):
        ResponseMatrix.from_params({"rows": [["x"]], "word_bits": 32})


def test_weights_of_the_wrong_total_are_refused() -> None:
    """Rows that were written by hand or damaged: a negative weight, a word too few."""
    whole = 1 << 32
    for rows in (((whole, 0), (1, whole - 2)), ((whole + 1, -1), (0, whole))):
        with pytest.raises(ParameterError, match="add up"):
            ResponseMatrix(rows=rows)
    with pytest.raises(ParameterError, match="square"):
        ResponseMatrix(rows=())


@st.composite
def twins(draw: st.DrawFn) -> tuple[RandomizedResponse, ResponseMatrix]:
    """A structured channel of 32-bit words, and the same law as a bare matrix, which has the verbs of every channel."""
    weights = draw(st.lists(st.integers(1, 20), min_size=2, max_size=6))
    structured = RandomizedResponse.weighted(weights, p_keep=draw(st.sampled_from([0.1, 0.3, 0.5, 0.8])))
    return structured, ResponseMatrix(rows=tuple(map(tuple, structured.weights())))


def smallest_of_each_answer(channel: Channel) -> Fraction:
    """Return the total of the column minima of the exact matrix."""
    return Fraction(sum(map(min, zip(*channel.weights(), strict=True))), 1 << channel.word_bits)


@given(twins())
def test_the_blanket_is_what_every_input_answers_alike(both: tuple[RandomizedResponse, ResponseMatrix]) -> None:
    """The total of the smallest probabilities of each answer, from the matrix and from the blind answers alone."""
    structured, bare = both
    assert structured.blanket == bare.blanket == smallest_of_each_answer(structured)


@given(st.floats(0.1, 6), st.integers(2, 12), st.booleans(), st.integers(1, 3))
def test_the_blanket_of_a_band_is_counted_from_its_matrix(
    epsilon: float, positions: int, has_missing: bool, segments: int
) -> None:
    """Never more than the matrix allows; less only where one segment's bands are so wide that all of them overlap."""
    channel = BandResponse.square_wave(epsilon, positions, has_missing=has_missing, segments=segments)
    overlap = channel.band >= positions and segments == 1 and not has_missing
    assert channel.blanket <= smallest_of_each_answer(channel)
    assert (channel.blanket < smallest_of_each_answer(channel)) == overlap


@given(twins(), st.integers(0, 2**32 - 1))
def test_structured_moments_are_those_of_the_matrix(both: tuple[RandomizedResponse, ResponseMatrix], seed: int) -> None:
    """Answer shares, estimated counts, their squares, their largest entry: two ways to the same numbers."""
    structured, bare = both
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(bare.n_inputs))
    counts = rng.integers(0, 100, bare.n_outputs).astype(float)
    values = rng.normal(size=bare.n_outputs)

    np.testing.assert_allclose(bare.response_matrix(), structured.response_matrix(), rtol=1e-12)
    np.testing.assert_allclose(bare.response_matrix().sum(axis=1), 1)
    np.testing.assert_allclose(bare.forward(shares), structured.forward(shares), rtol=1e-9)
    np.testing.assert_allclose(bare.backward(values), structured.backward(values), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(bare.unmix(counts), structured.unmix(counts), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(bare.unmix_squares(counts), structured.unmix_squares(counts), rtol=1e-6)
    np.testing.assert_allclose(bare.largest_scores, structured.largest_scores, rtol=1e-6)
    assert structured.truth_probability + structured.blind_probabilities.sum() == pytest.approx(1)


@given(twins(), st.integers(0, 2**32 - 1))
def test_scores_have_the_targets_as_their_means(both: tuple[RandomizedResponse, ResponseMatrix], seed: int) -> None:
    """Under each true code the mean of the score of the answer is the target, for both channels."""
    targets = np.random.default_rng(seed).normal(size=(both[0].n_inputs, 2))
    for channel in both:
        np.testing.assert_allclose(channel.response_matrix() @ channel.scores(targets), targets, atol=1e-6)


@pytest.mark.parametrize(
    "channel",
    [RandomizedResponse.from_epsilon(12, 1.0), BandResponse.square_wave(1.0, 3, has_missing=True, segments=3)],
)
def test_class_scores_are_unbiased_for_the_class(channel: TruthOrBlind) -> None:
    """Their mean under every pair of class and value is 1 for its class and 0 for the others."""
    means = channel.response_matrix() @ channel.class_scores(3)
    np.testing.assert_allclose(means, np.repeat(np.eye(3), 4, axis=0), atol=1e-9)


@pytest.mark.parametrize("segments", [1, 2])
@pytest.mark.parametrize("has_missing", [False, True])
def test_power_scores_are_unbiased_for_position_and_square(segments: int, has_missing: bool) -> None:
    """In the segment, present, i and i²: a missing value is in its segment and nowhere else."""
    positions = 4
    n_inputs = segments * (positions + has_missing)
    channel = RandomizedResponse.equal(n_inputs, 0.4)
    means = channel.response_matrix() @ channel.power_scores(positions, segments).reshape(n_inputs, -1)
    for code, mean in enumerate(means.reshape(n_inputs, segments, 4)):
        segment, place = divmod(code, positions + has_missing)
        expected = np.zeros((segments, 4))
        expected[segment] = [1, 0, 0, 0] if place == positions else [1, 1, place, place**2]
        np.testing.assert_allclose(mean, expected, atol=1e-9)


def test_a_matrix_warns_of_what_a_plain_channel_need_not() -> None:
    """Both say what every epsilon rests on; a matrix may have been computed from the data."""
    structured = RandomizedResponse.equal(3, 0.5)
    bare = ResponseMatrix(rows=tuple(map(tuple, structured.weights())))
    band = BandResponse.piecewise(1.0, 8)
    assert structured.assumptions == band.assumptions
    assert bare.assumptions[:-1] == structured.assumptions
    assert "not computed from the data" in bare.assumptions[-1]
