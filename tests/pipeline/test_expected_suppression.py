"""The owner's forecast of suppression in the next batch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.datasets import bank_customers
from anonkit.pipeline.suppression import expected_small_share

SIZES = st.lists(st.tuples(st.integers(2, 60), st.integers(1, 20)), min_size=1, max_size=6)


@given(SIZES, st.integers(2, 12), st.integers(0, 30), st.integers(0, 2**32))
def test_the_expected_share_is_that_of_groups_drawn_again(
    sizes: list[tuple[int, int]], k: int, suppressed: int, seed: int
) -> None:
    """The mean over groups drawn anew, each by Poisson's law, is the expected share."""
    means = np.repeat([size for size, _ in sizes], [number for _, number in sizes])
    drawn = np.random.default_rng(seed).poisson(means, (4_000, means.size))
    small = np.where(drawn < k, drawn, 0).sum(axis=1) + suppressed
    total = int(means.sum()) + suppressed
    error = small.std() / np.sqrt(4_000) / total

    assert abs(expected_small_share(sizes, k, suppressed) - small.mean() / total) <= 6 * error + 1e-3


def test_an_empty_table_has_nothing_to_expect() -> None:
    """No rows, no share; large groups are never too small."""
    assert expected_small_share([], 5, 0) == 0
    assert expected_small_share([(100_000, 3)], 5, 0) < 1e-12


@pytest.mark.slow
def test_the_owner_is_told_what_the_next_batch_will_ask() -> None:
    """For k-anonymous releases, beside the share that may be left out; in no file of the release."""
    release = anonkit.release(bank_customers(800, seed=4), method="mondrian", k=5, target="customer_value")

    assert 0 < release.owner["next_batch"]["expected_share_in_groups_too_small"] < 0.3
    assert release.owner["next_batch"]["share_that_may_be_left_out"] == 0
    assert "next_batch" not in str(release.report)
    assert "next_batch" not in str(release.params)
