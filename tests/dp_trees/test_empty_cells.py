"""Cells of a number in which noisy counts show nobody: long runs beside many rows, and none that stands out."""

from __future__ import annotations

import numpy as np
import pytest

from anonkit.dp_trees.empty_cells import kept_cells, without_empty

TAIL = np.concatenate([np.full(8, 2_000.0), np.zeros(24)])


def test_noise_far_from_all_rows_is_none() -> None:
    """Noise in 24 empty cells moves the mean by more than a third of a cell, and afterwards by little."""
    rng = np.random.default_rng(3)
    before, after, places = [], [], np.arange(32)
    for _ in range(200):
        noisy = TAIL + rng.normal(0, 60, 32)
        shown, cut = without_empty(noisy, 60.0), np.maximum(noisy, 0.0)
        assert shown.min() >= 0
        assert shown.sum() == pytest.approx(noisy.sum())
        before.append(cut @ places / cut.sum() - 3.5)
        after.append(shown @ places / shown.sum() - 3.5)
    assert np.mean(before) > 0.4
    assert abs(np.mean(after)) < 0.15


@pytest.mark.parametrize(
    ("counts", "kept"),
    [
        (np.full(32, 100.0), np.ones(32, dtype=bool)),  # nothing is above the noise, and nothing is clearly less
        (np.full(8, 0.0), np.ones(8, dtype=bool)),
        (np.where(np.arange(8) < 4, 9_000.0, 0.0), np.ones(8, dtype=bool)),  # too few cells for a run
        (TAIL, np.arange(32) < 8),
        (TAIL + 300.0 * (np.arange(32) == 20), (np.arange(32) < 8) | (np.arange(32) == 20)),
        (TAIL + 10.0 * (np.arange(32) == 31), (np.arange(32) < 8) | (np.arange(32) == 31)),  # beyond the bound
    ],
)
def test_cells_that_may_have_rows(counts: np.ndarray, kept: np.ndarray) -> None:
    """By hand, with noise of 100 rows."""
    assert kept_cells(counts, 100.0).tolist() == kept.tolist()


def test_nothing_is_made_of_nothing() -> None:
    """Counts below 0 are none."""
    assert without_empty(np.full(16, -5.0), 10.0).tolist() == [0.0] * 16


STEPS_DOWN = np.concatenate([np.full(4, 2_000.0), np.full(4, 99.0), np.full(8, 70.0), np.full(16, 49.0)])
"""Each run is within two deviations of its own noise, all of them together are 3.3 above theirs."""


def test_runs_that_are_clearly_measured_together_are_kept() -> None:
    """Noise of 100 rows: 28 cells with 1,740 rows, where noise alone makes 529; none where they have 1,580."""
    assert kept_cells(STEPS_DOWN, 100.0).all()
    assert kept_cells(STEPS_DOWN[::-1].copy(), 100.0).all()
    fewer = np.where(np.arange(32) < 16, STEPS_DOWN, 39.0)
    assert kept_cells(fewer, 100.0).sum() <= 5
