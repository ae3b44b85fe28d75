"""Parts of the calendar and of the day: nested, named after both ends, and those of pandas.

Dates, moments and times read from cells: by the declared format, cell by cell, and never guessed.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.dates_and_times import (
    LEVELS,
    CalendarKind,
    CalendarParts,
    CalendarReader,
    first_places,
    part_numbers,
    settled_type,
)
from anonkit.domains.named_parts import place
from anonkit.errors import ParameterError

FORMATS = ["%d.%m.%Y", "%m/%d/%Y", "%Y%m%d", "%d %b %Y", "%B %d, %Y", "%Y-%m-%d", "100%% %d/%m/%Y"]
CLOCKS = ["%H:%M", "%H:%M:%S", "%H%M", "%I:%M %p", "%H:%M:%S.%f"]


def read(cells: pa.Array, kind: str, **declared: str) -> list[object]:
    """The points that a reader makes of some cells, None for those that it cannot read."""
    reader = CalendarReader(kind=CalendarKind(kind), **declared)
    places, there = reader.places(cells)
    days = settled_type(reader.kind) == pa.date32()
    typed = (places // 86_400_000_000).astype(np.int32) if days else places
    return list(pa.array(typed, mask=~there).cast(settled_type(reader.kind)).to_pylist())


def in_years(text: str, year: int) -> str:
    """Fill in the year: `strftime` of this machine does not pad years below 1000."""
    return text.replace("%Y", f"{year:04}")


@pytest.mark.parametrize("form", FORMATS)
@given(days=st.lists(st.dates(), max_size=8))
def test_a_written_date_is_read_back(form: str, days: list[date]) -> None:
    """Of every format, in all years from 1 to 9999; ISO 8601 without one."""
    texts = pa.array([day.strftime(in_years(form, day.year)) for day in days], pa.string())
    assert read(texts, "date", format=form) == days
    assert read(pa.array([day.isoformat() for day in days], pa.string()), "date") == days


@pytest.mark.parametrize("clock", CLOCKS)
@given(moments=st.lists(st.datetimes(), max_size=8))
def test_a_written_moment_is_read_back(clock: str, moments: list[datetime]) -> None:
    """As far as the format has it: what it leaves out is 0."""
    form = f"%d/%m/%Y {clock}"
    texts = pa.array([moment.strftime(in_years(form, moment.year)) for moment in moments], pa.string())
    second, fraction = "%S" in clock, "%f" in clock
    expected = [
        moment.replace(second=moment.second * second, microsecond=moment.microsecond * fraction) for moment in moments
    ]
    assert read(texts, "datetime", format=form) == expected
    assert read(texts, "date", format=form) == [moment.date() for moment in moments]


@given(times=st.lists(st.times(), max_size=8))
def test_a_written_time_is_read_back(times: list[time]) -> None:
    """ISO 8601, with or without seconds and their fractions."""
    assert read(pa.array([each.isoformat() for each in times], pa.string()), "time") == times
    assert read(pa.array(times, pa.time64("us")), "time") == times


@given(st.lists(st.text(alphabet="0123456789-:./ TZ+", max_size=12) | st.dates().map(str), max_size=6), st.randoms())
def test_a_cell_is_read_independently_of_all_others(texts: list[str], random: object) -> None:
    """A cell is read in the same way beside any others, and in any order."""
    together = read(pa.array(texts, pa.string()), "datetime")
    assert together == [read(pa.array([text]), "datetime")[0] for text in texts]
    assert read(pa.array(texts, pa.string()).dictionary_encode(), "datetime") == together


@pytest.mark.parametrize(
    "text",
    [
        *[
            "2021-02-29",
            "2021-04-31",
            "2021-13-01",
            "2021-00-10",
            "0000-01-01",
            "21-03-04",
            "03/04/2021",
            "2021-3-4",
            "nan",
        ],
        *["20210304", "2021-03-04T25:00", "2021-03-04T10:60", "10000-01-01", "", " ", "2021-03-04x"],
    ],
)
def test_what_is_no_day_of_the_calendar_is_not_read(text: str) -> None:
    """31 April, 29 February 2021, years of two digits, day and month that could be each other."""
    assert read(pa.array([text]), "date") == [None]


def test_leap_days_early_days_and_blanks_are_read() -> None:
    """29 February 2000 and 2024, days before 1970 and 1900, the last day there is, and blanks around them."""
    texts = ["2000-02-29", "2024-02-29", "1969-12-31", "1899-12-31", "0001-01-01", "9999-12-31", " 2021-03-04 "]
    assert read(pa.array(texts), "date") == [date.fromisoformat(text.strip()) for text in texts]


def test_a_format_decides_between_day_and_month() -> None:
    """03/04/2021 is the third of April or the fourth of March, as declared; one or two digits alike."""
    assert read(pa.array(["03/04/2021", "3/4/2021"]), "date", format="%d/%m/%Y") == [date(2021, 4, 3)] * 2
    assert read(pa.array(["03/04/2021", "13/4/2021"]), "date", format="%m/%d/%Y") == [date(2021, 3, 4), None]
    assert read(pa.array([20210304, 2021]), "date", format="%Y%m%d") == [date(2021, 3, 4), None]
    assert read(pa.array(["12:05 am", "12:05 PM", "13:00 pm"]), "time", format="%I:%M %p") == [
        time(0, 5),
        time(12, 5),
        None,
    ]


@given(st.dates(date(1969, 1, 1), date(2068, 12, 31)))
def test_a_declared_year_of_two_digits_is_read_as_posix_has_it(day: date) -> None:
    """69 is 1969, 68 is 2068."""
    assert read(pa.array([day.strftime("%d-%b-%y")]), "date", format="%d-%b-%y") == [day]


def test_of_several_formats_each_text_is_read_by_the_one_that_fits() -> None:
    """One that two of them read as different days is not read."""
    forms = ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y")
    texts = ["31.01.2020", "01/31/2020", "31/01/2020", "03/04/2020", "04/04/2020", "2020-01-31"]
    days = [*[date(2020, 1, 31)] * 3, None, date(2020, 4, 4), None]
    assert read(pa.array(texts), "date", format=forms) == days


@pytest.mark.parametrize("zone", [None, "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Auckland"])
@given(
    moments=st.lists(st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(2036, 1, 1)), max_size=6),
    minutes=st.integers(-12 * 4, 14 * 4).map(lambda quarter: quarter * 15),
)
def test_a_moment_with_an_offset_is_taken_in_the_declared_zone(
    zone: str | None, moments: list[datetime], minutes: int
) -> None:
    """The clock of the zone shows it, UTC without one; in a text and in a typed column. Without offset it stays."""
    offset = timezone(timedelta(minutes=minutes))
    aware = [moment.replace(tzinfo=offset) for moment in moments]
    there = UTC if zone is None else ZoneInfo(zone)
    expected = [moment.astimezone(there).replace(tzinfo=None) for moment in aware]
    declared = {} if zone is None else {"zone": zone}
    assert read(pa.array([moment.isoformat() for moment in aware], pa.string()), "datetime", **declared) == expected
    assert read(pa.array(aware, pa.timestamp("us", "Asia/Tokyo")), "datetime", **declared) == expected
    assert read(pa.array([each.isoformat(" ") for each in moments], pa.string()), "datetime", **declared) == moments


def test_what_is_finer_than_a_microsecond_is_cut_off() -> None:
    """Nanoseconds before and after 1970, in every unit of a typed column, and in a text."""
    for unit, value in (("ns", 1_600_000_000_123_456_789), ("us", 1_600_000_000_123_456), ("ms", 1_600_000_000_123)):
        (moment,) = read(pa.array([value], pa.timestamp(unit)), "datetime")
        assert str(moment).startswith("2020-09-13 12:26:40.123")
    assert read(pa.array([-1], pa.timestamp("ns")), "datetime") == [datetime(1969, 12, 31, 23, 59, 59, 999_999)]
    assert read(pa.array(["2020-09-13T12:26:40.123456789Z"]), "datetime") == [
        datetime(2020, 9, 13, 12, 26, 40, 123_456)
    ]
    assert read(pa.array([10**12], pa.timestamp("s")), "datetime") == [None]  # the year 33658
    assert read(pa.array([3600], pa.timestamp("s")), "time") == [time(1)]
    assert read(pa.array([date(2020, 2, 2)]), "datetime") == [datetime(2020, 2, 2)]
    assert read(pa.array([61_000], pa.time32("ms")), "time") == [time(0, 1, 1)]


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        *[("date", "%d.%m.%g"), ("date", "%d.%m.%y.%Y"), ("date", ()), ("date", ("%d.%m.%Y", "%d.%m"))],
        *[("date", "%d.%m"), ("date", "%d.%m.%Y %b"), ("date", "%j %Y"), ("date", "%d%d%m%Y")],
        *[("time", "%M"), ("time", "%I:%M"), ("datetime", "%Y-%m-%d %H %I %p"), ("date", "%Y-%m-%d%")],
    ],
)
def test_a_format_that_would_have_to_guess_is_refused(kind: str, form: str | tuple[str, ...]) -> None:
    """No year or two, two months, directives nobody knows, twelve hours without their half, one such of several."""
    with pytest.raises(ParameterError):
        CalendarReader(kind=CalendarKind(kind), format=form)


@pytest.mark.parametrize(
    ("kind", "given_type", "taken"),
    [
        *[("date", pa.string(), True), ("date", pa.int64(), False), ("date", pa.bool_(), False)],
        *[("time", pa.date32(), False), ("time", pa.time32("ms"), True), ("date", pa.time64("us"), False)],
        *[("datetime", pa.dictionary(pa.int32(), pa.string()), True)],
    ],
)
def test_a_type_is_taken_or_not_without_a_look_at_a_cell(kind: str, given_type: pa.DataType, taken: bool) -> None:
    """Integers need a format; a day is no time of day."""
    assert CalendarReader(kind=CalendarKind(kind)).takes(given_type) is taken


def test_places_are_those_of_the_points() -> None:
    """Microseconds since 1970, or since midnight."""
    reader = CalendarReader(kind=CalendarKind.DATETIME)
    moment = datetime(2021, 3, 4, 5, 6, 7)
    places, there = reader.places(pa.array([moment, None]))
    assert places.tolist() == [place(moment), 0]
    assert there.tolist() == [True, False]


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
