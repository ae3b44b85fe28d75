# SPDX-License-Identifier: Apache-2.0
"""Scores of models on test rows: trained on a release as its receivers would, or on rows as they are.

The model a receiver reconstructs from a release with noise, scored like the models trained on its rows.

One release on the frontier: its setting, the scores of its models, the attacks on it, and why there may be none.

The score of a model with what each test row contributes to it, so that two models are compared row by row.

Two models that are scored on the same rows err on the same difficult ones. So the interval of their difference is
narrower than that of either score, and a choice between them rests on it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.bundle.stored_release import Release
from anonkit.consumers.column_statistics import Columns
from anonkit.consumers.learned_models import learned_from
from anonkit.documents import ReportPart
from anonkit.domains.cell_values import cell_numbers
from anonkit.domains.number_bins import UNKNOWN, NumberBins
from anonkit.errors import in_python
from anonkit.policy.target_task import Task
from anonkit.published.recoding import recoding_from_dict
from anonkit.utility.class_scores import class_scores, influence_on_area
from anonkit.utility.consumer_models import (
    best_of,
    name_of_best,
    numbers_of_models,
    regression_scores,
    scored,
    scores_of_shares,
    shares_of_models,
)

_DIGITS = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class RowShares:
    """A score, and n times what it moves by each row."""

    value: float
    """Area under the curve in [0, 1], or R² in (-inf, 1]."""
    influence: NDArray[np.float64]
    """Shape (n,), with a sum near 0."""
    freedom: int
    """Degrees of freedom of its variance: those of the smallest class, or of all rows."""

    @property
    def interval(self) -> tuple[float, float]:
        """Ends of the 95 % interval of the score."""
        return _interval(self.value, self.influence, self.freedom)

    def less(self, other: RowShares) -> tuple[float, tuple[float, float]] | None:
        """Return this score less another one, and its 95 % interval; None where the rows are not the same."""
        if self.influence.size != other.influence.size:
            return None
        difference, freedom = self.value - other.value, min(self.freedom, other.freedom)
        return difference, _interval(difference, self.influence - other.influence, freedom)


@dataclass(frozen=True, kw_only=True)
class MeasuredModel:
    """The scores of a model on test rows, and what each row contributes to the one that models are compared by."""

    scores: Mapping[str, Any]
    """By measure, with 95 % intervals under `ci`."""
    by_row: RowShares

    @classmethod
    def of_classes(cls, shares: NDArray[np.float64], truth: NDArray[np.int64]) -> MeasuredModel:
        """Measure a classifier by the share it gives every class, as `of_classes` takes them."""
        by_row = of_classes(shares, truth)
        ends = [round(end, _DIGITS) for end in by_row.interval]
        return cls(scores={**scores_of_shares(shares, truth), "ci": {"auc": ends}}, by_row=by_row)


def of_classes(shares: NDArray[np.float64], truth: NDArray[np.int64]) -> RowShares:
    """Return the area under the curve of a classifier, row by row.

    Parameters
    ----------
    shares : array, shape (n, n_classes)
        Probability of each class.
    truth : array, shape (n,)
        True class of each row; one from n_classes on is a class that the model does not know.

    References
    ----------
    DeLong, DeLong, Clarke-Pearson: Comparing the areas under two or more correlated receiver operating characteristic
    curves. Biometrics 44 (1988), 837-845.
    """
    value = class_scores(shares, truth)["auc"]
    unknown = max(int(truth.max()) + 1 - shares.shape[1], 0)
    padded = np.hstack([shares, np.zeros((len(shares), unknown))])
    seen, rows = np.unique(truth, return_counts=True)
    of_class = np.sqrt(rows / np.maximum(rows - 1, 1))[np.searchsorted(seen, truth)]  # a sample's variance, by class
    influence = influence_on_area(padded, truth, seen) * of_class
    return RowShares(value=value, influence=influence, freedom=max(int(rows.min()) - 1, 1))


def of_numbers(predicted: NDArray[np.float64], truth: NDArray[np.float64]) -> RowShares:
    """Return R² of a prediction, row by row, by the delta method for a ratio of two means.

    Parameters
    ----------
    predicted, truth : array, shape (n,)
        Finite numbers; the truth has two different ones or more.
    """
    error, spread = (predicted - truth) ** 2, (truth - truth.mean()) ** 2
    ratio = error.mean() / spread.mean()
    influence = -(error - ratio * spread) / spread.mean()
    return RowShares(value=float(1 - ratio), influence=influence, freedom=max(truth.size - 1, 1))


def _interval(value: float, influence: NDArray[np.float64], freedom: int) -> tuple[float, float]:
    from scipy.special import stdtrit

    half = float(stdtrit(freedom, 0.975)) * math.sqrt(float((influence**2).sum())) / influence.size
    return value - half, value + half


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
            measures = {"r2": scores.r2, "mae": scores.mae, "ci": dict(scores.intervals)}
            return {RECONSTRUCTED: MeasuredModel(scores=measures, by_row=of_numbers(predicted, numbers[known]))}
        truth = Columns(test).codes(target, described.domain)
        if np.unique(truth[truth != UNKNOWN]).size < 2:
            return {}
        shares = model.predict_proba(test)
    return {RECONSTRUCTED: MeasuredModel.of_classes(shares, np.where(truth == UNKNOWN, shares.shape[1], truth))}


def scores_of_reconstruction(release: Release, test: pa.Table, target: str) -> dict[str, Mapping[str, Any]]:
    """Return the scores of `measured_reconstruction`."""
    return {name: model.scores for name, model in measured_reconstruction(release, test, target).items()}


@dataclass(frozen=True, kw_only=True)
class FrontierPoint(
    ReportPart,
    keys=(
        "label",
        "setting",
        "method",
        "parameter=shown_parameter",
        "value",
        "**best_scores",
        "best_model",
        "models=scores",
        "attacks",
        "with_clear_columns=clear",
        "columns_lost=lost",
        "columns_changed=moved",
        "promise",
        "epsilon",
        "refused",
    ),
):
    """One release on the frontier."""

    method: str
    parameter: str
    """`k`, `epsilon`, or empty for the method's defaults."""
    value: float | None
    scores: Mapping[str, Mapping[str, Any]]
    """By model, on test rows: trained on the unchanged table, and `reconstructed` where the params allow it."""
    attacks: Mapping[str, Any]
    """By attack: rates, risk, limits, verdict."""
    guarantee: Mapping[str, Any]
    clear: Mapping[str, Any] | None = None
    """Shares of rows of the release that are alone if their target and insensitive columns are known too."""
    by_row: RowShares | None = None
    """Score of the best model with what each test row contributes to it; None where there is no model."""
    protection: str | None = None
    """Name of what is promised, of releases that protect whole rows; None where no bound holds."""
    lost: tuple[str, ...] = ()
    """Columns that the release does not have any more."""
    moved: tuple[Mapping[str, Any], ...] = ()
    """Movement of the distributions of columns, as `moved_columns`."""
    left_out: Mapping[str, Any] | None = None
    """Rows of the source that are not released, by class of the target, as the owner report has them."""
    measure: str = "auc"
    """Measure of the best model: `auc` of classes, `r2` of a number."""
    refusal: str | None = None
    """Why there is no release, when there is none, for either kind of reader (`anonkit.errors.spoken`)."""

    @property
    def refused(self) -> str | None:
        """Why there is no release, when there is none."""
        return None if self.refusal is None else in_python(self.refusal)

    @property
    def setting(self) -> str:
        """The parameter, and the epsilon of a whole row where that of the parameter is for one answer only."""
        if not self.parameter:
            return ""
        words = f"{'ε' if self.parameter == 'epsilon' else self.parameter} = {self.value:g}"
        loss = loss_of(self)
        if self.parameter != "epsilon" or loss is None or self.value is None or loss <= 1.01 * self.value:
            return words
        return f"{words} an answer, {'∞' if math.isinf(loss) else f'{loss:.3g}'} a row"

    @property
    def shown_parameter(self) -> str | None:
        """Name of the parameter; None where none is varied."""
        return self.parameter or None

    @property
    def label(self) -> str:
        """Name of the point in plots and tables."""
        return f"{self.method}, {self.setting}" if self.setting else self.method

    @property
    def auc(self) -> float | None:
        """AUC of the best model: the best use of the release that was tried; None where a number is predicted."""
        return best_of(self.scores)

    @property
    def best(self) -> float | None:
        """Score of the best model by the measure of the comparison."""
        return best_of(self.scores, self.measure)

    @property
    def best_model(self) -> str | None:
        """Name of that model."""
        return name_of_best(self.scores, self.measure)

    @property
    def best_scores(self) -> dict[str, float | None]:
        """Scores of the best model."""
        return best_scores(self.scores, self.measure)

    @property
    def promise(self) -> str | None:
        """Kind of its promise."""
        return self.guarantee.get("kind")

    @property
    def epsilon(self) -> float | str | None:
        """Epsilon of its promise, as the report has it."""
        stated: float | str | None = self.guarantee.get("parameters", {}).get("epsilon")
        return stated


def best_scores(scores: Mapping[str, Mapping[str, Any]], measure: str) -> dict[str, float | None]:
    """Return the best model's score by AUC, None where there is none; of a number by R² too."""
    return {"auc": best_of(scores), **({"r2": best_of(scores, "r2")} if measure == "r2" else {})}


def loss_of(point: FrontierPoint) -> float | None:
    """Return the privacy loss of a release in [0, inf]; None where its promise has none."""
    epsilon = point.guarantee.get("parameters", {}).get("epsilon")
    return None if epsilon is None else float(epsilon)


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
