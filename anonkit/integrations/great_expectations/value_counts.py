# SPDX-License-Identifier: Apache-2.0
"""Holders of sensitive values by class, as numbers: what a batch's engine counted, made into diversity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.checks.counted_as import CountedAs, LookedAt, ReadValues
from anonkit.checks.diversity import NO_VALUE, diversity_of, published_worst, worst_of

Counts = NDArray[np.int64]

PAIR, HOLDERS, VALUE, ANYBODY = 0, 1, 2, 3
"""Kind of a line of an engine's counts: (class, value), a class, a value, or everybody."""
_MISSING = -1
_NOTHING: Mapping[int, Any] = MappingProxyType({})
_PUBLISHED = ReadValues()


@dataclass(frozen=True, kw_only=True, eq=False)
class ValueCounts:
    """Rows, or people, by class and value.

    Notes
    -----
    A person may hold several values. So the holders of a class, of a value and of any value are counted apart where
    people are; where rows are, they are sums.
    """

    classes: Counts
    """Class of each pair, shape (n_pairs,)."""
    values: Counts
    """Value of each pair, ascending as values do; -1 for a missing cell."""
    counts: Counts
    """Rows or people of each pair."""
    ordered: bool
    """True for numbers and dates: their t is the ordered distance."""
    by_class: tuple[Counts, Counts] | None = None
    """Classes and the people of each who have a value; None where rows are counted."""
    by_value: tuple[Counts, Counts] | None = None
    """Values and the people who hold each."""
    anybody: int | None = None
    """People who have any value."""
    numbers: Mapping[int, float] = field(default_factory=dict)
    """By value: the number that it is; nothing where values are none."""
    whole: bool = False
    """The numbers are whole by their type."""

    @classmethod
    def of_engine(
        cls, lines: Sequence[tuple[Any, ...]], last: Sequence[Any], values_by_number: Mapping[int, Any] = _NOTHING
    ) -> ValueCounts:
        """Read the counts of a database or Spark.

        Parameters
        ----------
        lines : sequence of (kind, class, value, count)
            `PAIR`s, and for people all kinds; a value is None where the cell is missing.
        last : sequence
            The value that comes last, if there is one: its type is looked at.
        values_by_number : mapping
            The values by their numbers, where `may_count_as_equal`.
        """
        cells = [[_MISSING if cell is None else int(cell) for cell in line] for line in lines]
        table = np.array(cells, dtype=np.int64).reshape(-1, 4)
        pairs, holders, values, anybody = (table[table[:, 0] == kind] for kind in (PAIR, HOLDERS, VALUE, ANYBODY))
        is_of_people = bool(anybody.size)
        return cls(
            classes=pairs[:, 1],
            values=pairs[:, 2],
            counts=pairs[:, 3],
            ordered=_have_an_order(last),
            by_class=(holders[:, 1], holders[:, 3]) if is_of_people else None,
            by_value=(values[:, 2], values[:, 3]) if is_of_people else None,
            anybody=int(anybody[0, 3]) if is_of_people else None,
            numbers={number: float(value) for number, value in values_by_number.items()} if _are_numbers(last) else {},
            whole=_are_whole(last),
        )

    @classmethod
    def of_cells(cls, classes: Counts, cells: Any, units: Any, missing_is_value: bool) -> ValueCounts:
        """Count the cells of a pandas column, in classes of shape (n_rows,), by rows or by the values of a unit."""
        import pandas as pd

        codes, found = pd.factorize(cells)
        ordered = _have_an_order(list(found))
        if ordered and _are_numbers(list(found)):
            more: dict[str, Any] = {
                "numbers": dict(enumerate(sorted(map(float, found)))),
                "whole": _are_whole(list(found)),
            }
        else:
            more = {}
        if ordered:
            rank = np.empty(len(found) + 1, dtype=np.int64)
            rank[np.argsort(found)], rank[-1] = np.arange(len(found)), _MISSING
            codes = rank[codes]
        if units is None:
            pairs, counts = np.unique(np.column_stack([classes, codes]), axis=0, return_counts=True)
            return cls(classes=pairs[:, 0], values=pairs[:, 1], counts=counts, ordered=ordered, **more)
        whose = pd.factorize(units)[0]
        triples = np.column_stack([classes, codes, whose])
        valued = triples if missing_is_value else triples[codes != _MISSING]
        pairs, counts = _people(triples, 0, 1)
        return cls(
            classes=pairs[:, 0],
            values=pairs[:, 1],
            counts=counts,
            ordered=ordered,
            by_class=_flat(*_people(valued, 0)),
            by_value=_flat(*_people(valued, 1)),
            anybody=int(np.unique(valued[valued[:, 2] != _MISSING, 2]).size),
            **more,
        )

    def diversity(self, missing_is_value: bool, reading: ReadValues = _PUBLISHED, column: str = "") -> dict[str, float]:
        """Return l, entropy l, t and alpha of the worst class; nothing for no rows.

        Parameters
        ----------
        missing_is_value : bool
            A missing cell is a value like any other, behind all others; else it is none.
        reading : ReadValues
            Has the width of the column, by its name, within which numbers are one value.
        """
        if not self.classes.size:
            return {}
        occurring = (self.counts > 0) & ((self.values != _MISSING) | missing_is_value)
        places = np.where(self.values == _MISSING, np.iinfo(np.int64).max, self.values)
        present, values = np.unique(places[occurring], return_inverse=True)
        everyone, classes = np.unique(self.classes, return_inverse=True)
        classes, counts = classes[occurring], self.counts[occurring].astype(np.float64)
        if not classes.size:
            return dict(NO_VALUE)
        if self.by_class is None or self.by_value is None:
            none = np.unique(classes).size < everyone.size
            counted = self._counted_as(present, np.bincount(values, counts), reading, column)
            return diversity_of(classes, values, counts, self.ordered, some_have_none=none, counted=counted)
        order = np.lexsort((values, classes))
        classes, values, counts = classes[order], values[order], counts[order]
        holders, overall = np.zeros(everyone.size), np.zeros(present.size)
        holders[np.searchsorted(everyone, self.by_class[0])] = self.by_class[1]
        some = self.by_value[1] > 0
        places = np.where(self.by_value[0] == _MISSING, np.iinfo(np.int64).max, self.by_value[0])
        overall[np.searchsorted(present, places[some])] = self.by_value[1][some]
        worst = worst_of(
            [(classes, values, counts, holders[classes])],
            overall,
            self.ordered,
            anybody=self.anybody,
            some_have_none=bool((holders == 0).any()),
            counted=self._counted_as(present, overall, reading, column),
        )
        return published_worst(worst)

    def _counted_as(self, present: Counts, rows: NDArray[Any], reading: ReadValues, column: str) -> CountedAs:
        """Return the values that count as one; `present` are those that occur, a missing one last, by `rows` each."""
        if not self.numbers:
            return CountedAs()
        looked = LookedAt(numbers=np.array([self.numbers.get(int(value), np.nan) for value in present]), caps=None)
        return CountedAs.of(looked, column, reading, rows, int(rows.sum()), whole=self.whole)


def may_count_as_equal(last: Sequence[Any]) -> bool:
    """Return True if the values matter: strings may be spellings of one, and numbers close to each other."""
    return _are_numbers(last) or any(isinstance(value, str) for value in last)


def numbers_that_count(values_by_number: Mapping[int, Any], reading: ReadValues, column: str) -> dict[int, int | None]:
    """Return the numbers of strings that count as another, by spelling, or as a missing cell."""
    first: dict[str, int] = {}
    out: dict[int, int | None] = {}
    for number, text in sorted(values_by_number.items()):
        if not isinstance(text, str):
            continue
        folded = reading.value_of(text, column)
        counts_as = None if folded is None else first.setdefault(folded, number)
        if counts_as != number:
            out[number] = counts_as
    return out


def counted_cells(cells: Any, reading: ReadValues, column: str) -> Any:
    """Return the cells of a pandas column with the counted values in place of strings."""
    import pandas as pd

    if not any(isinstance(value, str) for value in cells.dropna().unique()):
        return cells
    plain = cells.astype(object) if isinstance(cells.dtype, pd.CategoricalDtype) else cells
    return plain.map(lambda value: reading.value_of(value, column) if isinstance(value, str) else value)


def _are_numbers(values: Sequence[Any]) -> bool:
    return bool(values) and all(
        isinstance(value, int | float | Decimal | np.number) and not isinstance(value, bool) for value in values
    )


def _are_whole(values: Sequence[Any]) -> bool:
    return bool(values) and all(isinstance(value, int | np.integer) for value in values)


def _have_an_order(values: Sequence[Any]) -> bool:
    """Return True if values have an order: numbers and dates have one, strings and truth values none."""
    return bool(values) and not any(isinstance(value, str | bool | np.bool_) for value in values)


def _people(triples: Counts, *by: int) -> tuple[Counts, Counts]:
    """Count different people in groups of (class, value, person), a group of nobody's rows having none."""
    different = np.unique(triples[:, [*by, 2]], axis=0)
    groups, inverse = np.unique(different[:, :-1], axis=0, return_inverse=True)
    return groups, np.bincount(inverse.reshape(-1), different[:, -1] != _MISSING, len(groups)).astype(np.int64)


def _flat(groups: Counts, counts: Counts) -> tuple[Counts, Counts]:
    return groups[:, 0], counts
