"""Round points between two values.

Cells of the H3 grid as integers: the arithmetic agrees with the library.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise

import h3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.checks.recoded_labels import numbers_of
from anonkit.domains.named_parts import (
    GridParts,
    cell_name,
    code_of_index,
    index_of_code,
    point_from_text,
    point_text,
    resolution_of,
    roundest_between,
)
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


NUMBERS = st.integers(-(10**9), 10**9) | st.floats(-1e12, 1e12, allow_nan=False, width=64)


@given(st.lists(NUMBERS, min_size=2, max_size=2, unique=True).map(sorted))
def test_a_round_number_separates_its_neighbours(pair: list[float]) -> None:
    """The point lies above the lower value and not above the higher one."""
    low, high = pair
    point = roundest_between(low, high)
    assert low < point <= high


@given(st.lists(st.dates(), min_size=2, max_size=2, unique=True).map(sorted))
def test_a_round_date_separates_its_neighbours(pair: list[date]) -> None:
    """Dates are separated like numbers."""
    point = roundest_between(*pair)
    assert pair[0] < point <= pair[1]


@given(st.lists(st.datetimes(), min_size=2, max_size=2, unique=True).map(sorted))
def test_a_round_timestamp_separates_its_neighbours(pair: list[datetime]) -> None:
    """Timestamps are separated like numbers."""
    point = roundest_between(*pair)
    assert pair[0] < point <= pair[1]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (19, 23, 20),
        (39, 40, 40),
        (4787, 5013, 5000),
        (0.12, 0.19, 0.15),
        (-7, 3, 0),
        (-31, -29, -30),
        (0, 1, 1),
        (date(2001, 3, 9), date(2003, 5, 2), date(2002, 1, 1)),
        (date(1951, 3, 9), date(1968, 5, 2), date(1960, 1, 1)),
        (date(2001, 3, 9), date(2001, 5, 2), date(2001, 4, 1)),
        (date(2001, 3, 9), date(2001, 3, 12), date(2001, 3, 10)),
        (2**60 + 1, 2**60 + 3, 2**60 + 2),
        (Decimal("12345678901234567890.24"), Decimal("12345678901234567890.26"), Decimal("12345678901234567890.25")),
    ],
)
def test_the_point_is_the_roundest(low: float, high: float, expected: float) -> None:
    """Few digits are preferred: multiples of 5, 2 or 1 times a power of ten, firsts of years and months."""
    assert roundest_between(low, high) == expected


@given(NUMBERS | st.dates() | st.datetimes())
def test_a_point_reads_back_from_its_text(point: float) -> None:
    """Text and point are the same thing."""
    again = point_from_text(point_text(point))
    assert again == point
    assert type(again) is type(point)


def test_a_text_that_is_no_point_is_refused() -> None:
    """Damaged parameters do not become cut points."""
    with pytest.raises(ValueError, match="not a point"):
        point_from_text("about forty")
