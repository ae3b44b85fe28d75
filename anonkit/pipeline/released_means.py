# SPDX-License-Identifier: Apache-2.0
"""The means of a k-anonymous release beside its intervals: computed on the source, counted for the report."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from anonkit.k_anonymity.class_means import ClassMeans, class_means, middle
from anonkit.policy.declaration import Policy
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.protocols import Draft, Engine


def steps_of(policy: Policy) -> dict[str, float]:
    """Return the declared steps of numbers, by column."""
    return {name: float(column.step) for name, column in policy.columns.items() if column.step is not None}


def means_of_draft(
    draft: Draft,
    engine: Engine,
    policy: Policy,
    classes: KAnonymity,
    bounds: Mapping[str, Any],
    released: Collection[str],
) -> ClassMeans:
    """Return the means that the classes of a draft show.

    Parameters
    ----------
    engine : Engine
        That of the source, which is read once more.
    bounds : mapping
        Generalized numbers, as in `params.json`.
    released : collection of str
        Names of the released columns.
    """
    assert draft.beside is not None  # noqa: S101 - every draft of counted classes without a loss has its rows
    names = [name for name in classes.quasi_identifiers if name in released]
    holders = [policy.unit] if policy.unit is not None else [candidate.key for candidate in policy.candidates]
    return class_means(draft.beside, engine, names, bounds, holders, classes.k)


def means_block(means: ClassMeans, bounds: Mapping[str, Any]) -> dict[str, Any]:
    """Return the report's block `means`: of each column the classes, and how many show the middle or nothing."""
    columns = {}
    for name, found in means.means.items():
        ends = {label: (low, high) for label, low, high in bounds[name]["labels"]}
        middles = np.array([middle(*ends[label]) for label in means.classes.column(name).to_pylist()])
        columns[name] = {
            "classes": int(found.size),
            "middle": int(np.count_nonzero(found == middles)),
            "missing": int(np.count_nonzero(np.isnan(found))),
        }
    return {"columns": columns}


def means_notes(block: Mapping[str, Any]) -> list[str]:
    """Return in how many groups a column shows no mean of its own, in the words of the report."""
    notes = []
    for name, counts in block["columns"].items():
        without = counts["middle"] + counts["missing"]
        if without:
            notes.append(
                f"Means of {name}: {without:,} of {counts['classes']:,} groups show the middle of their interval, or "
                "nothing where it is open, since their mean would disclose a member's number, or is the middle."
            )
    return notes
