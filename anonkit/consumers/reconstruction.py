# SPDX-License-Identifier: Apache-2.0
"""From the files of a release with noise to a model, its predictions and its scores: `anonkit reconstruct`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from anonkit.bundle.atomic import Staging
from anonkit.consumers.columns import Columns
from anonkit.consumers.release_files import Described, read_params, read_true_table
from anonkit.domains.array_types import FloatArray
from anonkit.domains.attribute_domains import UNKNOWN
from anonkit.domains.number_bins import NumberBins
from anonkit.errors import ParameterError, SourceError, option
from anonkit.estimators.number_scores import number_scores, score_errors
from anonkit.published.aggregates import FORMAT as AGGREGATES
from anonkit.published.product_mixtures import FORMATS as MIXTURES
from anonkit.published.randomized_table import FORMAT as RANDOMIZED_FORMAT
from anonkit.published.tree_model import FORMAT as FOREST_FORMAT

if TYPE_CHECKING:
    from anonkit.consumers.forest import Forest
    from anonkit.consumers.learning_power import LearningPower
    from anonkit.consumers.marginal_model import MarginalModel, MarginalTable
    from anonkit.consumers.mixture_classifier import MixtureClassifier
    from anonkit.consumers.naive_bayes import NaiveBayes
    from anonkit.consumers.regressor import ReleaseRegressor


@dataclass(frozen=True, kw_only=True)
class Scores:
    """How well a model predicts the target of a table it has not seen."""

    n: int
    """Rows of the table."""
    accuracy: float
    """Share of the rows whose class was predicted."""
    balanced_accuracy: float
    """Mean over the classes that occur of the share that was predicted."""
    auc: float | None
    """Area under the ROC curve; with several classes the mean of one against the rest. None where one class occurs."""
    majority: float
    """Share of the commonest class: what needs no model."""
    confusion: tuple[tuple[int, ...], ...]
    """Rows of true class (row) and predicted class (column), in the order of the classes."""

    def to_dict(self) -> dict[str, Any]:
        """Return the scores for `--json`."""
        return {
            "n": self.n,
            "accuracy": self.accuracy,
            "balanced_accuracy": self.balanced_accuracy,
            "auc": self.auc,
            "majority": self.majority,
            "confusion": [list(row) for row in self.confusion],
        }


@dataclass(frozen=True, kw_only=True)
class RegressionScores:
    """How well a model predicts the numbers of a table it has not seen."""

    n: int
    """Rows of the table."""
    r2: float
    """Share of the squared deviations from the mean of these rows that is explained; below 0: worse than the mean."""
    mae: float
    """Mean absolute error, in the unit of the target."""
    intervals: Mapping[str, tuple[float, float]]
    """95 % intervals of `r2` and `mae` over the rows; none for fewer than 30."""
    mean_mae: float
    """Mean absolute error of the mean of these rows, whose R² is 0: what needs no model."""

    def to_dict(self) -> dict[str, Any]:
        """Return the scores for `--json`."""
        return {
            "n": self.n,
            "r2": self.r2,
            "mae": self.mae,
            **({"ci": {name: list(ends) for name, ends in self.intervals.items()}} if self.intervals else {}),
            "of_mean": {"r2": 0.0, "mae": self.mean_mae},
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Reconstruction:
    """A model learned from a release, with what was made of it."""

    model: NaiveBayes | Forest | MixtureClassifier | ReleaseRegressor | MarginalModel
    """Of a release for any purpose without a column to predict the mixture itself."""
    described: Described | None
    """What the model says of itself; None where it predicts no column."""
    estimator: str | None = None
    """How shares were estimated; None for a forest, whose counts are published."""
    vote: str | None = None
    """How the trees of a forest decided together; None for naive Bayes, and for a forest that predicts by scores."""
    power: LearningPower | None = None
    """Whether the rows tell anything of the target at this noise; None for a forest."""
    scores: Scores | RegressionScores | None = None
    """When a test table was given that holds the target."""
    predictions: pa.Table | None = None
    """When a test table was given: the predicted class, or number, and the probability of every class, or bin."""
    drawn: int | None = None
    """Rows that were drawn from the mixture and written; None where none were asked for."""
    tables: tuple[MarginalTable, ...] = ()
    """Tables of the mixture that were asked for."""

    @property
    def is_regression(self) -> bool:
        """True when the target is a number."""
        return self.described is not None and isinstance(self.described.domain, NumberBins)

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome for `--json`."""
        asked: dict[str, Any] = {} if self.drawn is None else {"drawn": self.drawn}
        if self.tables:
            asked["tables"] = [table.to_dict() for table in self.tables]
        if self.described is None:
            mixture: Any = self.model
            return {
                "model": "mixture of products",
                "rows": round(mixture.rows),
                "columns": list(mixture.columns),
                **asked,
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
            **asked,
        }


@dataclass(frozen=True, kw_only=True)
class MixtureQuestions:
    """What is asked of the mixture of a release by `dp-marginals`, besides a prediction."""

    target: str | None = None
    """The column to predict; the declared target where none is named."""
    draw: str | Path | None = None
    """Parquet file to write rows to that are drawn from the mixture."""
    rows: int | None = None
    """How many; as many as the mixture stands for where no number is given."""
    seed: int | None = None
    """The same rows for the same seed."""
    tables: Sequence[Sequence[str]] = ()
    """One to three columns each, whose counts are told with their intervals."""
    given: Mapping[str, object] = field(default_factory=dict)
    """Conditions on the rows that are drawn and counted; see `MarginalModel.given`."""

    def refuse(self) -> None:
        """Refuse what only a mixture can answer.

        Raises
        ------
        ParameterError
            Something was asked.
        """
        if self != MixtureQuestions():
            raise ParameterError(
                "a column to predict, rows to draw, tables and conditions are asked of a release by dp-marginals",
                "this release has a model of its target alone",
            )


def reconstruct(
    release: str | Path,
    *,
    test: object = None,
    predictions: str | Path | None = None,
    model: str | Path | None = None,
    estimator: str | None = None,
    vote: str | None = None,
    questions: MixtureQuestions | None = None,
    force: bool = False,
    **settings: object,
) -> Reconstruction:
    """Learn a model from a release with noise, and score it on a table of true values.

    A randomized release gives a naive Bayes model, a release of differentially private trees its forest, a release by
    `dp-marginals` its mixture, which predicts any column; where the column is a number, the model is a regressor
    around one of these, whose classes are bins.

    Parameters
    ----------
    release : path
        The Parquet file of the release; its `params.json` stands beside it. Nothing else is needed.
    test : path or table, optional
        True values to predict from; scored when it holds the target.
    predictions : path, optional
        Parquet file to write the predictions to, one row per row of `test`.
    model : path, optional
        JSON file to write the model to.
    estimator : {"shrunken", "likelihood", "moment", "published"}, optional
        How the shares of a naive Bayes model are estimated; shrunken by default. A forest has none.
    vote : {"pooled", "majority", "sum"}, optional
        How the trees of a forest decide together, see `Forest`; by default what the release says.
    questions : MixtureQuestions, optional
        For a release by `dp-marginals`: which column to predict, rows to draw, tables, conditions.
    force : bool
        Replace the files that are written when they are there.
    **settings
        `smoothing`, `numbers` of `NaiveBayes`; `smoothing` of `Forest`.

    Warns
    -----
    NothingLearnedWarning
        The rows are too few for the noise to tell anything of the target; the rows it would take are said.

    Raises
    ------
    ParameterError
        The release has no noise to undo and no model, or predictions are asked for without a table to predict from.
    GuaranteeError
        A file is not the one whose hash stands in the descriptor of the release.
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
    asked = MixtureQuestions() if questions is None else questions
    if asked.draw is not None and not str(asked.draw).endswith(".parquet"):
        raise ParameterError(f"drawn rows ({asked.draw}) must end in .parquet")
    if asked.draw is None and (asked.rows is not None or asked.seed is not None):
        raise ParameterError("rows are drawn into a file", option("draw", "FILE"))
    _refuse_existing((predictions, model, asked.draw), force)
    learned, described = _learn(release, estimator, vote, asked, settings)
    if described is None:
        if test is not None or model is not None:
            raise ParameterError(
                "no column of this release is its target", f"{option('target', 'COLUMN')} says which to predict"
            )
        return Reconstruction(model=learned, described=None, **_answers(learned, asked))
    power = _power_of(learned)
    scores, predicted = None, None
    if test is not None:
        table = read_true_table(test, described.types) if isinstance(test, str | Path) else test
        shares = learned.predict_proba(table)
        predicted = _predictions(described, shares)
        scores = _scores(described, table, shares)
    if predictions is not None and predicted is not None:
        _write(Path(predictions), partial(pq.write_table, predicted))
    if model is not None:
        text = learned.to_json() + "\n"
        _write(Path(model), lambda aside: aside.write_text(text, encoding="utf-8"))
    return Reconstruction(
        model=_regressor(learned) if isinstance(described.domain, NumberBins) else learned,
        described=described,
        estimator=getattr(learned, "estimator", None),
        vote=_vote_of(learned),
        power=power,
        scores=scores,
        predictions=predicted,
        **_answers(getattr(learned, "model_", None), asked),
    )


def _answers(mixture: Any, asked: MixtureQuestions) -> dict[str, Any]:
    """Return what a mixture answers: tables, and how many rows were written."""
    if asked.draw is None and not asked.tables:
        return {}
    conditioned: MarginalModel = mixture.given(asked.given)
    tables = tuple(conditioned.marginal(*names) for names in asked.tables)
    if asked.draw is None:
        return {"tables": tables}
    drawn = conditioned.batches(asked.rows, seed=asked.seed)
    written = []

    def write(aside: Path) -> None:
        first = next(drawn)
        with pq.ParquetWriter(aside, first.schema) as file:
            for batch in chain([first], drawn):
                file.write_batch(batch)
                written.append(batch.num_rows)

    _write(Path(asked.draw), write)
    return {"tables": tables, "drawn": sum(written)}


def _learn(
    release: str | Path, estimator: str | None, vote: str | None, asked: MixtureQuestions, settings: Mapping[str, Any]
) -> tuple[Any, Described | None]:
    """Return the model that the format of the params calls for, and its description; None where it predicts nothing."""
    params = read_params(release)
    if params.get("format") in MIXTURES:
        return _mixture(params, estimator, vote, asked, settings)
    asked.refuse()
    if params.get("format") == AGGREGATES:
        raise ParameterError(
            "the release holds published tables and no rows: no model is learned from them",
            "read the file as it is, or table by table with anonkit.consumers.aggregate_tables",
        )
    if params.get("format") == FOREST_FORMAT:
        from anonkit.consumers.forest import Forest

        if estimator is not None:
            raise ParameterError(
                "estimator is for naive Bayes, and this release holds a forest", f"leave {option('estimator')} out"
            )
        forest = Forest(params, vote=vote, **settings).fit()  # type: ignore[arg-type]  # checked by `fit`
        if vote is not None and forest.scores_ is not None:
            raise ParameterError(
                "vote is for trees that are counted together, and this release predicts by its scores",
                f"leave {option('vote')} out",
            )
        return forest, forest.described()
    from anonkit.consumers.model_files import described
    from anonkit.consumers.naive_bayes import NaiveBayes

    if vote is not None:
        raise ParameterError("vote is for a forest, and this release is for naive Bayes", f"leave {option('vote')} out")
    chosen = {} if estimator is None else {"estimator": estimator}
    learned = NaiveBayes.from_release(release, **chosen, **settings)
    return learned, described(learned)


def _mixture(
    params: Mapping[str, Any],
    estimator: str | None,
    vote: str | None,
    asked: MixtureQuestions,
    settings: Mapping[str, Any],
) -> tuple[Any, Described | None]:
    """Return the classifier of a mixture, or the mixture itself where no column is to be predicted."""
    for name, given in (("estimator", estimator), ("vote", vote), *settings.items()):
        if given is not None:
            raise ParameterError(
                f"{name} is for other models, and this release holds a mixture", f"leave {option(name)} out"
            )
    from anonkit.consumers.marginal_model import MarginalModel

    if asked.given and asked.draw is None and not asked.tables:
        raise ParameterError(
            "conditions are on rows to draw or to count",
            f"{option('draw', 'FILE')}, {option('tables', 'COLUMNS', typed='table')}; a prediction takes them from "
            "its test table",
        )
    if asked.target is None and params.get("target") is None:
        return MarginalModel(params), None
    from anonkit.consumers.mixture_classifier import MixtureClassifier

    classifier = MixtureClassifier(params, target=asked.target).fit()
    return classifier, classifier.described()


def _vote_of(learned: NaiveBayes | Forest | MixtureClassifier) -> str | None:
    """Return how trees decided together, where trees did."""
    return getattr(learned, "vote_", None) if getattr(learned, "scores_", None) is None else None


def _regressor(learned: NaiveBayes | Forest | MixtureClassifier) -> ReleaseRegressor:
    from anonkit.consumers.regressor import ReleaseRegressor

    return ReleaseRegressor.of(learned)


def _power_of(learned: NaiveBayes | Forest | MixtureClassifier) -> LearningPower | None:
    """Return what the release can tell of its target, warning where that is nothing."""
    from anonkit.consumers.naive_bayes import NaiveBayes

    if not isinstance(learned, NaiveBayes):
        return None
    from anonkit.consumers.learning_power import learning_power, warn_of_power

    power = learning_power(learned.model_)
    warn_of_power(power, stacklevel=3)
    return power


def learned_from(params: Mapping[str, Any], released: object) -> tuple[NaiveBayes | Forest, Described] | None:
    """Return the model of a release in memory, and its description.

    Parameters
    ----------
    params : mapping
        What `params.json` of the release holds.
    released : table
        Its rows.

    Returns
    -------
    tuple or None
        None when there is no noise to undo and no model: it is an ordinary table, to be trained on as it is.

    Privacy
    -------
    Post-processing of what was published: no privacy loss.
    """
    if params.get("format") == FOREST_FORMAT:
        from anonkit.consumers.forest import Forest

        forest = Forest(params).fit()
        return forest, forest.described()
    from anonkit.consumers.noisy_statistics import is_noisy_tables

    if params.get("format") != RANDOMIZED_FORMAT and not is_noisy_tables(params):
        return None
    from anonkit.consumers.model_files import described
    from anonkit.consumers.naive_bayes import NaiveBayes

    learned = NaiveBayes(params).fit(released)
    return learned, described(learned)


def _predictions(described: Described, shares: FloatArray) -> pa.Table:
    labels = described.domain.labels()
    if isinstance(described.domain, NumberBins):
        predicted = pa.array(described.domain.mean_of(shares))
    else:
        predicted = pa.array([labels[at] for at in shares.argmax(axis=1)], pa.string())
    columns: Mapping[str, Any] = {described.target: predicted}
    return pa.table({**columns, **{f"P({name})": shares[:, at] for at, name in enumerate(labels)}})


def _scores(described: Described, test: object, shares: FloatArray) -> Scores | RegressionScores | None:
    """Return the scores of predicted shares, or None when the table does not hold the target."""
    columns = Columns(test)
    if described.target not in columns:
        return None
    if isinstance(described.domain, NumberBins):
        return regression_scores(described.domain.mean_of(shares), columns.numbers(described.target))
    truth = columns.codes(described.target, described.domain)
    if (truth == UNKNOWN).any():
        count = int((truth == UNKNOWN).sum())
        raise SourceError(f"{count} of {truth.size} rows of the test table hold a label that is not among the classes")
    if truth.size == 0:
        raise SourceError("the test table has no rows")
    size, guessed = described.domain.size, shares.argmax(axis=1)
    confusion = np.bincount(truth * size + guessed, minlength=size * size).reshape(size, size)
    rows = confusion.sum(axis=1)
    seen = rows > 0
    return Scores(
        n=int(truth.size),
        accuracy=float(np.trace(confusion) / truth.size),
        balanced_accuracy=float((np.diag(confusion)[seen] / rows[seen]).mean()),
        auc=_area(truth, shares),
        majority=float(rows.max() / truth.size),
        confusion=tuple(tuple(int(count) for count in row) for row in confusion),
    )


def regression_scores(predicted: FloatArray, truth: FloatArray) -> RegressionScores:
    """Return the scores of predicted numbers.

    Parameters
    ----------
    predicted, truth : float array, shape (n,)
        NaN where the truth is missing.

    Raises
    ------
    SourceError
        A number is missing, or they are all the same: there is nothing to explain.
    """
    lost = int(np.isnan(truth).sum())
    if lost:
        raise SourceError(f"{lost} of {truth.size} rows of the test table hold no number to compare with")
    scores = number_scores(predicted, truth)
    if scores is None:
        raise SourceError("the test table has no rows that differ in the target")
    return RegressionScores(
        n=int(truth.size),
        r2=scores["r2"],
        mae=scores["mae"],
        intervals=score_errors(predicted, truth),
        mean_mae=float(np.abs(truth - truth.mean()).mean()),
    )


def _area(truth: NDArray[np.int64], shares: FloatArray) -> float | None:
    """Return the area under the ROC curve, of the second class of two or the mean of each class against the rest."""
    from sklearn.metrics import roc_auc_score

    classes = [1] if shares.shape[1] == 2 else range(shares.shape[1])
    areas = [
        float(roc_auc_score(truth == class_, shares[:, class_]))
        for class_ in classes
        if 0 < (truth == class_).sum() < truth.size
    ]
    return float(np.mean(areas)) if areas else None


def _write(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file aside and put it in place when it is complete."""
    staging = Staging(path.parent, path.stem)
    try:
        write(staging.folder / path.name)
        staging.commit([path.name])
    finally:
        staging.discard()


def _refuse_existing(paths: Sequence[str | Path | None], force: bool) -> None:
    for path in paths:
        if path is not None and Path(path).exists() and not force:
            raise ParameterError(f"{str(path)!r} exists", f"{option('force', True)} replaces it")
