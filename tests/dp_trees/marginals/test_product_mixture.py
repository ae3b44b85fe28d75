"""The mixture: it reaches pairs that a mixture can have, and is the same each time."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from anonkit.dp_trees.marginals.mixture_fit import fitted_mixture

SIZES = [3, 2, 4]
OFFSETS = np.concatenate([[0], np.cumsum(SIZES)])


def some_mixture(components: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights and shares of any mixture of products."""
    draw = np.random.default_rng(seed)
    shares = np.concatenate([draw.dirichlet(np.full(size, 0.4), size=components) for size in SIZES], axis=1)
    return draw.dirichlet(np.ones(components)), shares


def test_a_mixture_is_found_again() -> None:
    """All pairs of a mixture of five, fitted by twenty, to a thousandth."""
    weights, shares = some_mixture(5, 1)
    pairs = shares.T @ (shares * weights[:, np.newaxis])
    columns = weights @ shares
    important = np.ones(pairs.shape)
    for first, last in itertools.pairwise(OFFSETS):
        important[first:last, first:last] = 0
    starts = np.stack([np.random.default_rng(2).integers(0, size, 20) for size in SIZES], axis=1)
    found, again = (fitted_mixture(pairs, important, columns, starts, OFFSETS, 400) for _ in range(2))
    assert np.array_equal(found.shares, again.shares)
    assert found.weights.sum() == pytest.approx(1)
    assert np.add.reduceat(found.shares, OFFSETS[:-1], axis=1) == pytest.approx(1, abs=1e-5)
    fitted = found.shares.T @ (found.shares * found.weights[:, np.newaxis])
    assert np.abs((fitted - pairs) * important).max() < 2e-3
    assert found.weights @ found.shares == pytest.approx(columns, abs=2e-3)
