# SPDX-License-Identifier: Apache-2.0
"""Features of a k-anonymous release: a scikit-learn transformer from cells or original values to numbers.

Rows in the original values are first shown as the release shows such rows, whether or not k holds among them. What a
cell is, is read off the cell alone: a label of the release stays what it is, anything else is a value. One that is both
is a group of this one value, and is shown as itself either way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from itertools import count
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from anonkit.bundle.bound_columns import BoundColumn, bound_columns
from anonkit.bundle.stored_release import Release
from anonkit.consumers.cell_features import CellFeatures, PlainNumbers, TextIndicators, recoded_cells
from anonkit.consumers.column_statistics import Columns
from anonkit.consumers.release_files import read_params
from anonkit.domains.cell_values import cell_numbers, cell_texts
from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray, is_ordered
from anonkit.domains.named_parts import Point, place, point_from_text
from anonkit.errors import ParameterError, SourceError, refusing_damage
from anonkit.published.recoding import (
    MASK,
    CategoryAxis,
    GlobalRecoding,
    Grouping,
    IntervalAxis,
    LocalRecoding,
    Recoding,
    recoding_from_dict,
    with_levels,
)
from anonkit.published.recoding.axes import UNKNOWN
from anonkit.published.recoding.recodings import LabelParts, labels_of


@dataclass(frozen=True, kw_only=True, eq=False)
class ReadAxis:
    """The cells of one recoded column: which are labels, and the parts of those that are values."""

    is_label: BoolArray
    """Cells that only a released row shows."""
    codes: IntArray
    """Part of each other cell, `UNKNOWN` where the recoding does not cover it."""

    @classmethod
    def of(
        cls, axis: IntervalAxis | CategoryAxis, labels: LabelParts, array: pa.Array, missing: frozenset[str]
    ) -> ReadAxis:
        """Read a column by the axis of its recoding; strings in `missing` are missing."""
        if isinstance(array, pa.DictionaryArray):
            array = array.dictionary_decode()
        if isinstance(axis, IntervalAxis) and is_ordered(array.type):
            calendar = any(isinstance(cut, date) for cut in axis.cuts)
            if calendar == bool(pa.types.is_temporal(array.type)):
                return cls(is_label=np.zeros(len(array), dtype=bool), codes=axis.codes(array))
        encoded = pc.dictionary_encode(cell_texts(array))
        texts = [*encoded.dictionary.to_pylist(), None]
        places = pc.fill_null(encoded.indices, len(texts) - 1).to_numpy(zero_copy_only=False).astype(np.int64)
        values = [None if text in missing else text for text in texts]
        codes = _category_codes(axis, values) if isinstance(axis, CategoryAxis) else _interval_codes(axis, values)
        own = [
            text is None or (text in labels and labels[text] == {code}) for text, code in zip(texts, codes, strict=True)
        ]
        is_label = np.array(
            [(text in labels or text == MASK) and not alone for text, alone in zip(texts, own, strict=True)]
        )
        return cls(is_label=is_label[places], codes=codes[places])


def _category_codes(axis: CategoryAxis, values: list[str | None]) -> IntArray:
    return axis.codes(pa.array(values, pa.string()))


def _interval_codes(axis: IntervalAxis, values: list[str | None]) -> IntArray:
    """Return the parts of numbers or dates that are spelled out; `UNKNOWN` for every other string."""
    points = [None if value is None else _point(value) for value in values]
    if any(isinstance(cut, date) for cut in axis.cuts):
        known = [isinstance(point, date) for point in points]
        array = pa.array([place(p) if k else None for p, k in zip(points, known, strict=True)], pa.int64()).cast(  # type: ignore[arg-type]
            pa.timestamp("us", "UTC")
        )
    else:
        known = [point is not None and not isinstance(point, date) for point in points]
        array = pa.array([float(p) if k else None for p, k in zip(points, known, strict=True)], pa.float64())  # type: ignore[arg-type]
    missing = np.array([value is None for value in values])
    return np.where(np.array(known) | missing, axis.codes(array), UNKNOWN)


def _point(text: str) -> Point | None:
    try:
        point = point_from_text(text.strip())
    except ValueError:
        return None
    return point.replace(tzinfo=UTC) if isinstance(point, datetime) and point.tzinfo is None else point


def shown_as_released(
    data: Columns,
    recoding: GlobalRecoding | LocalRecoding,
    labels: Mapping[str, tuple[IntervalAxis | CategoryAxis, LabelParts]],
    missing: frozenset[str],
) -> dict[str, pa.Array]:
    """Return the recoded columns of a table as the release shows them; a row that is not covered shows `*`.

    Parameters
    ----------
    data : Columns
        Released rows, rows in the original values, or some of each.
    labels : mapping
        Axis and labels of each recoded column.
    missing : frozenset of str
        Strings that meant missing in the source.

    Raises
    ------
    SourceError
        A local recoding asks for a column that rows in the original values do not have.
    """
    read = {
        name: ReadAxis.of(axis, of_axis, data.array(name), missing)
        for name, (axis, of_axis) in labels.items()
        if name in data
    }
    if isinstance(recoding, GlobalRecoding):
        shown: dict[str, pa.Array] = {}
        for column in recoding.columns:
            if isinstance(column, Grouping) and column.name in read:
                one = read[column.name]
                shown[column.name] = _replaced(data.array(column.name), one.is_label, (*column.labels, MASK), one.codes)
        return shown
    if not read:
        return {}
    released = np.any([one.is_label for one in read.values()], axis=0)
    if released.all():
        return {}
    absent = [axis.name for axis in recoding.axes if axis.name not in read]
    if absent:
        raise SourceError(
            f"rows in the original values need column {absent[0]!r} to be recoded as the release was",
            "the boxes of this release differ in it; or leave recode out",
        )
    codes = [read[axis.name].codes for axis in recoding.axes]
    unknown = np.any([column == UNKNOWN for column in codes], axis=0)
    leaves = recoding.leaves([np.maximum(column, 0) for column in codes])
    boxes = recoding.boxes()
    row_of = np.zeros(len(recoding.nodes), dtype=np.int64)
    row_of[list(boxes)] = np.arange(len(boxes))
    places = np.where(unknown, UNKNOWN, row_of[leaves])
    return {
        axis.name: _replaced(data.array(axis.name), released, (*(box[at] for box in boxes.values()), MASK), places)
        for at, axis in enumerate(recoding.axes)
    }


def _replaced(array: pa.Array, is_published: BoolArray, texts: tuple[Any, ...], places: IntArray) -> pa.Array:
    """Return cells with those that are not kept replaced by the string at their index; the last string is at -1."""
    replaced = pa.array(texts, pa.string()).take(pa.array(np.where(places < 0, len(texts) - 1, places)))
    return pc.if_else(pa.array(is_published), cell_texts(array), replaced) if is_published.any() else replaced


_NEVER_FEATURES = ("identifier", "unit", "target", "weight", "surrogate")


@dataclass(frozen=True, kw_only=True, eq=False)
class _Published:
    """The parts of the params of a release that describe its columns."""

    cells: Mapping[str, CellFeatures] = field(default_factory=dict)
    """Map of each recoded column to numbers."""
    ignored: frozenset[str] = frozenset()
    """Columns that are no features."""
    recoding: Recoding | None = None
    missing: frozenset[str] = frozenset()
    """Strings that meant missing in the source."""
    weight: str | None = None
    """Column of the weights of the sample."""
    bounds: tuple[BoundColumn, ...] = ()
    """Columns that the release shows as two bounds: rows that have these are read as the labels."""

    def labelled(self, data: Columns) -> Columns:
        """Return rows with labels in place of bounds; those in the original values as they are."""
        found = {column.low: column for column in self.bounds if {column.low, column.high} <= set(data.names)}
        found = {low: column for low, column in found.items() if column.name not in data}
        if not found:
            return data
        gone, arrays = {name for column in found.values() for name in column.names[1:]}, {}
        for name in data.names:
            if name in found:
                column = found[name]
                arrays[column.name], strange = column.read(data.array(column.low), data.array(column.high))
                if strange:
                    raise SourceError(
                        f"columns {column.low!r} and {column.high!r} have {strange} rows of no interval of the release"
                    )
            elif name not in gone:
                arrays[name] = data.array(name)
        return Columns(arrays)

    def shown(self, data: Columns) -> Mapping[str, pa.Array]:
        """Return the recoded columns of rows, recoded where they hold original values."""
        if self.recoding is None:
            return {}
        return shown_as_released(data, self.recoding, labels_of(with_levels(self.recoding)), self.missing)


class ReleaseFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn the cells of a k-anonymous release, or original values, into numbers that a model can learn from.

    An interval becomes three features: its lowest value, its highest value and the middle (`age_low`, `age_high`,
    `age_mid`). A set of categories, or a group of a tree, becomes a share of each value of the column
    (`job=clerk`): of m members each has 1/m. `*`, and a value that the release does not cover, is the interval
    from the lowest to the highest value of the column, or equal shares of all its values. A value that was not
    generalized is the interval (the set) of this one value: 37 has low, high and middle 37. Numbers and dates that were
    released as they are stay one feature (a date: days since 1970), other strings become indicators of their values.
    Where released rows can be missing a column has an indicator of it (`age_missing`, `job=missing`). No feature is
    NaN, so that every model of scikit-learn takes them.

    Parameters
    ----------
    params : path, mapping or Release, optional
        The release: any of its files, its params, or the release itself. Without any, nothing was recoded: every
        column is taken as numbers or as strings.
    max_categories : int, optional
        Most indicators of a column of strings that was not recoded, 1 or more: its commonest values when fitted. All
        of them by default. Recoded columns have a feature for each value that the release lists.
    recode : bool
        True, the default: rows in the original values are first recoded as the release was, whether or not k holds
        among them, and have the features that a released row has. False: each keeps its own value.

    Attributes
    ----------
    cells_ : tuple
        How each column becomes numbers, in the order of the table it was fitted on.
    n_features_in_ : int
        Columns of that table.
    feature_names_in_ : array of str
        Their names, where they have names.

    Notes
    -----
    The lowest (highest) interval of a column has an open end: it ends at the declared bound, and at the column's
    outermost cut when none is declared; the two sides of a single cut of other than integers reach half its size
    from it (1 from zero). Integers of [30, 40) reach from 30 to 39, dates to the day before.
    Columns are found by name: others, such as identifiers or the target, are left out of the features, and a test table
    may have more columns than the release, in any order. Text that is a label of the release is read as this label.
    Of a release that shows intervals as bounds (`age_low`, `age_high`) the features are those of its labels.

    A model that was fitted on released rows predicts well from what looks like them: leave `recode` as it is, or recode
    the test rows by `anonkit apply`. Without it original values lie inside the intervals that the model knows, on
    places where it has seen no row; docs/how-to/learn-from-a-k-anonymous-release.md has what each scores.

    Privacy
    -------
    A function of the release alone, or of rows that the receiver has anyway: there is no further privacy loss.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> import anonkit
    >>> table = anonkit.datasets.bank_customers(500, seed=1)
    >>> release = anonkit.release(table, k=5, target="customer_value", seed=1)
    >>> frame = release.to_pandas()
    >>> model = make_pipeline(
    ...     anonkit.consumers.ReleaseFeatures(release), HistGradientBoostingClassifier(max_iter=5)
    ... )
    >>> model.fit(frame, frame["customer_value"]).predict(table.to_pandas().head(2)).shape
    (2,)
    """

    def __init__(
        self,
        params: str | Path | Mapping[str, Any] | Release | None = None,
        *,
        max_categories: int | None = None,
        recode: bool = True,
    ) -> None:
        self.params = params
        self.max_categories = max_categories
        self.recode = recode

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn which columns there are, and values and medians of those that were not recoded.

        Parameters
        ----------
        X : pandas, Polars or Arrow table, or array
            Released rows; the columns of an array have no names, so that none of them is recoded.
        y : object
            Ignored.

        Raises
        ------
        ParameterError
            The release is not a k-anonymous one, or has been given as something else.
        SourceError
            X is no table, or a cell is neither a label nor a value of its column.
        ReleaseFormatError, GuaranteeError
            The params are damaged, or were changed after the release.
        """
        if self.max_categories is not None and self.max_categories < 1:
            raise ParameterError(f"max_categories ({self.max_categories}) must be 1 or more")
        self.published_ = self._published()
        recoded, ignored = self.published_.cells, self.published_.ignored
        data = self._columns(X, fitting=True)
        self.cells_ = tuple(
            recoded.get(name) or self._learned(name, data.array(name)) for name in data.names if name not in ignored
        )
        self._features(data)  # what cannot be read is refused here, not when a model is used
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the features of every row, shape (n_rows, n_features); none is NaN.

        Parameters
        ----------
        X : pandas, Polars or Arrow table, or array
            Released rows, rows that `anonkit apply` recoded, or rows in the original values.
        """
        check_is_fitted(self)
        return self._features(self._columns(X, fitting=False))

    def _features(self, data: Columns) -> FloatArray:
        features = [cells.features(data.array(cells.name)) for cells in self.cells_]  # refuses what is no value
        shown = self.published_.shown(data) if self.recode else {}
        for at, cells in enumerate(self.cells_):
            if cells.name in shown:
                features[at] = cells.features(shown[cells.name])
        return np.concatenate([np.empty((data.n_rows, 0)), *features], axis=1)

    def sample_weight(self, X: Any) -> FloatArray | None:
        """Return the weights of released rows, for the `sample_weight` of a model; None where the release has none.

        Parameters
        ----------
        X : pandas, Polars or Arrow table
            Released rows: with original values the weights are those that they have.

        Returns
        -------
        float64 array, shape (n_rows,)
            Each above 0.

        Raises
        ------
        SourceError
            X has no such column, or a cell of it is no number above 0.
        """
        check_is_fitted(self)
        weight = self.published_.weight
        if weight is None:
            return None
        data = self._columns(X, fitting=False)
        if weight not in data:
            raise SourceError(f"column {weight!r}, the weights of the sample, is not in the rows")
        weights = cell_numbers(data.array(weight))
        if not (np.isfinite(weights) & (weights > 0)).all():
            raise SourceError(f"column {weight!r} has cells that are no weights: a weight is a number above 0")
        return weights

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> NDArray[Any]:
        """Return the name of every feature, shape (n_features,); one that is taken is numbered.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the columns, for what was fitted on an array; else they must be those it was fitted on.
        """
        check_is_fitted(self)
        given = None if input_features is None else [str(name) for name in input_features]
        fitted = getattr(self, "feature_names_in_", None)
        if given is not None and len(given) != self.n_features_in_:
            raise ValueError("input_features should have length equal to number of features")
        if given is not None and fitted is not None and given != list(fitted):
            raise ValueError("input_features is not equal to feature_names_in_")
        renamed = {f"x{at}": name for at, name in enumerate(given or ())} if fitted is None else {}
        names: dict[str, None] = {}
        for cells in self.cells_:
            column = renamed.get(cells.name, cells.name)
            for name in cells.names(column):
                names[next(free for free in _numbered(name) if free not in names)] = None
        return np.array(list(names), dtype=object)

    def _published(self) -> _Published:
        """Return the statement of the params on the columns."""
        if self.params is None:
            return _Published()
        given = self.params
        if isinstance(given, str | Path):
            params: Mapping[str, Any] = read_params(given)
        elif isinstance(given, Release):
            params = given.params
        elif isinstance(given, Mapping):
            params = given
        else:
            raise ParameterError(f"params ({type(given).__name__}) must be a path, a mapping or a release")
        if "recoding" not in params:
            raise ParameterError(
                "this release is not k-anonymous: its cells are no intervals and sets",
                "NaiveBayes and Forest learn from releases with noise",
            )
        with refusing_damage("the params of the release are damaged"):
            return _Published(
                cells=recoded_cells(params, recoding_from_dict(params["recoding"])),
                ignored=frozenset(
                    raw["name"]
                    for raw in params["columns"]
                    if raw["role"] in _NEVER_FEATURES or raw["name"] == (params.get("weight") or {}).get("column")
                ),
                weight=None if "weight" not in params else str(params["weight"]["column"]),
                recoding=recoding_from_dict(params["recoding"]),
                missing=frozenset(params["missing_values"]),
                bounds=bound_columns(params),
            )

    def _learned(self, name: str, array: pa.Array) -> CellFeatures:
        kind = array.type.value_type if isinstance(array, pa.DictionaryArray) else array.type
        if is_ordered(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind):
            return PlainNumbers.learned(name, array)
        return TextIndicators.learned(name, array, self.max_categories)

    def _columns(self, X: Any, *, fitting: bool) -> Columns:
        """Return a table by name, an array by position."""
        if hasattr(X, "__arrow_c_stream__") and not hasattr(X, "shape"):
            X = pa.table(X)
        if isinstance(X, pa.RecordBatch):
            X = pa.Table.from_batches([X])
        is_table = not isinstance(X, np.ndarray) and (hasattr(X, "columns") or isinstance(X, pa.Table))
        if not is_table:
            X = check_array(X, dtype=None, ensure_all_finite="allow-nan", estimator=self)
        if fitting or not is_table:
            validate_data(self, X, reset=fitting, skip_check_array=True)
        if not is_table:
            names = list(getattr(self, "feature_names_in_", [f"x{at}" for at in range(X.shape[1])]))
            return Columns({name: X[:, at] for at, name in enumerate(names)})
        data = Columns(X)
        if not data.names or not data.n_rows:
            raise SourceError(f"0 {'rows' if data.names else 'columns'} are given, where at least 1 is needed")
        if all(isinstance(name, str) for name in data.names):
            return self.published_.labelled(data)
        if not fitting:
            validate_data(self, X, reset=False, skip_check_array=True)
        return Columns({f"x{at}": X.iloc[:, at] for at in range(len(data.names))})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _numbered(name: str) -> Iterator[str]:
    yield name
    for number in count(2):
        yield f"{name} ({number})"
