# SPDX-License-Identifier: Apache-2.0
"""Which original values a released cell may stand for: intervals, sets and masks are read, not compared as texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

MASK, OTHER, MISSING, NOT = "*", "other", "missing", "not "

_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_POINT = rf"(?:{_NUMBER}|\d{{4}}-\d\d-\d\d(?:[ T][\d:.]+)?)"
_INTERVAL = re.compile(rf"^([\[(\]])\s*({_POINT})\s*[,;]\s*({_POINT})\s*([\])\[])$")
_HALF = re.compile(rf"^(<=|>=|<|>)\s*({_POINT})$")
_RANGE = re.compile(rf"^({_NUMBER})\s*(?:-|–|to|\.\.)\s*({_NUMBER})$")
_FROM = re.compile(rf"^({_NUMBER})\+$")
_SET = re.compile(r"^\{(.*)\}$")
_PREFIX = re.compile(r"^([^*]+)(\*+)$")

Mask = NDArray[np.bool_]


def compatible(labels: Sequence[Any], values: Sequence[Any]) -> Mask:
    """Tell which values each label may stand for, shape (n_labels, n_values).

    Parameters
    ----------
    labels : sequence
        Distinct released cells: the value itself, `*`, `[20, 30)`, `< 20`, `20-29`, `a|b`, `{a, b}`, `not a|b`,
        `123**`, `other` (whatever no other label names), `missing`; None is a missing cell.
    values : sequence
        Distinct original values; None is a missing one.
    """
    column = _Values(values)
    out = np.array([column.of_label(label) for label in labels], dtype=bool).reshape(len(labels), len(values))
    named = np.zeros(len(values), dtype=bool)
    for label in labels:
        if isinstance(label, str):
            named |= column.named(label)
    rest = ~named & ~column.absent
    for at, label in enumerate(labels):
        if isinstance(label, str) and OTHER in _atoms(label):
            out[at] = out[at] & ~rest if label.startswith(NOT) else out[at] | rest
    return out


def _atoms(label: str) -> list[str]:
    body = label.removeprefix(NOT)
    inside = _SET.match(body)
    return [part.strip() for part in inside[1].split(",")] if inside else body.split("|")


class _Values:
    """The distinct values of a column, as texts and, where they are numbers or dates, on a line."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.absent = np.array([_is_missing(value) for value in values], dtype=bool)
        self._texts = [None if _is_missing(value) else text_of(value) for value in values]
        self._places = np.array([np.nan if _is_missing(value) else _place(value) for value in values], dtype=np.float64)
        self._at = {text: at for at, text in enumerate(self._texts) if text is not None}

    def of_label(self, label: Any) -> Mask:
        """Return the values a label may stand for, `other` apart."""
        if _is_missing(label):
            return self.absent.copy()
        if not isinstance(label, str):
            return self._exact(text_of(label))
        if label == MASK:
            return np.ones(self.absent.size, dtype=bool)
        whole = self._exact(label)
        if whole.any():
            return whole
        found = np.zeros(self.absent.size, dtype=bool)
        for atom in _atoms(label):
            found |= self._of_atom(atom)
        return ~found if label.startswith(NOT) else found

    def named(self, label: str) -> Mask:
        """Return the values that a label names, whether it includes or excludes them."""
        found = np.zeros(self.absent.size, dtype=bool)
        for atom in _atoms(label):
            found |= self._exact(atom)
        return found

    def _exact(self, text: str) -> Mask:
        out = np.zeros(self.absent.size, dtype=bool)
        if text in self._at:
            out[self._at[text]] = True
        return out

    def _of_atom(self, atom: str) -> Mask:
        if atom == MISSING:
            return self.absent.copy()
        exact = self._exact(atom)
        if exact.any() or atom == OTHER:
            return exact
        with np.errstate(invalid="ignore"):
            return self._of_interval(atom) | self._of_prefix(atom)

    def _of_interval(self, atom: str) -> Mask:
        places = self._places
        if found := _INTERVAL.match(atom):
            low, high = _point(found[2]), _point(found[3])
            above = places >= low if found[1] == "[" else places > low
            return np.asarray(above & (places <= high if found[4] == "]" else places < high))
        if found := _HALF.match(atom):
            point = _point(found[2])
            return np.asarray(
                {"<": places < point, "<=": places <= point, ">": places > point, ">=": places >= point}[found[1]]
            )
        if found := _RANGE.match(atom):
            return np.asarray((places >= float(found[1])) & (places <= float(found[2])))
        if found := _FROM.match(atom):
            return np.asarray(places >= float(found[1]))
        return np.zeros(places.size, dtype=bool)

    def _of_prefix(self, atom: str) -> Mask:
        found = _PREFIX.match(atom)
        if not found:
            return np.zeros(self.absent.size, dtype=bool)
        fits = [t is not None and len(t) == len(atom) and t.startswith(found[1]) for t in self._texts]
        return np.array(fits, dtype=bool)


def text_of(value: Any) -> str:
    """Return a value as it is written: whole numbers without a point, dates in ISO form."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float | np.floating) and value != value)


def _place(value: Any) -> float:
    if isinstance(value, datetime | date):
        return _ordinal(value)
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def _point(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return _ordinal(datetime.fromisoformat(text))


def _ordinal(moment: date) -> float:
    if isinstance(moment, datetime):
        seconds = moment.hour * 3600 + moment.minute * 60 + moment.second + moment.microsecond / 1e6
        return moment.toordinal() + seconds / 86_400
    return float(moment.toordinal())
