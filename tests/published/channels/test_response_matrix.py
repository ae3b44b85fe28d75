"""Response matrices of one's own, and Warner's model."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

from anonkit.errors import ParameterError, ReleaseFormatError
from anonkit.published.channels.response_matrix import ResponseMatrix
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
