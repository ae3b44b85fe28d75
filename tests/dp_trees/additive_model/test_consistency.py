"""Counts that agree: one total by class and region, nearer the truth than any of its parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.dp_trees.microdata import AgreedCounts, rows_by_class
from tests.dp_trees.additive_model.test_synthetic_population import FOREST, HISTOGRAMS


@given(st.integers(0, 10_000), st.floats(0.1, 1000), st.floats(0.1, 1000))
def test_leaves_and_histograms_add_up_to_the_same(seed: int, scale: float, count_scale: float) -> None:
    """In every region, for every class, whatever the noise."""
    draw = np.random.default_rng(seed)
    for regions in ((0,), (1, 2)):
        noisy = [
            np.rint(np.repeat(one, len(regions), axis=0) + draw.laplace(0, scale)).astype(np.int64)
            for one in HISTOGRAMS
        ]
        agreed = AgreedCounts.of(FOREST, regions, noisy, scale, count_scale)
        for at, region in enumerate(regions):
            leaves = agreed.leaves[0][[1, 2] if region == 0 else [region]].sum(axis=0)
            for one in agreed.histograms:
                assert one[at].sum(axis=0) == pytest.approx(leaves)


def test_counts_that_agree_already_stay() -> None:
    """And the inputs are not written to."""
    leaves = rows_by_class(FOREST.trees[0])
    exact = [np.zeros((1, 3, 2), dtype=np.int64), np.zeros((1, 4, 2), dtype=np.int64)]
    for one in exact:
        one[0, 0] = leaves.sum(axis=0)
    before = [one.copy() for one in exact]
    agreed = AgreedCounts.of(FOREST, (0,), exact, 5.0, 3.0)
    assert agreed.leaves[0] == pytest.approx(leaves)
    for one, old, given_ in zip(agreed.histograms, before, exact, strict=True):
        assert one == pytest.approx(old)
        assert (given_ == old).all()


def test_the_total_has_less_noise_than_its_parts() -> None:
    """Over many draws: nearer the truth than the sum of any histogram is."""
    draw = np.random.default_rng(2)
    true = [np.full((1, 3, 2), 200), np.full((1, 4, 2), 150)]
    errors = []
    for _ in range(300):
        noisy = [np.rint(one + draw.laplace(0, 30, one.shape)).astype(np.int64) for one in true]
        agreed = AgreedCounts.of(FOREST, (0,), noisy, 30.0, 30.0)
        sums = [agreed.histograms[0][0].sum(axis=0), *(one[0].sum(axis=0) for one in noisy)]
        errors.append([np.abs(one - 600).mean() for one in sums])
    of_agreed, *of_parts = np.mean(errors, axis=0)
    assert of_agreed < 0.8 * min(of_parts)
