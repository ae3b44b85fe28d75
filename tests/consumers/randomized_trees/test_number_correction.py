"""Distributions behind noisy numbers, and the cells the numbers are dealt to."""

from __future__ import annotations

import numpy as np
import pytest

from anonkit.consumers.tree_growth import corrected_cells, number_shares
from anonkit.domains.number_bins import Grid
from anonkit.errors import ParameterError
from anonkit.mechanisms.randomizers import NumberRandomizer
from anonkit.published.channels.number_channels import PUBLISHED, ContinuousDraw, TransformedResponse

KEY = bytes(range(32))
N = 20_000


def two_clusters() -> np.ndarray:
    """Numbers around 3 and around 7."""
    rng = np.random.default_rng(0)
    return rng.normal(3 + 4 * rng.integers(0, 2, N), 1)


@pytest.mark.parametrize("shape", ["normal", "uniform"])
def test_a_noisy_distribution_is_reconstructed(shape: str) -> None:
    """Two clusters hidden by noise of the same size come back; the noisy values show one heap."""
    x = two_clusters()
    noise = TransformedResponse(
        multiplier=ContinuousDraw(mean=1, variance=0),
        offset=ContinuousDraw(mean=0, variance=4, shape=shape),  # type: ignore[arg-type]
    )
    grid = Grid(lower=0, upper=10, cells=20)
    noisy = NumberRandomizer(noise).randomize(x, key=KEY, stream=0)
    truth = np.bincount(grid.encode(x), minlength=20) / N
    found = number_shares(noisy, noise, grid)
    assert found.sum() == pytest.approx(1)
    assert np.abs(found - truth).sum() / 2 < 0.15
    assert np.abs(np.bincount(grid.encode(noisy), minlength=20) / N - truth).sum() / 2 > 0.2


def test_a_multiplied_distribution_is_reconstructed() -> None:
    """Of a centred trr release, whose noise grows with the distance from the centre."""
    x = two_clusters()
    noise = TransformedResponse.centred(*PUBLISHED["N(1,1)"], (0.0, 10.0))
    grid = Grid(lower=0, upper=10, cells=10)
    noisy = NumberRandomizer(noise).randomize(x, key=KEY, stream=0)
    truth = np.bincount(grid.encode(x), minlength=10) / N
    found = number_shares(noisy, noise, grid)
    seen = np.bincount(grid.encode(noisy), minlength=10) / N
    assert np.abs(found - truth).sum() < 0.5 * np.abs(seen - truth).sum()


def test_numbers_are_dealt_in_order_within_each_group() -> None:
    """Each group has the cells of its own distribution, and a larger number never a lower cell."""
    x = two_clusters()
    groups = (x > 5).astype(np.int64)
    noise = TransformedResponse(
        multiplier=ContinuousDraw(mean=1, variance=0), offset=ContinuousDraw(mean=0, variance=9.0)
    )
    grid = Grid(lower=0, upper=10, cells=10)
    noisy = NumberRandomizer(noise).randomize(x, key=KEY, stream=0)
    cells = corrected_cells(noisy, groups, noise, grid)
    for group in (0, 1):
        rows = groups == group
        assert (np.diff(cells[rows][np.argsort(noisy[rows], kind="stable")]) >= 0).all()
        expected = number_shares(noisy[rows], noise, grid)
        assert np.allclose(np.bincount(cells[rows], minlength=10) / rows.sum(), expected, atol=1e-3)


def test_uniform_noise_that_is_multiplied_is_refused() -> None:
    """The answer then has neither of the two distributions."""
    noise = TransformedResponse(
        multiplier=ContinuousDraw(mean=1, variance=1), offset=ContinuousDraw(mean=0, variance=1, shape="uniform")
    )
    with pytest.raises(ParameterError, match="normal"):
        number_shares(np.zeros(3), noise, Grid(lower=0, upper=1, cells=2))
