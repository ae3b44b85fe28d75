"""Counts that could be those of a table, from noisy ones.

Projection, expectation maximization, tables of class × value, intervals.

The likeliest distribution: nothing else on the simplex is likelier.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.errors import ParameterError
from anonkit.estimators.consistent_counts import (
    JointAnswers,
    SeparateAnswers,
    TableChannel,
    consistent_counts,
    interval,
    likeliest_shares,
    normal_quantile,
    project_to_simplex,
    smooth,
)
from anonkit.mechanisms.randomizers import randomizer_of
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.channels.number_channels import BandResponse
from anonkit.published.channels.response_channel import ResponseMatrix
from tests.published.jobs_and_ages import jobs_and_ages

KEY = bytes(range(32))


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8), st.integers(0, 99))
def test_the_projection_is_the_nearest_distribution(values: list[float], seed: int) -> None:
    """It is a distribution, and no random distribution is nearer."""
    point = np.array(values)
    found = project_to_simplex(point)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    others = np.random.default_rng(seed).dirichlet(np.ones(len(values)), 50)
    assert np.all(((others - point) ** 2).sum(axis=1) >= ((found - point) ** 2).sum() - 1e-9)


@given(st.integers(1, 12), st.booleans())
def test_smoothing_keeps_the_sum_and_leaves_missing_alone(cells: int, missing: bool) -> None:
    """Shares move between neighbouring cells only."""
    shares = np.random.default_rng(cells).dirichlet(np.ones(cells + missing))
    smoothed = smooth(shares, cells)
    assert smoothed.sum() == pytest.approx(1)
    if missing:
        assert smoothed[-1] == shares[-1]


def tables() -> list[TableChannel]:
    """Every way a table of 2 classes × 3 values is answered here."""
    return [
        SeparateAnswers(RandomizedResponse.clear(2), RandomizedResponse.equal(3, 0.4)),
        SeparateAnswers(RandomizedResponse.rrph(0.6), RandomizedResponse.skewed(0.4, [0.1, 0.2, 0.3])),
        SeparateAnswers(
            ResponseMatrix.warner(0.8),
            ResponseMatrix.from_probabilities([[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.2, 0.1, 0.7]]),
        ),
        JointAnswers(RandomizedResponse.from_epsilon(6, 2.0), 2),
    ]


TRUTH = np.array([[0.1, 0.2, 0.3], [0.25, 0.1, 0.05]])


@pytest.mark.parametrize("channel", tables(), ids=["clear", "separate", "matrices", "joint"])
def test_expected_answers_give_the_table_back(channel: TableChannel) -> None:
    """Moments and likelihood both invert the mean exactly; backward is the transpose of forward."""
    answers = 10_000 * channel.forward(TRUTH)
    estimate = channel.estimate(answers)
    assert np.allclose(estimate.counts, 10_000 * TRUTH)
    assert np.allclose(estimate.shares, TRUTH / TRUTH.sum(axis=1, keepdims=True))
    assert np.allclose(channel.maximum_likelihood(answers), TRUTH, atol=1e-4)
    other = np.random.default_rng(0).random(answers.shape)
    assert (channel.forward(TRUTH) * other).sum() == pytest.approx((TRUTH * channel.backward(other)).sum())


@pytest.mark.parametrize("channel", tables(), ids=["clear", "separate", "matrices", "joint"])
def test_errors_are_the_spread_of_the_estimates(channel: TableChannel) -> None:
    """Over 400 draws of 5,000 rows the stated standard error is within 20 % of the observed one."""
    rng = np.random.default_rng(7)
    expected = channel.forward(TRUTH)
    draws = [
        channel.estimate(rng.multinomial(5000, expected.reshape(-1)).reshape(expected.shape).astype(float))
        for _ in range(400)
    ]
    observed = np.std([draw.shares for draw in draws], axis=0)
    stated = np.mean([draw.errors for draw in draws], axis=0)
    assert stated == pytest.approx(observed, rel=0.2)


def test_a_smoothed_histogram_is_near_the_truth() -> None:
    """100,000 answers at ε = 2 give a histogram within 0.06 in total variation."""
    band = BandResponse.square_wave(2.0, 32)
    rng = np.random.default_rng(0)
    codes = np.clip(rng.normal(12, 4, 100_000), 0, 31).astype(np.int64)
    counts = np.bincount(randomizer_of(band).randomize(codes, key=KEY, stream=0), minlength=band.n_outputs).astype(
        float
    )
    channel = SeparateAnswers(RandomizedResponse.clear(1), band)
    found = channel.likeliest(counts[np.newaxis], smoothing=lambda shares: smooth(shares, 32), tolerance=1e-4)[0]
    assert np.abs(found - np.bincount(codes, minlength=32) / 100_000).sum() / 2 < 0.06


def test_no_answers_leave_the_first_guess() -> None:
    """An empty table of answers is no reason to fail."""
    band = BandResponse.square_wave(1.0, 4)
    channel = SeparateAnswers(RandomizedResponse.clear(2), band)
    assert np.allclose(channel.likeliest(np.zeros((2, band.n_outputs))), 1 / 8)


def test_intervals_are_cut_to_what_is_possible() -> None:
    """A share's interval stays in [0, 1]; the quantile is that of the normal distribution."""
    assert normal_quantile(0.95) == pytest.approx(1.959964, abs=1e-6)
    low, high = interval(np.array([0.01, 0.5]), np.array([0.02, 0.01]), 0.95, lowest=0.0, highest=1.0)
    assert low[0] == 0.0
    assert (low[1], high[1]) == pytest.approx((0.4804, 0.5196), abs=1e-4)
    with pytest.raises(ParameterError, match="level"):
        normal_quantile(95)


def test_a_joint_domain_must_divide_into_the_classes() -> None:
    """Seven codes are not two classes."""
    with pytest.raises(ParameterError, match="classes"):
        JointAnswers(RandomizedResponse.equal(7, 0.5), 2)


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


@given(st.integers(0, 10_000))
def test_consistent_counts_are_possible_counts(seed: int) -> None:
    """Not below 0, and of one class size for all attributes."""
    tables = jobs_and_ages(seed, epsilon=0.05)
    sizes = np.maximum(tables.class_sizes[0], 0)
    for table in tables.tables:
        counts = consistent_counts(tables, table)
        assert counts.min() >= 0
        assert np.allclose(counts.sum(axis=1), sizes)
