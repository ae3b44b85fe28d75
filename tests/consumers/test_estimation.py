"""Estimates from sums: class sizes are unbiased, shares stay shares, and settings out of range are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anonkit.consumers.class_statistics import ClassStatistics
from anonkit.consumers.estimation import (
    Estimation,
    class_sizes,
    is_unperturbed,
    make_factor,
    make_prior,
    smoothed_shares,
)
from anonkit.domains.number_bins import Categories
from anonkit.errors import ParameterError
from anonkit.published.channels.kary_response import RandomizedResponse
from anonkit.published.channels.transformed_response import PUBLISHED, TransformedResponse
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable, PublishedTarget


def statistics(p_keep: float | None) -> ClassStatistics:
    """Sums of 1,000 rows: 700 and 300 of two classes, whose attribute has shares of .9 and .2."""
    channel = RandomizedResponse.clear(2) if p_keep is None else RandomizedResponse.equal(2, p_keep)
    binary = Categories(values=("no", "yes"))
    table = PublishedTable(
        target=PublishedTarget(name="y", domain=binary, mechanism=channel),
        attributes=(PublishedAttribute(name="a", domain=binary, mechanism=channel),),
    )
    truth = np.array([[630.0, 70.0], [60.0, 240.0]])
    made = ClassStatistics(table)
    matrix = channel.response_matrix()
    made.label_counts = np.rint(truth.sum(axis=1) @ matrix).astype(np.int64)
    made.sums = {"a": np.rint(matrix.T @ truth @ matrix).astype(np.int64)}
    return made


@pytest.mark.parametrize("estimator", ["shrunken", "likelihood", "moment", "published"])
@pytest.mark.parametrize("p_keep", [None, 0.8])
def test_every_estimator_finds_the_shares_behind_expected_answers(estimator: Any, p_keep: float | None) -> None:
    """Of classes and of values, in [0, 1] and adding up to 1, each with an error that noise makes larger."""
    sums = statistics(p_keep)
    estimation = Estimation(estimator=estimator)
    prior = make_prior(sums, estimation)
    assert np.allclose(prior.probabilities, [0.7, 0.3], atol=0.02)
    factor: Any = make_factor(sums.table.attributes[0], sums, estimation)
    assert np.allclose(factor.probabilities, [[0.9, 0.1], [0.2, 0.8]], atol=0.06)
    assert np.allclose(factor.probabilities.sum(axis=1), 1)


def test_class_sizes_are_unbiased_and_their_variances_grow_with_noise() -> None:
    """The inverse of the channel; of clear labels the counts themselves."""
    target = statistics(0.8).table.target
    assert target is not None
    clear, noisy = statistics(None), statistics(0.5)
    assert class_sizes(clear, clear.table.target)[0].tolist() == [700.0, 300.0]  # type: ignore[arg-type]
    sizes, variances = class_sizes(noisy, noisy.table.target)  # type: ignore[arg-type]
    assert np.allclose(sizes, [700, 300], atol=2)
    assert (variances > class_sizes(clear, clear.table.target)[1]).all()  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [{"estimator": "best"}, {"numbers": "uniform"}, {"smoothing": -1.0}])
def test_settings_out_of_range_are_refused(given: dict[str, Any]) -> None:
    """By name."""
    with pytest.raises(ParameterError, match=next(iter(given))):
        Estimation(**given)


def test_smoothed_shares_are_positive() -> None:
    """So many rows more of each value; an empty class is even."""
    shares = smoothed_shares(np.array([[1.0, 0.0], [0.5, 0.5]]), 0.5, 10.0)
    assert (shares > 0).all()
    assert np.allclose(shares.sum(axis=-1), 1)


def test_only_clear_values_are_unperturbed() -> None:
    """Of either mechanism."""
    assert is_unperturbed(RandomizedResponse.clear(3))
    assert is_unperturbed(TransformedResponse.clear())
    assert not is_unperturbed(RandomizedResponse.equal(3, 0.9))
    assert not is_unperturbed(TransformedResponse(multiplier=PUBLISHED["N(1,1)"][0], offset=PUBLISHED["N(1,1)"][1]))
