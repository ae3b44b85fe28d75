# SPDX-License-Identifier: Apache-2.0
"""Scores of a classifier, against scikit-learn.

Intervals of scores, of one model and of correlated folds: the published formulas, and what they cover.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score

from anonkit.utility.class_scores import (
    BETTER,
    NOTHING_SHOWN,
    WORSE,
    area_under_curve,
    class_score_intervals,
    class_scores,
    paired_difference,
    score_interval,
)
from anonkit.utility.class_utility import RowsAsReleased, prediction_for_all_rows

SCORES = [0.80, 0.82, 0.79, 0.85, 0.84]
scores = st.lists(st.floats(0, 1), min_size=5, max_size=5)


def test_the_interval_is_that_of_nadeau_and_bengio() -> None:
    """Mean ± t(4, .975) · sqrt((1/5 + 1/4) s²), worked out by hand; t is 2.7764, s² is .00065."""
    half = 2.776445 * math.sqrt((1 / 5 + 1 / 4) * 0.00065)
    assert score_interval(SCORES, 1 / 4) == pytest.approx((0.82 - half, 0.82 + half), abs=1.01e-4)


def test_the_interval_of_an_area_is_that_of_delong() -> None:
    """Worked out pair by pair: S10/m + S01/n of the placements, t(24, .975) = 2.0639, in log odds."""
    random = np.random.default_rng(3)
    above, below = (np.round(random.normal(mean, 1, size), 1) for mean, size in ((1.0, 40), (0.0, 25)))
    wins = (above[:, None] > below[None, :]) + (above[:, None] == below[None, :]) / 2
    area = wins.mean()
    variance = wins.mean(axis=1).var(ddof=1) / 40 + wins.mean(axis=0).var(ddof=1) / 25
    half = 2.063899 * math.sqrt(variance) / (area * (1 - area))
    ends = [1 / (1 + math.exp(-math.log(area / (1 - area)) - sign * half)) for sign in (-1, 1)]
    shares = np.append(above, below)
    found = class_score_intervals(np.column_stack([-shares, shares]), np.repeat([1, 0], [40, 25]))
    assert found["auc"] == pytest.approx(ends, abs=1.01e-4)
    assert 0.5 < found["auc"][0] < found["auc"][1] < 1


def test_an_area_without_an_error_is_not_certain() -> None:
    """Ten of ten right, or none: the interval has the end that so many right guesses of ten have, .6915."""
    truth = np.arange(20) % 2
    for shares, ends in ((truth, (0.6915, 1.0)), (1 - truth, (0.0, 0.3085))):
        found = class_score_intervals(np.column_stack([1 - shares, shares]).astype(float), truth)
        assert found["auc"] == pytest.approx(ends, abs=1e-4)


@pytest.mark.parametrize("weights", [(0.9, 0.1), (0.5, 0.3, 0.2)])
def test_intervals_of_one_model_cover_what_it_reaches_on_all_rows(weights: tuple[float, ...]) -> None:
    """Of a coin and of a fair model, ties among the scores: 109 or more of 120 intervals of 300 rows are right."""
    random = np.random.default_rng(5)

    def drawn(rows: int, signal: float) -> tuple[np.ndarray, np.ndarray]:
        truth = random.choice(len(weights), rows, p=weights)
        shares = np.round(random.random((rows, len(weights))) + signal * (truth[:, None] == np.arange(len(weights))), 1)
        return shares, truth

    for signal in (0.0, 0.6):
        reached = class_scores(*drawn(50_000, signal))
        right = dict.fromkeys(reached, 0)
        for _ in range(120):
            for name, (low, high) in class_score_intervals(*drawn(300, signal)).items():
                right[name] += low <= reached[name] <= high
        assert min(right.values()) >= 109  # 95 % less two standard errors


@given(one=scores, other=scores)
def test_a_difference_has_its_mean_inside_and_its_verdict_by_zero(one: list[float], other: list[float]) -> None:
    """The ends lie in [-1, 1] about the mean; better or worse is shown where 0 is outside, and nothing elsewhere."""
    found = paired_difference(one, other, 1 / 4)
    (low, high), value = found["ci"], found["value"]
    assert -1 <= low <= value + 1e-4
    assert value - 1e-4 <= high <= 1
    assert found["shows"] == (BETTER if low > 0 else WORSE if high < 0 else NOTHING_SHOWN)
    turned = paired_difference(other, one, 1 / 4)
    assert turned["value"] == -value
    assert turned["ci"] == [-high, -low]


@given(one=scores)
def test_scores_compared_with_themselves_differ_by_nothing(one: list[float]) -> None:
    """The difference is 0, its interval holds 0, and no gain is shown."""
    assert paired_difference(one, one, 1 / 4) == {"value": 0.0, "ci": [0.0, 0.0], "shows": NOTHING_SHOWN}


def test_scores_of_a_share_stay_within_it() -> None:
    """A score's interval ends at 0 and 1."""
    assert score_interval([0.0, 0.9, 0.1, 1.0, 0.9], 1 / 4) == (0.0, 1.0)


def _population(rows: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Five attributes of twelve values, of which three predict the class."""
    values = random.integers(0, 12, (rows, 5))
    score = 0.25 * (values[:, 0] - 5.5) + 0.2 * (values[:, 1] - 5.5) * (values[:, 2] > 5) - 0.8
    return values, (random.random(rows) < 1 / (1 + np.exp(-score))).astype(int)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [300, 1000])
def test_tables_of_the_same_worth_are_seldom_told_apart(rows: int) -> None:
    """Two columns of noise are exchanged for others: of 200 tables at most 10 show a difference of AUC."""
    import pyarrow as pa

    random = np.random.default_rng(11)
    every, shown = np.ones(rows, dtype=bool), 0
    for _ in range(200):
        values, labels = _population(rows, random)
        other = np.column_stack([values[:, :3], random.permutation(values[:, 3:])])
        tables = [pa.table({f"c{at}": part[:, at] for at in range(5)}) for part in (values, other)]
        source = tables[0].append_column("y", pa.array(labels))
        found = prediction_for_all_rows(
            source, tables[0].column_names, "y", RowsAsReleased(table=tables[1], released=every, placed=every)
        )
        assert found is not None
        shown += found["difference"]["auc"]["shows"] != NOTHING_SHOWN
    assert shown <= 10


@pytest.mark.slow
def test_the_interval_of_a_real_loss_covers_it() -> None:
    """Coarser columns cost the same AUC in every table of a population: 95 % of 200 intervals cover the mean loss."""
    import pyarrow as pa

    random = np.random.default_rng(12)
    every, found = np.ones(600, dtype=bool), []
    for _ in range(200):
        values, labels = _population(600, random)
        coarse = values // np.array([4, 6, 1, 1, 1])
        tables = [pa.table({f"c{at}": part[:, at] for at in range(5)}) for part in (values, coarse)]
        source = tables[0].append_column("y", pa.array(labels))
        one = prediction_for_all_rows(
            source, tables[0].column_names, "y", RowsAsReleased(table=tables[1], released=every, placed=every)
        )
        assert one is not None
        found.append(one["difference"]["auc"])
    truth = float(np.mean([one["value"] for one in found]))
    assert truth < -0.005
    assert sum(one["ci"][0] <= truth <= one["ci"][1] for one in found) >= 186  # 95 % less two standard errors


def test_errors_beyond_one_have_intervals_too() -> None:
    """An interval of errors is not cut at 1; a lower error is better, and one of tiny numbers does not vanish."""
    low, high = score_interval([40.0, 50.0, 60.0], 0.25, most=float("inf"))
    assert 0 < low < 50 < high
    less = paired_difference([10.0, 11.0, 10.5], [20.0, 21.0, 20.6], 0.25, bounded=False, less_is_better=True)
    more = paired_difference([20.0, 21.0, 20.6], [10.0, 11.0, 10.5], 0.25, bounded=False, less_is_better=True)
    assert (less["shows"], more["shows"]) == (BETTER, WORSE)
    assert less["value"] == pytest.approx(-10.0333, abs=1e-3)
    assert less["ci"][0] < less["value"] < less["ci"][1] < 0
    tiny = score_interval([1e-6, 1.1e-6, 0.9e-6], 0.25, most=float("inf"))
    assert 0 <= tiny[0] < 1e-6 < tiny[1] < 2e-6
    assert score_interval([1.0, -1.0], 0.25, least=-float("inf"), most=float("inf"))[0] < 0


ROWS = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=2, max_size=40)


@given(rows=ROWS.filter(lambda rows: len({is_positive for is_positive, _ in rows}) == 2))
def test_the_area_is_that_of_scikit_learn(rows: list[tuple[bool, int]]) -> None:
    """With ties, with few rows, and whatever the order of the rows."""
    positive, scores = np.array([row[0] for row in rows]), np.array([row[1] / 6 for row in rows])

    assert area_under_curve(positive, scores) == pytest.approx(roc_auc_score(positive, scores), abs=1e-12)


@given(truth=st.lists(st.integers(0, 2), min_size=3, max_size=30), seed=st.integers(0, 1000))
def test_several_classes_are_scored_one_against_the_rest(truth: list[int], seed: int) -> None:
    """Weighted by the rows of each class that occurs; accuracies are those of scikit-learn."""
    labels = np.array([0, 1, *truth])
    shares = np.random.default_rng(seed).dirichlet(np.ones(3), labels.size)
    found = class_scores(shares, labels)

    seen, rows = np.unique(labels, return_counts=True)
    areas = [roc_auc_score(labels == chosen, shares[:, chosen]) for chosen in seen]
    assert found["auc"] == pytest.approx(np.average(areas, weights=rows), abs=1e-12)
    assert found["accuracy"] == pytest.approx(accuracy_score(labels, shares.argmax(axis=1)))
    guesses_of_seen = np.isin(shares.argmax(axis=1), seen)
    if guesses_of_seen.all():  # scikit-learn warns of a class that is guessed and never there
        assert found["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(labels, shares.argmax(axis=1)))


def test_a_class_that_the_model_does_not_know_is_told_by_a_coin() -> None:
    """Its rows are all wrong, and its area is one half."""
    truth = np.array([0, 0, 1, 1, 2, 2])
    shares = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.2, 0.8], [0.5, 0.5], [0.4, 0.6]])
    found = class_scores(shares, truth)

    assert found["accuracy"] == pytest.approx(4 / 6)
    known = [roc_auc_score(truth == chosen, shares[:, chosen]) for chosen in (0, 1)]
    assert found["auc"] == pytest.approx(np.average([*known, 0.5], weights=[2, 2, 2]))
