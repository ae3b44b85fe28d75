"""Counts that could be those of a table, from noisy ones."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.estimators.consistent_counts import consistent_counts
from tests.published.jobs_and_ages import jobs_and_ages


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_consistent_counts_are_possible_counts(seed: int) -> None:
    """Not below 0, and of one class size for all attributes."""
    tables = jobs_and_ages(seed, epsilon=0.05)
    sizes = np.maximum(tables.class_sizes[0], 0)
    for table in tables.tables:
        counts = consistent_counts(tables, table)
        assert counts.min() >= 0
        assert np.allclose(counts.sum(axis=1), sizes)
