# SPDX-License-Identifier: Apache-2.0
"""Columns of a receiver's table, and their sums by class: counts and power sums, which add up over batches.

Columns come from any data frame library, as codes of a public domain or as floats. Estimates are made from the sums
alone, so a table of any length is read once, batch by batch, on any number of machines, and gives the same model as if
it were read at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.documents import ReportPart, left_out
from anonkit.domains.coded_columns import FloatArray, IntArray, recode_array
from anonkit.domains.number_bins import UNKNOWN, Categories, Grid, NumberBins
from anonkit.errors import ReleaseFormatError, SourceError, did_you_mean
from anonkit.estimators.number_estimates import N_POWERS, PowerSums
from anonkit.published.channels.response_channel import Channel
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable


class Columns:
    """A table read column by column.

    Parameters
    ----------
    data : pandas, Arrow or Polars table, or mapping of names to arrays
        Anything with the Arrow PyCapsule interface will do.
    """

    def __init__(self, data: Any) -> None:
        by_name = isinstance(data, Mapping) or type(data).__module__.split(".")[0] == "pandas"
        if by_name and not (isinstance(data, Mapping) or hasattr(data, "columns")):
            raise SourceError("a single pandas column is not a table", "pass the whole data frame")
        table = None if by_name else _arrow(data)
        self._get: Any = data.__getitem__ if table is None else table.column
        self.names: list[str] = list(data.keys()) if table is None else list(table.schema.names)
        if len(set(self.names)) != len(self.names):
            raise SourceError("two columns of the table have one name", "rename one of them")
        self.n_rows = len(self._get(self.names[0])) if self.names else 0

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def head(self, names: Iterable[str], n_rows: int) -> Columns:
        """Return the first rows of some columns, nothing converted yet."""
        return Columns({name: self._get(name)[:n_rows] for name in names})

    def replaced(self, arrays: Mapping[str, pa.Array]) -> dict[str, Any]:
        """Return all columns by name, some of them replaced, nothing else converted yet."""
        return {name: arrays.get(name, self._get(name)) for name in self.names}

    def array(self, name: str) -> pa.Array:
        """Return a column as one Arrow array, NaN as null.

        Raises
        ------
        SourceError
            When there is no such column, or its cells are of mixed types.
        """
        if name not in self.names:
            raise SourceError(f"column {name!r} is not in the table", did_you_mean(name, self.names))
        raw = self._get(name)
        if isinstance(raw, pa.ChunkedArray):
            return _plain(name, raw.combine_chunks())
        if isinstance(raw, pa.Array):
            return _plain(name, raw)
        converted = _made(lambda: pa.array(raw, from_pandas=True))
        if converted is None:
            raise SourceError(f"column {name!r} holds cells of mixed types", "make them all texts or all numbers")
        return _plain(name, converted.combine_chunks() if isinstance(converted, pa.ChunkedArray) else converted)

    def codes(self, name: str, domain: Categories) -> IntArray:
        """Return the code of each cell, `UNKNOWN` for a cell outside the domain, shape (n,).

        Of the bins of a number, that of the nearest bound for a number beyond it.
        """
        if isinstance(domain, NumberBins):
            return domain.bins_of(self.numbers(name))
        return recode_array(self.array(name), domain.codes_of, UNKNOWN, False)

    def true_codes(self, name: str, domain: Categories | Grid) -> IntArray:
        """Return the code of each true value, `UNKNOWN` outside the domain, shape (n,)."""
        if isinstance(domain, Categories):
            return self.codes(name, domain)
        values = self.numbers(name)
        absent = np.isnan(values) & (not domain.has_missing)
        codes = domain.encode(np.where(absent, domain.lower, values)).astype(np.int64)
        codes[absent] = UNKNOWN
        return codes

    def numbers(self, name: str) -> FloatArray:
        """Return the cells as floats, NaN for missing, shape (n,).

        Raises
        ------
        SourceError
            When the cells are not numbers, or one of them is infinite.
        """
        array = self.array(name)
        if pa.types.is_null(array.type):
            return np.full(len(array), np.nan)
        if not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type) or pa.types.is_decimal(array.type)):
            raise SourceError(f"column {name!r} must hold numbers")
        numbers = pc.fill_null(array.cast(pa.float64(), safe=False), np.nan)
        floats = np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)
        if np.isinf(floats).any():
            raise SourceError(f"column {name!r} holds infinite numbers", "make them missing, or the bound they passed")
        return floats


def _arrow(data: Any) -> pa.Table:
    table = data if isinstance(data, (pa.Table, pa.RecordBatch)) else _made(lambda: pa.table(data))
    if table is None:
        raise SourceError(
            f"a {type(data).__name__} is not a table with named columns", "pass a pandas, Arrow or Polars table"
        )
    return table


def _plain(name: str, array: pa.Array) -> pa.Array:
    """Return a column, or refuse one whose cells are no values: lists, structs, strings that are no UTF-8."""
    strange = pa.types.is_nested(array.type) or isinstance(array.type, pa.BaseExtensionType)
    if strange or _made(lambda: array.validate(full=True) is None) is None:
        raise SourceError(
            f"column {name!r} holds cells that are no values of a table", "make them all texts or all numbers"
        )
    return array


def _made(convert: Callable[[], Any]) -> Any:
    """Return the result of a conversion, or None: its errors may quote cells, and must lead to none of ours."""
    try:
        return convert()
    except Exception:  # of objects and libraries that raise what they like
        return None


Sums = IntArray | PowerSums


@dataclass(frozen=True, kw_only=True, eq=False)
class CountedAnswers(ReportPart):
    """Counts of the answers of an attribute, as a model file has them."""

    counts: IntArray


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredPowers(ReportPart):
    """Power sums of an attribute, as a model file has them."""

    origin: float
    powers: FloatArray
    blanks: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredStatistics(ReportPart, damage="the statistics of a model lack a key or have one of the wrong kind"):
    """The sums of a table, as a model file has them."""

    label_counts: IntArray
    sums: Mapping[str, CountedAnswers | StoredPowers]
    noise: Mapping[str, float] = field(default_factory=dict, metadata=left_out())
    noisy: Mapping[str, IntArray] = field(default_factory=dict, metadata=left_out())


class ClassStatistics:
    """Sums of a randomized table by published class.

    Parameters
    ----------
    table : PublishedTable
        Entry of the params about it. Without a target all rows are of one class.
    only : collection of str, optional
        The attributes to sum; all when not given.

    Attributes
    ----------
    label_counts : array of int, shape (n_published_classes,)
        Rows per published class.
    sums : dict
        Per attribute: answer counts of shape (n_published_classes, n_answers), or power sums for TRR. An attribute
        answered jointly with the target has counts of shape (1, n_joint_answers).
    noise : dict
        Variance of the noise that was added to each count, by attribute and target; empty where rows were randomized.
    noisy : dict
        Counts with this noise as they were published, of attributes whose sums are what was made consistent of them.
    """

    def __init__(self, table: PublishedTable, only: Collection[str] | None = None) -> None:
        self.table = table
        self.only = frozenset(attribute.name for attribute in table.attributes) if only is None else frozenset(only)
        self.n_classes = 1 if table.target is None else table.target.domain.size
        self.label_counts: IntArray = np.zeros(self.n_classes, dtype=np.int64)
        self.sums: dict[str, Sums] = {}
        self.noise: dict[str, float] = {}
        self.noisy: dict[str, IntArray] = {}

    @property
    def n_rows(self) -> int:
        """Rows summed so far."""
        return int(self.label_counts.sum())

    def add(self, data: Columns, labels: IntArray | None = None) -> None:
        """Add a batch.

        Parameters
        ----------
        data : Columns
            The published attributes, and the target unless labels are given.
        labels : array of int, shape (n,), optional
            Published class of each row.

        Raises
        ------
        SourceError
            When a column is missing or holds values that cannot come from its mechanism; rows are counted, never shown.
        """
        classes = self._labels(data) if labels is None else labels
        answered = self._answered_attributes(data)
        for position, attribute in enumerate(self.table.attributes):
            if attribute.name not in self.only:
                continue
            rows = slice(None) if answered is None else np.flatnonzero(answered == position)
            self._merge(attribute.name, self._summed(attribute, data, classes, rows))
        self.label_counts = self.label_counts + np.bincount(classes, minlength=self.n_classes)

    def merge(self, other: ClassStatistics) -> None:
        """Add the sums of another part of the same table.

        Raises
        ------
        ReleaseFormatError
            When the other part was published with other parameters.
        """
        if other.table != self.table:
            raise ReleaseFormatError("statistics of tables with different parameters cannot be added up")
        for name, sums in other.sums.items():
            self._merge(name, sums)
        for name, variance in other.noise.items():
            self.noise[name] = self.noise.get(name, 0.0) + variance
        for name, counts in other.noisy.items():
            self.noisy[name] = self.noisy[name] + counts if name in self.noisy else counts
        self.label_counts = self.label_counts + other.label_counts

    def _merge(self, name: str, sums: Sums) -> None:
        known = self.sums.get(name)
        self.sums[name] = sums if known is None else known + sums  # type: ignore[operator]

    def _labels(self, data: Columns) -> IntArray:
        target = self.table.target
        if target is None:
            return np.zeros(data.n_rows, dtype=np.int64)
        codes = data.codes(target.name, target.domain)
        _refuse_unknown(target.name, codes == UNKNOWN)
        return codes

    def _answered_attributes(self, data: Columns) -> IntArray | None:
        name = self.table.asked_column
        if name is None:
            return None
        names = Categories(values=tuple(attribute.name for attribute in self.table.attributes))
        codes = data.codes(name, names)
        _refuse_unknown(name, codes == UNKNOWN)
        return codes

    def _summed(self, attribute: PublishedAttribute, data: Columns, classes: IntArray, rows: slice | IntArray) -> Sums:
        labels = classes[rows]
        if attribute.is_number:
            values = data.numbers(attribute.name)[rows]
            if attribute.domain is None:
                return PowerSums.of(values, labels, self.n_classes, self._origin(attribute, values))
        codes = answer_codes(attribute, data, rows)
        _refuse_unknown(attribute.name, codes == UNKNOWN)
        assert isinstance(attribute.mechanism, Channel)  # noqa: S101 - checked by PublishedAttribute
        width = attribute.mechanism.n_outputs // (self.n_classes if attribute.joint_with_target else 1)
        counts = np.bincount(labels * width + codes, minlength=self.n_classes * width)
        return counts.reshape((1, -1) if attribute.joint_with_target else (self.n_classes, width))

    def _origin(self, attribute: PublishedAttribute, values: FloatArray) -> float:
        known = self.sums.get(attribute.name)
        if isinstance(known, PowerSums):
            return known.origin
        present = values[~np.isnan(values)]
        return float(present.mean()) if present.size else 0.0

    @property
    def stored(self) -> StoredStatistics:
        """The sums as a model file has them."""
        sums = {
            name: StoredPowers(origin=own.origin, powers=own.sums, blanks=own.blanks)
            if isinstance(own, PowerSums)
            else CountedAnswers(counts=own)
            for name, own in self.sums.items()
        }
        return StoredStatistics(label_counts=self.label_counts, sums=sums, noise=self.noise, noisy=self.noisy)

    @classmethod
    def of(cls, table: PublishedTable, stored: StoredStatistics) -> Self:
        """Return the sums that a model file has.

        Raises
        ------
        ReleaseFormatError
            When a shape is wrong.
        """
        statistics = cls(table)
        statistics.label_counts = stored.label_counts
        statistics.sums = {
            name: PowerSums(origin=own.origin, sums=own.powers, blanks=own.blanks)
            if isinstance(own, StoredPowers)
            else own.counts
            for name, own in stored.sums.items()
        }
        statistics.noise, statistics.noisy = dict(stored.noise), dict(stored.noisy)
        statistics._check_shapes()
        return statistics

    def _check_shapes(self) -> None:
        """Refuse sums that are not those of the described table."""
        fits = self.label_counts.shape == (self.n_classes,) and set(self.sums) == self.only
        for attribute in self.table.attributes if fits else ():
            sums = self.sums[attribute.name]
            if isinstance(attribute.mechanism, Channel):
                rows = 1 if attribute.joint_with_target else self.n_classes
                fits = fits and isinstance(sums, np.ndarray) and sums.shape == (rows, attribute.mechanism.n_outputs)
            else:
                fits = fits and isinstance(sums, PowerSums) and sums.sums.shape == (self.n_classes, N_POWERS)
        fits = fits and all(
            isinstance(own := self.sums.get(name), np.ndarray) and own.shape == counts.shape
            for name, counts in self.noisy.items()
        )
        if not fits:
            raise ReleaseFormatError("the statistics of a model do not fit its params")


def answer_codes(attribute: PublishedAttribute, data: Columns, rows: slice | IntArray = slice(None)) -> IntArray:
    """Return the answers of some rows as codes of the attribute's published domain, `UNKNOWN` for impossible ones."""
    domain = attribute.answers()
    if isinstance(domain, Grid):
        values = data.numbers(attribute.name)[rows]
        impossible = (values < domain.lower) | (values > domain.upper)
        if not domain.has_missing:
            impossible |= np.isnan(values)
        codes = domain.encode(np.where(impossible, domain.lower, values)).astype(np.int64)
        codes[impossible] = UNKNOWN
        return codes
    assert domain is not None  # noqa: S101 - TRR has no codes, and no caller needs them
    return data.codes(attribute.name, domain)[rows]


def _refuse_unknown(name: str, unknown: NDArray[np.bool_]) -> None:
    if unknown.any():
        raise SourceError(
            f"column {name!r}: {int(unknown.sum())} of {unknown.size} rows hold a value outside the published domain",
            "the table and the params do not belong together, or the table was edited",
        )
