# SPDX-License-Identifier: Apache-2.0
"""Recodings: maps from quasi-identifier values to released values, the same for this table and the next batch.

A global recoding treats every column by itself: kept, cut into intervals, merged into groups, or dropped.
A local recoding is a tree that puts every row into a box of the quasi-identifiers' space.

Privacy
-------
A recoding is public. It never lists a value that fewer than k rows (people) hold unless the policy declared it:
such values are in the group of everything not listed. Interval ends are round numbers with k rows on either side, not
cell values; `anonkit.k_anonymity.supported_parts` has the rule. The outermost intervals are open.
"""

from anonkit.published.recoding.axes import (
    MASK,
    OTHER,
    UNKNOWN,
    CategoryAxis,
    Grouping,
    IntervalAxis,
    MeanAxis,
    UnchangedAxis,
    unique_labels,
)
from anonkit.published.recoding.boxes_and_centroids import Centroids
from anonkit.published.recoding.recodings import (
    GlobalRecoding,
    LocalRecoding,
    Recoding,
    RecodingSplit,
    coarser_steps,
    recoding_from_dict,
    with_levels,
)

__all__ = [
    "MASK",
    "OTHER",
    "UNKNOWN",
    "CategoryAxis",
    "Centroids",
    "GlobalRecoding",
    "Grouping",
    "IntervalAxis",
    "LocalRecoding",
    "MeanAxis",
    "Recoding",
    "RecodingSplit",
    "UnchangedAxis",
    "coarser_steps",
    "recoding_from_dict",
    "unique_labels",
    "with_levels",
]
