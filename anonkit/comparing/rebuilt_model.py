# SPDX-License-Identifier: Apache-2.0
"""The model a receiver reconstructs from a release with noise, scored like the models trained on its rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.bundle.stored_release import Release
from anonkit.comparing.paired_scores import MeasuredModel, of_numbers
from anonkit.consumers.columns import Columns
from anonkit.consumers.learned_models import learned_from
from anonkit.domains.attribute_domains import UNKNOWN
from anonkit.domains.cell_keys import cell_numbers
from anonkit.domains.number_bins import NumberBins
from anonkit.utility.prediction_scores import regression_scores

RECONSTRUCTED = "reconstructed"


def measured_reconstruction(release: Release, test: pa.Table, target: str) -> dict[str, MeasuredModel]:
    """Learn what `anonkit reconstruct` learns from a release, and score it.

    Parameters
    ----------
    release : Release
    test : Table
        Test rows as they are: the model reads true values. A label that is no class of the release counts as one
        that the model does not guess.
    target : str
        The class label.

    Returns
    -------
    dict of MeasuredModel
        `auc`, `balanced_accuracy` and `accuracy` under `reconstructed`, of a numeric target `r2` and `mae`; empty when
        the release is an ordinary table, or predicts another column, or fewer than two of its classes, or numbers,
        occur.

    Privacy
    -------
    Learning is post-processing; the scores are computed from the test rows, for whoever owns these.
    """
    with warnings.catch_warnings():
        # A value outside its domain costs the model score, which is shown; no receiver is there to be warned.
        warnings.simplefilter("ignore", UserWarning)
        learned = learned_from(release.params, release.to_arrow())
        if learned is None or learned[1].target != target:
            return {}
        model, described = learned
        if isinstance(described.domain, NumberBins):
            numbers = cell_numbers(test.column(target).combine_chunks())
            known = np.isfinite(numbers)
            if np.unique(numbers[known]).size < 2:
                return {}
            predicted = described.domain.mean_of(model.predict_proba(test.filter(pa.array(known))))
            scores = regression_scores(predicted, numbers[known])
            told = {"r2": scores.r2, "mae": scores.mae, "ci": dict(scores.intervals)}
            return {RECONSTRUCTED: MeasuredModel(scores=told, by_row=of_numbers(predicted, numbers[known]))}
        truth = Columns(test).codes(target, described.domain)
        if np.unique(truth[truth != UNKNOWN]).size < 2:
            return {}
        shares = model.predict_proba(test)
    return {RECONSTRUCTED: MeasuredModel.of_classes(shares, np.where(truth == UNKNOWN, shares.shape[1], truth))}


def scores_of_reconstruction(release: Release, test: pa.Table, target: str) -> dict[str, Mapping[str, Any]]:
    """Return the scores of `measured_reconstruction`."""
    return {name: model.scores for name, model in measured_reconstruction(release, test, target).items()}
