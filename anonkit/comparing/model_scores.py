# SPDX-License-Identifier: Apache-2.0
"""Scores of models on test rows: trained on a release as its receivers would, or on rows as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.bundle.stored_release import Release
from anonkit.comparing.paired_scores import MeasuredModel, of_numbers
from anonkit.comparing.rebuilt_model import measured_reconstruction
from anonkit.policy.target_task import Task
from anonkit.published.recoding import recoding_from_dict
from anonkit.utility.consumer_models import shares_of_models
from anonkit.utility.number_models import numbers_of_models, scored

MEASURE = {Task.CLASSIFICATION: "auc", Task.REGRESSION: "r2"}
"""By what the best model is chosen, by task."""


def models_of_rows(
    train: pa.Table, test: pa.Table, target: str, task: Task, weight: str | None = None
) -> dict[str, MeasuredModel]:
    """Return models trained on some rows, by their weights, and scored on others, by the model's name."""
    if task is Task.REGRESSION:
        predicted, numbers = numbers_of_models(train, test, target, weight)
        return {
            name: MeasuredModel(scores=scored(guesses, numbers), by_row=of_numbers(guesses, numbers))
            for name, guesses in predicted.items()
        }
    shares, truth = shares_of_models(train, test, target, weight)
    return {name: MeasuredModel.of_classes(given, truth) for name, given in shares.items()}


def models_of_release(
    release: Release, held_out: pa.Table, target: str, task: Task, *, most: int | None = None
) -> dict[str, MeasuredModel]:
    """Return models trained on a release, and the one that is rebuilt from its params, by the model's name.

    Parameters
    ----------
    release : Release
    held_out : Table
        Rows that are not in it, as they are.
    target : str
        What is predicted; a release without this column has the rebuilt model alone.
    task : Task
    most : int, optional
        Released rows that ordinary models are trained on, at most; all by default. The rebuilt model has all.
    """
    table = release.to_arrow()
    ordinary: dict[str, MeasuredModel] = {}
    if target in table.column_names:
        recoded, some = _recoded(release, held_out, table.column_names), some_rows(table, most)
        weight = (release.params.get("weight") or {}).get("column")
        ordinary = models_of_rows(some, recoded, target, task, weight)
        if not ordinary and some is not table:  # too few rows of a rare class were left
            ordinary = models_of_rows(table, recoded, target, task, weight)
    return {**ordinary, **measured_reconstruction(release, held_out, target)}


def scores_of_release(release: Release, held_out: pa.Table, target: str, task: Task) -> dict[str, Mapping[str, Any]]:
    """Return the scores of `models_of_release`, of models that are trained on all released rows."""
    return scores_of(models_of_release(release, held_out, target, task))


def scores_of_rows(train: pa.Table, test: pa.Table, target: str, task: Task) -> dict[str, Mapping[str, Any]]:
    """Return the scores of `models_of_rows`."""
    return scores_of(models_of_rows(train, test, target, task))


def scores_of(models: Mapping[str, MeasuredModel]) -> dict[str, Mapping[str, Any]]:
    """Return the scores of models by their names."""
    return {name: model.scores for name, model in models.items()}


def some_rows(table: pa.Table, most: int | None) -> pa.Table:
    """Return at most so many rows, evenly spaced in the order of the table."""
    if most is None or table.num_rows <= most:
        return table
    return table.take(pa.array(np.linspace(0, table.num_rows - 1, most).astype(np.int64)))


def _recoded(released: Release, held_out: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return the test rows as a consumer would recode them to fit the release."""
    columns = {name: held_out.column(name) for name in names if name in held_out.column_names}
    if "recoding" in released.params:
        batch = held_out.combine_chunks().to_batches()[0]
        columns.update(recoding_from_dict(released.params["recoding"]).apply(batch)[0])
    return pa.table(columns)
