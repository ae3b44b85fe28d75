"""Smoothing of noisy differences over ordered cells: nearer to smooth truths, and no further from others."""

from __future__ import annotations

import numpy as np
import pytest

from anonkit.domains.attribute_domains import Grid
from anonkit.published.count_evidence import shares_of
from anonkit.published.ordered_cells import smoothed_differences

_PLACES = (np.arange(32) + 0.5) / 32
SMOOTH = np.stack([1 + 0.8 * np.cos(2 * np.pi * _PLACES), 1 - 0.8 * np.cos(2 * np.pi * _PLACES)], axis=1) / 32
STEP = np.stack([np.where(_PLACES < 0.3, 1.8, 0.657), np.where(_PLACES < 0.3, 0.4, 1.257)], axis=1) / 32
SPIKE = np.stack([np.where(np.arange(32) == 9, 8.75, 0.75), np.ones(32)], axis=1) / 32


def error_of(true: np.ndarray, seeds: int = 20) -> float:
    """Mean square error of the difference of log ratios, 10,000 rows a class, noise of scale 50 a cell."""
    errors = []
    for seed in range(seeds):
        noise = np.random.default_rng(seed).laplace(0, 50, (1, 32, 2))
        ratios = shares_of(10_000 * true[np.newaxis] + noise, 50.0, Grid(lower=0, upper=1, cells=32)).log_ratios()[0]
        errors.append(np.square(np.diff(ratios - np.log(true), axis=1)).mean())
    return float(np.mean(errors))


@pytest.mark.parametrize(("true", "most"), [(SMOOTH, 0.09), (STEP, 0.12), (SPIKE, 0.1)])
def test_neighbours_share_what_they_know(true: np.ndarray, most: float) -> None:
    """Halved again and again, as before, these were .172, .134 and .130."""
    assert error_of(true) < most


def test_without_noise_differences_come_through() -> None:
    """Without noise differences of any shape are preserved."""
    unit = np.full((1, 16, 2), 1 / 16)
    found = np.random.default_rng(1).normal(0, 0.01, unit.shape)
    assert smoothed_differences(found, np.full(unit.shape, 1e-14), unit, (1.0,)) == pytest.approx(found, abs=1e-6)


def test_what_noise_drowns_is_not_believed() -> None:
    """Differences of the size of the noise that is said to be in them, far larger than any share."""
    unit = np.full((2, 8, 3), 1 / 8)
    found = np.random.default_rng(2).normal(0, 100, unit.shape)
    assert np.abs(smoothed_differences(found, np.full(unit.shape, 1e4), unit, (0.3, 1.0))).max() < 0.01


def test_very_many_cells_are_smoothed_in_runs() -> None:
    """1,000 cells: shares that add up, near the truth, with what is believed of the whole table or without."""
    places = (np.arange(1000) + 0.5) / 1000
    true = np.stack([2 * places, 2 - 2 * places], axis=1) / 1000
    counts = (1e6 * true)[np.newaxis] + np.random.default_rng(3).laplace(0, 5, (2, 1000, 2))
    domain = Grid(lower=0, upper=1, cells=1000)
    first = shares_of(counts, 5.0, domain)
    for found in (first, shares_of(counts, 5.0, domain, first)):
        assert found.of_class.sum(axis=1) == pytest.approx(np.ones((2, 2)))
        assert found.of_class[0, 100:900] == pytest.approx(true[100:900], rel=0.1)
