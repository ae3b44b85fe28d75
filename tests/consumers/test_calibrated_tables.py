# SPDX-License-Identifier: Apache-2.0
"""Naive Bayes of noisy tables: evidence drawn in by noise, and no surer than a skewed target allows."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

from anonkit.consumers.learned_models import statistics_of_tables
from anonkit.consumers.naive_bayes import NaiveBayes
from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.domains.number_bins import Categories, Grid
from anonkit.errors import ReleaseFormatError
from anonkit.estimators.evidence_weight import SKEWED, weight_of_tables
from anonkit.mechanisms.accounting import units_of
from anonkit.mechanisms.noisy_histograms import noisy_tables
from anonkit.randomness import Randomness

CLASSES = Categories(values=("no", "yes"))
CELLS = 16


def _rows(seed: int, n: int, rate: float, columns: int, common: float) -> tuple[FloatArray, IntArray]:
    """Numbers that depend on the class through one factor, the more the larger `common`."""
    draw = np.random.default_rng(seed)
    labels = (draw.random(n) < rate).astype(np.int64)
    factor = draw.normal(size=n) + labels
    own = draw.normal(size=(n, columns))
    return common * factor[:, np.newaxis] + np.sqrt(1 - common**2) * own, labels


def _model(seed: int, values: FloatArray, labels: IntArray, epsilon: float) -> NaiveBayes:
    domain = Grid(lower=-4.0, upper=4.0, cells=CELLS)
    codes = domain.encode(np.clip(values, -4.0, 4.0)).astype(np.int64)
    tables = [
        (f"x{at}", domain, np.bincount(labels * CELLS + column, minlength=2 * CELLS).reshape(2, CELLS), rate)
        for at, column in enumerate(codes.T)
        for rate in [units_of(epsilon) // (codes.shape[1] + 1)]
    ]
    sizes = np.bincount(labels, minlength=2)
    noisy = noisy_tables(("y", CLASSES, sizes, tables[0][3]), tables, Randomness.seeded(seed))
    return NaiveBayes().fit_statistics(statistics_of_tables(noisy.to_params()))


def _right(model: NaiveBayes, values: FloatArray, labels: IntArray) -> float:
    rows = {f"x{at}": column for at, column in enumerate(np.clip(values, -4.0, 4.0).T)}
    return float((model.predict(rows) == np.array(CLASSES.values, dtype=object)[labels]).mean())


@pytest.mark.quick_cases("0.1-20-0.5")
@pytest.mark.parametrize(("rate", "columns", "common"), [(0.06, 12, 0.7), (0.1, 20, 0.5), (0.15, 15, 0.6)])
def test_a_model_of_a_skewed_target_is_not_behind_the_majority(rate: float, columns: int, common: float) -> None:
    """Columns that say the same make plain naive Bayes wrong more often than its commonest class; this one is not."""
    values, labels = _rows(1, 12_000, rate, columns, common)
    fresh, truth = _rows(2, 20_000, rate, columns, common)
    majority = float((truth == 0).mean())
    chance = np.sqrt(rate * (1 - rate) / truth.size)
    for epsilon in (0.1, 1.0):
        model = _model(3, values, labels, epsilon)
        assert _right(model, fresh, truth) >= majority - 2 * chance
        plain = NaiveBayes(estimator="likelihood").fit_statistics(model.statistics_)
        assert _right(model, fresh, truth) >= _right(plain, fresh, truth) - 2 * chance


def test_the_same_tables_give_the_same_model() -> None:
    """Nothing of the calibration is left to chance, and nothing gets lost in the model file."""
    values, labels = _rows(1, 2_000, 0.1, 6, 0.6)
    model, again = (_model(3, values, labels, 0.5) for _ in range(2))
    assert model.model_.weight == again.model_.weight < 1
    read = NaiveBayes.from_json(model.to_json())
    rows = {f"x{at}": column for at, column in enumerate(np.clip(values, -4.0, 4.0).T)}
    assert np.array_equal(model.predict_proba(rows), read.predict_proba(rows))
    assert model.statistics_.stored.to_dict() == read.statistics_.stored.to_dict()


def test_damaged_counts_of_a_model_file_are_refused() -> None:
    """Published counts of another shape than the sums are no model's."""
    values, labels = _rows(1, 500, 0.3, 2, 0.5)
    model = json.loads(_model(3, values, labels, 1.0).to_json())
    model["statistics"]["noisy"]["x0"] = [[1, 2], [3, 4]]
    with pytest.raises(ReleaseFormatError):
        NaiveBayes.from_json(json.dumps(model))


def test_more_columns_of_the_same_count_less_each() -> None:
    """The weight falls with the number of columns, is 1 for one, and is lower where the target is skewed."""
    within = np.array([[0.7, 0.3], [0.3, 0.7]])
    even, skewed = np.array([0.5, 0.5]), np.array([0.9, 0.1])
    assert skewed.max() > SKEWED > even.max()
    for classes in (even, skewed):
        weights = [weight_of_tables([within] * columns, classes) for columns in (1, 2, 5, 12, 40)]
        assert weights[0] == 1
        assert all(0 < later <= earlier for earlier, later in pairwise(weights))
    assert weight_of_tables([within] * 12, skewed) < weight_of_tables([within] * 12, even)


def test_columns_that_say_nothing_change_no_weight() -> None:
    """No evidence is no overlap."""
    nothing = np.full((3, 4), 0.25)
    assert weight_of_tables([nothing] * 5, np.array([0.8, 0.1, 0.1])) == 1
    assert weight_of_tables([], np.array([0.8, 0.2])) == 1
