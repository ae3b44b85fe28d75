# SPDX-License-Identifier: Apache-2.0
"""Greedy feature selection under k-anonymity and its relatives (Huang & Zhu 2020, algorithm 1, paper 001).

Features are visited in descending importance; one is kept if every equivalence class of the table projected on
what is kept still meets the requirements, apart from a bounded number of suppressed rows. Their printed test is
inverted (it deletes what passes); the one here deletes what fails.

The features of a selection: whole columns, or single categories of one-hot coded columns.

Suppression: the rows to leave out so that every equivalence class that stays meets the requirements.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import BoolArray, CodedColumn
from anonkit.k_anonymity.search.equivalence import (
    AtLeastK,
    DistinctRows,
    Partition,
    PeopleRequirement,
    Requirement,
    released_partition,
)
from anonkit.k_anonymity.search.hierarchy_levels import Groups, Ladder, full_detail, number_groups


@dataclass(frozen=True, kw_only=True)
class Feature:
    """A column, or one bit (column, value) of its one-hot coding."""

    column: str
    """Name of the column."""
    code: int | None = None
    """Code of the category whose bit it is; None for the whole column."""

    def codes(self, column: CodedColumn) -> NDArray[np.int32]:
        """Return the feature's value in every row of its column, shape (n_rows,)."""
        return column.codes if self.code is None else (column.codes == self.code).astype(np.int32)


def column_features(columns: Sequence[CodedColumn]) -> tuple[Feature, ...]:
    """Return one feature a column, in order of the names."""
    return tuple(Feature(column=name) for name in sorted(column.name for column in columns))


def one_hot_features(columns: Sequence[CodedColumn]) -> tuple[Feature, ...]:
    """Return one feature a category, missing included, in order of the columns' names and their codes."""
    by_name = sorted(columns, key=lambda column: column.name)
    return tuple(Feature(column=column.name, code=code) for column in by_name for code in range(column.size))


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
    released = np.ones(partition.classes.size, dtype=bool)
    while True:
        worse = bad.copy()
        for requirement in requirements:
            worse |= requirement.violated(partition, released)
        if bool((worse == bad).all()):
            return bad
        bad = worse
        if all(isinstance(requirement, AtLeastK) for requirement in requirements):
            return bad  # what k says of a class does not depend on what else stays
        released = ~bad[partition.classes]
        if not released.any():
            return bad


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The decision on one feature, kept or dropped, with the numbers behind it."""

    feature: Feature
    is_kept: bool
    level: int | None
    """Level of its column's hierarchy at which it was kept, 0 the finest; None when dropped."""
    suppressed: int
    """Rows that must go with the feature (at its coarsest level when dropped) added to what was kept before it."""
    violations: Mapping[str, int]
    """Rows of these in classes that break each requirement, by its name; only those that some class breaks."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FeatureSelection:
    """Result of a greedy selection: the features kept, each at one level, as a recoding of the columns."""

    decisions: tuple[Decision, ...]
    """In the order of the visit."""
    groups: Mapping[str, Groups | None]
    """Group of every code of each column; None for a dropped column. With one-hot features every accepted category
    is a group of its own and all others are one group together."""
    suppressed: BoolArray
    """Rows to leave out, shape (n_rows,); all of them if not even the empty selection meets the requirements."""

    @property
    def kept_features(self) -> tuple[Feature, ...]:
        """The features kept, in the order of the visit."""
        return tuple(decision.feature for decision in self.decisions if decision.is_kept)


def select_features(
    columns: Sequence[CodedColumn],
    ranking: Sequence[Feature],
    requirements: Sequence[Requirement],
    max_suppressed: int,
    ladders: Mapping[str, Ladder] | None = None,
    *,
    kept_columns: Collection[str] = (),
) -> FeatureSelection:
    """Keep features in the order of the ranking as long as the requirements hold.

    Requirements only get harder as classes are refined, so a feature that was dropped could not be added to the
    final selection either: the result is maximal. Where rows may be suppressed that is so for k and distinct l; a
    class that breaks a requirement on shares (entropy or recursive l, t, alpha) may have parts that do not.

    Parameters
    ----------
    columns : sequence of CodedColumn
        Quasi-identifiers, at least one, each of shape (n_rows,).
    ranking : sequence of Feature
        Whole columns or one-hot bits, most important first.
    requirements : sequence of Requirement
        What every class of the release must meet.
    max_suppressed : int
        Rows that may be left out, in [0, n_rows].
    ladders : mapping of column name to Ladder, optional
        A whole column that fails at full detail is tried at the coarser levels of its hierarchy before it is dropped.
        Without a hierarchy it is kept as it is or dropped.
    kept_columns : collection of str
        Columns of which features are visited before all others, until one of each is kept.

    Returns
    -------
    FeatureSelection
        The same for any order of rows and columns.

    Privacy
    -------
    Every class of the rows not suppressed meets the requirements, which protect what each of them says and no more:
    k-anonymity does not hide a sensitive value that a whole class shares. The choice of features depends on the
    target's labels through the ranking.
    """
    distinct = DistinctRows.of(columns, requirements)
    by_name = {column.name: column for column in distinct.columns}
    ladders = ladders or {}
    partition = distinct.whole
    decisions: list[Decision] = []
    candidates = {name: [feature for feature in ranking if feature.column == name] for name in kept_columns}
    first = [name for name in dict.fromkeys(feature.column for feature in ranking) if name in candidates]
    waiting = [(name, feature) for name in first for feature in candidates[name]] + [(None, each) for each in ranking]
    has_one, decided = set(), set()
    for name, feature in waiting:
        if feature in decided or name in has_one:
            continue
        column = by_name[feature.column]
        if feature.code is None:
            levels = ladders.get(feature.column, full_detail(column)).levels
        else:
            levels = ((np.arange(column.size) == feature.code).astype(np.int32),)
        decision, partition = _decide(feature, levels, column, partition, distinct.requirements, max_suppressed)
        decisions.append(decision)
        decided.add(feature)
        if decision.is_kept and name is not None:
            has_one.add(name)
    groups = {name: _groups(column, ladders, decisions) for name, column in by_name.items()}
    released = released_partition(columns, groups)
    return FeatureSelection(
        decisions=tuple(decisions), groups=groups, suppressed=suppressed_rows(released, requirements)
    )


def _decide(
    feature: Feature,
    levels: Sequence[Groups],
    column: CodedColumn,
    partition: Partition,
    requirements: Sequence[Requirement],
    max_suppressed: int,
) -> tuple[Decision, Partition]:
    """Try the levels from the finest; return the decision and the partition that follows from it."""
    for level, groups in enumerate(levels):
        finer = partition.refine(groups[column.codes])
        suppressed = n_suppressed(finer, requirements)
        is_kept = suppressed <= max_suppressed
        if is_kept or level == len(levels) - 1:
            break
    decision = Decision(
        feature=feature,
        is_kept=is_kept,
        level=level if is_kept else None,
        suppressed=suppressed,
        violations=rows_violating(finer, requirements),
    )
    return decision, finer if is_kept else partition


def _groups(column: CodedColumn, ladders: Mapping[str, Ladder], decisions: Sequence[Decision]) -> Groups | None:
    """Return the released groups of a column, given the decisions on its features."""
    retained = [decision for decision in decisions if decision.is_kept and decision.feature.column == column.name]
    if not retained:
        return None
    if retained[0].feature.code is None:
        return ladders.get(column.name, full_detail(column)).levels[retained[0].level or 0]
    accepted = [decision.feature.code for decision in retained if decision.feature.code is not None]
    keys = np.full(column.size, column.size, dtype=np.int64)
    keys[accepted] = accepted
    return number_groups(keys)
