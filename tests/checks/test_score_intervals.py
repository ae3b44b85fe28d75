"""Intervals of scores of correlated folds: the published formula, and what they cover."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.checks.score_intervals import GAIN, LOSS, NOTHING_SHOWN, paired_difference, score_interval
from anonkit.checks.utility import RowsAsReleased, prediction_for_all_rows

SCORES = [0.80, 0.82, 0.79, 0.85, 0.84]
scores = st.lists(st.floats(0, 1), min_size=5, max_size=5)


def test_the_interval_is_that_of_nadeau_and_bengio() -> None:
    """Mean ± t(4, .975) · sqrt((1/5 + 1/4) s²), worked out by hand; t is 2.7764, s² is .00065."""
    half = 2.776445 * math.sqrt((1 / 5 + 1 / 4) * 0.00065)
    assert score_interval(SCORES, 1 / 4) == pytest.approx((0.82 - half, 0.82 + half), abs=1.01e-4)


@given(one=scores, other=scores)
def test_a_difference_has_its_mean_inside_and_its_verdict_by_zero(one: list[float], other: list[float]) -> None:
    """The ends lie in [-1, 1] about the mean; a gain or loss is shown where 0 is outside, and nothing elsewhere."""
    found = paired_difference(one, other, 1 / 4)
    (low, high), value = found["ci"], found["value"]
    assert -1 <= low <= value + 1e-4
    assert value - 1e-4 <= high <= 1
    assert found["shows"] == (GAIN if low > 0 else LOSS if high < 0 else NOTHING_SHOWN)
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
    """Five attributes of twelve values, of which three tell the class."""
    values = random.integers(0, 12, (rows, 5))
    score = 0.25 * (values[:, 0] - 5.5) + 0.2 * (values[:, 1] - 5.5) * (values[:, 2] > 5) - 0.8
    return values, (random.random(rows) < 1 / (1 + np.exp(-score))).astype(int)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [300, 1000])
def test_tables_of_the_same_worth_are_seldom_told_apart(rows: int) -> None:
    """Two columns of noise are exchanged for others: of 200 tables at most 10 show a gain or a loss of AUC."""
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
    """An interval of errors is not cut at 1; a lower error is a gain, and one of tiny numbers does not vanish."""
    low, high = score_interval([40.0, 50.0, 60.0], 0.25, most=float("inf"))
    assert 0 < low < 50 < high
    less = paired_difference([10.0, 11.0, 10.5], [20.0, 21.0, 20.6], 0.25, bounded=False, less_is_better=True)
    more = paired_difference([20.0, 21.0, 20.6], [10.0, 11.0, 10.5], 0.25, bounded=False, less_is_better=True)
    assert (less["shows"], more["shows"]) == (GAIN, LOSS)
    assert less["value"] == pytest.approx(-10.0333, abs=1e-3)
    assert less["ci"][0] < less["value"] < less["ci"][1] < 0
    tiny = score_interval([1e-6, 1.1e-6, 0.9e-6], 0.25, most=float("inf"))
    assert 0 <= tiny[0] < 1e-6 < tiny[1] < 2e-6
    assert score_interval([1.0, -1.0], 0.25, least=-float("inf"), most=float("inf"))[0] < 0
