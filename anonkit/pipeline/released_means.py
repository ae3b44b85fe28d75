# SPDX-License-Identifier: Apache-2.0
"""The means of a k-anonymous release beside its intervals: computed on the source, counted for the report.

The weights of a k-anonymous release's sample: their sum, and the risk of classes by them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from anonkit.bundle.data_files import iter_batches
from anonkit.checks.population_risk import BY_CONSTRUCTION, OF_WEIGHTS
from anonkit.estimators.population.log_linear_risk import individual_risk
from anonkit.k_anonymity.class_means import ClassMeans, class_means, middle
from anonkit.policy.declaration import Policy
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.protocols import COUNT, Draft, Engine, Source

_BATCH = 1 << 16


def weights_block(spool: Path, weight: str) -> dict[str, Any]:
    """Return the report's block `weights`: the column, and the sum of the weights that the release shows."""
    parts = []
    with closing(iter_batches(spool, [weight], batch_rows=_BATCH)) as batches:
        for batch in batches:
            parts.append(math.fsum(batch.column(weight).to_numpy(zero_copy_only=False).tolist()))
    return {"column": weight, "sum": math.fsum(parts)}


def risk_by_weights(rows: Source, names: Sequence[str], weight: str, files: Engine) -> dict[str, Any] | None:
    """Return the `disclosure_risk.population` block by the weights of a release; None where these are relative.

    Parameters
    ----------
    rows : Source
        The draft as it was written: all rows of a class have one weight.
    names : sequence of str
        Its quasi-identifiers.

    Returns
    -------
    dict or None
        None where the weights add up to fewer people than there are rows.
    """
    (counted,) = files.count_sets(rows, [tuple(dict.fromkeys([*names, weight]))])
    sizes = np.asarray(counted.column(COUNT).to_numpy(), np.int64)
    weight_sums = sizes * np.asarray(counted.column(weight).to_numpy(), np.float64)
    n_rows, people = int(sizes.sum()), math.fsum(weight_sums.tolist())
    if not n_rows or people < n_rows:
        return None
    risks = individual_risk(sizes, np.maximum(weight_sums, sizes))
    expected = float(sizes @ risks)
    return {
        "basis": "weights",
        "assumption": OF_WEIGHTS,
        "estimates": {
            "population_size": people,
            "individual": {"max": float(risks.max()), "mean": expected / n_rows, "sum": expected},
            "uniques": BY_CONSTRUCTION,
        },
    }


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
