# SPDX-License-Identifier: Apache-2.0
"""Rows and people of every value of a sensitive attribute in every class, as arrays: what follows from such counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from anonkit.checks.counted_as import CountedAs, LookedAt
from anonkit.checks.diversity import NOTHING, Pairs, worst_of, worst_told
from anonkit.checks.people import Counts, HeldByPeople, ValueRows, holders_of, told
from anonkit.checks.read_values import ReadValues

_PAIRS = 1 << 20
"""Counts of (class, value) that are looked at together."""


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
        with_value, blank = None, self.blank
        if self.with_value is not None and blank.any():
            some = np.minimum(told(self.with_value, self.holders), everybody)
            with_value = np.where(blank == 0, everybody, some)
        anybody = np.asarray(self.anybody or 0, dtype=np.int64)
        return HeldByPeople(
            values=told(self.people_of_pairs, self.rows_of_pairs),
            with_value=with_value,
            everywhere=told(self.people_of_values, self.rows_of_values),
            anybody=int(told(anybody, np.asarray(self.rows_of_pairs.sum()))),
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
        people = None if held is None or everybody is None else (held, everybody)
        counted = CountedAs.of(
            self.looked,
            column,
            reading,
            self.rows_of_values,
            int(self.rows_of_class.sum()),
            whole=self.whole,
            people=people,
        )
        holders, members, of_values = self.holders, self.rows_of_class, self.rows_of_values
        if people is not None:
            (of_people, members), of_values = people, people[0].everywhere
            holders = holders_of(members, of_people.with_value, self.blank)
        if not holders.size:
            return {**NOTHING, "strange": float(counted.strange)}
        worst = worst_of(
            self._parts(holders, self.rows_of_pairs if people is None else people[0].values),
            of_values.astype(np.float64),
            self.ordered,
            recursive,
            anybody=None if people is None else people[0].anybody,
            some_have_none=bool((holders == 0).any()),
            counted=counted,
            members=members,
        )
        return {**worst_told(worst), "strange": float(counted.strange)}

    def _parts(self, holders: Counts, counts: Counts) -> Iterator[Pairs]:
        """Yield the pairs of classes in which anybody holds a value, in parts that end where a class ends."""
        some = holders[self.classes] > 0
        classes, values, counts = self.classes[some], self.values[some], counts[some]
        ends = np.append(np.flatnonzero(np.diff(classes)) + 1, classes.size)
        at = 0
        while at < classes.size:
            last = max(np.searchsorted(ends, at + _PAIRS, side="right") - 1, np.searchsorted(ends, at + 1))
            part = slice(at, int(ends[last]))
            of_class = holders[classes[part]].astype(np.float64)
            yield classes[part], values[part], counts[part].astype(np.float64), of_class
            at = part.stop
