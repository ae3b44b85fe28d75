"""IL1s, eigenvalue and correlation distances: by hand, beside pandas, and at their edges."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from anonkit.k_anonymity.class_means import number_distances


def test_il1s_by_hand() -> None:
    """Two columns of three rows: |x - x'| is 1 + 0 + 1 and 0 + 2 + 0; standard deviations are 1 and 2."""
    original = np.array([[1.0, 0.0], [2.0, 2.0], [3.0, 4.0]])
    shown = np.array([[2.0, 0.0], [2.0, 4.0], [2.0, 4.0]])
    found = number_distances(original, shown, np.ones(3))
    assert found["il1s"] == pytest.approx(2 / math.sqrt(2) + 2 / (2 * math.sqrt(2)))
    assert found["il1s_per_cell"] == pytest.approx(found["il1s"] / 6)
    assert found["columns"] == 2


def test_eigenvalues_and_correlations_beside_pandas() -> None:
    """Those of the matrices that pandas computes, on all rows written out."""
    draw = np.random.default_rng(1)
    original = draw.normal(size=(60, 4)) @ draw.normal(size=(4, 4))
    shown = original + draw.normal(size=(60, 4))
    rows = draw.integers(1, 4, 60)
    found = number_distances(original, shown, rows.astype(float))
    all_rows = [pd.DataFrame(np.repeat(values, rows, axis=0)) for values in (original, shown)]
    before, after = (frame.corr().to_numpy() for frame in all_rows)
    roots, others = (sorted(np.linalg.eigvalsh(matrix), reverse=True) for matrix in (before, after))
    assert found["eigenvalues"] == pytest.approx(sum(abs(a - b) / a for a, b in zip(roots, others, strict=True)))
    assert found["correlations"] == pytest.approx(np.abs(before - after)[np.triu_indices(4, 1)].mean())
    spread = all_rows[0].std().to_numpy()
    lost = (all_rows[0] - all_rows[1]).abs().to_numpy() / (math.sqrt(2) * spread)
    assert found["il1s"] == pytest.approx(lost.sum())


def test_the_same_numbers_are_at_no_distance() -> None:
    """Every figure is 0."""
    numbers = np.random.default_rng(2).normal(size=(20, 3))
    found = number_distances(numbers, numbers.copy(), np.ones(20))
    assert found == {"columns": 3, "il1s": 0.0, "il1s_per_cell": 0.0, "eigenvalues": 0.0, "correlations": 0.0}


def test_columns_of_one_value() -> None:
    """One that never varies is left out; one that is shown as one value has no correlation left."""
    numbers = np.array([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0]])
    assert number_distances(numbers, numbers, np.ones(3)) == {"columns": 1, "il1s": 0.0, "il1s_per_cell": 0.0}
    assert number_distances(numbers[:, 1:], numbers[:, 1:], np.ones(3)) == {"columns": 0}
    line = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    flat = np.column_stack([line[:, 0], np.full(3, 4.0)])
    assert number_distances(line, flat, np.ones(3))["correlations"] == pytest.approx(1.0)
