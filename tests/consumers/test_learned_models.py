"""Noisy counts as the sums of a model: consistent, with errors that cover the truth."""

from __future__ import annotations

import numpy as np
import pytest

import anonkit
from anonkit.consumers.learned_models import is_noisy_tables, statistics_of_tables
from anonkit.consumers.naive_bayes import NaiveBayes
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.domains.number_bins import Categories
from anonkit.mechanisms.accounting import units_of
from anonkit.mechanisms.noisy_histograms import noisy_tables
from anonkit.randomness import Randomness

CLASSES, JOBS = Categories(values=("no", "yes")), Categories(values=("a", "b", "c"))
COUNTS = np.array([[400, 300, 300], [50, 100, 350]])


def _params(seed: int, epsilon: float) -> dict[str, object]:
    rate = units_of(epsilon)
    tables = noisy_tables(
        ("t", CLASSES, COUNTS.sum(axis=1), rate), [("job", JOBS, COUNTS, rate)], Randomness.seeded(seed)
    )
    return tables.to_params()


def test_counts_with_little_noise_give_their_shares() -> None:
    """At epsilon 20 the model is that of the true counts, smoothed by half a row or drawn together by chance."""
    expected = (COUNTS + 0.5) / (COUNTS + 0.5).sum(axis=1, keepdims=True)
    for estimator, off in (("likelihood", 1e-3), ("shrunken", 5e-3)):
        model = NaiveBayes(estimator=estimator).fit(None, _params(1, 20.0))
        assert np.allclose(model.model_.factors[0].probabilities, expected, atol=off)
        assert np.allclose(model.model_.prior.probabilities, [2 / 3, 1 / 3], atol=1e-3)
        assert np.allclose(model.model_.prior.expected, [2 / 3, 1 / 3], atol=1e-3)


@pytest.mark.slow
def test_intervals_cover_the_shares_of_the_table() -> None:
    """300 draws at epsilon 0.1: the error of a share, noise included, covers the truth at least 93 times of 100."""
    shares = COUNTS / COUNTS.sum(axis=1, keepdims=True)
    covered = []
    for seed in range(300):
        factor = NaiveBayes(smoothing=0).fit_statistics(statistics_of_tables(_params(seed, 0.1))).model_.factors[0]
        covered.append(np.abs(factor.unbiased - shares) <= 1.96 * factor.errors)
    assert np.mean(covered) >= 0.93


def test_the_noise_survives_the_model_file() -> None:
    """A model written and read again predicts the same and states the same errors."""
    model = NaiveBayes().fit(None, _params(2, 0.5))
    again = NaiveBayes.from_json(model.to_json())
    row = {"job": np.array(["a", "c"])}
    assert np.array_equal(model.predict_proba(row), again.predict_proba(row))
    assert np.array_equal(model.standard_errors()["job"], again.standard_errors()["job"])


def test_a_release_is_recognized_by_its_params() -> None:
    """The rows drawn from the tables are not looked at: without them the model is the same."""
    release = anonkit.release(
        bank_customers(1_000, seed=1), method="dp-nb", epsilon=1.0, policy=bank_customers_policy(), seed=1
    )
    assert is_noisy_tables(release.params)
    test = bank_customers(50, seed=2)
    with_rows = NaiveBayes().fit(release.to_arrow(), release.params).predict_proba(test)
    without = NaiveBayes(release.params).fit(None).predict_proba(test)
    assert with_rows == pytest.approx(without)
