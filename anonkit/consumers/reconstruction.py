# SPDX-License-Identifier: Apache-2.0
"""From the files of a release with noise to a model, its predictions and its scores: `anonkit reconstruct`.

Where the target is a number, the model is a `ReleaseRegressor`: it predicts the means of the bins, weighted by their
shares as a forest, a mixture, naive Bayes or a tree predicts them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from anonkit.bundle.release_place import Place
from anonkit.consumers.column_statistics import Columns
from anonkit.consumers.learned_models import learned_from_files, refuse_existing, write_whole
from anonkit.consumers.naive_bayes import NaiveBayes
from anonkit.consumers.published_classifiers import Forest, MixtureClassifier, MixtureQuestions, answers
from anonkit.consumers.release_files import Described, in_written_form, read_params, read_true_table
from anonkit.domains.coded_columns import FloatArray
from anonkit.domains.number_bins import Categories, NumberBins
from anonkit.errors import ParameterError, option
from anonkit.published.product_mixtures import FORMATS as MIXTURES
from anonkit.published.tree_model import FORMATS as FORESTS
from anonkit.utility.consumer_models import RegressionScores, Scores, prediction_scores, regression_scores

if TYPE_CHECKING:
    from anonkit.consumers.learning_power import LearningPower
    from anonkit.consumers.marginal_model import MarginalModel, MarginalTable
    from anonkit.consumers.marginal_queries import RowCondition
    from anonkit.consumers.randomized_tree import RandomizedTree
    from anonkit.published.randomized_table import PublishedTable
    from anonkit.published.tree_model import PublishedForest


_HINT = "its consumers get a classifier: Forest, MixtureClassifier or NaiveBayes"


class ReleaseRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Prediction of a numeric target from a release with noise.

    The bins of the target are classes of a published forest, of a mixture, or of naive Bayes; `predict` returns the sum
    of the means of the bins, weighted by their predicted shares: an estimate of the mean of the target given a row.

    Parameters
    ----------
    params : mapping, optional
        The release's params; may be given to `fit` instead.
    settings : mapping, optional
        Parameters of the model within: those of `anonkit.consumers.Forest`, `MixtureClassifier` or `NaiveBayes`.

    Attributes
    ----------
    model_ : Forest, MixtureClassifier, NaiveBayes or RandomizedTree
        The classifier of the bins: its `predict_proba` is their distribution given a row.
    bins_ : NumberBins
        The bins of the target, with the representative number of each.

    Privacy
    -------
    Post-processing of what was published: no privacy loss.
    """

    def __init__(self, params: Mapping[str, Any] | None = None, *, settings: Mapping[str, Any] | None = None) -> None:
        self.params = params
        self.settings = settings

    def fit(self, X: object = None, y: object = None, params: Mapping[str, Any] | None = None) -> Self:
        """Learn from a release: its rows where they were randomized, its params alone where these hold the model.

        Parameters
        ----------
        X : table, optional
            The published rows of a randomized release.
        y
            Ignored; params are taken here too: `fit(released, params)`.
        params : mapping, optional
            In place of those given to the constructor.

        Raises
        ------
        ParameterError
            There are no params, or their target has classes.
        """
        chosen = y if isinstance(y, Mapping) else self.params if params is None else params
        if chosen is None:
            raise ParameterError("a regressor needs the params of a release", "ReleaseRegressor.from_release(path)")
        settings = dict(self.settings or {})
        if chosen.get("format") in FORESTS:
            return self._around(Forest(chosen, **settings).fit())
        if chosen.get("format") in MIXTURES:
            return self._around(MixtureClassifier(chosen, **settings).fit())
        return self._around(NaiveBayes(chosen, **settings).fit(X))

    @classmethod
    def from_release(cls, path: str | Path, **settings: Any) -> Self:
        """Learn from a release on disk: its Parquet file and its `params.json`.

        Raises
        ------
        ParameterError
            Its target has classes.
        ReleaseFormatError
            A file is missing or damaged.
        """
        kinds: dict[Any, Any] = {**dict.fromkeys(FORESTS, Forest), **dict.fromkeys(MIXTURES, MixtureClassifier)}
        kind = kinds.get(read_params(path).get("format"), NaiveBayes)
        return cls(settings=settings or None)._around(kind.from_release(path, **settings))

    @classmethod
    def of(cls, model: Forest | MixtureClassifier | NaiveBayes | RandomizedTree) -> Self:
        """Return the regressor of a classifier of bins that has been learned."""
        return cls()._around(model)

    def _around(self, model: Forest | MixtureClassifier | NaiveBayes | RandomizedTree) -> Self:
        classes = _classes_of(model)
        if not isinstance(classes, NumberBins):
            raise ParameterError("the target of this release has classes, not numbers", _HINT)
        self.model_ = model
        self.bins_ = classes
        return self

    def predict(self, X: object) -> FloatArray:
        """Return the estimated mean of the target for each row of true values, in its unit, shape (n,)."""
        check_is_fitted(self)
        return self.bins_.mean_of(np.asarray(self.model_.predict_proba(X)))

    def to_json(self) -> str:
        """Return the classifier of the bins as JSON, the bins and their means with it."""
        check_is_fitted(self)
        return self.model_.to_json()

    def to_sklearn(self) -> Any:
        """Return the same regressor as a scikit-learn pipeline that needs nothing of anonkit.

        Raises
        ------
        ParameterError
            It is a tree, a forest or a mixture, which scikit-learn has no place for: this object is its regressor.
        """
        check_is_fitted(self)
        if not isinstance(self.model_, NaiveBayes):
            raise ParameterError("a published model has no form of scikit-learn's own", "this regressor predicts it")
        return self.model_.to_sklearn()


def _classes_of(model: Forest | MixtureClassifier | NaiveBayes | RandomizedTree) -> Categories | None:
    if isinstance(model, MixtureClassifier):
        return model.domain_
    if isinstance(model, Forest):
        forest: PublishedForest = model.forest_
        return forest.schema.classes
    table: PublishedTable = model.table_
    return None if table.target is None else table.target.domain


RECONSTRUCTION_STEPS = ("learning the model", "predicting the test rows", "writing")
"""Names of the steps of a reconstruction, in order, as progress shows them."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Reconstruction:
    """A model learned from a release, with what was made of it."""

    model: NaiveBayes | RandomizedTree | Forest | MixtureClassifier | ReleaseRegressor | MarginalModel
    """Of a release for any purpose without a column to predict the mixture itself."""
    described: Described | None
    """Description of the model; None where it predicts no column."""
    estimator: str | None = None
    """Estimator of the shares; None for a forest, whose counts are published."""
    vote: str | None = None
    """Vote of the trees of a forest; None for naive Bayes, and for a forest that predicts by scores."""
    power: LearningPower | None = None
    """Power of the rows for the target at this noise; None for a forest."""
    scores: Scores | RegressionScores | None = None
    """When a test table was given that holds the target."""
    predictions: pa.Table | None = None
    """When a test table was given: the predicted class, or number, and the probability of every class, or bin."""
    drawn: int | None = None
    """Rows that were drawn from the mixture and written; None where none were requested."""
    tables: tuple[MarginalTable, ...] = ()
    """Requested tables of the mixture."""
    mixture: MarginalModel | None = None
    """The mixture that the model is, or predicts by; None for a release of another kind."""
    given: tuple[RowCondition, ...] = ()
    """Resolved conditions on rows that are drawn and counted: of a number whole bins."""

    @property
    def is_regression(self) -> bool:
        """True when the target is a number."""
        return self.described is not None and isinstance(self.described.domain, NumberBins)

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome for `--json`."""
        requested: dict[str, Any] = {} if self.drawn is None else {"drawn": self.drawn}
        if self.tables:
            requested["tables"] = [table.to_dict() for table in self.tables]
        if self.given:
            requested["given"] = {condition.name: condition.to_dict() for condition in self.given}
        if self.described is None:
            mixture: Any = self.model
            return {
                "model": "mixture of products",
                "rows": round(mixture.rows),
                "columns": list(mixture.columns),
                **requested,
            }
        return {
            "model": self.described.kind,
            **({} if self.estimator is None else {"estimator": self.estimator}),
            **({} if self.vote is None else {"vote": self.vote}),
            "rows": self.described.rows,
            "target": self.described.target,
            **({"task": "regression"} if self.is_regression else {}),
            "classes": dict(self.described.classes),
            "attributes": list(self.described.attributes),
            **({} if self.power is None else {"power": self.power.to_dict()}),
            **({} if self.scores is None else self.scores.to_dict()),
            **requested,
        }


def reconstruct(
    release: str | Path,
    *,
    test: object = None,
    predictions: str | Path | None = None,
    model: str | Path | None = None,
    learner: str | None = None,
    estimator: str | None = None,
    vote: str | None = None,
    questions: MixtureQuestions | None = None,
    force: bool = False,
    progress: Callable[[str, float], None] | None = None,
    **settings: object,
) -> Reconstruction:
    """Learn a model from a release with noise, and score it on a table of true values.

    A randomized release gives a naive Bayes model or a decision tree, a release of differentially private trees its
    forest, a release by `dp-marginals` its mixture, which predicts any column; where the column is a number, the model
    is a regressor around one of these, whose classes are bins.

    Parameters
    ----------
    release : path
        The Parquet file of the release; its `params.json` is beside it. Nothing else is needed.
    test : path or table, optional
        True values to predict from; scored when it holds the target.
    predictions : path, optional
        Parquet file to write the predictions to, one row per row of `test`.
    model : path, optional
        JSON file to write the model to.
    learner : {"dtpd", "dtcrd"}, optional
        A decision tree in place of naive Bayes, see `RandomizedTree`: of categories and bins, or of numbers by `trr`.
    estimator : {"shrunken", "likelihood", "moment", "published"}, optional
        How the shares of a naive Bayes model are estimated; shrunken by default. A forest has none.
    vote : {"pooled", "majority", "sum"}, optional
        How the trees of a forest decide together, see `Forest`; by default what the release states.
    questions : MixtureQuestions, optional
        For a release by `dp-marginals`: which column to predict, rows to draw, tables, conditions.
    force : bool
        Replace the files that are written when they are there.
    progress : callable, optional
        Called with each of `RECONSTRUCTION_STEPS` as it begins.
    **settings
        `smoothing`, `numbers` of `NaiveBayes`; `smoothing` of `Forest`; `max_depth`, `min_rows`, `cells` of
        `RandomizedTree`.

    Warns
    -----
    NothingLearnedWarning
        The rows are too few for the noise to show anything of the target; the message has the number needed.

    Raises
    ------
    ParameterError
        The release has no noise to undo and no model, or predictions are requested without a table to predict from.
    GuaranteeError
        A file is not the one whose hash is in the descriptor of the release.
    ReleaseFormatError, SourceError
        A file is missing or damaged, or does not fit the params.

    Privacy
    -------
    Post-processing of what was published: no privacy loss. The test table stays where it is.
    """
    if predictions is not None and test is None:
        raise ParameterError("predictions need a table to predict from", option("test", "TABLE"))
    if predictions is not None and not str(predictions).endswith(".parquet"):
        raise ParameterError(f"predictions ({predictions}) must end in .parquet")
    requested = MixtureQuestions() if questions is None else questions
    if requested.draw is not None and not str(requested.draw).endswith(".parquet"):
        raise ParameterError(f"drawn rows ({requested.draw}) must end in .parquet")
    if requested.draw is None and (requested.rows is not None or requested.seed is not None):
        raise ParameterError("rows are drawn into a file", option("draw", "FILE"))
    read = [*Place.of(release).on_this_machine(), *([Path(test)] if isinstance(test, str | Path) else [])]
    refuse_existing((predictions, model, requested.draw), force, read=read)
    begin = progress or (lambda _step, _share: None)
    begin(RECONSTRUCTION_STEPS[0], 0.0)
    learned, described = learned_from_files(release, estimator, vote, requested, settings, learner)
    if described is None:
        if test is not None or model is not None:
            raise ParameterError(
                "no column of this release is its target", f"{option('target', 'COLUMN')} says which to predict"
            )
        return Reconstruction(model=learned, described=None, mixture=learned, **answers(learned, requested))
    power = _power_of(learned)
    scores, predicted = None, None
    if test is not None:
        begin(RECONSTRUCTION_STEPS[1], 0.0)
        written = read_params(release).get("written", {})
        types = {**described.types, **dict.fromkeys(written, pa.string())}
        table = in_written_form(read_true_table(test, types) if isinstance(test, str | Path) else test, written)
        shares = learned.predict_proba(table)
        predicted = _predictions(described, shares)
        scores = _scores(described, Columns(table), shares)
    begin(RECONSTRUCTION_STEPS[2], 0.0)
    if predictions is not None and predicted is not None:
        write_whole(Path(predictions), partial(pq.write_table, predicted))
    if model is not None:
        text = learned.to_json() + "\n"
        write_whole(Path(model), lambda aside: aside.write_text(text, encoding="utf-8"))
    return Reconstruction(
        model=_regressor(learned) if isinstance(described.domain, NumberBins) else learned,
        described=described,
        estimator=getattr(learned, "estimator", None),
        vote=_vote_of(learned),
        power=power,
        scores=scores,
        predictions=predicted,
        mixture=_mixture_of(learned),
        **answers(_mixture_of(learned), requested),
    )


def _mixture_of(learned: NaiveBayes | RandomizedTree | Forest | MixtureClassifier) -> MarginalModel | None:
    from anonkit.consumers.marginal_model import MarginalModel

    model = getattr(learned, "model_", None)
    return model if isinstance(model, MarginalModel) else None


def _vote_of(learned: NaiveBayes | RandomizedTree | Forest | MixtureClassifier) -> str | None:
    """Return the vote of the trees, where trees decided."""
    return getattr(learned, "vote_", None) if getattr(learned, "scores_", None) is None else None


def _regressor(learned: NaiveBayes | RandomizedTree | Forest | MixtureClassifier) -> ReleaseRegressor:

    return ReleaseRegressor.of(learned)


def _power_of(learned: NaiveBayes | RandomizedTree | Forest | MixtureClassifier) -> LearningPower | None:
    """Return the power of the release for its target, warning where there is none."""
    from anonkit.consumers.naive_bayes import NaiveBayes

    model = getattr(learned, "naive_bayes_", learned)  # the power is the rows', whatever is grown on them
    if not isinstance(model, NaiveBayes):
        return None
    from anonkit.consumers.learning_power import learning_power, warn_of_power

    power = learning_power(model.model_)
    warn_of_power(power, stacklevel=3)
    return power


def _scores(described: Described, test: Columns, shares: FloatArray) -> Scores | RegressionScores | None:
    """Return the scores of predicted shares; None where the table does not hold the target."""
    if described.target not in test:
        return None
    if isinstance(described.domain, NumberBins):
        return regression_scores(described.domain.mean_of(shares), test.numbers(described.target))
    return prediction_scores(test.codes(described.target, described.domain), shares)


def _predictions(described: Described, shares: FloatArray) -> pa.Table:
    labels = described.domain.labels()
    if isinstance(described.domain, NumberBins):
        predicted = pa.array(described.domain.mean_of(shares))
    else:
        predicted = pa.array([labels[at] for at in shares.argmax(axis=1)], pa.string())
    columns: Mapping[str, Any] = {described.target: predicted}
    return pa.table({**columns, **{f"P({name})": shares[:, at] for at, name in enumerate(labels)}})
