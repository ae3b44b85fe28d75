# SPDX-License-Identifier: Apache-2.0
"""Greedy feature selection under k-anonymity and its relatives (Huang & Zhu 2020, algorithm 1, paper 001).

Features are visited in descending importance; one is kept if every equivalence class of the table projected on
what is kept still meets the requirements, apart from a bounded number of suppressed rows. Their printed test is
inverted (it deletes what passes); the one here deletes what fails.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from anonkit.domains.array_types import BoolArray
from anonkit.domains.coded_columns import CodedColumn
from anonkit.k_anonymity.search.distinct_rows import DistinctRows, released_partition
from anonkit.k_anonymity.search.equivalence import Partition, Requirement
from anonkit.k_anonymity.search.features import Feature
from anonkit.k_anonymity.search.hierarchy_levels import Groups, Ladder, full_detail, number_groups
from anonkit.k_anonymity.search.suppression import n_suppressed, rows_violating, suppressed_rows


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The decision on one feature, kept or dropped, with the numbers behind it."""

    feature: Feature
    kept: bool
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
    def kept(self) -> tuple[Feature, ...]:
        """The features kept, in the order of the visit."""
        return tuple(decision.feature for decision in self.decisions if decision.kept)


def select_features(
    columns: Sequence[CodedColumn],
    ranking: Sequence[Feature],
    requirements: Sequence[Requirement],
    max_suppressed: int,
    ladders: Mapping[str, Ladder] | None = None,
    *,
    kept: Collection[str] = (),
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
    kept : collection of str
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
    of_kept = {name: [feature for feature in ranking if feature.column == name] for name in kept}
    first = [name for name in dict.fromkeys(feature.column for feature in ranking) if name in of_kept]
    waiting = [(name, feature) for name in first for feature in of_kept[name]] + [(None, each) for each in ranking]
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
        if decision.kept and name is not None:
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
        kept = suppressed <= max_suppressed
        if kept or level == len(levels) - 1:
            break
    decision = Decision(
        feature=feature,
        kept=kept,
        level=level if kept else None,
        suppressed=suppressed,
        violations=rows_violating(finer, requirements),
    )
    return decision, finer if kept else partition


def _groups(column: CodedColumn, ladders: Mapping[str, Ladder], decisions: Sequence[Decision]) -> Groups | None:
    """Return how a column is released, given what was decided on its features."""
    kept = [decision for decision in decisions if decision.kept and decision.feature.column == column.name]
    if not kept:
        return None
    if kept[0].feature.code is None:
        return ladders.get(column.name, full_detail(column)).levels[kept[0].level or 0]
    accepted = [decision.feature.code for decision in kept if decision.feature.code is not None]
    keys = np.full(column.size, column.size, dtype=np.int64)
    keys[accepted] = accepted
    return number_groups(keys)
