# SPDX-License-Identifier: Apache-2.0
"""The model that a release with noise gives its receiver, by the format of its params: naive Bayes, forest, mixture.

Noisy tables of a central release as the sufficient statistics of a naive Bayes model.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anonkit.consumers.class_statistics import ClassStatistics
from anonkit.consumers.release_files import Described, read_params
from anonkit.errors import ParameterError, option
from anonkit.estimators.consistent_counts import consistent_counts
from anonkit.published.aggregates import FORMAT as AGGREGATES
from anonkit.published.channels.kary_response import RandomizedResponse
from anonkit.published.noisy_tables import FORMATS, NoisyTables
from anonkit.published.product_mixtures import FORMATS as MIXTURES
from anonkit.published.randomized_table import FORMAT as RANDOMIZED_FORMAT
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable, PublishedTarget
from anonkit.published.statements.noise_statement import FORMAT as STATEMENT
from anonkit.published.statements.noise_statement import shows_no_rows
from anonkit.published.tree_model import FORMATS as FORESTS

if TYPE_CHECKING:
    from anonkit.consumers.forest import Forest
    from anonkit.consumers.mixture_classifier import MixtureQuestions
    from anonkit.consumers.naive_bayes import NaiveBayes


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
    from anonkit.consumers.randomized_trees.randomized_tree import RandomizedTree

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
        from anonkit.consumers.forest import Forest

        forest = Forest(params).fit()
        return forest, forest.described()

    if params.get("format") != RANDOMIZED_FORMAT and not is_noisy_tables(params):
        return None
    from anonkit.consumers.model_files import described
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
    from anonkit.consumers.mixture_classifier import MixtureClassifier

    classifier = MixtureClassifier(params, target=requested.target).fit()
    return classifier, classifier.described()
