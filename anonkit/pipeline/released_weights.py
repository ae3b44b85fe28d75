# SPDX-License-Identifier: Apache-2.0
"""The weights of a k-anonymous release's sample: their sum, and the risk of classes by them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from anonkit.bundle.data_files import iter_batches
from anonkit.checks.against_population import OF_WEIGHTS
from anonkit.checks.sample_estimates import BY_CONSTRUCTION
from anonkit.estimators.population.individual_risk import individual_risk
from anonkit.protocols import COUNT, Engine, Source

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
    stand_for = sizes * np.asarray(counted.column(weight).to_numpy(), np.float64)
    n_rows, people = int(sizes.sum()), math.fsum(stand_for.tolist())
    if not n_rows or people < n_rows:
        return None
    risks = individual_risk(sizes, np.maximum(stand_for, sizes))
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
