# SPDX-License-Identifier: Apache-2.0
"""k-anonymity of whole sets of rows: at least k people have each combination of rows that somebody has.

A person with several rows is known by all of them together. What is counted is the multiset of a person's classes: two
people are alike when they have equally many rows in every class (multirelational k-anonymity: Nergiz, Clifton,
Nergiz, IEEE TKDE 21(8), 2009). Every class of rows is then one of k people too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import BoolArray, IntArray, combine, densify
from anonkit.k_anonymity.search.equivalence import Partition, PeopleRequirement


def set_numbers(people: IntArray, n_people: int, partition: Partition) -> tuple[IntArray, int]:
    """Return a number for each of the multisets of classes that people have; exact, no hashing.

    Parameters
    ----------
    people : int array, shape (n_entries,)
        Person of each entry, dense in [0, n_people).
    partition : Partition
        Class and rows of each entry.

    Returns
    -------
    number : int array, shape (n_people,)
        Equal for two people exactly when they have as many rows in every class.
    n_sets : int
    """
    pair, n_pairs = combine([people, partition.classes], people.size)  # ascending by person, then class
    owner, class_of = np.empty(n_pairs, dtype=np.int64), np.empty(n_pairs, dtype=np.int64)
    owner[pair], class_of[pair] = people, partition.classes
    rows = np.bincount(pair, partition.weights, minlength=n_pairs).astype(np.int64)
    token, _ = combine([class_of, rows], n_pairs)
    length = np.bincount(owner, minlength=n_people)
    first = np.cumsum(length) - length
    number, n_sets = np.zeros(n_people, dtype=np.int64), 0
    for size in np.unique(length).tolist():
        who = np.flatnonzero(length == size)
        part, n_parts = combine([token[first[who] + at] for at in range(size)], who.size)
        number[who] = n_sets + part
        n_sets += n_parts
    return number, n_sets


@dataclass(frozen=True, eq=False)
class SharedSets(PeopleRequirement):
    """At least k people have each multiset of classes that somebody has."""

    name: ClassVar[str] = "k-anonymity of whole sets of rows"

    k: int
    units: IntArray
    """Person of each entry, shape (n_entries,)."""

    @property
    def attributes(self) -> tuple[IntArray, ...]:
        """The people."""
        return (self.units,)

    def at(self, entries: NDArray[np.integer] | BoolArray) -> SharedSets:
        """Return the same requirement on a selection of the entries."""
        return replace(self, units=self.units[entries])

    def gone(self, partition: Partition) -> BoolArray:
        """Mark the entries of people whose set fewer than k people have, shape (n_entries,).

        When they are left out, with all their rows, nobody else's set changes: what stays meets the requirement.
        """
        people, n_people = densify(self.units)
        number, n_sets = set_numbers(people, n_people, partition)
        rare = np.bincount(number, minlength=n_sets) < self.k
        return np.asarray(rare[number][people])

    def violated(self, partition: Partition, released: BoolArray) -> BoolArray:
        """Mark the classes in which such a person has a row."""
        out = np.zeros(partition.n_classes, dtype=bool)
        out[partition.classes[self.gone(partition)]] = True
        return out


class GrowingSets:
    """The sets of rows of all people while boxes are cut one by one.

    People of one set have equally many rows in every box. So a cut of a box concerns all people of a set or none, and
    it is allowed when those that it separates are k or more each time.
    """

    def __init__(self, requirement: SharedSets, weights: IntArray) -> None:
        self._k = requirement.k
        self._person, n_people = densify(requirement.units)
        self._weights = weights
        rows = np.bincount(self._person, weights, minlength=n_people)
        self._set, self._next = densify(rows.astype(np.int64))

    def divide(self, entries: IntArray, part: IntArray) -> bool:
        """Cut a box if every set of rows is still shared by k people; return whether it was done.

        Parameters
        ----------
        entries : int array
            All entries of the box.
        part : int array of the same shape
            The part that each goes to, from 0.
        """
        who, at = np.unique(self._person[entries], return_inverse=True)
        n_parts = int(part.max()) + 1
        rows = np.bincount(at * n_parts + part, self._weights[entries], minlength=who.size * n_parts)
        counts = rows.reshape(-1, n_parts).astype(np.int64)
        group, n_groups = combine([densify(self._set[who])[0], *counts.T[:-1]], who.size)
        if int(np.bincount(group, minlength=n_groups).min()) < self._k:
            return False
        self._set[who] = self._next + group
        self._next += n_groups
        return True
