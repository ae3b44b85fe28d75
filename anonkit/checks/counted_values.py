# SPDX-License-Identifier: Apache-2.0
"""Rows and people of every value of a sensitive attribute in every class, as arrays: what follows from such counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from anonkit.checks.counted_as import CountedAs, LookedAt
from anonkit.checks.diversity import NOTHING, Pairs, worst_of, worst_told
from anonkit.checks.people import Counts, HeldByPeople, ValueRows, holders_of, told
from anonkit.checks.read_values import ReadValues


@dataclass(frozen=True, kw_only=True, eq=False)
class CountedValues:
    """The values of one sensitive attribute in the classes of a table, in the order that `people` publishes."""

    ordered: bool
    rows_of_class: Counts
    """Rows of each class."""
    classes: Counts
    """Class of each pair of class and value, ascending; values ascend in a class."""
    values: Counts
    """Code of its value."""
    rows_of_pairs: Counts
    people_of_pairs: Counts
    """Nobody where people are not counted."""
    rows_of_values: Counts
    """Rows of each value in the whole table."""
    people_of_values: Counts
    with_value: Counts | None
    """People with a value, by class; None where people are not counted."""
    anybody: int | None
    """People with any value in the whole table."""
    looked: LookedAt
    """The values by what they are."""
    whole: bool
    """Their type is one of integers."""
    cells: pa.ChunkedArray
    """Cells of each value, in the order of the values."""

    @property
    def holders(self) -> Counts:
        """Rows with a value, by class."""
        return np.bincount(self.classes, self.rows_of_pairs, minlength=self.rows_of_class.size).astype(np.int64)

    @property
    def blank(self) -> Counts:
        """Rows without a value, by class."""
        return np.asarray(self.rows_of_class - self.holders)

    def rows(self) -> ValueRows:
        """Return the rows of every value in every class."""
        return ValueRows(classes=self.classes, values=self.values, rows=self.rows_of_pairs, blank=self.blank)

    def held(self, everybody: Counts) -> HeldByPeople:
        """Return the published holders of the values; `everybody` is the people of each class."""
        return held_by_people(
            values=(self.people_of_pairs, self.rows_of_pairs),
            everywhere=(self.people_of_values, self.rows_of_values),
            anybody=self.anybody or 0,
            with_value=self.with_value if self.blank.any() else None,
            holders=self.holders,
            everybody=everybody,
            blank=self.blank,
        )

    def diversity(
        self,
        column: str,
        reading: ReadValues,
        everybody: Counts | None,
        held: HeldByPeople | None,
        recursive: Sequence[int],
    ) -> dict[str, float]:
        """Return how diverse the worst class of a column is, by rows, or by people when they are given."""
        counted = counted_as(
            self.looked, column, reading, self.rows_of_values, self.rows_of_class, everybody, held, whole=self.whole
        )
        holders = holders_in(self.holders, self.blank, everybody, held)
        counts = self.rows_of_pairs if held is None else held.values
        some = holders[self.classes] > 0
        classes = self.classes[some]
        pairs = (classes, self.values[some], counts[some].astype(np.float64), holders[classes].astype(np.float64))
        members = self.rows_of_class if held is None or everybody is None else everybody
        return worst_of_holders(
            [pairs] if classes.size else [],
            self.rows_of_values,
            holders,
            held,
            self.ordered,
            recursive,
            counted,
            members,
        )


def held_by_people(
    *,
    values: tuple[Counts, Counts],
    everywhere: tuple[Counts, Counts],
    anybody: int,
    with_value: Counts | None,
    holders: Counts,
    everybody: Counts,
    blank: Counts,
) -> HeldByPeople:
    """Return published counts of people with each value.

    Parameters
    ----------
    values, everywhere : tuple of array
        People and rows of each value in each class, and in the whole table.
    with_value : array, optional
        People with any value, by class; None where no row lacks one.
    holders, everybody, blank : array
        By class: rows with a value, people, rows without a value.
    """
    if with_value is not None:
        with_value = np.where(blank == 0, everybody, np.minimum(told(with_value, holders), everybody))
    return HeldByPeople(
        values=told(*values),
        with_value=with_value,
        everywhere=told(*everywhere),
        anybody=int(told(np.asarray(anybody, dtype=np.int64), np.asarray(values[1].sum()))),
    )


def holders_in(holders: Counts, blank: Counts, everybody: Counts | None, held: HeldByPeople | None) -> Counts:
    """Return who holds a value, by class: rows, or people when they are given."""
    return holders if held is None or everybody is None else holders_of(everybody, held.with_value, blank)


def counted_as(
    looked: LookedAt,
    column: str,
    reading: ReadValues,
    rows_of_values: Counts,
    rows_of_class: Counts,
    everybody: Counts | None,
    held: HeldByPeople | None,
    *,
    whole: bool,
) -> CountedAs:
    """Return how the values of a column count in a table, by rows, or by people when they are given."""
    people = None if held is None or everybody is None else (held, everybody)
    n_rows = int(rows_of_class.sum())
    return CountedAs.of(looked, column, reading, rows_of_values, n_rows, whole=whole, people=people)


def worst_of_holders(
    parts: Iterable[Pairs],
    rows_of_values: Counts,
    holders: Counts,
    held: HeldByPeople | None,
    ordered: bool,
    recursive: Sequence[int],
    counted: CountedAs,
    members: Counts,
) -> dict[str, float]:
    """Return how diverse the worst class is: by rows, or by people when they are given.

    Parameters
    ----------
    parts : iterable
        As for `anonkit.checks.diversity.worst_of`, of classes in which anybody holds a value.
    rows_of_values, holders : array
        Rows of each value in the whole table, and holders of each class.
    counted : CountedAs
        Which values are one, and the cap of each.
    members : array
        Rows or people of each class, those without a value too.
    """
    if not holders.size:
        return {**NOTHING, "strange": float(counted.strange)}
    worst = worst_of(
        parts,
        np.asarray(rows_of_values if held is None else held.everywhere, dtype=np.float64),
        ordered,
        recursive,
        anybody=None if held is None else held.anybody,
        some_have_none=bool((holders == 0).any()),
        counted=counted,
        members=members,
    )
    return {**worst_told(worst), "strange": float(counted.strange)}
