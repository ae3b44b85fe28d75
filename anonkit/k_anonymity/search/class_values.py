# SPDX-License-Identifier: Apache-2.0
"""Counts of sensitive values per equivalence class, by rows or by people who may have several rows.

Every model of diversity (distinct, entropy and recursive l, alpha) is a property of how the holders of a class divide
into its values. A person with several rows may hold several values, and a count of people by value does not say which
of them are the same person. The models then look at the least diverse division that the counts allow, in which every
person counts once: the commonest value takes as many people as hold it, the next commonest as many of the others as
may hold it, and so on until nobody is left. It majorizes every other division, so each of these models is at its
worst in it. Where everybody has one row it is the division itself. Of a measured attribute the values are first put
into groups no wider than its width, those that most hold together first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import FloatArray, IntArray, densify

_FEW = 2
"""A value that fewer people than this have in several rows counts as held by so many."""


@dataclass(frozen=True, eq=False)
class ValueHistograms:
    """Holders of each value of a sensitive attribute, class by class; a holder is a row, or a person.

    Where people hold several values the exact division is unknown from counts alone. `counts` is an upper bound of the
    people per value, `holders` a lower bound of the people in all, so every measure below errs on the side of less
    diversity.
    """

    counts: FloatArray
    """Holders of each value, shape (..., n_values): rows, or people at most."""
    holders: FloatArray
    """Holders of any value, shape (...): rows, or people at least."""
    members: FloatArray | None = None
    """Rows or people of each class, those without a value too, shape (...); None where all have one."""

    @property
    def everybody(self) -> FloatArray:
        """Rows or people of each class, shape (...)."""
        return self.holders if self.members is None else self.members

    def division(self, ends: IntArray | None = None) -> FloatArray:
        """Return the least diverse division of the holders, descending, shape (..., n_values or fewer).

        Parameters
        ----------
        ends : array, optional
            As in `HistogramRequirement`: values up to an end are one, see `grouped`; None: each is itself alone.
        """
        descending = -np.sort(-self.counts, axis=-1) if ends is None else self.grouped(ends)
        left = self.holders[..., np.newaxis] - (np.cumsum(descending, axis=-1) - descending)
        return np.asarray(np.clip(left, 0.0, descending))

    @property
    def shares(self) -> FloatArray:
        """Largest share of the holders that each value can have, shape (..., n_values); 0 where nobody holds any."""
        holders = self.holders[..., np.newaxis]
        return np.asarray(np.minimum(self.counts, holders) / np.maximum(holders, 1.0))

    def within(self, ends: IntArray | None) -> ValueHistograms:
        """Return the holders of each value and of the values up to its end; nobody where nobody holds the value itself.

        Parameters
        ----------
        ends : array, optional
            As in `HistogramRequirement`; None: a value is itself alone.
        """
        if ends is None:
            return self
        sums = np.concatenate([np.zeros((*self.counts.shape[:-1], 1)), np.cumsum(self.counts, axis=-1)], axis=-1)
        counts = np.where(self.counts > 0, sums[..., ends] - sums[..., :-1], 0.0)
        return ValueHistograms(counts, self.holders, self.members)

    def grouped(self, ends: IntArray) -> FloatArray:
        """Return the holders of groups of values up to one end each, descending, shape (..., n_groups).

        The group with most holders is taken first, of equals that with the least value; then that with most of those
        left, and so on. Classes with fewer groups than others end with zeros.
        """
        n_values = self.counts.shape[-1]
        left = self.counts.reshape(-1, n_values).copy()
        groups = []
        while (some := np.flatnonzero(left.any(axis=1))).size:
            sums = np.concatenate([np.zeros((some.size, 1)), np.cumsum(left[some], axis=1)], axis=1)
            near = np.where(left[some] > 0, sums[:, ends] - sums[:, :-1], 0.0)
            first = near.argmax(axis=1)
            group = np.zeros(len(left))
            group[some] = near[np.arange(some.size), first]
            groups.append(group)
            places = np.arange(n_values)
            left[some] *= (places < first[:, np.newaxis]) | (places >= ends[first][:, np.newaxis])
        found = np.stack(groups, axis=-1) if groups else np.zeros((len(left), 1))
        return np.asarray(found.reshape(*self.counts.shape[:-1], found.shape[-1]))

    def apart(self, ends: IntArray) -> FloatArray:
        """Return the number of values further apart than their ends in the least diverse division, shape (...).

        From the least value on each is counted that lies behind the end of the last one counted: no more values are so
        far apart. Where people hold several values, so many of the rarest counted ones may have no holder of their own
        as there are more holdings than people.
        """
        n_values = self.counts.shape[-1]
        counts = self.counts.reshape(-1, n_values)
        places = np.where(counts > 0, np.arange(n_values), n_values)
        following = np.minimum.accumulate(places[:, ::-1], axis=1)[:, ::-1]
        following = np.concatenate([following, np.full((len(counts), 1), n_values)], axis=1)
        stop, rows = np.append(ends, n_values), np.arange(len(counts))
        chosen = np.zeros(counts.shape, dtype=bool)
        at = following[:, 0]
        while (left := at < n_values).any():
            chosen[rows[left], at[left]] = True
            at = following[rows, stop[at]]
        surplus = np.maximum(counts.sum(axis=1) - np.maximum(self.holders.reshape(-1), 0.0), 0.0)
        ascending = np.sort(np.where(chosen, counts, np.inf), axis=1)
        spare = (np.cumsum(ascending, axis=1) <= surplus[:, np.newaxis]).sum(axis=1)
        return np.asarray((chosen.sum(axis=1) - spare).reshape(self.holders.shape), dtype=np.float64)


def histograms_of_rows(rows: FloatArray, members: FloatArray | None = None) -> ValueHistograms:
    """Return the holders of values as rows, from histograms of shape (..., n_values), and all rows of each class."""
    return ValueHistograms(rows, rows.sum(axis=-1), members)


def histograms_of_people(
    rows: FloatArray, people: FloatArray, with_value: FloatArray, everybody: FloatArray, blank: FloatArray
) -> ValueHistograms:
    """Return the holders of values as people.

    Parameters
    ----------
    rows, people : array, shape (..., n_values)
        Rows with each value, and people with such a row.
    with_value, everybody : array, shape (...)
        People with any value, and people in the class.
    blank : array, shape (...)
        Rows of the class that have no value.

    Privacy
    -------
    These counts are published beside the release, so that they can be checked. With the rows of a class in the table, a
    value that one person holds would disclose how many rows that person has: it is counted as held by two. For the same
    reason one or two people with a value, in a class where others have none, are not distinguished and count as one.
    """
    few = np.where(with_value > _FEW, with_value, np.minimum(with_value, 1.0))
    return ValueHistograms(at_most(rows, people), np.where(blank == 0, everybody, few), everybody)


def at_most(rows: NDArray[Any], people: NDArray[Any]) -> NDArray[Any]:
    """Return the published counts of people with each value: one person with several rows counts as two."""
    return np.asarray(np.maximum(people, np.minimum(rows, float(_FEW))))


@dataclass(frozen=True, eq=False)
class CountedPeople:
    """Published counts of people per entry, an entry standing for all rows of a class with one sensitive value.

    Used where the unit column itself is no longer there, as in a release that is validated.
    """

    people: IntArray
    """People with the value of each entry in its class, shape (n_entries,)."""
    with_value: IntArray
    """People of the entry's class with any value."""
    everybody: IntArray
    """People of the entry's class."""
    everywhere: IntArray
    """Published number of people of the whole release with each value, shape (n_values,)."""
    anybody: int
    """People of the whole release with any value."""

    def at(self, entries: NDArray[np.integer] | NDArray[np.bool_]) -> CountedPeople:
        """Return the same of some of the entries."""
        return CountedPeople(
            self.people[entries], self.with_value[entries], self.everybody[entries], self.everywhere, self.anybody
        )


@dataclass(frozen=True, eq=False)
class Triples:
    """The distinct (class, value, person) triples of some entries, sorted by class, so that nobody is counted twice."""

    classes: IntArray
    values: IntArray
    pairs: IntArray
    """The (class, person) of each."""
    pair_classes: IntArray
    """Class of every (class, person), ascending."""

    @classmethod
    def of(cls, classes: IntArray, values: IntArray, units: IntArray, n_values: int) -> Triples:
        """Count everybody once: two sorts of the entries."""
        pairs, n_pairs = densify(classes * (int(units.max(initial=0)) + 1) + units)
        owner = np.empty(n_pairs, dtype=np.int64)
        owner[pairs] = classes
        triples = np.unique(pairs * n_values + values)
        pair = triples // n_values
        return cls(owner[pair], triples % n_values, pair, owner)
