# SPDX-License-Identifier: Apache-2.0
"""Scores of models on held-out rows: trained on a release as its receivers would, or on rows as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from anonkit.bundle.stored_release import Release
from anonkit.checks.consumer_models import scores_of_models
from anonkit.checks.number_models import scores_of_number_models
from anonkit.comparing.rebuilt_model import scores_of_reconstruction
from anonkit.policy.target_task import Task
from anonkit.published.recoding import recoding_from_dict

MEASURE = {Task.CLASSIFICATION: "auc", Task.REGRESSION: "r2"}
"""By what the best model is chosen, by task."""


def scores_of_rows(train: pa.Table, test: pa.Table, target: str, task: Task) -> dict[str, dict[str, Any]]:
    """Return the scores of models trained on some rows and asked about others, by the model's name."""
    if task is Task.REGRESSION:
        return scores_of_number_models(train, test, target)
    return {name: dict(scores) for name, scores in scores_of_models(train, test, target).items()}


def scores_of_release(release: Release, held_out: pa.Table, target: str, task: Task) -> dict[str, dict[str, Any]]:
    """Return the scores of models trained on a release, and of the one that is rebuilt from its params.

    Parameters
    ----------
    release : Release
    held_out : Table
        Rows that are not in it, as they are.
    target : str
        What is predicted; a release without this column has the rebuilt model alone.
    task : Task
    """
    table = release.to_arrow()
    ordinary = (
        scores_of_rows(table, _recoded(release, held_out, table.column_names), target, task)
        if target in table.column_names
        else {}
    )
    return {**ordinary, **scores_of_reconstruction(release, held_out, target)}


def _recoded(released: Release, held_out: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return the held-out rows as a consumer would recode them to fit the release."""
    columns = {name: held_out.column(name) for name in names if name in held_out.column_names}
    if "recoding" in released.params:
        batch = held_out.combine_chunks().to_batches()[0]
        columns.update(recoding_from_dict(released.params["recoding"]).apply(batch)[0])
    return pa.table(columns)
