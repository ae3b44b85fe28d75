"""Counts that could be those of a table, from noisy ones."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.domains.attribute_domains import Categories, Grid
from anonkit.estimators.consistent_counts import consistent_counts
from anonkit.mechanisms.accounting import units_of
from anonkit.mechanisms.noisy_histograms import noisy_tables
from anonkit.published.noisy_tables import NoisyTables
from anonkit.randomness import Randomness

CLASSES = Categories(values=("no", "yes"))
JOBS = Categories(values=("a", "b", "c"), has_missing=True)
AGES = Grid(lower=0, upper=10, cells=5)


def _tables(seed: int = 1, epsilon: float = 0.5) -> NoisyTables:
    rate = units_of(epsilon)
    jobs = np.array([[40, 30, 20, 10], [5, 10, 15, 20]])
    ages = np.array([[20] * 5, [10] * 5])
    return noisy_tables(
        ("t", CLASSES, np.array([100, 50]), rate),
        [("job", JOBS, jobs, rate), ("age", AGES, ages, 2 * rate)],
        Randomness.seeded(seed),
    )


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_consistent_counts_are_possible_counts(seed: int) -> None:
    """Not below 0, and of one class size for all attributes."""
    tables = _tables(seed, epsilon=0.05)
    sizes = np.maximum(tables.class_sizes[0], 0)
    for table in tables.tables:
        counts = consistent_counts(tables, table)
        assert counts.min() >= 0
        assert np.allclose(counts.sum(axis=1), sizes)
