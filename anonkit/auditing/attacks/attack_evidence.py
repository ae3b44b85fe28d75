# SPDX-License-Identifier: Apache-2.0
"""Evidence of a released cell: the original values that it may generalize, and its likelihood ratio.

The weight of a cell is its probability given an original value, over that in the whole table. A recoded cell fits a
value or not; a randomized one is weighed by the published mechanism. The weights of a row's cells add up to the
evidence that the row is a person's: log p(row | person) - log p(row).

Labels are parsed as intervals, sets and masks, and not compared as strings. Numbers and times are compared exactly:
beyond 2^53 a float would put an integer into the wrong interval.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.domains.coded_columns import IntArray
from anonkit.domains.named_parts import code_of_index, resolution_of
from anonkit.domains.number_bins import Categories, Grid
from anonkit.published.channels.number_channels import TransformedResponse
from anonkit.published.channels.response_channel import Channel
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable

MASK, OTHER, MISSING, NOT = "*", "other", "missing", "not "

_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_CLOCK = r"\d\d:\d\d:\d\d(?:\.\d+)?"
_POINT = rf"(?:{_CLOCK}|{_NUMBER}|\d{{4}}-\d\d-\d\d(?:[ T][\d:.]+(?:[+-]\d\d:\d\d)?)?)"
_INTERVAL = re.compile(rf"^([\[(\]])\s*({_POINT})\s*[,;]\s*({_POINT})\s*([\])\[])$")
_HALF = re.compile(rf"^(<=|>=|<|>)\s*({_POINT})$")
_RANGE = re.compile(rf"^({_NUMBER})\s*(?:-|–|to|\.\.)\s*({_NUMBER})$")
_FROM = re.compile(rf"^({_NUMBER})\+$")
_SET = re.compile(r"^\{(.*)\}$")
_PREFIX = re.compile(r"^([^*]+)(\*+)$")
_CALENDAR = (
    (re.compile(r"^(\d{3}0)s$"), 120),
    (re.compile(r"^(\d{4})$"), 12),
    (re.compile(r"^(\d{4})-Q([1-4])$"), 3),
    (re.compile(r"^(\d{4})-(\d\d)$"), 1),
)
"""Decade, year, quarter and month, with their length in months."""
_DAY_OR_HOUR = re.compile(r"^(\d{4}-\d\d-\d\d)(?:T(\d\d))?$")
_HOURS = re.compile(r"^(\d\d):00-(\d\d):59$")
_CELL = re.compile(r"^8[0-9a-f]{14}$")
_ENDLESS = Fraction(10) ** 400  # position of infinite numbers

Mask = NDArray[np.bool_]


def compatible(labels: Sequence[Any], values: Sequence[Any]) -> Mask:
    """Return a mask of the values that each label may generalize, shape (n_labels, n_values).

    Parameters
    ----------
    labels : sequence
        Distinct released cells: the value itself, `*`, `[20, 30)`, `< 20`, `20-29`, `a|b`, `{a, b}`, `not a|b`,
        `123**`, of dates and times `2021-03`, `2021-Q1`, `2021`, `2020s`, `2021-03-01T08` and `08:00-08:59`, a cell of
        the H3 grid whose descendants are the values, `other` (whatever no other label names), `missing`; None is a
        missing cell. Where a value is called `other` or `missing`, the pool and missing cells are `other (2)` and
        `missing (2)`.
    values : sequence
        Distinct original values; None is a missing one.
    """
    atoms = {atom for label in labels if isinstance(label, str) for atom in _atoms(label)}
    pool = _numbered(OTHER, atoms)
    column = _OriginalValues(values, pool, _numbered(MISSING, atoms))
    out = np.array([column.of_label(label) for label in labels], dtype=bool).reshape(len(labels), len(values))
    named = np.zeros(len(values), dtype=bool)
    for label in labels:
        if isinstance(label, str):
            named |= column.named(label)
    rest = ~named & ~column.absent
    for at, label in enumerate(labels):
        # of a value that nothing names it is not known whether it is in the pool: both labels may cover it
        if isinstance(label, str) and pool in _atoms(label) and not label.startswith(NOT):
            out[at] |= rest
    return out


def _numbered(name: str, atoms: set[str]) -> str:
    """Return the name of a pool among these names: `other`, or `other (2)` where that is a value's."""
    number = 1
    while f"{name} ({number + 1})" in atoms:
        number += 1
    return name if number == 1 else f"{name} ({number})"


def _atoms(label: str) -> list[str]:
    body = label.removeprefix(NOT)
    inside = _SET.match(body)
    return [part.strip() for part in inside[1].split(",")] if inside else body.split("|")


class _OriginalValues:
    """The distinct values of a column, as strings and, where they are numbers or dates, on a line."""

    def __init__(self, values: Sequence[Any], pool: str, missing: str) -> None:
        self._pool, self._missing = pool, missing
        self.absent = np.array([_is_missing(value) for value in values], dtype=bool)
        self._texts = [None if _is_missing(value) else text_of(value) for value in values]
        self._kinds = {type(value) for value in values if not _is_missing(value)}
        self._ordered, self._by_place, self._place_of = _ordered(values, self._kinds)
        self._cells = [_cell(text) for text in self._texts]
        self._at = {text: at for at, text in enumerate(self._texts) if text is not None}

    def of_label(self, label: object) -> Mask:
        """Return the values that a label may generalize, `other` apart."""
        if _is_missing(label):
            return self.absent.copy()
        if not isinstance(label, str):
            return self._exact(text_of(label))
        if label == MASK:
            return np.ones(self.absent.size, dtype=bool)
        whole = self._exact(label)
        if whole.any():
            return whole
        matches = np.zeros(self.absent.size, dtype=bool)
        for atom in _atoms(label):
            matches |= self._of_atom(atom)
        return ~matches if label.startswith(NOT) else matches

    def named(self, label: str) -> Mask:
        """Return the values that a label names, whether it includes or excludes them."""
        matches = np.zeros(self.absent.size, dtype=bool)
        for atom in _atoms(label):
            matches |= self._exact(atom)
        return matches

    def _exact(self, text: str) -> Mask:
        out = np.zeros(self.absent.size, dtype=bool)
        if text in self._at:
            out[self._at[text]] = True
        return out

    def _of_atom(self, atom: str) -> Mask:
        if atom == self._missing:
            return self.absent.copy()
        exact = self._exact(atom)
        if exact.any() or atom == self._pool:
            return exact
        return self._of_interval(atom) | self._of_prefix(atom) | self._of_part(atom) | self._of_cell(atom)

    def _of_part(self, atom: str) -> Mask:
        """Return the values in a part of the calendar or of the day; a year is one among dates alone."""
        out = np.zeros(self.absent.size, dtype=bool)
        ends = None
        if self._kinds == {time}:
            match = _HOURS.match(atom)
            ends = None if match is None else (_hours(int(match[1])), _hours(int(match[2]) + 1))
        elif self._kinds and self._kinds <= {date, datetime}:
            ends = _calendar_ends(atom)
        if ends is not None:
            out[self._by_place[self._below(ends[0], False) : self._below(ends[1], False)]] = True
        return out

    def _of_cell(self, atom: str) -> Mask:
        """Return the values that are cells below a cell."""
        above = _cell(atom)
        if above is None:
            return np.zeros(self.absent.size, dtype=bool)
        resolution, code = above
        fits = [
            cell is not None and cell[0] >= resolution and cell[1] // 7 ** (cell[0] - resolution) == code
            for cell in self._cells
        ]
        return np.array(fits, dtype=bool)

    def _of_interval(self, atom: str) -> Mask:
        first, last = 0, 0
        if match := _INTERVAL.match(atom):
            first = self._below(_point(match[2]), match[1] != "[")
            last = self._below(_point(match[3]), match[4] == "]")
        elif match := _HALF.match(atom):
            border = self._below(_point(match[2]), match[1] in ("<=", ">"))
            first, last = (0, border) if match[1] in ("<", "<=") else (border, len(self._ordered))
        elif match := _RANGE.match(atom):
            first, last = self._below(Fraction(match[1]), False), self._below(Fraction(match[2]), True)
        elif match := _FROM.match(atom):
            first, last = self._below(Fraction(match[1]), False), len(self._ordered)
        out = np.zeros(self.absent.size, dtype=bool)
        out[self._by_place[first:last]] = True
        return out

    def _below(self, point: Fraction, with_equal: bool) -> int:
        """Count the values below a point, or not above it."""
        return (bisect_right if with_equal else bisect_left)(self._ordered, point, key=self._place_of)

    def _of_prefix(self, atom: str) -> Mask:
        match = _PREFIX.match(atom)
        if not match:
            return np.zeros(self.absent.size, dtype=bool)
        fits = [t is not None and len(t) == len(atom) and t.startswith(match[1]) for t in self._texts]
        return np.array(fits, dtype=bool)


def text_of(value: object) -> str:
    """Return a value as it is written: integers without a point, dates in ISO form."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float | np.floating) and value != value)


def _place(value: object) -> Fraction | None:
    """Return the position of a value on its axis, a float as the shortest decimal that reads back as it."""
    if _is_missing(value):
        return None
    if isinstance(value, date):
        return _moment(value)
    if isinstance(value, time):
        return _clock(value)
    try:
        if isinstance(value, float | np.floating):
            number = float(value)
            return Fraction(repr(number)) if math.isfinite(number) else _ENDLESS * (1 if number > 0 else -1)
        return Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        return None


def _ordered(values: Sequence[Any], kinds: set[type]) -> tuple[list[Any], NDArray[np.int64], Callable[[Any], Fraction]]:
    """Return the ordered values, the position of each among all values, and the function to its place on a line.

    Values of one kind that orders itself are sorted as they are, and only those that a search meets become fractions:
    a column of a release has tens of thousands, and one comparison of methods reads it a hundred times.
    """
    if kinds in ({int}, {float}):
        found = [(value, at) for at, value in enumerate(values) if not _is_missing(value)]
        found.sort()
        return [value for value, _ in found], np.array([at for _, at in found], dtype=np.int64), _placed
    places = [(place, at) for at, value in enumerate(values) if (place := _place(value)) is not None]
    places.sort()
    return [place for place, _ in places], np.array([at for _, at in places], dtype=np.int64), _itself


def _placed(value: object) -> Fraction:
    place = _place(value)
    assert place is not None  # noqa: S101 - a number that is not missing has one
    return place


def _itself(place: Fraction) -> Fraction:
    return place


def _point(text: str) -> Fraction:
    try:
        return Fraction(text)
    except ValueError:
        return _clock(time.fromisoformat(text)) if text[2:3] == ":" else _moment(datetime.fromisoformat(text))


def _clock(point: time) -> Fraction:
    """Return the microseconds since midnight."""
    return Fraction(((point.hour * 60 + point.minute) * 60 + point.second) * 1_000_000 + point.microsecond)


def _hours(n: int) -> Fraction:
    return Fraction(n * 3_600_000_000)


def _calendar_ends(atom: str) -> tuple[Fraction, Fraction] | None:
    """Return the begin and end of a part of the calendar, in microseconds since 1970; None for other strings."""
    if match := _DAY_OR_HOUR.match(atom):
        try:
            first = _moment(datetime.fromisoformat(match[1])) + _hours(int(match[2] or 0))
        except ValueError:
            return None
        return first, first + _hours(1 if match[2] else 24)
    for pattern, length in _CALENDAR:
        if match := pattern.match(atom):
            part = int(match[2]) - 1 if len(match.groups()) > 1 else 0
            months = int(match[1]) * 12 + part * length
            return _month(months), _month(months + length)
    return None


def _month(months: int) -> Fraction:
    """Return the begin of a month, counted from the year 0."""
    days = np.datetime64(months - 1970 * 12, "M").astype("datetime64[D]").astype(np.int64)
    return Fraction(int(days)) * 86_400_000_000


def _cell(text: str | None) -> tuple[int, int] | None:
    """Return resolution and number of a cell of the H3 grid; None where the text names none."""
    if text is None or not _CELL.match(text):
        return None
    try:
        return resolution_of(int(text, 16)), code_of_index(int(text, 16))
    except ValueError:
        return None


def _moment(moment: date) -> Fraction:
    """Return the microseconds since 1970."""
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    start = datetime(1970, 1, 1, tzinfo=None if moment.tzinfo is None else UTC)
    return Fraction((moment - start) // timedelta(microseconds=1))


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
