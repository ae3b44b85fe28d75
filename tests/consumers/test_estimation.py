"""Estimates from sums: class sizes are unbiased, shares stay shares, and settings out of range are refused.

Predictions with little information: the commonest class, and class shares as reconstructed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import anonkit
from anonkit.consumers import NaiveBayes
from anonkit.consumers.column_statistics import ClassStatistics
from anonkit.consumers.estimation import (
    Estimation,
    class_sizes,
    is_unperturbed,
    make_factor,
    make_prior,
    smoothed_shares,
)
from anonkit.domains.coded_columns import FloatArray
from anonkit.domains.number_bins import Categories
from anonkit.errors import ParameterError
from anonkit.policy.declaration import Policy
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.channels.number_channels import PUBLISHED, TransformedResponse
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable, PublishedTarget

POLICY = {
    "columns": {
        "y": {"role": "target", "categories": ["no", "yes"]},
        **{f"a{at}": {"categories": ["0", "1", "2", "3"]} for at in range(12)},
    }
}
ROWS = 20_000


def _rows(seed: int, effect: float, *, copied: bool) -> tuple[pd.DataFrame, np.ndarray]:
    """Twelve attributes of four values; in three of ten rows the class is yes. Copies agree in nine rows of ten."""
    draw = np.random.default_rng(seed)
    yes = draw.random(ROWS) < 0.3
    hidden = np.where(draw.random(ROWS) < effect * yes, 3, draw.integers(0, 4, ROWS))
    columns = {}
    for at in range(12):
        own = np.where(draw.random(ROWS) < effect * yes, 3, draw.integers(0, 4, ROWS))
        columns[f"a{at}"] = np.where(copied & (draw.random(ROWS) < 0.9), hidden, own).astype(str)
    return pd.DataFrame({**columns, "y": np.where(yes, "yes", "no")}), yes


def _learned(rows: pd.DataFrame, method: str, seed: int, **settings: float) -> NaiveBayes:
    table = pa.Table.from_pandas(rows, preserve_index=False)
    policy = Policy.from_dict(POLICY)
    release = anonkit.release(table, method=method, policy=policy, seed=seed, ledger=None, **settings)
    return NaiveBayes().fit(release.to_arrow(), release.params)


def _chances(model: NaiveBayes, rows: pd.DataFrame) -> FloatArray:
    return model.predict_proba(rows.head(4000))[:, 1]


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_attributes_that_say_nothing_leave_the_commonest_class(epsilon: float) -> None:
    """Twelve attributes of pure noise: nearly all rows get the class that most have, and none is sure of the other."""
    rows, _ = _rows(1, 0.0, copied=False)
    for seed in (1, 2, 3):
        chances = _chances(_learned(rows, "rr", seed, epsilon=epsilon), rows)
        assert (chances < 0.5).mean() > 0.97
        assert chances.max() < 0.8


def test_the_likeliest_shares_alone_take_the_noise_for_signal() -> None:
    """The same rows without shrinkage: many get the rarer class, which is what the factor is for."""
    rows, _ = _rows(1, 0.0, copied=False)
    drawn = _learned(rows, "rr", 0, epsilon=0.5)
    model = NaiveBayes(drawn.table_, estimator="likelihood").fit_statistics(drawn.statistics_)
    assert model.model_.weight == 1
    assert (_chances(model, rows) >= 0.5).mean() > 0.02


@pytest.mark.parametrize(
    ("method", "settings"), [("rr", {"epsilon": 2.0}), ("rr", {"epsilon": 8.0}), ("errph", {"epsilon": 8.0})]
)
@pytest.mark.parametrize("copied", [False, True])
def test_predicted_shares_are_those_of_the_classes(method: str, settings: dict[str, float], copied: bool) -> None:
    """The mean of the predicted chances is the reconstructed share of the class, where attributes are copies too."""
    rows, _ = _rows(2, 0.4, copied=copied)
    model = _learned(rows, method, 1, **settings)
    assert _chances(model, rows).mean() == pytest.approx(model.model_.prior.expected[1], abs=0.06)


def test_copies_of_an_attribute_make_no_sure_predictions() -> None:
    """Eleven copies say no more than one: the logarithmic loss is that of less than the full sum."""
    rows, yes = _rows(3, 0.4, copied=True)
    drawn = _learned(rows, "rr", 1, epsilon=8.0)
    plain = NaiveBayes(drawn.table_, estimator="likelihood").fit_statistics(drawn.statistics_)
    truth = yes[:4000]
    losses = [
        -np.log(np.maximum(np.where(truth, chances, 1 - chances), 1e-9)).mean()
        for chances in (_chances(drawn, rows), _chances(plain, rows))
    ]
    assert losses[0] < 0.8 * losses[1]


def test_the_order_of_the_rows_of_two_classes_stays() -> None:
    """One factor on the sum moves no row past another: areas under the curve do not fall."""
    rows, _ = _rows(4, 0.3, copied=True)
    model = _learned(rows, "rr", 1, epsilon=1.0)
    assert model.model_.weight < 1
    full = sum(factor.log_likelihood(model._columns(rows.head(500)))[0] for factor in model.model_.factors)
    said, chances = full[:, 1] - full[:, 0], _chances(model, rows)[:500]
    order = np.argsort(said)
    assert (np.diff(chances[order]) >= -1e-12).all()


def test_rows_that_were_not_randomized_are_read_as_ever() -> None:
    """An array without params is plain Gaussian naive Bayes, for any number of rows: nothing is shrunk."""
    draw = np.random.default_rng(0)
    model = NaiveBayes().fit(draw.normal(size=(8, 3)), [0, 0, 0, 0, 0, 0, 1, 1])
    assert model.model_.weight == 1
    assert np.array_equal(model.model_.prior.expected, model.model_.prior.probabilities)


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
