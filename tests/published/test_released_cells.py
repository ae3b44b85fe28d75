"""Places of numbers in their cells: each of them as often, within its cell, and none where a column has its own."""

from __future__ import annotations

import numpy as np
import pytest

from anonkit.domains.number_bins import Categories, Grid
from anonkit.domains.rounding_grid import WholeValues
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.published.released_cells import PLACES_IN_A_CELL, cells_of_places, places_of_cells, shown_domain
from anonkit.randomness import Randomness

AGES = WholeValues.within(17, 90, 1)
GAINS = WholeValues.within(0, 99_999, 1, spikes=[0, 99_999])
GRIDS = {
    "any numbers": Grid.over((0.0, 1.0), 4, has_missing=True, values=None),
    "few integers": Grid.over((17.0, 90.0), 16, has_missing=False, values=AGES),
    "integers with spikes": Grid.over((0.0, 99_999.0), 16, has_missing=True, values=GAINS),
}


@pytest.mark.parametrize("domain", GRIDS.values(), ids=GRIDS.keys())
def test_rows_show_each_place_of_their_cell_as_often(domain: Grid) -> None:
    """Missing stays missing, and no row leaves its cell."""
    cells = np.repeat(np.arange(domain.size), 20_000)
    shown = shown_domain(domain)
    places = places_of_cells(cells, domain, shown, UniformStream(Randomness.seeded(1)))
    assert (cells_of_places(domain, shown)[places] == cells).all()
    numbers = shown.decode(places)
    assert isinstance(numbers, np.ndarray)
    assert (domain.encode(numbers) == cells).all()
    found = np.bincount(places, minlength=shown.size)
    expected = 20_000 / np.bincount(cells_of_places(domain, shown))[cells_of_places(domain, shown)]
    assert (np.abs(found - expected) <= 6 * np.sqrt(expected)).all()


def test_each_age_is_shown_where_cells_have_few() -> None:
    """Sixteen cells of 74 ages: the middle of each alone would leave 58 ages without a row."""
    shown = shown_domain(GRIDS["few integers"])
    assert isinstance(shown, Grid)
    assert shown.midpoints().tolist() == list(range(17, 91))


def test_a_cell_has_no_more_places_than_are_told_of() -> None:
    """A spike has one."""
    domain = GRIDS["integers with spikes"]
    counts = np.bincount(cells_of_places(domain, shown_domain(domain)))
    assert counts.max() <= PLACES_IN_A_CELL
    assert (counts[0], counts[domain.cells - 1]) == (1, 1)


def test_categories_are_shown_as_they_are() -> None:
    """So is a column that is released in the cells it was counted in, as older releases are."""
    jobs, ages = Categories(values=("cook", "nurse")), GRIDS["few integers"]
    codes, words = np.array([0, 1, 1]), UniformStream(Randomness.seeded(1))
    assert shown_domain(jobs) == jobs
    assert places_of_cells(codes, jobs, jobs, words) is codes
    assert places_of_cells(codes, ages, ages, words) is codes
    assert cells_of_places(jobs, jobs).tolist() == [0, 1]
    assert cells_of_places(ages, ages).tolist() == list(range(16))
