"""The width of discrete Gaussian noise in a sum, against its law as the checks compute it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from anonkit.checks.central_noise import Noise, law_of_noise
from anonkit.published.noise_intervals import gaussian_margin
from anonkit.published.noisy_tables import GAUSSIAN, noise_variance

ONE = 1 << 52


def beyond(rate: int, draws: int, far: float) -> float:
    """The chance that a sum of draws is further from 0 than so far."""
    law = law_of_noise((Noise(rate, draws, True),))
    assert law is not None
    return float(law[math.floor(far) + 1 :].sum())


@pytest.mark.parametrize("chance", [0.5, 0.2, 0.05, 1e-3])
@pytest.mark.parametrize("rate", [ONE * 8, ONE, ONE // 7, ONE // 100, ONE // 30_000])
def test_a_single_draw_has_the_interval_of_its_law(rate: int, chance: float) -> None:
    """The least integer that is passed no more often."""
    far = gaussian_margin(((1.0, rate, 1),), chance)
    assert beyond(rate, 1, far) <= chance
    assert far == 0 or beyond(rate, 1, far - 1) > chance
    assert gaussian_margin(((0.5, rate, 1),), chance) == far / 2


@pytest.mark.parametrize("chance", [0.2, 0.05, 1e-3])
@pytest.mark.parametrize("draws", [2, 9, 60])
@pytest.mark.parametrize("rate", [ONE * 2, ONE // 6, ONE // 9, ONE // 400, ONE // 30_000])
def test_a_sum_is_passed_no_more_often_than_said(rate: int, draws: int, chance: float) -> None:
    """Narrow laws are bounded by their moments; of wide ones no more is given away than a row either way."""
    far = gaussian_margin(((1.0, rate, draws),), chance)
    assert beyond(rate, draws, far) <= chance
    if rate < ONE // 8:
        assert beyond(rate, draws, far - 2.5) > chance


def test_a_weighted_sum_is_passed_no_more_often_than_said() -> None:
    """Two sums with noise of different rates, a third and two thirds: by all pairs of outcomes."""
    parts = ((1 / 3, ONE // 50, 3), (2 / 3, ONE // 20, 2))
    first, second = (law_of_noise((Noise(rate, draws, True),)) for _, rate, draws in parts)
    assert first is not None
    assert second is not None
    signed = [np.concatenate([law[60:0:-1] / 2, law[:1], law[1:61] / 2]) for law in (first, second)]
    at = np.arange(-60, 61)
    sums = np.abs(at[:, np.newaxis] / 3 + at[np.newaxis, :] * 2 / 3)
    chances = np.outer(*signed)
    far = gaussian_margin(parts, 0.05)
    assert 0.02 < chances[sums > far].sum() <= 0.05


def test_noise_of_enormous_width_needs_no_table() -> None:
    """A single draw is bounded like a sum, and hardly wider than a normal one."""
    rate = 1 << 13
    far = gaussian_margin(((1.0, rate, 1),), 0.05)
    assert far == pytest.approx(1.96 * math.sqrt(noise_variance(rate, GAUSSIAN)), rel=1e-4)
