"""Round points between two values."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.named_parts import point_from_text, point_text, roundest_between

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
