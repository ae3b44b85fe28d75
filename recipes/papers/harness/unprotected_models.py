# SPDX-License-Identifier: Apache-2.0
"""Comparators of experiments that are no methods of release: plain models, and the randomized trees DTPD and DTCRD.

None of them protects anybody: plain models see the rows as they are, one known value undoes a record of DTPD, and
additive noise (DTCRD) has no finite epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.domains.number_bins import Grid
from anonkit.errors import ParameterError, PolicyError
from anonkit.mechanisms.randomizers import NumberRandomizer
from anonkit.methods import make_method
from anonkit.parameters import check_choice
from anonkit.policy.column_declarations import Role
from anonkit.policy.public_domains import public_domains
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.channels.number_channels import ContinuousDraw, TransformedResponse
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable
from anonkit.utility.class_scores import class_scores
from papers.comparators.flipped_records import flip_records
from papers.harness.breach_measures import WIDTHS, breach_widths
from papers.harness.experiment_tables import LearningTask
from papers.harness.receivers import svm_samples

Scored = tuple[list[dict[str, float]], str, float | None]
"""Samples of a run, the kind of promise, and the epsilon where one is counted."""
NO_PROMISE = "none"


@dataclass(frozen=True, kw_only=True)
class Commonest:
    """The commonest class, whatever a row holds: what needs no model."""

    def samples(self, task: LearningTask, seed: int) -> Scored:
        """Score the commonest class of the rows to learn from."""
        classes, codes, truth = _labels(task)
        shares = np.bincount(codes, minlength=classes.size) / codes.size
        return [class_scores(np.tile(shares, (truth.size, 1)), truth)], NO_PROMISE, None


def unprotected(table: PublishedTable) -> PublishedTable:
    """Return the parameters of a table of which every cell is as it was: what a plain model learns from."""
    clear = tuple(
        PublishedAttribute(
            name=one.name,
            domain=one.domain,
            mechanism=RandomizedResponse.clear(one.domain.size) if one.domain else TransformedResponse.clear(),
        )
        for one in table.attributes
    )
    return PublishedTable(target=table.target, attributes=clear)


@dataclass(frozen=True, kw_only=True)
class PlainNaiveBayes:
    """Naive Bayes on the rows as they are: shares of categories, normal numbers, as in the paper of PPNB."""

    def samples(self, task: LearningTask, seed: int) -> Scored:
        """Score the model that PPNB reconstructs, without anything to reconstruct."""
        from anonkit.consumers.naive_bayes import NaiveBayes

        table = unprotected(_method_table(task))
        model = NaiveBayes(table).fit(_as_text(task.train, task))
        shares = model.predict_proba(task.test)
        classes = [str(one) for one in model.classes_]
        return [class_scores(shares, _codes(task.test, task.target, classes))], NO_PROMISE, None


@dataclass(frozen=True, kw_only=True)
class PlainForest:
    """scikit-learn's random forest on one yes/no feature a category, and numbers as they are."""

    trees: int = 100
    depth: int | None = None
    min_rows: int = 1
    """Rows in the smallest leaf."""

    def samples(self, task: LearningTask, seed: int) -> Scored:
        """Train and score the forest."""
        from sklearn.ensemble import RandomForestClassifier

        model = RandomForestClassifier(
            self.trees, max_depth=self.depth, min_samples_leaf=self.min_rows, random_state=seed % 2**31
        )
        return _plain(model, task)


@dataclass(frozen=True, kw_only=True)
class PlainTree:
    """scikit-learn's decision tree by information gain, on the same features."""

    depth: int | None = None
    min_rows: int = 1
    """Rows in the smallest leaf."""

    def samples(self, task: LearningTask, seed: int) -> Scored:
        """Train and score the tree."""
        from sklearn.tree import DecisionTreeClassifier

        model = DecisionTreeClassifier(
            criterion="entropy", max_depth=self.depth, min_samples_leaf=self.min_rows, random_state=seed % 2**31
        )
        return _plain(model, task)


@dataclass(frozen=True, kw_only=True)
class PlainC45:
    """C4.5 without noise: one child a category, by the gain ratio of exact counts; attributes must be categories."""

    depth: int | None = None
    min_rows: int = 2
    """Rows of a node below which it is a leaf."""

    def samples(self, task: LearningTask, seed: int) -> Scored:
        """Grow and score the tree."""
        from papers.harness.plain_c45 import GainRatioTree

        names = _attributes(task)
        if any(task.policy.column(name).bounds is not None for name in names):
            raise PolicyError("c45 needs attributes that are categories", "drop = [...] in the table of the recipe")
        classes, labels, truth = _labels(task)
        columns = []
        for name in names:
            texts = [np.array(table.column(name).to_pylist(), dtype=str) for table in (task.train, task.test)]
            columns.append(np.unique(np.concatenate(texts), return_inverse=True)[1])
        codes = np.stack(columns, axis=1).astype(np.int64)
        model = GainRatioTree(depth=self.depth, min_rows=self.min_rows)
        shares = model.fit(codes[: labels.size], labels, classes.size).predict_proba(codes[labels.size :])
        return [class_scores(shares, truth)], NO_PROMISE, None


@dataclass(frozen=True, kw_only=True)
class PlainDiffPRFs:
    """DiffPRFs without noise: what the paper calls its algorithm without privacy."""

    trees: int = 25
    depth: int = 5
    score: str = "information-gain"
    branches: str = "two"
    bins: int = 1024
    """Equal cells of a number's public bounds, between which it is cut."""

    def __post_init__(self) -> None:
        from papers.harness.plain_diffprfs import BRANCHES, SCORES

        check_choice("score", self.score, tuple(SCORES))
        check_choice("branches", self.branches, BRANCHES)

    def samples(self, task: LearningTask, seed: int) -> Scored:
        """Grow and score the forest."""
        from papers.harness.plain_diffprfs import BootstrapForest

        names, bounds = _attributes(task), public_domains(task.policy).bounds
        _, labels, truth = _labels(task)
        columns, sizes = [], []
        for name in names:
            if name in bounds:
                grid = Grid(lower=bounds[name][0], upper=bounds[name][1], cells=self.bins)
                cells = [grid.encode(_matrix(table, [name])[:, 0]) for table in (task.train, task.test)]
                columns.append(np.concatenate(cells).astype(np.int64))
                sizes.append(grid.size)
            else:
                texts = [np.array(table.column(name).to_pylist(), dtype=str) for table in (task.train, task.test)]
                values, found = np.unique(np.concatenate(texts), return_inverse=True)
                columns.append(found.astype(np.int64))
                sizes.append(values.size)
        codes = np.stack(columns, axis=1).astype(np.int64)
        model = BootstrapForest(trees=self.trees, depth=self.depth, score=self.score, branches=self.branches, seed=seed)
        are_numbers = np.array([name in bounds for name in names])
        model.fit(codes[: labels.size], np.array(sizes), are_numbers, labels)
        return [class_scores(model.predict_proba(codes[labels.size :]), truth)], NO_PROMISE, None


@dataclass(frozen=True, kw_only=True)
class PlainSVM:
    """scikit-learn's RBF support vector machine on one yes/no feature a value, five bins a number."""

    def samples(self, task: LearningTask, seed: int) -> Scored:
        """Train and score on folds of the rows as they are."""
        rows = task.train.select([*_attributes(task), task.target])
        return svm_samples(rows, task), NO_PROMISE, None


@dataclass(frozen=True, kw_only=True)
class DTPD:
    """ID3 on yes/no records that are kept or inverted as a whole (Du & Zhan 2003).

    One of `p_truth` and `p_keep` is given: `p_keep` is the p_0 of randomized response with the same loss a value, that
    is a truth probability of (1 + p_0) / 2.
    """

    p_truth: float | None = None
    p_keep: float | None = None
    depth: int = 6
    min_rows: float = 20.0

    def __post_init__(self) -> None:
        if (self.p_truth is None) == (self.p_keep is None):
            raise ParameterError("dtpd needs one of p_truth and p_keep", "p_truth = 0.7")

    @property
    def truth(self) -> float:
        """Probability that a record is kept."""
        return self.p_truth if self.p_truth is not None else (1 + float(self.p_keep or 0)) / 2

    @property
    def breach(self) -> float:
        """The paper's coefficient: kept and known to be kept, or inverted, known to be, and turned back (6.1)."""
        return self.truth**2 + (1 - self.truth) ** 2

    def samples(self, task: LearningTask, seed: int) -> Scored:
        """Flip the records, grow the tree on reconstructed counts, and score it on true records."""
        from papers.comparators.dtpd import WarnerDecisionTree
        from papers.comparators.record_flip import RecordFlip

        flip = RecordFlip(p_truth=self.truth)
        _, codes, truth = _labels(task)
        published = flip_records(_yes(task, task.train), flip.coin, key=_key(seed), stream=0)
        model = WarnerDecisionTree(self.truth, max_depth=self.depth, min_rows=self.min_rows).fit(published, codes)
        shares = model.predict_proba(_yes(task, task.test))
        exact = {"breach": self.breach, "guess": max(self.truth, 1 - self.truth)}
        return [{**class_scores(shares, truth), **exact}], NO_PROMISE, math.inf


@dataclass(frozen=True, kw_only=True)
class DTCRD:
    """A tree of cuts on numbers with additive noise, after their distribution was reconstructed (Agrawal & Srikant).

    `width` is how wide the interval is that holds the noise of a number with 95 % confidence, as a share of the
    column's public range: that paper's measure of privacy. Attributes that are no numbers are not used.
    """

    width: float = 1.0
    shape: str = "normal"
    by_class: bool = True
    cells: int = 20
    depth: int = 6
    min_rows: float = 20.0

    def __post_init__(self) -> None:
        if not 0 < self.width < math.inf:
            raise ParameterError(f"width ({self.width:g}) must be in (0, inf)")
        if self.shape not in ("normal", "uniform"):
            raise ParameterError(f"shape ({self.shape}) must be one of normal, uniform")

    def samples(self, task: LearningTask, seed: int) -> Scored:
        """Add the noise, reconstruct, grow the tree, and score it on true numbers."""
        from papers.comparators.dtcrd import AdditiveNoiseDecisionTree

        bounds = public_domains(task.policy).bounds
        if not bounds:
            raise PolicyError("dtcrd needs columns with bounds", "bounds = [0, 100]")
        noise = [self._noise(high - low) for low, high in bounds.values()]
        grids = [Grid(lower=low, upper=high, cells=self.cells, has_missing=False) for low, high in bounds.values()]
        train, test = (_matrix(table, list(bounds)) for table in (task.train, task.test))
        published = np.stack(
            [NumberRandomizer(one).randomize(train[:, at], key=_key(seed), stream=at) for at, one in enumerate(noise)],
            axis=1,
        )
        _, codes, truth = _labels(task)
        model = AdditiveNoiseDecisionTree(
            noise, grids, by_class=self.by_class, max_depth=self.depth, min_rows=self.min_rows
        )
        shares = model.fit(published, codes).predict_proba(test)
        each = [breach_widths(one, published[:, at], train[:, at]) for at, one in enumerate(noise)]
        widths = {name: float(np.mean([one[name] for one in each])) for name in WIDTHS}
        return [{**class_scores(shares, truth), **widths}], NO_PROMISE, math.inf

    def _noise(self, span: float) -> TransformedResponse:
        from scipy.special import ndtri

        # 95 % of a normal lie within 3.92 standard deviations, 95 % of a uniform within .95 of its width
        sd = self.width * span / (2 * float(ndtri(0.975)) if self.shape == "normal" else 0.95 * math.sqrt(12))
        return TransformedResponse(
            multiplier=ContinuousDraw(mean=1, variance=0),
            offset=ContinuousDraw(mean=0, variance=sd**2, shape=self.shape),  # type: ignore[arg-type]
        )


COMPARATORS: dict[str, Any] = {
    "commonest": Commonest,
    "naive-bayes": PlainNaiveBayes,
    "forest": PlainForest,
    "tree": PlainTree,
    "c45": PlainC45,
    "diffprfs": PlainDiffPRFs,
    "svm": PlainSVM,
    "dtpd": DTPD,
    "dtcrd": DTCRD,
}
"""Comparators by the name that recipes give them."""


def _plain(model: Any, task: LearningTask) -> Scored:
    """Train and score a model of scikit-learn on the rows as they are."""
    import pandas as pd

    _, codes, truth = _labels(task)
    names = _attributes(task)
    both = pa.concat_tables([_undictionaried(table.select(names)) for table in (task.train, task.test)])
    features = pd.get_dummies(both.to_pandas(), dummy_na=False).to_numpy(dtype=np.float32)
    known = np.nan_to_num(features)
    model.fit(known[: codes.size], codes)
    return [class_scores(model.predict_proba(known[codes.size :]), truth)], NO_PROMISE, None


def _attributes(task: LearningTask) -> list[str]:
    apart = (Role.TARGET, Role.IDENTIFIER, Role.INSENSITIVE, Role.UNIT, Role.HOUSEHOLD, Role.WEIGHT)
    return [name for name, column in task.policy.columns.items() if column.role not in apart]


def _labels(task: LearningTask) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """Return the classes of the rows to learn from, their codes, and those of the rows to predict."""
    classes, codes = np.unique(task.train.column(task.target).cast(pa.string()).to_numpy(), return_inverse=True)
    return classes, codes, _codes(task.test, task.target, classes.tolist())


def _codes(table: pa.Table, target: str, classes: Sequence[str]) -> NDArray[np.int64]:
    """Return the place of every label among the classes; one that is none of them comes after all."""
    place = {label: at for at, label in enumerate(classes)}
    return np.array([place.get(str(one), len(classes)) for one in table.column(target).to_pylist()], dtype=np.int64)


def _yes(task: LearningTask, table: pa.Table) -> NDArray[np.bool_]:
    """Return yes/no columns, shape (n_rows, n_attributes)."""
    names = _attributes(task)
    if any(task.policy.column(name).categories != ("no", "yes") for name in names):
        raise PolicyError("dtpd needs attributes that are yes or no", "yes_no = true in the table of the recipe")
    return np.stack([table.column(name).to_numpy() == "yes" for name in names], axis=1)


def _matrix(table: pa.Table, names: Sequence[str]) -> NDArray[np.float64]:
    return np.stack([np.asarray(table.column(name).cast(pa.float64()).to_numpy()) for name in names], axis=1)


def _method_table(task: LearningTask) -> PublishedTable:
    """Return what PPNB would do to each column, for its domains."""
    made: Any = make_method("ppnb", {"p_keep": 0.5, "center": False})
    table: PublishedTable = made.published(task.policy)
    return table


def _as_text(table: pa.Table, task: LearningTask) -> pa.Table:
    """Return the rows in the form of a release: categories as strings, numbers as numbers."""
    numbers = public_domains(task.policy).bounds
    names = [*_attributes(task), task.target]
    return pa.table({name: table.column(name).cast(pa.float64() if name in numbers else pa.string()) for name in names})


def _undictionaried(table: pa.Table) -> pa.Table:
    """Return a table with its categories as strings, so that two of them can be put together."""
    return pa.table(
        {
            name: column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
    )


def _key(seed: int) -> bytes:
    """Return the key of a comparator's noise; nothing that is drawn with it is published."""
    return sha256(f"anonkit experiment {seed}".encode()).digest()
