"""Parts of the calendar and of the day: nested, named after both ends, and those of pandas."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.calendar_parts import LEVELS, CalendarKind, CalendarParts, first_places, part_numbers
from anonkit.domains.named_parts import place
from anonkit.errors import ParameterError

DAYS = st.dates()
MOMENTS = st.datetimes()
TIMES = st.times()
POINTS = {CalendarKind.DATE: DAYS, CalendarKind.DATETIME: MOMENTS, CalendarKind.TIME: TIMES}
FREQUENCIES = {"day": "D", "month": "M", "quarter": "Q", "year": "Y"}
IN_PANDAS = st.dates(min_value=date(1700, 1, 1), max_value=date(2250, 12, 31))


def all_parts(kind: CalendarKind) -> CalendarParts:
    """Every level of a kind."""
    return CalendarParts(kind=kind, levels=LEVELS[kind])


@pytest.mark.parametrize("kind", CalendarKind)
@given(data=st.data())
def test_a_part_holds_its_value_and_lies_in_one_part_of_each_coarser_level(kind: CalendarKind, data: Any) -> None:
    """Low <= value < high, and both ends of a part are within the part above it: also in the years 1 and 9999."""
    parts = all_parts(kind)
    value = data.draw(POINTS[kind])
    inner: tuple[Any, Any] | None = None
    for level in range(parts.n_levels):
        low, high, _ = parts.part(value, level)
        assert place(low) <= place(value)
        assert high is None or place(value) < place(high)
        if inner is not None:
            assert place(low) <= place(inner[0])
            assert high is None or (inner[1] is not None and place(inner[1]) <= place(high))
        inner = (low, high)


@pytest.mark.parametrize("kind", CalendarKind)
@given(data=st.data())
def test_two_values_are_in_one_part_exactly_when_name_and_number_say_so(kind: CalendarKind, data: Any) -> None:
    """Names, numbers and first points define the same partition; numbers ascend with time."""
    parts = all_parts(kind)
    one, other = sorted([data.draw(POINTS[kind]), data.draw(POINTS[kind])])
    for level in range(parts.n_levels):
        numbers = parts.numbers([one, other], level).tolist()
        same = numbers[0] == numbers[1]
        assert numbers[0] <= numbers[1]
        assert same == (parts.part(one, level)[2] == parts.part(other, level)[2])
        assert same == (parts.part(one, level)[0] == parts.part(other, level)[0])


@pytest.mark.parametrize("kind", CalendarKind)
@given(data=st.data())
def test_first_places_are_where_parts_begin(kind: CalendarKind, data: Any) -> None:
    """Truncation by numbers agrees with the calendar of Python."""
    value = data.draw(POINTS[kind])
    parts = all_parts(kind)
    for level, name in enumerate(parts.levels):
        numbers = part_numbers(np.array([place(value)], dtype=np.int64), name)
        assert first_places(numbers, name).tolist() == [place(parts.part(value, level)[0])]


@given(day=IN_PANDAS)
def test_days_months_quarters_and_years_are_the_periods_of_pandas(day: date) -> None:
    """The same first and last day, and the same name, as `pandas.Period`."""
    parts = all_parts(CalendarKind.DATE)
    for level, name in enumerate(parts.levels[:-1]):
        period = pd.Period(day, freq=FREQUENCIES[name])
        low, high, text = parts.part(day, level)
        assert isinstance(high, date)
        assert (low, high - timedelta(days=1)) == (period.start_time.date(), period.end_time.date())
        assert text.replace("-Q", "Q") == str(period)


@given(moment=st.datetimes(min_value=datetime(1700, 1, 1), max_value=datetime(2250, 1, 1)))
def test_hours_are_the_periods_of_pandas(moment: datetime) -> None:
    """The hour of a moment, named by ISO 8601."""
    low, high, text = all_parts(CalendarKind.DATETIME).part(moment, 0)
    period = pd.Period(moment, freq="h")
    assert low == period.start_time.to_pydatetime()
    assert high == low + timedelta(hours=1)  # type: ignore[operator]
    assert text == period.strftime("%Y-%m-%dT%H")


def test_the_ends_of_the_calendar_and_of_the_day_are_open() -> None:
    """December 9999 and the last hour of the day have no part after them; the first decade begins with the year 1."""
    dates, times = all_parts(CalendarKind.DATE), all_parts(CalendarKind.TIME)
    assert [dates.part(date.max, level)[1] for level in range(5)] == [None] * 5
    assert dates.part(date(9, 5, 1), 4) == (date(1, 1, 1), date(10, 1, 1), "0000s")
    assert dates.part(date(987, 5, 1), 3)[2] == "0987"
    assert all_parts(CalendarKind.DATETIME).part(datetime.max, 0)[1] is None
    assert times.part(time(23, 59, 59), 0) == (time(23), None, "23:00-23:59")
    assert times.part(time(7), 1) == (time(6), time(12), "06:00-11:59")


@pytest.mark.parametrize("day", [date(2000, 2, 29), date(2024, 2, 29), date(1900, 2, 28), date(1899, 12, 31)])
def test_leap_days_and_days_before_1900_are_days_like_others(day: date) -> None:
    """February 2000 and 2024 have 29 days, February 1900 has 28; 1899 is a year of the 1890s."""
    parts = all_parts(CalendarKind.DATE)
    assert parts.part(day, 0)[1] == day + timedelta(days=1)
    assert parts.part(day, 1)[1] == date(day.year + day.month // 12, day.month % 12 + 1, 1)
    assert parts.part(day, 4)[2] == f"{day.year // 10}0s"


@pytest.mark.parametrize("levels", [(), ("week",), ("year", "month"), ("month", "month"), ("hour",)])
def test_levels_are_known_and_are_finest_first(levels: tuple[str, ...]) -> None:
    """None, one that dates do not have, the wrong order, one twice."""
    with pytest.raises(ParameterError, match="levels"):
        CalendarParts(kind=CalendarKind.DATE, levels=levels)
