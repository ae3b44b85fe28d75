"""Intervals and grids of published aggregates, worked out twice: by the check, and by the code that published them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from anonkit.checks import aggregate_intervals
from anonkit.checks.aggregate_intervals import NumberSteps, StatedMeasurement, broken_lines
from anonkit.checks.number_cells import multiples_of
from anonkit.checks.query_changes import change_of
from anonkit.domains.rounding_grid import RoundingGrid, WholeValues
from anonkit.errors import ParameterError
from anonkit.published import noise_intervals


def _halves(values: list[int], mean: tuple[float, float, float]) -> list[str]:
    """Return the failures for the mean of one group, at noise of scale 1,000 steps on a grid of 0 to 1,000,000."""
    grid = NumberSteps(1, 0, 0, 10**6)
    rate = int(2**52 / 1000)
    own = StatedMeasurement(kind="halves", by=(), sizes=(), steps=grid, rate=rate, values=np.array([values]))
    total, count = float(values[0]), sum(values) / 10**6
    far = own.scale * noise_intervals.margin(((1.0, 1),), 0.05)
    wide = own.scale * noise_intervals.margin(((1.0, 2),), 0.05) / 10**6
    shown = {"sum": (total, total - far, total + far), "count": (count, count - wide, count + wide), "mean": mean}
    return list(broken_lines(own, own.values[0], 1, (), shown, 0.95))


def test_a_share_beyond_its_range_is_the_bound_itself() -> None:
    """If no share fits the noisy halves, the interval is the value alone, and nothing wider."""
    scale = noise_intervals.scale_of(int(2**52 / 1000))
    low, high = noise_intervals.ratio_bounds(-9e5, 5e6, 1, scale, 0.05)
    assert (low, high) == (0.0, pytest.approx(0.0, abs=1e-12))
    assert _halves([-900_000, 5_000_000], (0.0, 0.0, 0.0)) == []
    assert _halves([-900_000, 5_000_000], (0.0, 0.0, 1000.0)) == ["intervals"]
    assert _halves([0, 5_000_000], (0.0, 0.0, 1e6)) == ["intervals"]


@pytest.mark.parametrize("draws", [1, 2, 9])
@pytest.mark.parametrize("rate", [1e-4, 0.05, 1.0, 20.0])
def test_margins_of_counts_are_the_smallest_that_hold(rate: float, draws: int) -> None:
    """Both codes give the same whole margin of a sum of draws, whether its law is tabulated or not."""
    units = int(rate * 2**52)
    own = StatedMeasurement(
        kind="counts", by=(), sizes=(), steps=None, rate=units, values=np.zeros((1, 1), dtype=np.int64)
    )
    far = noise_intervals.count_margin(units, draws, 0.95)
    assert list(broken_lines(own, np.array([7]), draws, (), {"count": (7.0, 7.0 - far, 7.0 + far)}, 0.95)) == []
    if rate < 20:
        wrong = max(2, far // 4)
        shown = {"count": (7.0, 7.0 - far + wrong, 7.0 + far)}
        assert list(broken_lines(own, np.array([7]), draws, (), shown, 0.95)) == ["intervals"]


@pytest.mark.parametrize(
    "parts",
    [
        ((1.0, 1),),
        ((1.0, 4),),
        ((0.3, 1), (0.7, 1)),
        ((0.5, 1), (0.5, 1)),
        ((0.5, 1), (0.500001, 1)),
        ((0.25, 90), (0.75, 3)),
        ((0.0, 5),),
    ],
)
def test_two_codes_know_the_law_of_weighted_noise(parts: tuple[tuple[float, int], ...]) -> None:
    """Margin and tail by inversion at points, by transform of the whole law, and by draws."""
    margin = noise_intervals.margin(parts, 0.05)
    assert margin == pytest.approx(aggregate_intervals.margin(parts, 0.05), rel=1e-3)
    rng = np.random.default_rng(1)
    drawn = sum(weight * rng.laplace(size=(40_000, n)).sum(axis=1) for weight, n in parts)
    if margin:
        assert noise_intervals.tail(parts, margin) == pytest.approx(aggregate_intervals.tail(parts, margin), rel=1e-2)
        assert np.mean(np.abs(drawn) > margin) == pytest.approx(0.05, abs=0.006)
    assert noise_intervals.tail(parts, 0.0) == 1.0


def test_noise_of_whole_numbers_is_nearer_to_zero_than_its_margin_says() -> None:
    """The bound by Laplace variables covers the discrete law at every rate, also where it is nearly always 0."""
    for rate in (0.01, 0.3, 2.0, 8.0):
        decay = float(np.exp(-rate))
        place = np.arange(-4000, 4001)
        law = (1 - decay) / (1 + decay) * decay ** np.abs(place)
        twice = np.convolve(law, law, mode="same")
        scale = noise_intervals.scale_of(int(rate * 2**52))
        for beyond in (0.5, 1.0, 3.3, 10.0, 40.0):
            true = twice[np.abs(place) > beyond].sum()
            assert true <= noise_intervals.tail(((1.0, 2),), beyond / scale) + 1e-12


def test_a_grid_of_numbers_is_one_grid_to_both_codes() -> None:
    """Bounds of any size, of few or many places; integers and short decimals keep their value."""
    for low, high in ((17, 90), (-2.5, 40), (0, 1), (-1e-3, 2e-3), (1e6, 1e6 + 1), (-3e8, 5), (0.1, 0.3)):
        fine = RoundingGrid.fine(low, high)
        theirs = NumberSteps.over(low, high, 1, fine.exponent)
        assert theirs.to_params() == fine.to_params()
        assert change_of(theirs.query("sum")) == fine.largest <= 10**10 + 1
        assert change_of(theirs.query("halves")) == fine.steps
        for most in (3, 10, 128):
            grid = RoundingGrid.of_points(low, high, most)
            assert 2 <= grid.places <= most
            assert grid.number(grid.low) <= low
            assert grid.number(grid.high) >= high
    assert [RoundingGrid.fine(17, 90).number(step) for step in RoundingGrid.fine(17, 90).rounded(np.array([40.0]))] == [
        40
    ]
    assert RoundingGrid.fine(0, 1e12).rounded(np.array([np.nan, -5.0])).tolist() == [0, 0]
    with pytest.raises(ParameterError, match="two places"):
        RoundingGrid(mantissa=3, exponent=0, low=0, high=0)
    for low, high, step in ((0, 9, 1), (17, 90, 1), (-30, 5000, 3), (0, 2, 0.25), (0, 99999, 1), (-7, -1, 0.5)):
        own = WholeValues.within(low, high, step)
        for most in (8, 20, 4096):
            grid = RoundingGrid.of_points(*own.bounds, most, own)
            told = multiples_of({"step": step}, own.bounds)
            assert told is not None
            assert NumberSteps.of_multiples(told, most).to_params() == grid.to_params()
            assert 2 <= grid.places <= most
            steps = [Fraction(str(grid.number(at))) / own.step for at in range(grid.low, grid.high + 1)]
            assert all(at.denominator == 1 for at in steps)  # every place is a value that the column may hold
            assert steps[0] <= own.low < own.high <= steps[-1]
