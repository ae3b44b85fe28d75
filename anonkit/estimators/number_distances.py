# SPDX-License-Identifier: Apache-2.0
"""Distances of shown numbers from the original ones: IL1s, eigenvalues, correlations, as statistics offices name them.

IL1s and the distance of eigenvalues are those of sdcMicro's `dUtility` (Mateo-Sanz, Domingo-Ferrer, Sebé: Probabilistic
information loss measures, Data Mining and Knowledge Discovery 11, 2005).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anonkit.domains.coded_columns import FloatArray


def number_distances(original: FloatArray, shown: FloatArray, rows: FloatArray) -> dict[str, Any]:
    """Return the distances of shown numbers from the original ones, row by row.

    Parameters
    ----------
    original, shown : float array, shape (n_entries, n_columns)
        Finite, in the same order. Columns of one value are left out of all that divides by their spread.
    rows : float array, shape (n_entries,)
        Rows of each entry, above 0.

    Returns
    -------
    dict
        `columns`, the number that vary; `il1s`, the sum over rows and columns of |x − x′| / (√2 s), s the standard
        deviation of the original column; `il1s_per_cell`, its mean; with two columns at least `eigenvalues`, the sum of
        |λ − λ′| / λ over those of the correlation matrices that are above 0, both in falling order; `correlations`, the
        mean of |r − r′| over pairs of columns, where a shown column of one value has correlation 0.

    Privacy
    -------
    Figures of the source: for the owner alone.
    """
    n_rows = float(rows.sum())
    spread = np.sqrt((rows @ (original - rows @ original / n_rows) ** 2) / max(n_rows - 1, 1))
    varies = spread > 0
    n_columns = int(varies.sum())
    if not n_columns:
        return {"columns": 0}
    original, shown, spread = original[:, varies], shown[:, varies], spread[varies]
    lost = float((rows @ np.abs(original - shown) / (np.sqrt(2) * spread)).sum())
    found = {"columns": n_columns, "il1s": lost, "il1s_per_cell": lost / (n_rows * n_columns)}
    if n_columns > 1:
        before, after = _correlations(original, rows), _correlations(shown, rows)
        roots, others = (np.sort(np.linalg.eigvalsh(matrix))[::-1] for matrix in (before, after))
        some = roots > np.finfo(np.float64).eps * n_columns
        pairs = np.triu_indices(n_columns, 1)
        found["eigenvalues"] = float((np.abs(roots - others)[some] / roots[some]).sum())
        found["correlations"] = float(np.abs(before - after)[pairs].mean())
    return found


def _correlations(values: FloatArray, rows: FloatArray) -> FloatArray:
    """Return the matrix of correlations; 0 with a column of one value, shape (n_columns, n_columns)."""
    centred = values - rows @ values / rows.sum()
    products = (centred * rows[:, None]).T @ centred
    spread = np.sqrt(np.diag(products))
    scale = np.where(spread > 0, spread, 1.0)
    matrix = products / np.outer(scale, scale)
    np.fill_diagonal(matrix, 1.0)
    return np.asarray(matrix, np.float64)
