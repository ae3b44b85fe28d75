"""ERRPH, its special cases, its inverse and its variance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.errors import ParameterError, ReleaseFormatError
from anonkit.mechanisms.randomizers import randomizer_of
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.channels.response_channel import ResponseMatrix
from tests.published.channels.channel_strategies import SIZES, kary_channels

KEY = bytes(range(32))


def shares_of(size: int, seed: int) -> np.ndarray:
    """Some distribution."""
    return np.random.default_rng(seed).dirichlet(np.ones(size))


@given(SIZES, st.floats(0.001, 20))
def test_the_realised_epsilon_is_close_to_the_target_and_never_above(size: int, epsilon: float) -> None:
    """Rounding to words costs at most 0.03 % of the wanted truth probability, and never privacy."""
    channel = RandomizedResponse.from_epsilon(size, epsilon)
    wanted = math.expm1(epsilon) / (math.expm1(epsilon) + size)
    assert channel.epsilon <= epsilon
    assert channel.truth_probability == pytest.approx(wanted, rel=3e-4)
    assert channel.truth_probability <= wanted * (1 + 1e-12)


@given(SIZES, st.floats(0.01, 0.99))
def test_the_epsilon_of_equal_blind_answers_is_the_formula(size: int, p_keep: float) -> None:
    """ε = ln(1 + m p_0 / (1 − p_0)), up to the rounding of words and never above."""
    channel = RandomizedResponse.equal(size, p_keep)
    formula = math.log1p(size * p_keep / (1 - p_keep))
    assert channel.epsilon <= formula * (1 + 1e-12)
    assert channel.epsilon == pytest.approx(formula, rel=1e-3)


@given(kary_channels())
def test_the_response_matrix_is_that_of_the_paper(channel: RandomizedResponse) -> None:
    """Table 1: p_0 on the diagonal plus p_j in every row; rows are integral numbers of words."""
    exact = np.array(channel.weights(), dtype=object)
    assert all(row.sum() == 2**channel.word_bits for row in exact)
    assert np.allclose((exact / 2**channel.word_bits).astype(float), channel.response_matrix(), atol=1e-15)


@given(kary_channels(), st.integers(0, 9))
def test_structured_verbs_agree_with_the_matrix(channel: RandomizedResponse, seed: int) -> None:
    """Results that are computed without the matrix equal those of the matrix."""
    matrix = channel.response_matrix()
    values = np.random.default_rng(seed).random((3, channel.n_inputs))
    inverse = np.linalg.inv(matrix)
    scale = np.abs(inverse).max()
    assert np.allclose(channel.forward(values), values @ matrix)
    assert np.allclose(channel.backward(values), values @ matrix.T)
    assert np.allclose(channel.unmix(values), values @ inverse, atol=1e-9 * scale)
    assert np.allclose(channel.unmix_squares(values), values @ inverse**2, atol=1e-9 * scale**2)
    assert np.allclose(channel.scores(values.T), inverse @ values.T, atol=1e-9 * scale)


@given(kary_channels(), st.integers(0, 9))
def test_the_estimate_of_expected_answers_is_the_truth(channel: RandomizedResponse, seed: int) -> None:
    """Eq. 1 inverts the mean exactly, and keeps sums."""
    shares = shares_of(channel.n_inputs, seed)
    assert np.allclose(channel.unmix(channel.forward(shares)), shares)
    assert channel.unmix(np.arange(channel.n_inputs) * 1.0).sum() == pytest.approx(sum(range(channel.n_inputs)))


@given(kary_channels(), st.integers(0, 9))
def test_both_variances_are_those_of_the_paper(channel: RandomizedResponse, seed: int) -> None:
    """Rows given: {p_j(1−p_j) + p_0(1−p_0−2p_j)π_j} / (N p_0²); rows sampled: λ_j(1−λ_j) / (N p_0²)."""
    shares, n = shares_of(channel.n_inputs, seed), 1000
    p, p_0 = channel.blind_probabilities, channel.truth_probability
    expected = p_0 * shares + p
    given_rows = (p * (1 - p) + p_0 * (1 - p_0 - 2 * p) * shares) / (n * p_0**2)
    squares = channel.unmix_squares(channel.forward(shares))
    assert np.allclose((squares - shares) / n, given_rows, rtol=1e-9, atol=1e-12 / p_0**2)
    assert np.allclose((squares - shares**2) / n, expected * (1 - expected) / (n * p_0**2), atol=1e-12 / p_0**2)


@given(st.floats(0.01, 0.99), st.integers(0, 9))
def test_two_categories_have_the_variance_of_rrph(p_keep: float, seed: int) -> None:
    """(1 − p_0²) / (4 N p_0²), whatever the shares."""
    channel = RandomizedResponse.rrph(p_keep)
    p = channel.truth_probability
    shares = shares_of(2, seed)
    assert np.allclose(channel.unmix_squares(channel.forward(shares)) - shares, (1 - p**2) / (4 * p**2))


@given(st.floats(0.01, 0.99))
def test_rrph_is_warner_with_another_parameter(p_keep: float) -> None:
    """RRPH(p_0) and Warner((1 + p_0) / 2) have one response matrix, up to one word."""
    ours = np.array(RandomizedResponse.rrph(p_keep).weights())
    theirs = np.array(ResponseMatrix.warner((1 + p_keep) / 2).weights())
    assert np.abs(ours - theirs).max() <= 1


@given(kary_channels(), st.integers(0, 9))
def test_no_other_distribution_is_likelier(channel: RandomizedResponse, seed: int) -> None:
    """The likeliest shares beat every other point of the simplex in likelihood."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(200, shares_of(channel.n_inputs, seed)).astype(float)
    best = channel.maximum_likelihood(counts)
    assert best.min() >= 0
    assert best.sum() == pytest.approx(1)

    def log_likelihood(shares: np.ndarray) -> float:
        expected = channel.forward(shares)
        return float((counts[counts > 0] * np.log(expected[counts > 0])).sum())

    top = log_likelihood(best)
    for _ in range(20):
        other = rng.dirichlet(np.full(channel.n_inputs, rng.choice([0.1, 1.0, 10.0])))
        mixed = 0.99 * best + 0.01 * other
        assert log_likelihood(mixed) <= top + 1e-7 * abs(top)


def test_likeliest_shares_of_possible_answers_are_the_unbiased_ones() -> None:
    """If the moment estimate is a distribution it is also the likeliest one."""
    channel = RandomizedResponse.equal(4, 0.5)
    counts = 1000 * channel.forward(np.array([0.1, 0.2, 0.3, 0.4]))
    assert np.allclose(channel.maximum_likelihood(counts), [0.1, 0.2, 0.3, 0.4])


def test_likeliest_shares_of_no_answers_are_equal() -> None:
    """Nothing known: nothing preferred."""
    assert np.allclose(RandomizedResponse.equal(4, 0.5).maximum_likelihood(np.zeros(4)), 0.25)


def test_the_breach_coefficient_is_that_of_the_paper() -> None:
    """p_0² / (p_0 + p_j); for two categories 2 p_0² / (1 + p_0)."""
    assert RandomizedResponse.rrph(0.35).breach() == pytest.approx(2 * 0.35**2 / 1.35)
    assert RandomizedResponse.equal(5, 0.6).breach() == pytest.approx(5 * 0.36 / (1 + 4 * 0.6))


def test_keeping_everything_is_clear_and_costs_everything() -> None:
    """p_0 = 1 publishes the truth, and ε is infinite."""
    channel = RandomizedResponse.equal(3, 1.0)
    codes = np.array([0, 1, 2, 2])
    assert np.array_equal(randomizer_of(channel).randomize(codes, key=KEY, stream=0), codes)
    assert channel.epsilon == math.inf
    assert any("none helps" in text for text in channel.assumptions)


def test_a_category_never_answered_blindly_costs_everything() -> None:
    """A skewed channel with p_j = 0 has no finite ε, and never gives that answer to others."""
    channel = RandomizedResponse.skewed(0.5, [0.25, 0.25, 0.0])
    assert channel.epsilon == math.inf
    answers = randomizer_of(channel).randomize(np.zeros(50_000, dtype=np.uint8), key=KEY, stream=0)
    assert set(np.unique(answers)) == {0, 1}


def test_many_categories_take_wider_words() -> None:
    """A domain of 100,000 categories at a small ε is still within 0.03 % of the wanted truth."""
    channel = RandomizedResponse.from_epsilon(100_000, 0.1)
    assert channel.word_bits == 64
    codes = np.arange(100_000, dtype=np.int32)
    answers = randomizer_of(channel).randomize(codes, key=KEY, stream=0)
    assert answers.min() >= 0
    assert answers.max() < 100_000
    assert channel.epsilon <= 0.1


@given(kary_channels())
def test_params_bring_the_channel_back(channel: RandomizedResponse) -> None:
    """The integers of the params file define the channel."""
    assert RandomizedResponse.from_params(channel.to_params()) == channel


@pytest.mark.parametrize(
    "make",
    [
        lambda: RandomizedResponse.equal(3, 0.0),
        lambda: RandomizedResponse.equal(3, 1.5),
        lambda: RandomizedResponse.equal(0, 0.5),
        lambda: RandomizedResponse.skewed(0.5, [0.5, 0.5]),
        lambda: RandomizedResponse.skewed(0.5, [0.6, -0.1]),
        lambda: RandomizedResponse(truth_weight=0, blind_weights=(2**31, 2**31)),
        lambda: RandomizedResponse(truth_weight=1, blind_weights=(1, 1)),
        lambda: RandomizedResponse(truth_weight=1, blind_weights=()),
        lambda: RandomizedResponse.from_epsilon(10**9, 1.0),
        lambda: RandomizedResponse.skewed(1e-19, [0.5, 0.5]),
    ],
)
def test_impossible_parameters_are_refused(make: object) -> None:
    """Each with a message that names the rule."""
    with pytest.raises(ParameterError):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    "damage",
    [{"truth_weight": "x"}, {"blind_weights": [1]}, {"word_bits": None}, {"categories": 10**12}, {"categories": 0}],
)
def test_damaged_params_are_refused(damage: dict[str, object]) -> None:
    """A key of the wrong kind is a format error."""
    params = {**RandomizedResponse.equal(3, 0.5).to_params(), **damage}
    with pytest.raises(ReleaseFormatError):
        RandomizedResponse.from_params(params)
    with pytest.raises(ReleaseFormatError):
        RandomizedResponse.from_params({})
    no_blind = RandomizedResponse.from_epsilon(3, 1.0).to_params()
    del no_blind["blind_weight"]
    with pytest.raises(ReleaseFormatError):
        RandomizedResponse.from_params(no_blind)


@given(st.integers(2, 9), st.integers(1, 20))
def test_answers_are_true_as_often_as_was_asked(size: int, above: int) -> None:
    """p_0 + p_j is p_truth, from just above a blind guess to the clear answer."""
    p_truth = min(1 / size + (1 - 1 / size) * above / 20, 1.0)
    channel = RandomizedResponse.with_truth(size, p_truth)
    np.testing.assert_allclose(np.diagonal(channel.response_matrix()), p_truth, atol=1e-8)
    assert (channel.epsilon == np.inf) == (above == 20)
    assert RandomizedResponse.with_truth(2, 0.75) == RandomizedResponse.equal(2, 0.5)
    assert RandomizedResponse.with_truth(1, 0.5) == RandomizedResponse.equal(1, 0.5)


@pytest.mark.parametrize("size", [2, 5])
def test_a_truth_rarer_than_a_blind_answer_is_refused(size: int) -> None:
    """Below 1 / m a blind guess would be the better answer."""
    with pytest.raises(ParameterError, match=f"above 1 / {size}"):
        RandomizedResponse.with_truth(size, 0.99 / size)


@given(st.lists(st.integers(1, 30), min_size=2, max_size=7), st.floats(0.2, 8))
def test_blind_answers_follow_public_weights(weights: list[int], epsilon: float) -> None:
    """p_j is (1 - p_0) w_j / Σw; for a target ε the rarest one sets p_0, and the target is reached and not exceeded."""
    channel = RandomizedResponse.weighted(weights, epsilon=epsilon)
    expected = (1 - channel.truth_probability) * np.array(weights) / sum(weights)
    np.testing.assert_allclose(channel.blind_probabilities, expected, rtol=1e-2)
    assert epsilon - 0.01 <= channel.epsilon <= epsilon
    kept = RandomizedResponse.weighted(weights, p_keep=0.25)
    assert kept.truth_probability == pytest.approx(0.25, abs=1e-6)


def test_a_weight_of_zero_has_no_finite_epsilon() -> None:
    """With a target it is refused; with p_keep it is allowed, costs everything, and is said."""
    with pytest.raises(ParameterError, match="betrays everyone"):
        RandomizedResponse.weighted([1, 0, 2], epsilon=1.0)
    channel = RandomizedResponse.weighted([1, 0, 2], p_keep=0.5)
    assert channel.ratio is None
    assert "none helps" in channel.assumptions[-1]


def test_one_category_says_nothing() -> None:
    """Any answer was the only possible one: a ratio of 1, an epsilon of 0."""
    channel = RandomizedResponse.equal(1, 0.5)
    assert channel.ratio == 1
    assert channel.epsilon == 0


@given(st.integers(1, 4), st.integers(1, 5), st.floats(0.05, 0.95))
def test_the_marginal_is_the_sum_over_classes(classes: int, size: int, p_keep: float) -> None:
    """The value of a joint answer: a channel of the values alone, with the blind words of all classes."""
    joint = RandomizedResponse.equal(classes * size, p_keep)
    alone = joint.marginal(classes)
    matrix = joint.response_matrix().reshape(classes, size, classes, size)
    np.testing.assert_allclose(alone.response_matrix(), matrix[0].sum(axis=1), atol=1e-12)
