# SPDX-License-Identifier: Apache-2.0
"""The likelihood ratio of a released cell: its probability given an original value, over that in the whole table.

A recoded cell fits a value or not; a randomized one is weighed by the published mechanism. The weights of a row's cells
add up to the evidence that the row is a person's: log p(row | person) - log p(row).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.auditing.attacks.labels import compatible, text_of
from anonkit.domains.coded_columns import IntArray
from anonkit.domains.number_bins import Categories, Grid
from anonkit.published.channels.response_channel import Channel
from anonkit.published.channels.transformed_response import TransformedResponse
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable

IMPOSSIBLE = -12.0
"""Evidence of a cell that does not fit: many others may still outweigh one that was misread. A convention."""
_MATRIX = 20_000_000
"""Entries of a table of labels by values; beyond, cells are compared for equality only."""
_READABLE = 0.5
"""Share of rows whose cell fits some value, by convention; below, values were renamed: their frequency is compared."""
_BINS = 200
_CACHED = 256
"""Bins of a distribution of numbers, and tables that are remembered: bounds on time and memory."""

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, eq=False)
class Values:
    """A column as distinct values and the code of each row."""

    values: list[Any]
    codes: IntArray

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Values:
        """Read a column; a missing cell is a value."""
        plain = column.combine_chunks()
        if pa.types.is_dictionary(plain.type):
            plain = plain.cast(plain.type.value_type)
        if pa.types.is_floating(plain.type):
            plain = pc.if_else(pc.is_nan(plain), pa.scalar(None, plain.type), plain)
        encoded = pc.dictionary_encode(plain, null_encoding="encode")
        return cls(values=encoded.dictionary.to_pylist(), codes=encoded.indices.to_numpy().astype(np.int64))

    @property
    def counts(self) -> IntArray:
        """Number of occurrences of each value."""
        return np.bincount(self.codes, minlength=len(self.values)).astype(np.int64)


class AttackColumn(Protocol):
    """One released column, as evidence."""

    def scores(self, value: int) -> FloatArray:
        """Return the evidence of every row's cell for one original value, by its code."""
        ...


@dataclass(frozen=True, eq=False)
class Weighed:
    """Cells of few kinds: a table of weights, label by value; its last row is for cells without information."""

    codes: IntArray
    weights: FloatArray
    shown: Sequence[Any] = ()
    """Cell of each label, where cells are values or sets of values."""

    def scores(self, value: int) -> FloatArray:
        """Look the weights up."""
        weights: FloatArray = self.weights[:, value][self.codes]
        return weights


@dataclass(frozen=True, eq=False)
class Equal:
    """Cells of too many kinds for a table: equal to the value or not."""

    codes: IntArray
    label_of: IntArray
    """Label of each original value; -1 for none."""
    gain: FloatArray
    """Evidence of each label where it is equal."""
    shown: Sequence[Any] = ()
    """Cell of each label."""

    def scores(self, value: int) -> FloatArray:
        """Compare."""
        label = self.label_of[value]
        gain = self.gain[label] if label >= 0 else IMPOSSIBLE
        return np.where(self.codes == label, gain, IMPOSSIBLE).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Transformed:
    """Numbers published by a transformation with random coefficients."""

    shown: NDArray[np.float64]
    truth: NDArray[np.float64]
    """Original number of each code; NaN is missing."""
    mechanism: TransformedResponse
    overall: FloatArray
    """Log density of each shown number among all."""
    _cache: dict[int, FloatArray] = field(default_factory=dict)

    def scores(self, value: int) -> FloatArray:
        """Weigh by the normal density of the published moments; cached, since common values recur."""
        if value in self._cache:
            return self._cache[value]
        if len(self._cache) > _CACHED:
            self._cache.clear()
        m, truth = self.mechanism, self.truth[value]
        shown_present, shown_missing = m.presence_probabilities()
        absent = np.isnan(self.shown)
        chance = shown_missing if np.isnan(truth) else shown_present
        offset = 0.0 if np.isnan(truth) else truth - m.centre
        if m.bounds is not None:
            offset = float(np.clip(offset, m.bounds[0] - m.centre, m.bounds[1] - m.centre))
        variance = m.multiplier.variance * offset**2 + m.scale**2 * m.offset.variance + m.step**2 / 12 + 1e-300
        distance = np.where(absent, 0.0, self.shown) - m.centre - m.multiplier.mean * offset
        seen = -(distance**2) / (2 * variance) - 0.5 * np.log(2 * np.pi * variance) - self.overall
        with np.errstate(divide="ignore"):
            out = np.where(absent, np.log(max(1 - chance, 1e-300)), seen + np.log(max(chance, 1e-300)))
        self._cache[value] = np.maximum(out, 10 * IMPOSSIBLE).astype(np.float32)
        return self._cache[value]


Readings = dict[tuple[str, frozenset[Any]], tuple[Mapping[Any, int], NDArray[np.bool_]]]
"""By column and the labels it shows: the index of each label, and the values that each may generalize."""


def columns_of(
    released: pa.Table,
    original: Mapping[str, Values],
    randomized: PublishedTable | None,
    readings: Readings | None = None,
) -> dict[str, AttackColumn]:
    """Return the released columns as evidence about the original ones of the same name.

    Parameters
    ----------
    released : Table
    original : mapping of Values
        The source's columns.
    randomized : PublishedTable, optional
        What was done to the values; None for a table whose cells are values or sets of values.
    readings : dict, optional
        The values of labels of tables that were read before with the same original; what is read now is added.
    """
    readings = {} if readings is None else readings
    known = {} if randomized is None else {attribute.name: attribute for attribute in randomized.attributes}
    out: dict[str, AttackColumn] = {}
    for name in released.column_names:
        if name not in original or (randomized is not None and name == randomized.asked_column):
            continue
        cells = released.column(name)
        if name in known:
            evidence = _randomized(cells, original[name], known[name], randomized)
        elif randomized is not None and randomized.target is not None and name == randomized.target.name:
            target = randomized.target
            evidence = (
                None if target.mechanism is None else _answers(cells, original[name], target.shown, target.mechanism)
            )
        else:
            evidence = _recoded(name, Values.of(cells), original[name], readings)
        if evidence is not None:
            out[name] = evidence
    return out


def _recoded(name: str, released: Values, original: Values, readings: Readings) -> AttackColumn:
    frequency = np.log(np.maximum(released.counts, 1) / max(released.codes.size, 1))
    if len(released.values) * len(original.values) > _MATRIX:
        return _equal(released, original, frequency)
    fits = _read(name, released.values, original.values, readings)
    if released.codes.size and np.asarray(fits.any(axis=1))[released.codes].mean() < _READABLE:
        fits = _by_frequency(released, original)
    weights = np.where(fits, -frequency[:, np.newaxis], IMPOSSIBLE)
    weighed = np.vstack([weights, np.zeros(len(original.values))]).astype(np.float32)
    return Weighed(released.codes, weighed, released.values)


def _read(name: str, labels: Sequence[Any], values: Sequence[Any], readings: Readings) -> NDArray[np.bool_]:
    """Return the values that each label may generalize; labels that were read before are not read again."""
    key = (name, frozenset(labels))
    if key not in readings:
        readings[key] = ({label: at for at, label in enumerate(labels)}, compatible(labels, values))
    places, fits = readings[key]
    return fits[[places[label] for label in labels]] if labels else fits


def _equal(released: Values, original: Values, frequency: NDArray[np.float64]) -> AttackColumn:
    at = {None if label is None else text_of(label): code for code, label in enumerate(released.values)}
    texts = [None if value is None else text_of(value) for value in original.values]
    label_of = np.array([at.get(text, -1) for text in texts], dtype=np.int64)
    if original.codes.size and (label_of >= 0)[original.codes].mean() < _READABLE:
        fits = _rank_pairs(released, original)
        label_of = np.full(len(original.values), -1, dtype=np.int64)
        label_of[fits[1]] = fits[0]
    return Equal(released.codes, label_of, -frequency.astype(np.float32), released.values)


def _rank_pairs(released: Values, original: Values) -> tuple[IntArray, IntArray]:
    """Pair renamed labels with the values that are as common: the commonest with the commonest, and so on."""
    n = min(len(released.values), len(original.values))
    return np.argsort(-released.counts, kind="stable")[:n], np.argsort(-original.counts, kind="stable")[:n]


def _by_frequency(released: Values, original: Values) -> NDArray[np.bool_]:
    fits = np.zeros((len(released.values), len(original.values)), dtype=bool)
    fits[_rank_pairs(released, original)] = True
    return fits


def _randomized(
    cells: pa.ChunkedArray, original: Values, attribute: PublishedAttribute, table: PublishedTable | None
) -> AttackColumn | None:
    if isinstance(attribute.mechanism, TransformedResponse):
        released = np.asarray(pc.fill_null(cells.cast(pa.float64()), np.nan).to_numpy())
        truth = np.array([np.nan if value is None else float(value) for value in original.values])
        return Transformed(released, truth, attribute.mechanism, _log_density(released))
    n_classes = table.target.domain.size if table is not None and table.target is not None else 1
    alone = attribute.alone(n_classes)
    if not isinstance(alone.mechanism, Channel) or alone.domain is None:
        return None
    silent = table is not None and table.asked_column is not None  # a missing cell has no answer
    return _answers(cells, original, alone.domain, alone.mechanism, alone.answers(), silent=silent)


def _answers(
    cells: pa.ChunkedArray,
    original: Values,
    domain: Categories | Grid,
    channel: Channel,
    answers: Categories | Grid | None = None,
    *,
    silent: bool = False,
) -> AttackColumn:
    released = codes_in(Values.of(cells), answers or domain)
    if silent:
        released = np.where(cells.is_null().to_numpy(), -1, released)
    truth = codes_in(original, domain, per_value=True)
    with np.errstate(divide="ignore"):
        likelihood = np.log(channel.response_matrix().T)
    counts = np.bincount(released[released >= 0], minlength=channel.n_outputs) + 1e-9
    weights = np.maximum(likelihood - np.log(counts / counts.sum())[:, np.newaxis], 10 * IMPOSSIBLE)
    weights = np.where(truth >= 0, weights[:, np.maximum(truth, 0)], 0.0)
    return Weighed(released, np.vstack([weights, np.zeros(weights.shape[1])]).astype(np.float32))


def codes_in(column: Values, domain: Categories | Grid, *, per_value: bool = False) -> IntArray:
    """Return the code of every row (or distinct value) in a public domain; -1 for what is not in it."""
    if isinstance(domain, Categories):
        known = domain.codes_of
        codes = np.array([known.get(None if v is None else text_of(v), -1) for v in column.values], dtype=np.int64)
    else:
        numbers = np.array([np.nan if value is None else float(value) for value in column.values])
        absent = np.isnan(numbers)
        codes = domain.encode(np.where(absent, domain.lower, numbers)).astype(np.int64)
        codes[absent] = domain.cells if domain.has_missing else -1
    return codes if per_value else codes[column.codes]


def _log_density(released: NDArray[np.float64]) -> FloatArray:
    present = released[~np.isnan(released)]
    if present.size == 0:
        return np.zeros(released.size, dtype=np.float32)
    edges = np.unique(np.quantile(present, np.linspace(0, 1, _BINS + 1)))
    if edges.size < 2:
        return np.zeros(released.size, dtype=np.float32)
    counts, _ = np.histogram(present, edges)
    density = np.log(np.maximum(counts, 0.5) / present.size / np.diff(edges))
    at = np.clip(
        np.searchsorted(edges, np.where(np.isnan(released), edges[0], released), side="right") - 1, 0, density.size - 1
    )
    return np.asarray(density[at], dtype=np.float32)


def evidence_for(columns: Mapping[str, AttackColumn], names: Sequence[str], values: Mapping[str, int]) -> FloatArray:
    """Add up what the named columns say about one person, whose values are given by their codes; a score a row."""
    parts = [columns[name].scores(values[name]) for name in names if name in columns]
    return np.sum(parts, axis=0, dtype=np.float32) if parts else np.zeros(0, dtype=np.float32)
