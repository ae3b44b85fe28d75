# SPDX-License-Identifier: Apache-2.0
"""Risk of a table's classes against a file of the population: k-map, journalist, marketer and presence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def matched_classes(sample: NDArray[np.int64], people: NDArray[np.int64]) -> dict[str, Any]:
    """Return the match of a table's classes with those of a population.

    Parameters
    ----------
    sample : int64 array, shape (n_classes,)
        Rows, or people, of each class of the table, f, at least 1.
    people : int64 array, shape (n_classes,)
        People of the population who share the class, F; 0 where it lacks the class.

    Returns
    -------
    dict
        `unmatched_classes`, and of the others `k_map`, the smallest F; `journalist`: `max`, 1 / k_map, and `mean`, the
        larger of classes over people and of the marketer's share; `marketer`, the sum of f / F over the rows;
        `delta_presence`: the largest f / F, and its mean over the rows. Shares are at most 1: above that the
        population lacks somebody. `k_map` alone, and None, where no class is met.
    """
    met = people > 0
    small, large = sample[met].astype(np.float64), people[met].astype(np.float64)
    unmatched = int(people.size - np.count_nonzero(met))
    if not small.size:
        return {"unmatched_classes": unmatched, "k_map": None}
    n, present = float(small.sum()), np.minimum(small / large, 1.0)
    marketer = float(present.sum() / n)
    return {
        "unmatched_classes": unmatched,
        "k_map": int(large.min()),
        "journalist": {"max": float(1 / large.min()), "mean": max(float(small.size / large.sum()), marketer)},
        "marketer": marketer,
        "delta_presence": {"max": float(present.max()), "mean": float((small @ present) / n)},
    }
