"""Weights of a sample in comparisons: models weigh training rows by them, and never see them as a feature.

The reconstructed model of a release, beside the models trained on its rows as they are.

Differences of two models row by row: their intervals, and the rows they need in common.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anonkit
from anonkit.bundle.stored_release import Release
from anonkit.comparing.model_scores import (
    RECONSTRUCTED,
    models_of_release,
    models_of_rows,
    of_classes,
    of_numbers,
    scores_of_reconstruction,
)
from anonkit.consumers.learned_models import learned_from
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.policy.target_task import Task
from anonkit.utility.consumer_models import best_of, name_of_best, scores_of_models

TARGET = "customer_value"
TEST = bank_customers(600, seed=2)


def _released(method: str, n: int = 600, **chosen: Any) -> Release:
    table, policy = bank_customers(n, seed=1), bank_customers_policy()
    return anonkit.release(table, method=method, policy=policy, seed=3, **chosen)


def _both(made: Release, test: pa.Table = TEST) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    return scores_of_models(made.to_arrow(), test, TARGET), scores_of_reconstruction(made, test, TARGET)


@pytest.mark.slow
def test_undoing_the_noise_of_answers_beats_the_best_model_trained_on_them() -> None:
    """By AUC on the same held-out rows; on 3,000 rows, because on a few hundred chance decides."""
    ordinary, found = _both(_released("ppnb", 3_000, p_keep=0.35), bank_customers(3_000, seed=2))
    best = best_of(ordinary)
    assert best is not None
    assert found[RECONSTRUCTED]["auc"] > best + 0.01


@pytest.mark.slow
def test_rows_of_noisy_counts_are_as_good_as_the_counts() -> None:
    """They hold the counts already, up to the drawing."""
    ordinary, found = _both(_released("dp-nb", epsilon=1.0))
    assert found[RECONSTRUCTED]["auc"] == pytest.approx(best_of(ordinary), abs=0.03)
    both = {**ordinary, **found}
    assert both[name_of_best(both) or ""]["auc"] == max(one["auc"] for one in both.values())


@pytest.mark.filterwarnings("ignore::anonkit.consumers.learning_power.NothingLearnedWarning")
@pytest.mark.parametrize(
    ("method", "chosen"),
    [
        ("rr", {"epsilon": 4.0}),
        ("dp-forest", {"epsilon": 2.0}),
        ("dp-nb", {"epsilon": 2.0}),
        ("edprf", {"epsilon": 2.0, "vote": "sum"}),
    ],
)
def test_the_scores_are_those_of_reconstruct(method: str, chosen: dict[str, Any], tmp_path: Any) -> None:
    """The same model as `anonkit reconstruct` makes from the files, by the same accuracy."""
    made = _released(method, **chosen)
    scores = scores_of_reconstruction(made, TEST, TARGET)[RECONSTRUCTED]
    made.save(tmp_path / "out.parquet")
    told = anonkit.reconstruct(tmp_path / "out.parquet", test=TEST).scores
    assert told is not None
    assert scores["accuracy"] == pytest.approx(told.accuracy, abs=1e-4)
    assert scores["balanced_accuracy"] == pytest.approx(told.balanced_accuracy, abs=1e-4)


def test_an_ordinary_table_has_no_such_model() -> None:
    """Nothing to undo without params of noise, and nothing to score for a column the model does not predict."""
    assert learned_from({"format": "anonkit-params/2"}, TEST) is None
    assert scores_of_reconstruction(_released("ppnb", p_keep=0.5), TEST, "income") == {}


def test_a_label_that_is_no_class_of_the_release_is_never_guessed() -> None:
    """Its rows count as wrong, however the model guesses; a table of such labels has no score."""
    made = _released("ppnb", p_keep=0.5)
    plain = TEST.set_column(TEST.schema.get_field_index(TARGET), TARGET, TEST.column(TARGET).cast(pa.string()))
    foreign = plain.slice(0, 50).set_column(plain.num_columns - 1, TARGET, pa.array(["another"] * 50))
    more = pa.concat_tables([plain, foreign])
    with_them, without = (scores_of_reconstruction(made, table, TARGET)[RECONSTRUCTED] for table in (more, plain))
    assert with_them["accuracy"] == pytest.approx(without["accuracy"] * 600 / 650, abs=1e-4)
    assert with_them["balanced_accuracy"] == pytest.approx(without["balanced_accuracy"] * 3 / 4, abs=1e-4)
    assert scores_of_reconstruction(made, foreign, TARGET) == {}
    assert np.isfinite(scores_of_reconstruction(made, plain, TARGET)[RECONSTRUCTED]["auc"])


@pytest.mark.slow
def test_the_interval_of_a_difference_is_that_of_resampled_rows() -> None:
    """Two classifiers, and two predictions of a number, on 1,500 rows: as wide as the bootstrap's, within a fifth."""
    draw = np.random.default_rng(3)
    truth = draw.integers(0, 2, 1500)
    shared = draw.normal(0, 1, 1500)
    scores = [1 / (1 + np.exp(-(truth - 0.5 + shared + draw.normal(0, 0.3, 1500)))) for _ in range(2)]
    shares = [np.column_stack([1 - one, one]) for one in scores]
    numbers = truth + draw.normal(0, 1, 1500)
    guesses = [truth + 0.2 * draw.normal(0, 1, 1500) for _ in range(2)]
    for measured, given, target in ((of_classes, shares, truth), (of_numbers, guesses, numbers)):
        difference = measured(given[0], target).less(measured(given[1], target))  # type: ignore[operator]
        assert difference is not None
        value, (low, high) = difference
        again = []
        for _ in range(300):
            rows = draw.integers(0, 1500, 1500)
            again.append(measured(given[0][rows], target[rows]).value - measured(given[1][rows], target[rows]).value)  # type: ignore[operator]
        assert low < value < high
        assert (high - low) / 3.92 == pytest.approx(np.std(again), rel=0.2)


def test_scores_on_other_rows_are_not_set_against_each_other() -> None:
    """Without the same rows there is no difference row by row."""
    one = of_numbers(np.arange(5.0), np.arange(5.0) ** 2)
    assert one.less(of_numbers(np.arange(4.0), np.arange(4.0) ** 2)) is None


DRAW = np.random.default_rng(8)


def sampled(n_rows: int = 300) -> pa.Table:
    """Return a sample whose weight gives its label away; nothing else says anything of it."""
    label = DRAW.integers(0, 2, n_rows)
    return pa.table(
        {
            "age": DRAW.integers(20, 24, n_rows),
            "sex": DRAW.choice(["f", "m"], n_rows),
            "label": np.where(label == 1, "yes", "no"),
            "number": label * 1.0,
            "w": np.where(label == 1, 90.0, 10.0) + DRAW.random(n_rows),
        }
    )


def test_no_model_of_a_release_learns_from_its_weights() -> None:
    """With the weight as a feature the label would be known; it is not."""
    columns = {
        "age": {"role": "quasi_identifier"},
        "sex": {"role": "quasi_identifier"},
        "label": {"role": "quasi_identifier", "keep": True},
        "number": {"role": "identifier"},
        "w": {"role": "weight"},
    }
    release = anonkit.release(
        sampled(), method="mondrian", k=5, policy={"columns": columns, "unit": "none"}, no_target=True, ledger=None,
        utility=False,
    )  # fmt: skip
    models = models_of_release(release, sampled(), "label", Task.CLASSIFICATION)
    assert models
    assert all(model.scores["auc"] < 0.7 for model in models.values())


@pytest.mark.quick_cases("classification")
@pytest.mark.parametrize("task", [Task.CLASSIFICATION, Task.REGRESSION])
def test_no_model_of_rows_learns_from_their_weights(task: Task) -> None:
    """Nor one of rows as they are, which is the mark that releases are measured by."""
    target, measure = ("label", "auc") if task is Task.CLASSIFICATION else ("number", "r2")
    rows = sampled().drop_columns(["number" if target == "label" else "label"])
    seen = models_of_rows(rows, rows, target, task)
    unseen = models_of_rows(rows, rows, target, task, "w")
    assert max(model.scores[measure] for model in seen.values()) > 0.95
    assert max(model.scores[measure] for model in unseen.values()) < 0.75


def test_rows_count_by_their_weights() -> None:
    """A row of weight 3 counts as three rows: linear models and the mean are those of the rows written out."""
    rows = sampled(120).drop_columns(["label"])
    times = np.resize([1, 2, 3], 120)
    weighted = rows.set_column(3, "w", pa.array(times))
    written = weighted.take(pa.array(np.repeat(np.arange(120), times)))
    found = models_of_rows(weighted, rows, "number", Task.REGRESSION, "w")
    plain = models_of_rows(written.drop_columns(["w"]), rows, "number", Task.REGRESSION)
    assert found["the mean"].scores["mae"] == pytest.approx(plain["the mean"].scores["mae"], abs=1e-4)


def test_rows_without_a_weight_are_left_out() -> None:
    """Missing, 0, below 0 and no number: what is learned is what the others give."""
    rows = sampled(120).drop_columns(["label"])
    weights = np.resize([1.0, 2.0, np.nan, 0.0, -1.0, np.inf], 120)
    some = np.isfinite(weights) & (weights > 0)
    weighted = rows.set_column(3, "w", pa.array(weights))
    found = models_of_rows(weighted, rows, "number", Task.REGRESSION, "w")
    plain = models_of_rows(weighted.filter(pa.array(some)), rows, "number", Task.REGRESSION, "w")
    assert {name: model.scores for name, model in found.items()} == {
        name: model.scores for name, model in plain.items()
    }
