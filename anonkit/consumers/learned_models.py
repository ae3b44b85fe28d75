# SPDX-License-Identifier: Apache-2.0
"""Models of a release with noise: the one that its params give, its description, and its export to files.

The format of the params decides: naive Bayes, a forest, a mixture. Noisy tables of a central release become the
sufficient statistics of naive Bayes.

A naive Bayes model is exported as JSON, and as a pipeline of scikit-learn's own estimators. Files a receiver writes are
whole in their place, or not there at all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from anonkit.bundle.atomic import Staging
from anonkit.bundle.signing import refuse_one_place, refuse_replacing
from anonkit.consumers.column_statistics import ClassStatistics, StoredStatistics
from anonkit.consumers.factors import Factor, NormalFactor, ShareFactor
from anonkit.consumers.release_files import Described, column_types, read_params
from anonkit.documents import ParamsPart, read
from anonkit.domains.coded_columns import FloatArray
from anonkit.domains.number_bins import Categories, Grid, NumberBins
from anonkit.errors import ParameterError, ReleaseFormatError, option
from anonkit.estimators.consistent_counts import consistent_counts
from anonkit.published.aggregates import FORMAT as AGGREGATES
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.noisy_tables import FORMATS, NoisyTables
from anonkit.published.product_mixtures import FORMATS as MIXTURES
from anonkit.published.randomized_table import FORMAT as RANDOMIZED_FORMAT
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable, PublishedTarget
from anonkit.published.statements.noise_statement import FORMAT as STATEMENT
from anonkit.published.statements.noise_statement import shows_no_rows
from anonkit.published.tree_model import FORMATS as FORESTS

if TYPE_CHECKING:
    from anonkit.consumers.naive_bayes import NaiveBayes
    from anonkit.consumers.published_classifiers import Forest, MixtureQuestions


def is_noisy_tables(params: object) -> bool:
    """Return True if params hold noisy tables instead of what was done to rows."""
    return isinstance(params, Mapping) and params.get("format") in FORMATS


def statistics_of_tables(params: Mapping[str, Any]) -> ClassStatistics:
    """Return the noisy counts of a release as sums, with the variance of their noise.

    Counts are made consistent first: not below 0, and with one size of each class for all attributes. As they were
    published they are kept beside: what is made consistent is no longer off by noise of that variance.

    Raises
    ------
    ReleaseFormatError
        The params are damaged.
    """
    tables = NoisyTables.from_params(params)
    described = PublishedTable(
        target=PublishedTarget(
            name=tables.target, domain=tables.classes, mechanism=RandomizedResponse.clear(tables.classes.size)
        ),
        attributes=tuple(
            PublishedAttribute(
                name=histogram.name, domain=histogram.domain, mechanism=RandomizedResponse.clear(histogram.domain.size)
            )
            for histogram in tables.tables
        ),
    )
    statistics = ClassStatistics(described)
    sizes, variances = tables.class_sizes
    statistics.label_counts = np.rint(np.maximum(sizes, 0)).astype(np.int64)
    statistics.sums = {
        histogram.name: np.rint(consistent_counts(tables, histogram)).astype(np.int64) for histogram in tables.tables
    }
    statistics.noisy = {histogram.name: histogram.counts for histogram in tables.tables}
    statistics.noise = {histogram.name: histogram.variance for histogram in tables.tables} | {
        tables.target: float(variances[0])
    }
    return statistics


def learned_from_files(
    release: str | Path,
    estimator: str | None,
    vote: str | None,
    requested: MixtureQuestions,
    settings: Mapping[str, Any],
    learner: str | None = None,
) -> tuple[Any, Described | None]:
    """Return the model for the format of the params, and its description; None where it predicts nothing.

    Parameters
    ----------
    release : path
    estimator, vote, settings, learner
        As in `reconstruct`.
    requested : MixtureQuestions
        What only a mixture can answer.

    Raises
    ------
    AnonkitError
        Those of `reconstruct`: the release has no model, or one of another kind than the queries need.
    """
    params = read_params(release)
    if learner is not None:
        requested.refuse()
        return _of_learner(release, params, learner, {"estimator": estimator, "vote": vote}, settings)
    if params.get("format") in MIXTURES:
        return _of_mixture(params, estimator, vote, requested, settings)
    requested.refuse()
    if params.get("format") == AGGREGATES:
        raise ParameterError(
            "the release holds published tables and no rows: no model is learned from them",
            "read the file as it is, or table by table with anonkit.consumers.aggregate_tables",
        )
    if params.get("format") == STATEMENT:
        published = "figures and no rows" if shows_no_rows(params) else "ordinary rows of a noisy table, and no model"
        raise ParameterError(
            f"the release holds {published}: nothing is reconstructed from it",
            "read its figures" if shows_no_rows(params) else "train on its rows as they are",
        )
    if params.get("format") in FORESTS:
        from anonkit.consumers.published_classifiers import Forest

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
    from anonkit.consumers.naive_bayes import NaiveBayes

    if vote is not None:
        raise ParameterError("vote is for a forest, and this release is for naive Bayes", f"leave {option('vote')} out")
    chosen = {} if estimator is None else {"estimator": estimator}
    learned = NaiveBayes.from_release(release, **chosen, **settings)
    return learned, described(learned)


def _of_learner(
    release: str | Path,
    params: Mapping[str, Any],
    learner: str,
    choices: Mapping[str, str | None],
    settings: Mapping[str, Any],
) -> tuple[Any, Described]:
    """Return the decision tree of a randomized release.

    Raises
    ------
    ParameterError
        The release shows no randomized rows, or a choice is one of another model.
    """
    for name, given in choices.items():
        if given is not None:
            raise ParameterError(f"{name} is for other models, and {learner} grows a tree", f"leave {option(name)} out")
    if params.get("format") != RANDOMIZED_FORMAT:
        raise ParameterError(
            f"{learner} needs rows that were randomized one by one, and this release holds others",
            f"leave {option('learner')} out, or ask for a release by errph, rr, ppnb or trr",
        )
    from anonkit.consumers.randomized_tree import RandomizedTree

    tree = RandomizedTree.from_release(release, learner=learner, **settings)
    return tree, tree.described()


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
    if params.get("format") in FORESTS:
        from anonkit.consumers.published_classifiers import Forest

        forest = Forest(params).fit()
        return forest, forest.described()

    if params.get("format") != RANDOMIZED_FORMAT and not is_noisy_tables(params):
        return None
    from anonkit.consumers.naive_bayes import NaiveBayes

    learned = NaiveBayes(params).fit(released)
    return learned, described(learned)


def _of_mixture(
    params: Mapping[str, Any],
    estimator: str | None,
    vote: str | None,
    requested: MixtureQuestions,
    settings: Mapping[str, Any],
) -> tuple[Any, Described | None]:
    """Return the classifier of a mixture, or the mixture itself where no column is to be predicted."""
    for name, given in (("estimator", estimator), ("vote", vote), *settings.items()):
        if given is not None:
            raise ParameterError(
                f"{name} is for other models, and this release holds a mixture", f"leave {option(name)} out"
            )
    from anonkit.consumers.marginal_model import MarginalModel

    if requested.given and requested.draw is None and not requested.tables:
        raise ParameterError(
            "conditions are on rows to draw or to count",
            f"{option('draw', 'FILE')}, {option('tables', 'COLUMNS', typed='table')}; a prediction takes them from "
            "its test table",
        )
    if requested.target is None and params.get("target") is None:
        return MarginalModel(params), None
    from anonkit.consumers.published_classifiers import MixtureClassifier

    classifier = MixtureClassifier(params, target=requested.target).fit()
    return classifier, classifier.described()


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file aside and put it in place when it is complete.

    Parameters
    ----------
    path : path
    write : callable
        Given where to write; what it raises is raised, and nothing is left.
    """
    staging = Staging(path.parent, path.stem)
    try:
        write(staging.folder / path.name)
        staging.commit([path.name])
    finally:
        staging.discard()


def refuse_existing(paths: Sequence[str | Path | None], force: bool, *, read: Iterable[Path]) -> None:
    """Refuse, before any work is done, what would be in the way, and to write over what is read or written.

    Raises
    ------
    ParameterError
        One of the files is there, and none is to be replaced; or it is one that is read, or another of them.
    """
    written = [Path(path) for path in paths if path is not None]
    refuse_one_place(written)
    refuse_replacing(written, read)
    for path in written:
        if path.exists() and not force:
            raise ParameterError(f"{str(path)!r} exists", f"{option('force', True)} replaces it")


_FORMAT = "anonkit-naive-bayes-1"


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredModel(ParamsPart, damage="the model file lacks a key or has one of the wrong kind"):
    """The keys of a model file that make a naive Bayes model anew."""

    format: str = _FORMAT
    classes: list[Any]
    """Labels, as they are predicted."""
    array_columns: int | None
    """Columns of the array it was learned from; None where there were params."""
    settings: Settings
    params: Mapping[str, Any]
    statistics: StoredStatistics

    @classmethod
    def parsed(cls, text: str) -> Self:
        """Read the keys of a model file.

        Raises
        ------
        ReleaseFormatError
            It is no such file.
        """
        try:
            raw = json.loads(text)
        except json.JSONDecodeError:
            raise ReleaseFormatError("the model file is not JSON") from None
        if not isinstance(raw, dict) or raw.get("format") != _FORMAT:
            raise ReleaseFormatError(f"the model file is not of format {_FORMAT}")
        return read(cls, raw)

    @property
    def summed(self) -> ClassStatistics:
        """The sums of its table."""
        return ClassStatistics.of(PublishedTable.from_params(self.params), self.statistics)


@dataclass(frozen=True, kw_only=True)
class Settings(ParamsPart):
    """Settings of a naive Bayes model, as its constructor takes and checks them."""

    estimator: Any
    smoothing: Any
    numbers: Any


def to_pipeline(model: NaiveBayes) -> object:
    """Return the model as preprocessing by scikit-learn and a logistic regression with the weights written in.

    Of a numeric target: preprocessing, the shares of its bins, and a linear regression whose weights are their means.

    ln P(class | row) is linear in indicators of categories and cells and in z and z² of numbers, so that naive Bayes
    is a logistic regression whose weights are differences of log-likelihoods.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import Pipeline

    factors, plain = model.model_.factors, hasattr(model, "n_features_in_")
    parts, weights, first_rows = [], [], {}
    for position, factor in enumerate(factors):
        name = factor.attribute.name
        column = position if plain else name
        steps, columns, examples = _steps(factor)
        parts += [(f"{name} {label}", step, [column]) for label, step in steps]
        weights += [model.model_.weight * column_weights for column_weights in columns]
        first_rows[name] = examples
    constant = np.log(model.model_.prior.expected) + model.model_.weight * sum(_constant(factor) for factor in factors)
    # two made-up rows give every part its state: the middle and unit of a number, the ends of a grid
    rows: Any = np.column_stack(list(first_rows.values())) if plain else _frame(first_rows)
    columns_part = ColumnTransformer(parts, sparse_threshold=0).fit(rows)
    for factor in factors:
        domain = factor.attribute.domain
        if isinstance(factor, ShareFactor) and isinstance(domain, Grid) and domain.values is not None:
            cells = columns_part.named_transformers_[f"{factor.attribute.name} cell"][-1]
            cells.bin_edges_[0] = np.array(domain.edges())  # integers are not divided into equal cells
    bins = None if model.table_.target is None else model.table_.target.domain
    if isinstance(bins, NumberBins):
        return Pipeline([("columns", columns_part), *_means_of_bins(bins, np.hstack(weights), constant)])
    classifier = LogisticRegression().fit(
        np.zeros((len(model.classes_), sum(w.shape[1] for w in weights))), model.classes_
    )
    # scikit-learn sorts the labels, the public domain need not
    order = [list(model.classes_).index(label) for label in classifier.classes_]
    table, constant = np.hstack(weights)[order], constant[order]
    binary = len(model.classes_) == 2
    classifier.coef_ = table[1:] - table[:1] if binary else table
    classifier.intercept_ = constant[1:] - constant[:1] if binary else constant
    return Pipeline([("columns", columns_part), ("classifier", classifier)])


def _means_of_bins(bins: NumberBins, weights: FloatArray, constant: FloatArray) -> list[tuple[str, Any]]:
    """Return the steps from the columns of the preprocessing to the mean of the target."""
    from scipy.special import softmax
    from sklearn.linear_model import LinearRegression
    from sklearn.preprocessing import FunctionTransformer

    n = len(bins.means)  # the share of missing says nothing of the number
    mean = LinearRegression().fit(np.eye(n), np.zeros(n))
    mean.coef_, mean.intercept_ = np.array(bins.means), 0.0
    return [
        ("weights", FunctionTransformer(partial(np.einsum, "kj,ij->ik", weights[:n]))),
        ("constants", FunctionTransformer(partial(np.add, constant[:n]))),
        ("shares", FunctionTransformer(softmax, kw_args={"axis": 1})),
        ("mean", mean),
    ]


def _frame(columns: dict[str, Any]) -> object:
    import pandas as pd

    return pd.DataFrame(columns)


def _constant(factor: Factor) -> FloatArray:
    """Return ln P(value | class) of what the indicators and powers of a factor are zero for."""
    if isinstance(factor, ShareFactor):
        return np.zeros(len(factor.probabilities))
    return _quadratic(factor)[:, 0]


def _quadratic(factor: NormalFactor) -> FloatArray:
    """Return the coefficients of 1, z, z² of ln p(x | class) for z = (x − middle) / unit, shape (n_classes, 3)."""
    middle, unit = _standard(factor)
    known = np.isfinite(factor.variance)
    variance = np.where(known, factor.variance, 1.0) / unit**2
    mean = (factor.mean - middle) / unit
    present = 0.0 if factor.missing is None else np.log1p(-factor.missing)
    constant = -0.5 * (np.log(2 * np.pi * variance * unit**2) + mean**2 / variance)
    powers = np.stack([constant, mean / variance, -0.5 / variance], axis=1) * known[:, np.newaxis]
    powers[:, 0] += present
    return np.asarray(powers)


def _standard(factor: NormalFactor) -> tuple[float, float]:
    finite = factor.variance[np.isfinite(factor.variance)]
    return float(factor.mean.mean()), float(np.sqrt(finite.mean())) if finite.size else 1.0


def _steps(factor: Factor) -> tuple[list[tuple[str, Any]], list[FloatArray], Any]:
    """Return the transformers of a factor, the weights of their columns, and two values that fit them."""
    if isinstance(factor, NormalFactor):
        return _number_steps(factor)
    logs = np.log(factor.probabilities)
    domain = factor.attribute.domain
    if isinstance(domain, Categories):
        return _category_steps(domain, logs)
    assert isinstance(domain, Grid)  # noqa: S101 - shares need a domain
    return _cell_steps(domain, logs)


def _category_steps(domain: Categories, logs: FloatArray) -> tuple[list[tuple[str, Any]], list[FloatArray], Any]:
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    absent = "missing"
    while absent in domain.values:
        absent += " value"
    labels = [*domain.values, *([absent] if domain.has_missing else [])]
    encoder = OneHotEncoder(categories=[np.array(labels, dtype=object)], handle_unknown="ignore", sparse_output=False)
    imputers = [SimpleImputer(missing_values=kind, strategy="constant", fill_value=absent) for kind in (np.nan, None)]
    return (
        [("category", make_pipeline(_as(object), *imputers, encoder))],
        [logs],
        np.array([labels[0]] * 2, dtype=object),
    )


def _cell_steps(domain: Grid, logs: FloatArray) -> tuple[list[tuple[str, Any]], list[FloatArray], Any]:
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer

    cells = KBinsDiscretizer(domain.cells, encode="onehot-dense", strategy="uniform", subsample=None)
    imputer = SimpleImputer(strategy="constant", fill_value=domain.lower)
    absent = logs[:, domain.cells] if domain.has_missing else np.zeros(len(logs))
    steps = [("cell", make_pipeline(_as(float), imputer, cells)), ("missing", _missing())]
    # a missing number is imputed into the first cell, whose weight the indicator takes back
    weights = [logs[:, : domain.cells], (absent - logs[:, 0])[:, np.newaxis]]
    return steps, weights, np.array([domain.lower, domain.upper])


def _number_steps(factor: NormalFactor) -> tuple[list[tuple[str, Any]], list[FloatArray], Any]:
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    middle, unit = _standard(factor)
    imputer = SimpleImputer(strategy="constant", fill_value=middle)
    powers = make_pipeline(_as(float), imputer, StandardScaler(), PolynomialFeatures(2, include_bias=False))
    steps = [("powers", powers), ("missing", _missing())]
    quadratic = _quadratic(factor)
    absent = 0.0 if factor.missing is None else np.log(factor.missing)
    # a missing number is imputed in the middle, whose constant the indicator takes back
    return (
        steps,
        [quadratic[:, 1:], (absent - quadratic[:, 0])[:, np.newaxis]],
        np.array([middle - unit, middle + unit]),
    )


def _as(kind: type) -> object:
    """Return a transformer to one type, so that integers and floats, or any strings, may come in."""
    from sklearn.preprocessing import FunctionTransformer

    return FunctionTransformer(np.asarray, kw_args={"dtype": kind})


def _missing() -> object:
    from sklearn.impute import MissingIndicator
    from sklearn.pipeline import make_pipeline

    return make_pipeline(_as(float), MissingIndicator(features="all"))


def described(model: NaiveBayes) -> Described:
    """Return the description of a naive Bayes model.

    Raises
    ------
    ParameterError
        It was not learned from a release with a target.
    """
    target, prior = model.table_.target, model.model_.prior
    if target is None:
        raise ParameterError("the params name no target: there is nothing to predict")
    return Described(
        kind="naive Bayes",
        rows=model.statistics_.n_rows,
        target=target.name,
        domain=target.domain,
        classes={
            str(name): {"share": float(share), "standard_error": float(error)}
            for name, share, error in zip(model.classes_, prior.probabilities, prior.errors, strict=True)
        },
        attributes=[attribute.name for attribute in model.table_.attributes],
        types=column_types(
            {table_attribute.name: table_attribute.is_number for table_attribute in model.table_.attributes},
            target.name,
            target.domain,
        ),
    )
