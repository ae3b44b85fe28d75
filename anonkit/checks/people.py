# SPDX-License-Identifier: Apache-2.0
"""Published counts of people per class and per value of a secret, which cannot be recounted without the unit column.

The unit column is not in the table. What a validation needs of it is in `params.json`: counts, in
the order of the classes and values of the table itself, without any of their cells.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.documents import ParamsPart, coded, left_out
from anonkit.errors import ReleaseFormatError
from anonkit.promises.guarantee import Check

Counts = NDArray[np.int64]

_COUNTS = re.compile(r"(?:0|[1-9][0-9]{0,17})(?: (?:0|[1-9][0-9]{0,17}))*")
_SIZE = 5
_DAMAGED = "the counts of people in the params.json are damaged"
_NEVER_ALONE = 2
"""One person with several rows of a value is published as so many."""


def _text(counts: Counts) -> str:
    return " ".join(map(str, counts.tolist()))


def _counts(text: str) -> Counts:
    if text != "" and not _COUNTS.fullmatch(text):
        raise ValueError
    return np.array([int(number) for number in text.split(" ")] if text else [], dtype=np.int64)


_AS_TEXT = coded(_text, _counts)


@dataclass(frozen=True, kw_only=True, eq=False)
class ValueHolders(ParamsPart, closed=True, damage=_DAMAGED):
    """The holders of the values of one sensitive attribute, or of the target."""

    values: Counts = field(metadata=_AS_TEXT)
    """People with each value in each class, ascending by class and value."""
    with_value: Counts | None = field(metadata=_AS_TEXT)
    """People with any value, by class; None where no row lacks one."""
    everywhere: Counts = field(metadata=_AS_TEXT)
    """People with each value in the whole table, ascending by value."""
    anybody: int
    """People with any value in the whole table, published like those with one."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PeopleCounts(ParamsPart, closed=True, damage=_DAMAGED):
    """People of a table by its classes, as they are published.

    Privacy
    -------
    Of every class: how many people share it, at least k in a release. Of every value in a class of a sensitive column
    or the target: how many hold it, where one person with several such rows is published as two, and so is one person
    with a value among others without. No count of rows is in it; how many rows one of several people has does not
    follow from it.
    """

    classes: Counts = field(metadata=_AS_TEXT)
    """People in each class, ascending by its cells, missing last."""
    sensitive: Mapping[str, ValueHolders] = field(default_factory=dict)
    """By column; the target's values are published like those of sensitive columns."""
    parts: tuple[tuple[tuple[int, ...], ...], ...] = field(default=(), metadata=left_out())
    """Of parts of the classes, which other columns make: how many have so many rows, people, rows that are alike with
    theirs, and people who have one of these (`anonkit.checks.clear_parts`)."""

    def __post_init__(self) -> None:
        if any(len(size) != _SIZE or min(size) < 1 for sizes in self.parts for size in sizes):
            raise ValueError("a part of a class has five sizes above 0")


def published_people(params: Mapping[str, Any]) -> PeopleCounts:
    """Return the people of a release whose promise counts them.

    Raises
    ------
    ReleaseFormatError
        There are none in its params, or they are damaged.
    """
    if "people" not in params:
        raise ReleaseFormatError(
            "the release promises k people in every class and does not say how many there are",
            "it cannot be validated: release the table anew",
        )
    return PeopleCounts.from_params(params["people"])


# --- published counts, and what follows from them --------------------------------------------------------------------


def published_counts(people: Counts, rows: Counts) -> Counts:
    """Return counts of people with some rows, one person with several as two."""
    return np.maximum(people, np.minimum(rows, _NEVER_ALONE))


def holders_of(everybody: Counts, with_value: Counts | None, blank: Counts) -> Counts:
    """Return the people of each class who have a value, at least, shape (n_classes,).

    Parameters
    ----------
    everybody, with_value : array
        As in `PeopleCounts`.
    blank : array
        Rows of the class without a value.
    """
    if with_value is None:
        return everybody
    return np.where(blank == 0, everybody, np.where(with_value > _NEVER_ALONE, with_value, np.minimum(with_value, 1)))


# --- whether a table can have such people ----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class ValueRows:
    """Rows of a sensitive attribute, in the order of `ValueHolders`."""

    classes: Counts
    """Class of each pair of class and value."""
    values: Counts
    """Code of its value."""
    rows: Counts
    """Rows of each pair."""
    blank: Counts
    """Rows without a value, by class."""


def class_check(counts: PeopleCounts, rows: Counts) -> Check:
    """Return True if classes of so many rows, shape (n_classes,), can have these people: one at least, all at most."""
    if counts.classes.size != rows.size:
        return Check(name="people", passed=False, observed=counts.classes.size, required=rows.size)
    n_wrong = int(((counts.classes < 1) | (counts.classes > rows)).sum())
    return Check(name="people", passed=n_wrong == 0, observed=n_wrong, required=0)


def value_check(counts: PeopleCounts, name: str, rows_of_values: ValueRows) -> Check:
    """Return a check that these people can hold the values of a sensitive attribute."""
    n_wrong = _impossible(counts.classes, counts.sensitive[name], rows_of_values) if name in counts.sensitive else 1
    return Check(name=f"people_of_values:{name}", passed=n_wrong == 0, observed=n_wrong, required=0)


def _impossible(everybody: Counts, holders: ValueHolders, rows_of_values: ValueRows) -> int:
    """Return the number of counts of the holders of values that no people can have."""
    n_classes, n_values = rows_of_values.blank.size, int(rows_of_values.values.max(initial=-1)) + 1
    shapes = (
        everybody.size == n_classes,
        holders.values.size == rows_of_values.rows.size,
        holders.everywhere.size == n_values,
    )
    if not all(shapes) or (holders.with_value is None) == bool(rows_of_values.blank.any()):
        return 1
    if holders.with_value is not None and holders.with_value.size != n_classes:
        return 1
    valued = np.bincount(rows_of_values.classes, rows_of_values.rows, minlength=n_classes).astype(np.int64)
    with_value = everybody if holders.with_value is None else holders.with_value
    wrong = (with_value > everybody) | (with_value > valued) | (everybody - with_value > rows_of_values.blank)
    wrong |= with_value < np.minimum(np.minimum(valued, everybody), _NEVER_ALONE)
    wrong |= (rows_of_values.blank == 0) & (with_value != everybody)
    wrong |= np.bincount(rows_of_values.classes, holders.values, minlength=n_classes) < with_value
    pairs = (holders.values > rows_of_values.rows) | (holders.values < np.minimum(rows_of_values.rows, _NEVER_ALONE))
    pairs |= holders.values > np.maximum(with_value, _NEVER_ALONE)[rows_of_values.classes]
    most, fewest = np.zeros(n_values, dtype=np.int64), np.zeros(n_values, dtype=np.int64)
    np.add.at(most, rows_of_values.values, holders.values)
    np.maximum.at(fewest, rows_of_values.values, holders.values)
    in_all = holders.everywhere.max(initial=0), with_value.max(initial=0)
    total = max(in_all) <= holders.anybody <= min(holders.everywhere.sum(), max(with_value.sum(), _NEVER_ALONE))
    return int(not total) + int(
        wrong.sum() + pairs.sum() + ((holders.everywhere > most) | (holders.everywhere < fewest)).sum()
    )
