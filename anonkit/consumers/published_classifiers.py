# SPDX-License-Identifier: Apache-2.0
"""Classifiers that a release publishes, for scikit-learn: the params are the model, a forest or a mixture.

`Forest` predicts the target of a published forest. `MixtureClassifier` predicts any column of a release by
`dp-marginals` from all others. `MixtureQuestions` are the further queries to such a mixture: rows, tables, conditions.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from anonkit.consumers.column_statistics import Columns
from anonkit.consumers.learned_models import write_whole
from anonkit.consumers.marginal_model import ColumnAnswers, MarginalModel
from anonkit.consumers.release_files import Described, column_types, read_params
from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.domains.number_bins import UNKNOWN, Categories, Grid, NumberBins
from anonkit.errors import ParameterError, SourceError, did_you_mean, option
from anonkit.published.count_evidence import places_of, scores_of
from anonkit.published.one_thread import one_thread
from anonkit.published.product_mixtures import SHARE_UNITS, WEIGHT_UNITS
from anonkit.published.quoted_names import first_name, names_of
from anonkit.published.tree_model import VOTES, Attribute, PublishedForest


class UnknownValueWarning(UserWarning):
    """A value to predict from is outside its public domain; no cell value is shown."""


class Forest(ColumnAnswers, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Prediction by a published differentially private forest.

    Parameters
    ----------
    params : mapping or PublishedForest, optional
        The release's params; may be given to `fit` instead.
    vote : {"pooled", "majority", "sum"}, optional
        How the leaves that a row falls into, one a tree, decide together; by default what the release states, and
        `pooled` by default. `pooled`: add up their noisy counts, so that a leaf of many rows says more;
        `majority`: each votes for its commonest class; `sum`: add up their class probabilities, the shares of their
        counts with negative ones taken for 0 (all alike where none is positive), so that every tree says as much.
        Leaves without counts always vote for their label.
    smoothing : float
        Rows added to each class of the pooled counts, or votes to each class, in [0, inf); no effect on a sum of
        probabilities.

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
        The class labels, in the order of the published domain.
    forest_ : PublishedForest
        Content of the params.
    vote_ : str
        How the trees decide together; `majority` where no leaf has counts.
    scores_ : AdditiveScores or None
        The scores of leaves and attribute values, where the release has them: they predict then, and `vote` and
        `smoothing` have no effect.

    Privacy
    -------
    Post-processing of what was published: no privacy loss.
    """

    def __init__(
        self,
        params: Mapping[str, Any] | PublishedForest | None = None,
        *,
        vote: Literal["pooled", "majority", "sum"] | None = None,
        smoothing: float = 1.0,
    ) -> None:
        self.params = params
        self.vote = vote
        self.smoothing = smoothing

    def fit(
        self, X: object = None, y: object = None, params: Mapping[str, Any] | PublishedForest | None = None
    ) -> Self:
        """Read the published forest; rows are not needed, and looked at in no way.

        Parameters
        ----------
        X, y
            Ignored: the owner grew the trees.
        params : mapping or PublishedForest, optional
            In place of those given to the constructor.
        """
        if self.vote is not None and self.vote not in VOTES:
            raise ParameterError(f"vote ({self.vote}) must be one of {', '.join(VOTES)}")
        if not 0 <= self.smoothing < np.inf:
            raise ParameterError(f"smoothing ({self.smoothing}) must be in [0, inf)")
        chosen = self.params if params is None else params
        if chosen is None:
            raise ParameterError("a forest needs the params of a release", "Forest.from_release(path)")
        self.forest_ = chosen if isinstance(chosen, PublishedForest) else PublishedForest.from_params(chosen)
        self.classes_ = np.array(self.forest_.schema.classes.labels(), dtype=object)
        self.vote_ = self.vote or self.forest_.vote or "pooled"
        self.scores_ = None if isinstance(chosen, PublishedForest) else scores_of(chosen, self.forest_)
        self._ballots = self._count_ballots()
        self._counts = None if isinstance(chosen, PublishedForest) or "histograms" not in chosen else chosen
        return self

    @classmethod
    def from_release(cls, path: str | Path, **settings: Any) -> Self:
        """Read the forest of a release on disk; its `params.json` is all that is needed.

        Raises
        ------
        ReleaseFormatError
            The file is missing or damaged, or the release holds no forest.
        """
        return cls(read_params(path), **settings).fit()

    def _count_ballots(self) -> FloatArray:
        """Return the vote of each leaf for each class, shape (n_nodes, n_classes)."""
        contents = self.forest_.contents()
        out = np.zeros((len(contents), self.classes_.size))
        counted, rows = [], []
        for node, leaf in enumerate(contents):
            if leaf is None:
                continue
            if leaf.counts is None:
                out[node, leaf.label] = 1.0
            else:
                counted.append(node)
                rows.append(leaf.counts)
        if not counted:
            self.vote_ = "majority"
            return out
        out[counted] = _ballots(np.array(rows, dtype=np.float64), self.vote_)
        return out

    def described(self) -> Described:
        """Return the description of the forest; rows and shares are those of the noisy counts."""
        check_is_fitted(self)
        schema, counted = self.forest_.schema, [leaf for leaf in self.forest_.contents() if leaf is not None]
        counts = np.zeros(self.classes_.size)
        for leaf in counted:
            counts += 0 if leaf.counts is None else np.array(leaf.counts)
        counts = np.maximum(counts * self.forest_.share_of_rows, 0.0)
        total = float(counts.sum())
        shares = counts / total if total else np.full(counts.size, 1.0 / counts.size)
        return Described(
            kind="forest",
            rows=round(total) if total else None,
            target=schema.target,
            domain=schema.classes,
            classes={
                str(name): {"share": float(share), "standard_error": None}
                for name, share in zip(self.classes_, shares, strict=True)
            },
            attributes=[attribute.name for attribute in schema.attributes],
            types=column_types(
                {split_attribute.name: split_attribute.is_number for split_attribute in schema.attributes},
                schema.target,
                schema.classes,
            ),
        )

    def _counted_params(self, column: str) -> Mapping[str, Any]:
        check_is_fitted(self)
        if self._counts is None:
            raise ParameterError("the forest has no noisy counts of columns", "dp-forest and dp-tree publish them")
        return self._counts

    def to_json(self) -> str:
        """Return the published forest as JSON, with the vote that was chosen here."""
        check_is_fitted(self)
        forest = self.forest_ if self.vote is None else replace(self.forest_, vote=self.vote)
        return json.dumps(forest.to_params(), ensure_ascii=False)

    def codes(self, X: object) -> IntArray:
        """Return the rows as codes of the public domains, shape (n_attributes, n_rows)."""
        check_is_fitted(self)
        data = Columns(X)
        attributes = self.forest_.schema.attributes
        codes = np.zeros((len(attributes), data.n_rows), dtype=np.int64)
        for at, attribute in enumerate(attributes):
            codes[at], unknown = _codes(data, attribute)
            if unknown:
                warnings.warn(
                    f"attribute {attribute.name!r}: {unknown} of {data.n_rows} rows have no value of its domain and "
                    "were replaced by another",
                    UnknownValueWarning,
                    stacklevel=3,
                )
        return codes

    def predict_proba(self, X: object) -> FloatArray:
        """Return the share of each class, shape (n, n_classes), columns in the order of `classes_`."""
        codes = self.codes(X)
        if self.scores_ is not None:
            return self.scores_.probabilities(places_of(self.forest_, codes), codes)
        leaves = self.forest_.leaves_of(codes)
        smoothing = 0.0 if self.vote_ == "sum" else self.smoothing
        counts = np.maximum(self._ballots[leaves].sum(axis=0), 0.0) + smoothing
        total = counts.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0, counts / np.maximum(total, 1e-300), 1.0 / counts.shape[1]))

    def predict(self, X: object) -> NDArray[Any]:
        """Return the most probable class of each row, shape (n,)."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def _ballots(counts: FloatArray, vote: str) -> FloatArray:
    """Return the votes of leaves with these noisy counts for each class, both of shape (n_leaves, n_classes)."""
    if vote == "pooled":
        return counts
    n_classes = counts.shape[1]
    if vote == "majority":
        return np.asarray(np.eye(n_classes)[counts.argmax(axis=1)])
    rows = np.maximum(counts, 0.0)
    total = rows.sum(axis=1, keepdims=True)
    # noise can leave no count above 0: such a leaf knows nothing, and takes no side
    return np.asarray(np.where(total > 0, rows / np.where(total > 0, total, 1.0), 1.0 / n_classes))


def _codes(data: Columns, attribute: Attribute) -> tuple[IntArray, int]:
    """Return the codes of a column, and how many cells had none; those are taken for missing, or for the middle."""
    domain = attribute.domain
    if isinstance(domain, Grid):
        numbers = data.numbers(attribute.name)
        lost = np.zeros(numbers.size, dtype=bool) if domain.has_missing else np.isnan(numbers)
        filled = np.where(lost, (domain.lower + domain.upper) / 2, numbers)
        return domain.encode(filled).astype(np.int64), int(lost.sum())
    codes = data.codes(attribute.name, domain)
    lost = codes == UNKNOWN
    return np.where(lost, domain.size - 1 if domain.has_missing else domain.size // 2, codes), int(lost.sum())


@dataclass(frozen=True, kw_only=True)
class MixtureQuestions:
    """Queries of the mixture of a release by `dp-marginals`, besides a prediction."""

    target: str | None = None
    """The column to predict; the declared target where none is named."""
    draw: str | Path | None = None
    """Parquet file to write rows to that are drawn from the mixture."""
    rows: int | None = None
    """Number of rows to draw; the mixture's own number where None."""
    seed: int | None = None
    """The same rows for the same seed."""
    tables: Sequence[Sequence[str]] = ()
    """One to three columns each, whose counts are returned with their intervals."""
    given: Mapping[str, object] = field(default_factory=dict)
    """Conditions on the rows that are drawn and counted; see `MarginalModel.given`."""

    def refuse(self) -> None:
        """Refuse queries that only a mixture can answer.

        Raises
        ------
        ParameterError
            There is a query.
        """
        if self != MixtureQuestions():
            raise ParameterError(
                "a column to predict, rows to draw, tables and conditions need a release by dp-marginals",
                "this release has a model of its target alone",
            )


def tables_typed(texts: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return tables as they are typed: names with commas between, those that hold one in double quotes."""
    return tuple(names_of(text) for text in texts)


def conditions_typed(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return conditions as they are typed, `COLUMN=VALUE`: values of one column are alternatives.

    Raises
    ------
    ParameterError
        One has no sign.
    """
    found: dict[str, list[str]] = {}
    for text in texts:
        name, value = first_name(text, "=")
        if value is None:
            raise ParameterError("a condition is a column, = and a value", f"{option('given')} COLUMN=VALUE")
        found.setdefault(name, []).append(value)
    return found


def answers(mixture: Any, requested: MixtureQuestions) -> dict[str, Any]:
    """Return the answers of a mixture: `tables`, the number of `drawn` rows, and the resolved conditions in `given`.

    Empty where neither tables nor rows are requested.

    Parameters
    ----------
    mixture : MarginalModel
        Ignored where neither rows nor tables are requested.
    requested : MixtureQuestions
    """
    if requested.draw is None and not requested.tables:
        return {}
    conditioned: MarginalModel = mixture.given(requested.given)
    tables = tuple(conditioned.marginal(*names) for names in requested.tables)
    given = tuple(conditioned.conditions.values())
    if requested.draw is None:
        return {"tables": tables, "given": given}
    batches = conditioned.batches(requested.rows, seed=requested.seed)
    written = []

    def write(aside: Path) -> None:
        first = next(batches)
        with pq.ParquetWriter(aside, first.schema) as file:
            for batch in chain([first], batches):
                file.write_batch(batch)
                written.append(batch.num_rows)

    write_whole(Path(requested.draw), write)
    return {"tables": tables, "given": given, "drawn": sum(written)}


KIND = "mixture of products"
"""Kind of the model, in words."""
_CHUNK_ROWS = 1 << 9  # whose shares of all components fit into a core's cache
_LEAST = 0.5 / SHARE_UNITS
"""Share of a value whose published share is 0: half of the unit in which shares are published."""


class MixtureClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The share of each value of one column given the others, as the published mixture has it.

    A row has a probability in each component of the mixture; what the components say of the column is weighted by it.
    A target that splits all tables is predicted by the tables themselves, see `anonkit.consumers.factors`;
    where three columns were measured with it, by the mixture.
    Columns that a table to predict from lacks are left out of the condition, and so are cells outside their domain.

    Parameters
    ----------
    params : mapping, optional
        The release's params, or the JSON document of `to_json`; may be given to `fit` instead.
    target : str, optional
        The column to predict: the declared target when not given. Of a number its bins are the classes.

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
        The values of the column, in the order of the public domain.
    model_ : MarginalModel
        Content of the params.
    target_ : str
        The column that is predicted.
    domain_ : Categories or NumberBins
        Its domain.

    Privacy
    -------
    Post-processing of what was published: no privacy loss.
    """

    def __init__(self, params: Mapping[str, Any] | None = None, *, target: str | None = None) -> None:
        self.params = params
        self.target = target

    def fit(self, X: object = None, y: object = None, params: Mapping[str, Any] | None = None) -> Self:
        """Read the mixture; rows are not needed, and looked at in no way.

        Parameters
        ----------
        X, y
            Ignored: the mixture is published.
        params : mapping, optional
            In place of those given to the constructor.

        Raises
        ------
        ParameterError
            There are no params, or no column to predict.
        """
        chosen = self.params if params is None else params
        if chosen is None:
            raise ParameterError("a classifier needs the params of a release", "MixtureClassifier.from_release(path)")
        return self._of(MarginalModel(chosen), self.target or chosen.get("predicted"))

    @classmethod
    def from_release(cls, path: str | Path, *, target: str | None = None) -> Self:
        """Read the mixture of a release on disk; its `params.json` is all that is needed.

        Raises
        ------
        ParameterError
            The release holds no mixture, or no column to predict is known.
        ReleaseFormatError
            The file is missing or damaged.
        """
        return cls(target=target)._of(MarginalModel.from_release(path), target)

    def _of(self, model: MarginalModel, target: str | None) -> Self:
        predicted = target or model.target
        if predicted is None:
            raise ParameterError(
                "no column of this release is its target", f"{option('target', 'COLUMN')} says which to predict"
            )
        if predicted not in model.domains:
            raise ParameterError(
                f"{predicted!r} is not a column of the release", did_you_mean(predicted, list(model.domains))
            )
        domain = model.domains[predicted]
        self.model_, self.target_ = model, predicted
        self.domain_ = NumberBins.equal(domain) if isinstance(domain, Grid) else domain
        self.classes_ = np.array(self.domain_.labels(), dtype=object)
        mixtures = model.mixtures
        rows = np.concatenate([own.rows * own.weights / WEIGHT_UNITS for own in mixtures.classes])
        self._rows = np.maximum(rows, _LEAST)  # a table of no rows has shares all the same
        self._tables = model.class_conditionals() if predicted == model.target else None
        self._shares = {name: np.concatenate(mixtures.shares_of(name)) for name in model.columns}
        return self

    def described(self) -> Described:
        """Return the description of the mixture."""
        check_is_fitted(self)
        shares = self._rows @ self._shares[self.target_] / self._rows.sum()
        attributes = [name for name in self.model_.columns if name != self.target_]
        numbers = {name: isinstance(self.model_.domains[name], Grid) for name in attributes}
        return Described(
            kind=KIND,
            rows=round(self.model_.rows),
            target=self.target_,
            domain=self.domain_,
            classes={
                str(name): {"share": float(share), "standard_error": None}
                for name, share in zip(self.classes_, shares, strict=True)
            },
            attributes=attributes,
            types=column_types(numbers, self.target_, self.domain_),
        )

    def to_json(self) -> str:
        """Return everything published that the model is made of as JSON, with the column that is predicted."""
        check_is_fitted(self)
        return json.dumps({**self.model_.to_params(), "predicted": self.target_}, ensure_ascii=False)

    def predict_proba(self, X: object) -> FloatArray:
        """Return the share of each class given the other columns, shape (n, n_classes), as in `classes_`.

        Raises
        ------
        SourceError
            The table has none of the other columns.
        """
        check_is_fitted(self)
        data = Columns(X)
        names = [name for name in self.model_.columns if name != self.target_ and name in data]
        if not names and len(self.model_.columns) > 1:
            raise SourceError("the table has none of the columns to predict from")
        codes = {name: _known_codes(data, name, self.model_.domains[name]) for name in names}
        if self._tables is not None:
            return self._tables.probabilities(codes, data.n_rows)
        # a row a value, so that what is looked up lies together, and one more of ones: an unknown cell says nothing
        logarithms = {
            name: np.log(np.maximum(np.vstack([self._shares[name].T, np.ones(self._rows.size)]), _LEAST))
            for name in names
        }
        shares = np.ascontiguousarray(self._shares[self.target_])
        out = np.zeros((data.n_rows, self.classes_.size))
        for first in range(0, data.n_rows, _CHUNK_ROWS):
            here = slice(first, first + _CHUNK_ROWS)
            total = np.tile(np.log(self._rows), (len(out[here]), 1))
            for name in names:
                total += logarithms[name][codes[name][here]]
            total -= total.max(axis=1, keepdims=True)
            np.exp(total, out=total)
            total /= total.sum(axis=1, keepdims=True)
            with one_thread():
                out[here] = total @ shares
        return out

    def predict(self, X: object) -> NDArray[Any]:
        """Return the most probable class of each row, shape (n,)."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def _known_codes(data: Columns, name: str, domain: Categories | Grid) -> IntArray:
    """Return the codes of a column; the size of the domain for a cell outside it, with a warning."""
    if isinstance(domain, Grid):
        numbers = data.numbers(name)
        unknown = np.isnan(numbers) & (not domain.has_missing)
        codes = domain.encode(np.where(unknown, domain.lower, numbers)).astype(np.int64)
    else:
        codes = data.codes(name, domain)
        unknown = codes == UNKNOWN
    if unknown.any():
        warnings.warn(
            f"attribute {name!r}: {int(unknown.sum())} of {data.n_rows} rows hold no value of its domain and are "
            "predicted without it",
            UnknownValueWarning,
            stacklevel=4,
        )
    return np.where(unknown, domain.size, codes)
