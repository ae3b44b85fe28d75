# SPDX-License-Identifier: Apache-2.0
"""Normal numbers from uniform ones: to the last digits, everywhere a random word can lead."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from anonkit.mechanisms.normal_quantile import normal_quantile

SMALLEST = 2.0**-53
"""The share that the word 0 represents."""


def test_it_is_the_inverse_of_the_distribution_function() -> None:
    """Against another library, on a fine grid and far into both tails, within 4e-15 relative error."""
    tail = np.geomspace(SMALLEST, 0.5, 20_001)[:-1]
    shares = np.concatenate([np.linspace(0, 1, 100_001)[1:-1], tail, 1 - tail])
    known = ndtri(shares)
    assert np.allclose(normal_quantile(shares), known, rtol=4e-15, atol=1e-15)


@given(st.lists(st.floats(SMALLEST, 1 - SMALLEST), min_size=1, max_size=20))
def test_a_number_does_not_depend_on_its_neighbours(shares: list[float]) -> None:
    """Alone or in an array, to the last bit; and it is the number of the standard library."""
    together = normal_quantile(np.array(shares))
    assert together.tolist() == [float(normal_quantile(np.array([share]))[0]) for share in shares]
    assert np.allclose(together, [NormalDist().inv_cdf(share) for share in shares], rtol=1e-13, atol=1e-15)


def test_both_sides_mirror_each_other() -> None:
    """Shares p and 1 - p lie at -x and x; one half at 0."""
    shares = (np.arange(1, 5_000) / 10_000).round(4)
    assert np.allclose(normal_quantile(shares), -normal_quantile(1 - shares), rtol=1e-11)
    assert normal_quantile(np.array([0.5])).tolist() == [0.0]
