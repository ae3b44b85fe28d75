"""Rows of noisy models have numbers as often as all counts together say, and none in cells that seem empty."""

from __future__ import annotations

import numpy as np
import pytest

from anonkit.dp_trees.marginals.mixture_fit import Mixture, with_totals
from anonkit.dp_trees.microdata import LeafProductModel

OFFSETS = np.array([0, 4, 6])


def test_a_mixture_meets_the_totals_of_a_column() -> None:
    """Two classes of 300 and 100 rows: a value with a total of 0 has no share, another column stays as it was."""
    rng = np.random.default_rng(1)
    mixtures = [
        Mixture(
            weights=np.array([0.25, 0.75]),
            shares=np.hstack([rng.dirichlet(np.ones(4), 2), np.full((2, 2), 0.5)]),
        )
        for _ in range(2)
    ]
    wanted = np.array([200.0, 120.0, 0.0, 80.0])
    rows = np.array([300.0, 100.0])
    found = with_totals(mixtures, rows, {0: wanted}, OFFSETS)
    totals = sum(size * own.weights @ own.shares[:, :4] for size, own in zip(rows, found, strict=True))
    assert totals == pytest.approx(wanted, rel=0.05, abs=1e-9)
    for own in found:
        assert own.shares[:, 2].tolist() == [0, 0]
        assert own.shares[:, :4].sum(axis=1) == pytest.approx(1)
        assert own.shares[:, 4:].tolist() == [[0.5, 0.5]] * 2


def test_without_totals_a_mixture_stays() -> None:
    """Nothing to meet, or no rows."""
    mixture = Mixture(weights=np.ones(1), shares=np.full((1, 6), 0.25))
    (kept,) = with_totals([mixture], np.array([10.0]), {}, OFFSETS)
    assert kept.shares.tolist() == mixture.shares.tolist()
    (kept,) = with_totals([mixture], np.array([0.0]), {0: np.ones(4)}, OFFSETS)
    assert kept.shares.tolist() == mixture.shares.tolist()


def test_a_population_meets_the_totals_of_a_number() -> None:
    """Two leaves, one of which holds the upper half of the cells: what leaves say of the halves stays."""
    allowed = np.array([[True, True, False, False], [False, False, True, True]])
    population = LeafProductModel(
        weights=np.array([[30.0, 10.0], [20.0, 40.0]]),
        nodes=np.array([1, 2]),
        region=np.array([0, 0]),
        allowed=(allowed,),
        shares=(np.full((1, 4, 2), 0.25),),
    )
    met = population.meeting([np.array([30.0, 10.0, 60.0, 0.0])])
    inside = np.where(allowed[:, :, np.newaxis], met.shares[0], 0.0)
    inside = inside / inside.sum(axis=1, keepdims=True)
    totals = np.einsum("lck,lk->c", inside, met.weights)
    assert totals == pytest.approx([30, 10, 60, 0], abs=0.01)
    assert population.meeting([np.zeros(0)]).shares[0] is population.shares[0]
    assert population.meeting([np.zeros(4)]).shares[0] is population.shares[0]
