"""Weights of a sample in comparisons: models weigh training rows by them, and never see them as a feature."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import anonkit
from anonkit.comparing.model_scores import models_of_release, models_of_rows
from anonkit.policy.target_task import Task

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
