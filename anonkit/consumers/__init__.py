# SPDX-License-Identifier: Apache-2.0
"""The receiver's side of a release: models and estimates that need neither Spark nor the owner's methods.

To train on a randomized table:      `NaiveBayes`, `RandomizedTree`.
To predict by a published forest:    `Forest`.
To train on a k-anonymous table:     `ReleaseFeatures`.
To do so from files and score it:    `reconstruct`.
To choose a model on released rows:  `release_scorer`.
To read tables off it:               `frequencies`, `histogram`, `moments`, `two_way`, `by_class`.
To read published aggregates:        `aggregate_tables`.
To use a mixture for any purpose:    `MarginalModel`, to predict by it `MixtureClassifier`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anonkit.consumers.marginal_model import ColumnAnswers as ColumnAnswers
    from anonkit.consumers.marginal_model import MarginalModel as MarginalModel
    from anonkit.consumers.naive_bayes import NaiveBayes as NaiveBayes
    from anonkit.consumers.published_classifiers import Forest as Forest
    from anonkit.consumers.published_classifiers import MixtureClassifier as MixtureClassifier
    from anonkit.consumers.published_classifiers import MixtureQuestions as MixtureQuestions
    from anonkit.consumers.randomized_tree import RandomizedTree as RandomizedTree
    from anonkit.consumers.reconstruction import ReleaseRegressor as ReleaseRegressor
    from anonkit.consumers.reconstruction import reconstruct as reconstruct
    from anonkit.consumers.release_features import ReleaseFeatures as ReleaseFeatures
    from anonkit.consumers.release_scoring import release_scorer as release_scorer
    from anonkit.consumers.tables import aggregate_tables as aggregate_tables
    from anonkit.consumers.tables import by_class as by_class
    from anonkit.consumers.tables import frequencies as frequencies
    from anonkit.consumers.tables import histogram as histogram
    from anonkit.consumers.tables import moments as moments
    from anonkit.consumers.tables import two_way as two_way

_HOME = {
    "ColumnAnswers": "marginal_model",
    "Forest": "published_classifiers",
    "MarginalModel": "marginal_model",
    "MixtureClassifier": "published_classifiers",
    "MixtureQuestions": "published_classifiers",
    "NaiveBayes": "naive_bayes",
    "RandomizedTree": "randomized_tree",
    "ReleaseFeatures": "release_features",
    "ReleaseRegressor": "reconstruction",
    "aggregate_tables": "tables",
    "by_class": "tables",
    "frequencies": "tables",
    "histogram": "tables",
    "moments": "tables",
    "reconstruct": "reconstruction",
    "release_scorer": "release_scoring",
    "two_way": "tables",
}
__all__ = list(_HOME)


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name in _HOME:
        return getattr(import_module(f"anonkit.consumers.{_HOME[name]}"), name)
    raise AttributeError(f"module 'anonkit.consumers' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
