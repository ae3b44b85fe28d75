# SPDX-License-Identifier: Apache-2.0
"""From the files of a release with noise to a model, its predictions and its scores: `anonkit reconstruct`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from anonkit.bundle.release_place import Place
from anonkit.consumers.columns import Columns
from anonkit.consumers.learned_models import learned_from_files
from anonkit.consumers.mixture_classifier import MixtureQuestions, answers
from anonkit.consumers.model_files import refuse_existing, write_whole
from anonkit.consumers.release_files import Described, in_written_form, read_params, read_true_table
from anonkit.domains.coded_columns import FloatArray
from anonkit.domains.number_bins import NumberBins
from anonkit.errors import ParameterError, option
from anonkit.utility.prediction_scores import RegressionScores, Scores, prediction_scores, regression_scores

if TYPE_CHECKING:
    from anonkit.consumers.forest import Forest
    from anonkit.consumers.learning_power import LearningPower
    from anonkit.consumers.marginal_model import MarginalModel, MarginalTable
    from anonkit.consumers.mixture_classifier import MixtureClassifier
    from anonkit.consumers.naive_bayes import NaiveBayes
    from anonkit.consumers.randomized_trees.randomized_tree import RandomizedTree
    from anonkit.consumers.regressor import ReleaseRegressor
    from anonkit.consumers.row_conditions import RowCondition

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
    from anonkit.consumers.regressor import ReleaseRegressor

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
