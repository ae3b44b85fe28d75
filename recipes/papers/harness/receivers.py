# SPDX-License-Identifier: Apache-2.0
"""The receiver's model of a release in an experiment: the reconstructed one, or an SVM on the released rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.consumers.column_statistics import Columns
from anonkit.domains.number_bins import UNKNOWN
from anonkit.errors import ParameterError
from anonkit.published.tree_model import FORMATS as FORESTS
from anonkit.utility.class_scores import class_scores
from papers.harness.experiment_tables import LearningTask

MODELS = ("reconstructed", "svm")
_BINS = 5
_STAR = "*"
"""Released sign of suppressed values."""


def samples_of_release(
    params: Mapping[str, Any], released: pa.Table, task: LearningTask, model: str, settings: Mapping[str, Any]
) -> list[dict[str, float]]:
    """Score what a receiver makes of a release.

    Parameters
    ----------
    params : mapping
        What `params.json` of the release holds.
    released : Table
        Its rows.
    task : Task
        Whose test rows are predicted, unless the released rows themselves are divided.
    model : str
        One of `MODELS`.
    settings : mapping
        Of the model.

    Returns
    -------
    list of dict
        Measures of every fold.

    Raises
    ------
    ParameterError
        The model does not fit the release, or the way the table is divided.
    """
    if model == "svm":
        return svm_samples(released, task, **settings)
    if task.inner_folds:
        raise ParameterError("a reconstructed model is scored on rows that were not released", "test, or folds")
    from anonkit.consumers.learned_models import described
    from anonkit.consumers.naive_bayes import NaiveBayes
    from anonkit.consumers.published_classifiers import Forest

    learned: Any
    if params.get("format") in FORESTS:
        learned = Forest(params, **settings).fit()
        domain = learned.described().domain
    else:
        learned = NaiveBayes(params, **settings).fit(released)
        domain = described(learned).domain
    truth = Columns(task.test).codes(task.target, domain)
    shares = learned.predict_proba(task.test)
    return [class_scores(shares, np.where(truth == UNKNOWN, shares.shape[1], truth))]


def svm_samples(rows: pa.Table, task: LearningTask, **settings: Any) -> list[dict[str, float]]:
    """Return the scores of an RBF support vector machine, scikit-learn's default, on folds of the rows.

    Every value is a yes/no feature; `*`, a suppressed value, is none. Numbers that have no
    label yet are cut into five bins of equal width.
    """
    if not task.inner_folds:
        raise ParameterError("the model svm is trained and scored on released rows", "released_folds = 5")
    from sklearn.model_selection import StratifiedKFold
    from sklearn.svm import SVC

    features = features_of(rows.drop_columns([task.target]))
    classes, truth = np.unique(rows.column(task.target).cast(pa.string()).to_numpy(), return_inverse=True)
    folds = StratifiedKFold(task.inner_folds, shuffle=True, random_state=task.fold_seed)
    samples = []
    for train, test in folds.split(truth, truth):
        if features.shape[1] == 0:
            shares = np.tile(np.bincount(truth[train], minlength=classes.size) / train.size, (test.size, 1))
        else:
            decided = SVC(**settings).fit(features[train], truth[train]).decision_function(features[test])
            shares = np.stack([-decided, decided], axis=1) if decided.ndim == 1 else decided
        samples.append(class_scores(shares, truth[test]))
    return [{**samples[0], "kept": float(features.shape[1])}, *samples[1:]]


def features_of(rows: pa.Table) -> NDArray[np.float64]:
    """Return one yes/no feature a value, shape (n_rows, n_values); (n_rows, 0) of a release without columns."""
    import pandas as pd

    if not rows.column_names:
        return np.empty((rows.num_rows, 0))
    frame = rows.to_pandas()
    for name in frame.columns:
        if pd.api.types.is_numeric_dtype(frame[name]):
            frame[name] = pd.cut(frame[name], _BINS).astype(str)
    bits = pd.get_dummies(frame.astype(object).where(frame.notna(), "(missing)").astype(str), prefix_sep="\x1f")
    kept = [name for name in bits.columns if not name.endswith(f"\x1f{_STAR}")]
    return np.asarray(bits[kept].to_numpy(dtype=np.float64))
