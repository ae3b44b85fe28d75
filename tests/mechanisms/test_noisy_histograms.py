"""Histograms with noise, and rows drawn from them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.budget_rules.forest_rule import table_weights
from anonkit.estimators.consistent_counts import consistent_counts
from anonkit.mechanisms.accounting import units_of
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.mechanisms.noisy_histograms import noisy_tables, rows_by_class, rows_of
from anonkit.randomness import Randomness
from tests.published.jobs_and_ages import CLASSES, JOBS, jobs_and_ages


def test_larger_tables_get_more_of_the_budget() -> None:
    """A table of eight columns gets twice what one column gets."""
    one, eight = table_weights([1, 8])
    assert float(eight / one) == pytest.approx(2)


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_drawn_rows_have_the_tables_they_are_drawn_from(seed: int) -> None:
    """Every cell of class x attribute is met within one row of the consistent counts, rounding of the sizes apart."""
    tables = jobs_and_ages(seed)
    randomness = Randomness.seeded(seed)
    drawn = rows_of(tables, rows_by_class(tables, UniformStream(randomness)), randomness)
    for table, codes in zip(tables.tables, drawn.codes, strict=True):
        found = np.zeros(table.counts.shape)
        np.add.at(found, (drawn.labels, codes), 1)
        assert np.abs(found - consistent_counts(tables, table)).max() <= 2
    assert abs(drawn.labels.size - np.maximum(tables.class_sizes[0], 0).sum()) <= 1


def test_nothing_to_count_draws_nothing_or_what_the_noise_says() -> None:
    """Empty tables give a handful of rows, never a failure."""
    empty = noisy_tables(
        ("t", CLASSES, np.zeros(2, dtype=np.int64), units_of(0.5)),
        [("job", JOBS, np.zeros((2, 4), dtype=np.int64), units_of(0.5))],
        Randomness.seeded(3),
    )
    assert rows_by_class(empty, UniformStream(Randomness.seeded(3))).sum() < 60
