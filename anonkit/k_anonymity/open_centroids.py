# SPDX-License-Identifier: Apache-2.0
"""Centroids that stay open for the next batch: each row shows the nearest of those whose class keeps the model.

The rule is public. Every row goes to the nearest centroid of its combination of categories. Centroids without rows are
closed, and of those whose class breaks the model the smaller half, at least one; their rows go to the nearest that is
open, and so on until every class keeps the model. Rows of a combination without an open centroid are left out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from anonkit.domains.coded_columns import densify
from anonkit.k_anonymity.numbers_in_groups import rows_as_batch
from anonkit.k_anonymity.preparing import prepare
from anonkit.k_anonymity.privacy_model import AnonymityModel
from anonkit.k_anonymity.recoded_rows import RowsAsked
from anonkit.k_anonymity.regrouped_rows import AS_THEY_ARE
from anonkit.k_anonymity.search.equivalence import Partition
from anonkit.policy.declaration import Policy
from anonkit.protocols import Engine, Source
from anonkit.published.recoding import UNKNOWN, GlobalRecoding


def open_centroids(
    model: AnonymityModel,
    source: Source,
    policy: Policy,
    engine: Engine,
    recoding: GlobalRecoding,
    asked: RowsAsked,
) -> GlobalRecoding:
    """Return the recoding with those centroids alone that stay open for a table.

    Parameters
    ----------
    asked : RowsAsked
        Which rows may be released, and the requirements on their sensitive values.

    Privacy
    -------
    Which centroids are closed depends on the published ones and on how many rows are nearest to each; every class that
    is shown is counted anew.
    """
    assert recoding.centroids is not None  # noqa: S101 - whoever calls has looked
    prepared = prepare(source, policy, engine, model, AS_THEY_ARE, asked.rules)
    batch = rows_as_batch(prepared, [column.name for column in recoding.columns])
    shown, unknown = recoding.apart_from_means(batch)
    numbers = {name: batch.column(name) for name in recoding.mean_names}
    centroids = recoding.centroids.at(range(recoding.centroids.size), nearest_alone=True)
    while centroids.size:
        at = centroids.nearest(shown, numbers)
        inside = (at != UNKNOWN) & ~unknown
        rows = np.bincount(at[inside], minlength=centroids.size)
        there = np.flatnonzero(rows)
        partition, everything = Partition(*densify(at[inside])), np.ones(int(inside.sum()), bool)
        broken = np.zeros(there.size, bool)
        for requirement in prepared.requirements:
            broken |= requirement.at(inside).violated(partition, everything)
        small = there[broken]
        small = small[np.argsort(rows[small], kind="stable")][: (small.size + 1) // 2]
        if there.size == centroids.size and not small.size:
            break
        centroids = centroids.at(np.setdiff1d(there, small).tolist())
    return replace(recoding, centroids=centroids)
