"""The likeliest distribution: nothing else on the simplex is likelier."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.estimators.maximum_likelihood import likeliest_shares
from anonkit.published.channels.kary_response import RandomizedResponse


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 12), st.floats(0.02, 0.95), st.integers(0, 10_000), st.integers(1, 100_000))
def test_the_closed_form_of_randomized_response_is_reached(size: int, p_keep: float, seed: int, n_rows: int) -> None:
    """The log-likelihood is that of the exact solution, up to what the last barrier costs."""
    channel = RandomizedResponse.equal(size, p_keep)
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(n_rows, channel.forward(rng.dirichlet(np.full(size, 0.3)))).astype(float)
    found, exact = likeliest_shares(counts, channel.response_matrix()), channel.maximum_likelihood(counts)

    def log_likelihood(shares: np.ndarray) -> float:  # type: ignore[type-arg]
        return float(counts[counts > 0] @ np.log(channel.forward(shares)[counts > 0]))

    assert found.sum() == pytest.approx(1)
    assert found.min() > 0
    assert log_likelihood(found) >= log_likelihood(exact) - size * 2e-5 - 1e-9 * n_rows


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 6), st.integers(2, 9), st.integers(0, 10_000))
def test_no_vertex_of_the_simplex_leads_uphill(size: int, n_answers: int, seed: int) -> None:
    """For any matrix the largest directional derivative, which bounds what is missed, is nearly 0."""
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.ones(n_answers), size)
    counts = rng.integers(0, 500, n_answers).astype(float)
    counts[0] += 1
    shares = likeliest_shares(counts, matrix)
    missed = (matrix @ (counts / (shares @ matrix))).max() - counts.sum()
    assert missed <= size * 2e-5 + 1e-7 * counts.sum()


def test_no_answers_give_equal_shares() -> None:
    """Nothing known: nothing preferred."""
    assert np.allclose(likeliest_shares(np.zeros(3), np.eye(3)), 1 / 3)


def test_an_answer_that_one_value_alone_gives_is_followed() -> None:
    """With a clear channel the shares are those of the counts."""
    assert np.allclose(likeliest_shares(np.array([1.0, 3.0, 0.0]), np.eye(3)), [0.25, 0.75, 0.0], atol=1e-5)
