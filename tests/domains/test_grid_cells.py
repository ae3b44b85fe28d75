"""Cells of the H3 grid as integers: the arithmetic agrees with the library."""

from __future__ import annotations

from itertools import pairwise

import h3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.checks.recoded_labels import numbers_of
from anonkit.domains.grid_cells import GridParts, cell_name, code_of_index, index_of_code, resolution_of
from anonkit.errors import ParameterError

LATITUDES, LONGITUDES = st.floats(-90, 90), st.floats(-180, 180)


@given(latitude=LATITUDES, longitude=LONGITUDES, resolution=st.integers(0, 15))
def test_numbers_and_names_of_cells_are_those_of_h3(latitude: float, longitude: float, resolution: int) -> None:
    """There and back, and every ancestor is a division by a power of seven; the checker's own reading agrees."""
    name = h3.latlng_to_cell(latitude, longitude, resolution)
    code = code_of_index(int(name, 16))
    assert (index_of_code(code, resolution), resolution_of(int(name, 16))) == (int(name, 16), resolution)
    assert cell_name(code, resolution) == name
    for coarser in range(resolution + 1):
        width = 7 ** (resolution - coarser)
        parent = cell_name(code // width, coarser)
        assert parent == h3.cell_to_parent(name, coarser)
        assert numbers_of(parent, resolution) == (code // width * width, (code // width + 1) * width)


@given(latitude=LATITUDES, longitude=LONGITUDES)
def test_cells_are_nested_intervals(latitude: float, longitude: float) -> None:
    """k-anonymity needs it: all of a cell's children are in it, by number."""
    parts = GridParts(resolutions=(9, 7, 4, 0))
    code = code_of_index(int(h3.latlng_to_cell(latitude, longitude, 9), 16))
    ends = [parts.part(code, level)[:2] for level in range(parts.n_levels)]
    for (low, high), (below, above) in pairwise(ends):
        assert below <= low < high <= above  # type: ignore[operator]
    assert [parts.numbers([low], level)[0] for level, (low, _) in enumerate(ends)] == [
        parts.numbers([code], level)[0] for level in range(parts.n_levels)
    ]


@pytest.mark.parametrize("index", [0, 1 << 63, 0x871F1D489FFFFFF | 1 << 63, 0x87FFFFFFFFFFFFF, 0x871F1D4897FFFFF])
def test_what_is_no_cell_has_no_number(index: int) -> None:
    """No mode, a high bit, a base cell that does not exist, a digit behind the last."""
    with pytest.raises(ValueError, match="no cell"):
        code_of_index(index)


@pytest.mark.parametrize("resolutions", [(), (16,), (3, 5), (5, 5), (-1,)])
def test_resolutions_are_finest_first(resolutions: tuple[int, ...]) -> None:
    """From 15 to 0, each once."""
    with pytest.raises(ParameterError, match="resolutions"):
        GridParts(resolutions=resolutions)
