"""Cells of numbers that are multiples of a step."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.number_bins import Grid
from anonkit.domains.rounding_grid import WholeValues, exact_step
from anonkit.errors import ParameterError, ReleaseFormatError

STEPS = st.sampled_from([Fraction(1), Fraction(1, 100), Fraction(1, 4), Fraction(5), Fraction(1000), Fraction(3, 10)])
VALUES = st.builds(
    lambda step, low, more: WholeValues(step=step, low=low, high=low + more),
    STEPS,
    st.integers(-(10**6), 10**6),
    st.integers(1, 400),
)


def grid_of(values: WholeValues, cells: int) -> Grid:
    """At most so many cells over values."""
    return Grid.over(values.bounds, min(cells, values.size), has_missing=True, values=values)


@given(VALUES, st.integers(1, 100), st.integers(1, 30))
def test_a_cell_is_shown_as_a_value_of_its_own(values: WholeValues, cells: int, band: int) -> None:
    """Decoding and encoding gives the same code, on the grid and widened by a band, and every value has a cell."""
    grid = grid_of(values, cells)
    for each in (grid, grid.widened(band)):
        codes = np.arange(each.size)
        assert np.array_equal(each.encode(each.decode(codes)), codes)
        steps = [Fraction(str(shown)) / values.step for shown in each.midpoints().tolist()]
        assert all(step.denominator == 1 for step in steps)
        assert each.lower <= each.midpoints()[0]
        assert each.midpoints()[-1] <= each.upper
    own = np.array([values.number(step) for step in range(values.low, values.high + 1)])
    assert set(grid.encode(own).tolist()) == set(range(grid.cells))


@given(VALUES, st.integers(1, 100))
def test_cells_hold_the_values_that_equal_cells_of_the_bounds_hold(values: WholeValues, cells: int) -> None:
    """Only where cells end and how they are shown differs from a grid of any numbers."""
    grid = grid_of(values, cells)
    steps = np.arange(values.size)
    own = np.array([values.number(step) for step in range(values.low, values.high + 1)])
    equal = [min(step * grid.cells // (values.size - 1), grid.cells - 1) for step in steps.tolist()]
    assert grid.encode(own).tolist() == equal


@given(VALUES, st.integers(1, 40), st.integers(1, 20))
def test_finer_cells_divide_cells(values: WholeValues, cells: int, parts: int) -> None:
    """Each cell of a finer grid has values of one cell of the coarser."""
    grid = grid_of(values, cells)
    finer = grid.finer(parts)
    own = np.array([values.number(step) for step in range(values.low, values.high + 1)])
    pairs = set(zip(finer.encode(own).tolist(), grid.encode(own).tolist(), strict=True))
    assert len(pairs) == finer.cells <= values.size


def test_a_number_that_is_no_value_is_rounded_by_itself() -> None:
    """It counts as the value next to it; halfway between two as the upper one."""
    grid = Grid.over((0, 3), 4, has_missing=False, values=WholeValues.within(0, 3, 1))
    assert grid.encode(np.array([-9, 0.49, 0.5, 1.4, 2.5, 7.2])).tolist() == [0, 0, 1, 1, 3, 3]


def test_middles_of_two_values_do_not_move_a_mean() -> None:
    """Of two middle values the lower and the upper one take turns."""
    grid = Grid.over((0, 7), 4, has_missing=False, values=WholeValues.within(0, 7, 1))
    assert grid.edges().tolist() == [0, 1.5, 3.5, 5.5, 7]
    assert grid.midpoints().tolist() == [0, 3, 4, 7]
    assert grid.midpoints().mean() == np.arange(8).mean()


def test_decimals_are_exact() -> None:
    """Three tenths are shown as 0.3, and a step of 0.01 has 101 values from 0 to 1."""
    values = WholeValues.within(0.1, 0.5, 0.1)
    grid = Grid.over((0.1, 0.5), 5, has_missing=False, values=values)
    assert grid.midpoints().tolist() == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert WholeValues.within(0, 1, 0.01).size == 101
    assert not grid.are_integers
    assert Grid.from_params(grid.to_params()) == grid


def test_params_say_the_step() -> None:
    """A grid of integers comes back from its params; one of any numbers has no step."""
    grid = Grid.over((0.4, 9.7), 4, has_missing=True, values=WholeValues.within(0.4, 9.7, 1))
    assert grid.to_params() == {"bounds": [1.0, 9.0], "cells": 4, "step": 1, "has_missing": True}
    assert Grid.from_params(grid.to_params()) == grid
    assert "step" not in Grid(lower=0, upper=1, cells=2).to_params()


@pytest.mark.parametrize(
    ("low", "high", "step"), [(0.1, 0.9, 1), (0, 1, 0), (0, 1, -1), (0, 2.0**53, 1), (0, 1, float("nan"))]
)
def test_impossible_steps_are_refused(low: float, high: float, step: float) -> None:
    """No two multiples within the bounds, no step, or more than doubles distinguish."""
    with pytest.raises(ParameterError):
        WholeValues.within(low, high, step)


def test_impossible_grids_are_refused() -> None:
    """More cells than values, bounds that are no values, and a step of another kind."""
    values = WholeValues.within(0, 3, 1)
    with pytest.raises(ParameterError, match="no more cells"):
        Grid(lower=0, upper=3, cells=5, values=values)
    with pytest.raises(ParameterError, match="first and the last"):
        Grid(lower=0, upper=4, cells=2, values=values)
    with pytest.raises(ReleaseFormatError):
        Grid.from_params({"bounds": [0, 3], "cells": 2, "step": [], "has_missing": False})
    with pytest.raises(ParameterError):
        exact_step(True)
