"""Set response: answers that represent sets of pairs of class and value, shifted around their ends."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.errors import ParameterError, ReleaseFormatError
from anonkit.published.channels.category_channels import MOST_PAIRS, RandomizedResponse, SetResponse
from anonkit.published.channels.response_channel import ResponseMatrix
from anonkit.published.exact_losses import worst_ratio
from tests.published.channels.channel_strategies import set_channels

FANO = SetResponse.from_epsilon(1.0, (0, 1, 3), segments=1, values=7)
"""The lines of the plane of seven points: every two points lie on one of them."""


@given(set_channels())
def test_no_answer_is_likelier_than_the_claim_allows(channel: SetResponse) -> None:
    """The worst ratio over all pairs and answers, by enumeration, is the stated one, and rows are whole."""
    weights = channel.weights()
    assert all(sum(row) == 2**channel.word_bits for row in weights)
    assert worst_ratio(weights) == channel.ratio
    assert channel.blanket == Fraction(sum(map(min, zip(*weights, strict=True))), 1 << channel.word_bits)


@given(set_channels(), st.floats(0.001, 20))
def test_the_claim_is_reached_and_never_above_the_target(channel: SetResponse, epsilon: float) -> None:
    """Rounding to whole words, of the matrix as it is written out, costs little and never raises the loss."""
    made = SetResponse.from_epsilon(epsilon, channel.members, segments=channel.segments, values=channel.values)
    assert made.epsilon <= epsilon
    assert math.expm1(made.epsilon) >= math.expm1(epsilon) * 4094 / 4096


def test_an_answer_stands_for_a_line_of_points() -> None:
    """Seven values, lines 0 1 3: value 2 is answered by 2, 3 and 5 with e times the probability of the others."""
    row = FANO.weights()[2]
    assert [at for at, words in enumerate(row) if words > 1.5 * min(row)] == [2, 3, 5]
    assert max(row) / min(row) == pytest.approx(math.e, rel=1e-3)
    # the truth is a member with probability 3e / (3e + 4)
    near = sum(row[at] for at in (2, 3, 5)) / 2**32
    assert near == pytest.approx(3 * math.e / (3 * math.e + 4), rel=1e-4)


def test_classes_and_values_go_around_their_ends_apart() -> None:
    """Two classes of three values, set (0, 0) and (1, 2): from (1, 1) lead (1, 1) and, past both ends, (0, 0)."""
    channel = SetResponse.from_epsilon(1.0, (0, 5), segments=2, values=3)
    row = channel.weights()[4]
    assert [at for at, words in enumerate(row) if words > 1.5 * min(row)] == [0, 4]


def test_the_set_of_one_pair_is_randomized_response() -> None:
    """The same probabilities, but for the words that rounding leaves."""
    one = SetResponse.from_epsilon(1.0, (0,), segments=2, values=4)
    assert np.allclose(one.response_matrix(), RandomizedResponse.from_epsilon(8, 1.0).response_matrix(), atol=1e-6)


@given(set_channels(), st.integers(0, 2**32 - 1))
def test_convolutions_are_what_the_matrix_gives(channel: SetResponse, seed: int) -> None:
    """Answer shares, means, counts, their squares and the largest of them: by frequencies and by the bare matrix."""
    bare = ResponseMatrixOf(channel)
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(channel.n_inputs), size=2)
    values, counts = rng.normal(size=channel.n_outputs), rng.integers(0, 100, (2, channel.n_outputs)).astype(float)
    np.testing.assert_allclose(channel.response_matrix(), bare.response_matrix())
    np.testing.assert_allclose(channel.forward(shares), bare.forward(shares), atol=1e-12)
    np.testing.assert_allclose(channel.backward(values), bare.backward(values), atol=1e-12)
    scale = float(bare.unmix_squares(counts).max())
    np.testing.assert_allclose(channel.unmix(counts), bare.unmix(counts), atol=1e-9 * scale)
    np.testing.assert_allclose(channel.unmix_squares(counts), bare.unmix_squares(counts), rtol=1e-6, atol=1e-9 * scale)
    np.testing.assert_allclose(channel.largest_scores, bare.largest_scores, rtol=1e-6, atol=1e-9 * scale)
    assert channel.truth_probability + channel.blind_probabilities.sum() == pytest.approx(1)


class ResponseMatrixOf(ResponseMatrix):
    """The same law as a bare matrix, which has the verbs of every channel."""

    def __init__(self, channel: SetResponse) -> None:
        rows = tuple(tuple(words << (32 - channel.word_bits) for words in row) for row in channel.weights())
        super().__init__(rows=rows)


@given(set_channels(), st.integers(0, 2**32 - 1))
def test_scores_have_the_targets_as_their_means(channel: SetResponse, seed: int) -> None:
    """Under each true pair the mean of the score of the answer is the target; that of a class its membership."""
    targets = np.random.default_rng(seed).normal(size=(channel.n_inputs, 3))
    matrix, scores = channel.response_matrix(), channel.scores(targets)
    np.testing.assert_allclose(matrix @ scores, targets, atol=1e-9 * max(1, np.abs(scores).max()))
    of_class = channel.class_scores(channel.segments)
    expected = np.repeat(np.eye(channel.segments), channel.values, axis=0)
    np.testing.assert_allclose(matrix @ of_class, expected, atol=1e-9 * max(1, np.abs(of_class).max()))


@given(set_channels())
def test_the_marginal_is_the_sum_over_classes(channel: SetResponse) -> None:
    """Nobody looking at the class: answers of all classes with one value add up, word by word, whatever the class."""
    alone = channel.marginal(channel.segments)
    weights = np.array(channel.weights(), dtype=object)
    summed = weights.reshape(channel.n_inputs, channel.segments, -1).sum(axis=1)
    expected = np.array(alone.weights(), dtype=object)
    for of_class in summed.reshape(channel.segments, -1, alone.n_outputs):
        assert np.array_equal(of_class, expected)
    assert worst_ratio(alone.weights()) == alone.ratio


@given(set_channels())
def test_params_bring_the_channel_back(channel: SetResponse) -> None:
    """The integers of the params file define the channel."""
    assert SetResponse.from_params(json.loads(json.dumps(channel.to_params()))) == channel


def test_a_set_that_loses_a_frequency_cannot_be_undone() -> None:
    """Two opposite values of four: who has which of them is lost, and moments say so."""
    lost = SetResponse.from_epsilon(1.0, (0, 2), segments=1, values=4)
    with pytest.raises(ParameterError, match="lose a frequency"):
        lost.unmix(np.ones(4))


def test_impossible_parameters_are_refused() -> None:
    """Sizes, members, weights and params that cannot be."""
    sound = {"segments": 1, "values": 7, "members": (0, 1, 3), "blind_weight": 9, "excess_weight": 9}
    for change, message in (
        ({"segments": 0}, "at least 1"),
        ({"members": ()}, "at least 1"),
        ({"values": MOST_PAIRS + 1}, "at most 4096 pairs"),
        ({"members": (1, 0)}, "ascending order"),
        ({"members": (-1, 0)}, "ascending order"),
        ({"members": (0, 7)}, "ascending order"),
        ({"blind_weight": 2**31}, "add up"),
        ({"word_bits": 8}, "word_bits"),
    ):
        with pytest.raises(ParameterError, match=message):
            SetResponse(**{**sound, **change})  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="classes do not fit"):
        FANO.marginal(2)
    with pytest.raises(ReleaseFormatError):
        SetResponse.from_params({"segments": 1})
    with pytest.raises(ReleaseFormatError, match="at most 4096 members"):
        SetResponse.from_params({**FANO.to_params(), "members": [0] * (MOST_PAIRS + 1)})


@pytest.mark.parametrize(("epsilon", "values", "bits"), [(1.0, 7, 32), (20.0, 4096, 64), (40.0, 4096, 64)])
def test_words_are_as_wide_as_the_rounding_needs(epsilon: float, values: int, bits: int) -> None:
    """32 bits where they keep the ratio within 1 in 4096 of the target, else 64; never more than was requested."""
    channel = SetResponse.from_epsilon(epsilon, (0, 1, 3), segments=1, values=values)
    assert channel.word_bits == bits
    assert channel.epsilon <= epsilon
