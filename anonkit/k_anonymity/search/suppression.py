# SPDX-License-Identifier: Apache-2.0
"""Suppression: the rows to leave out so that every equivalence class that stays meets the requirements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anonkit.domains.array_types import BoolArray
from anonkit.k_anonymity.search.equivalence import AtLeastK, Partition, PeopleRequirement, Requirement


def suppressed_rows(partition: Partition, requirements: Sequence[Requirement]) -> BoolArray:
    """Mark the entries that must go so that every class left meets every requirement, shape (n_entries,).

    Whole classes go. t-closeness compares with the rows that stay, so classes are removed until nothing
    more has to go. Where k holds for whole sets of rows, people go instead, and then all classes meet it.
    """
    of_people = _of_people(requirements)
    if of_people is not None:
        return of_people.gone(partition)
    return np.asarray(_suppressed_classes(partition, requirements)[partition.classes])


def n_suppressed(partition: Partition, requirements: Sequence[Requirement]) -> int:
    """Count the rows that must go; where whole classes go, by their sizes."""
    of_people = _of_people(requirements)
    if of_people is not None:
        return partition.n_rows(of_people.gone(partition))
    return int(partition.sizes()[_suppressed_classes(partition, requirements)].sum())


def rows_violating(partition: Partition, requirements: Sequence[Requirement]) -> dict[str, int]:
    """Count the rows of classes that break each requirement, by its name; only those that some class breaks."""
    everything = np.ones(partition.classes.size, dtype=bool)
    counts = {
        requirement.name: int(partition.sizes()[requirement.violated(partition, everything)].sum())
        for requirement in requirements
    }
    return {name: count for name, count in counts.items() if count}


def _of_people(requirements: Sequence[Requirement]) -> PeopleRequirement | None:
    return next((one for one in requirements if isinstance(one, PeopleRequirement)), None)


def _suppressed_classes(partition: Partition, requirements: Sequence[Requirement]) -> BoolArray:
    """Mark the classes that must go, shape (n_classes,)."""
    bad = np.zeros(partition.n_classes, dtype=bool)
    kept = np.ones(partition.classes.size, dtype=bool)
    while True:
        worse = bad.copy()
        for requirement in requirements:
            worse |= requirement.violated(partition, kept)
        if bool((worse == bad).all()):
            return bad
        bad = worse
        if all(isinstance(requirement, AtLeastK) for requirement in requirements):
            return bad  # what k says of a class does not depend on what else stays
        kept = ~bad[partition.classes]
        if not kept.any():
            return bad
