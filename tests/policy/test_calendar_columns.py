"""Columns of dates, moments and times in a policy: what may be declared, what is refused, and their public bins."""

from __future__ import annotations

import tomllib
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.calendar_parts import CalendarKind
from anonkit.domains.named_parts import place
from anonkit.errors import PolicyError
from anonkit.policy.calendar_columns import Calendar, StatedCalendar
from anonkit.policy.column_declarations import Column, ColumnType
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import CategoricalAttribute, public_attribute


def column(**spec: Any) -> Column:
    """A column as a policy file declares it."""
    return Policy.from_dict({"columns": {"born": spec}}).column("born")


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        ({"levels": ["month"]}, "levels is for dates"),
        ({"type": "integer", "format": "%Y"}, "format is for dates"),
        ({"type": "date", "levels": ["month"], "tree": [["a", "b"]]}, "not beside tree"),
        ({"type": "date", "levels": ["year", "month"]}, "finest first"),
        ({"type": "date", "levels": ["hour"]}, "levels of a date"),
        ({"type": "date", "levels": []}, "levels of a date"),
        ({"type": "date", "format": "%d.%m.%g"}, "not known"),
        ({"type": "date", "format": ["%d.%m.%Y", 5]}, "list of texts"),
        ({"type": "date", "format": []}, "lists none"),
        ({"type": "date", "zone": "Mars/Olympus"}, "time zone"),
        ({"type": "date", "zone": "../etc/passwd"}, "time zone"),
        ({"type": "time", "zone": "UTC"}, "without its day"),
        ({"type": "date", "bounds": [2020, 2024]}, "bounds of a date"),
        ({"type": "date", "bounds": ["2020-01-01"]}, "first, last"),
        ({"type": "date", "bounds": ["2024-01-01", "2020-01-01"]}, "first < last"),
        ({"type": "date", "bounds": ["2020-01-01", "2020-13-01"]}, "bounds of a date"),
        ({"type": "date", "bounds": ["2020-01-01T00:00", "2021-01-01T00:00"]}, "bounds of a date"),
        ({"type": "datetime", "bounds": ["2020-01-01T00:00Z", "2021-01-01T00:00Z"]}, "bounds of a datetime"),
        ({"type": "time", "bounds": ["08:00+02:00", "18:00"]}, "bounds of a time"),
        ({"type": "date", "ladder": [5]}, "for numbers"),
        ({"type": "date", "outside": "clamp"}, "for bounds"),
        ({"type": "date", "missing": "first"}, "categories or bounds"),
    ],
)
def test_what_cannot_be_meant_is_refused(spec: dict[str, Any], rule: str) -> None:
    """Keys beside the wrong type, wrong orders of levels, formats that are none, offsets in bounds, too many bins."""
    with pytest.raises(PolicyError, match=rule):
        column(**spec)


def test_bounds_may_be_days_of_toml_or_texts() -> None:
    """TOML has dates and times of its own; the last day of a column of moments is a whole day."""
    raw = tomllib.loads('type = "datetime"\nbounds = [2020-01-01, 2020-12-31]')
    assert column(**raw) == column(type="datetime", bounds=["2020-01-01", "2020-12-31"])
    calendar = column(**raw).calendar
    assert calendar is not None
    assert calendar.bounds == (datetime(2020, 1, 1), datetime(2020, 12, 31, 23, 59, 59, 999_999))
    assert column(type="time", bounds=["08:00", "18:00"]).bins is not None


@given(
    first=st.dates(min_value=date(1701, 1, 1), max_value=date(2200, 1, 1)),
    days=st.integers(1, 1500),
    level=st.sampled_from(["day", "month", "quarter", "year"]),
)
def test_public_bins_are_the_periods_of_pandas_between_the_bounds(first: date, days: int, level: str) -> None:
    """A function of the bounds alone, in order, none missing, every day of the range in its own."""
    last = first + timedelta(days=days)
    calendar = Calendar(kind=CalendarKind.DATE, levels=(level,), bounds=(first, last))
    assert calendar.bins is not None
    periods = pd.period_range(first, last, freq={"day": "D", "month": "M", "quarter": "Q", "year": "Y"}[level])
    assert [label.replace("-Q", "Q") for label in calendar.bins.labels] == list(map(str, periods))
    assert calendar.bins.tree == ()
    each = [first + timedelta(days=at) for at in range(0, days + 1, max(days // 20, 1))]
    bins = calendar.bin_of(np.array([place(day) for day in each], dtype=np.int64))
    index = pd.PeriodIndex(pd.to_datetime(pd.Series(each)), freq=periods.freqstr)
    assert bins.tolist() == periods.get_indexer(index).tolist()


@pytest.mark.parametrize(
    ("spec", "finest", "n_bins", "depth"),
    [
        ({"type": "date", "bounds": ["2020-01-01", "2020-02-28"]}, "2020-01-01", 59, 5),
        ({"type": "date", "bounds": ["2020-01-01", "2024-12-31"]}, "2020-01", 60, 4),
        ({"type": "date", "bounds": ["1930-01-01", "2024-12-31"]}, "1930s", 10, 1),
        ({"type": "datetime", "bounds": ["2020-01-01", "2020-01-02"]}, "2020-01-01T00", 48, 6),
        ({"type": "time"}, "00:00-00:59", 24, 2),
        ({"type": "time", "levels": ["part"]}, "00:00-05:59", 4, 1),
    ],
)
def test_without_levels_the_finest_of_at_most_64_bins_are_public(
    spec: dict[str, Any], finest: str, n_bins: int, depth: int
) -> None:
    """Decided by the bounds and by nothing that is in the table; the coarser levels are their hierarchy."""
    attribute = public_attribute(column(**spec))
    assert isinstance(attribute, CategoricalAttribute)
    assert (attribute.domain.values[0], len(attribute.domain.values)) == (finest, n_bins)
    assert attribute.domain.has_missing
    assert {len(path) for path in attribute.tree} == (set() if depth == 1 else {depth})


def test_more_bins_than_anybody_can_count_are_refused_where_they_are_needed() -> None:
    """Under differential privacy, before any data; k-anonymity does not need them."""
    declared = column(type="date", levels=["day", "year"], bounds=["1950-01-01", "2020-01-01"])
    with pytest.raises(PolicyError, match="more than 2000 public bins of a day"):
        public_attribute(declared)


def test_differential_privacy_needs_bounds_of_dates() -> None:
    """The refusal says which."""
    with pytest.raises(PolicyError, match="declare the bounds of its dates") as refused:
        public_attribute(column(type="date"))
    assert "bounds = [" in str(refused.value.hint)


@pytest.mark.parametrize(
    "spec",
    [
        {"type": "date", "format": "%d.%m.%Y", "levels": ["month", "year"]},
        {"type": "datetime", "zone": "Europe/Berlin", "bounds": ["2020-01-01", "2021-01-01"]},
        {"type": "time", "bounds": ["08:00", "18:30"]},
        {"type": "date"},
    ],
)
def test_a_declaration_comes_back_from_the_params(spec: dict[str, Any]) -> None:
    """`anonkit apply` reads the next batch by what the params say."""
    calendar = column(**spec).calendar
    assert calendar is not None
    again = Calendar.of(StatedCalendar.from_params(calendar.stated.to_params()), "column 'born'")
    assert again.stated == calendar.stated
    assert (again.reader, again.parts, again.bounds) == (calendar.reader, calendar.parts, calendar.bounds)


def test_a_column_made_in_python_has_a_calendar_as_one_of_a_file_has() -> None:
    """Moments and times of themselves; dates with the value, since their type alone was there before it."""
    assert Column(name="born", type=ColumnType.TIME).calendar == column(type="time").calendar
    dates = Calendar(kind=CalendarKind.DATE)
    assert Column(name="born", type=ColumnType.DATE, calendar=dates).calendar == column(type="date").calendar
    assert Column(name="born", type=ColumnType.DATE).named_parts is None
    listed = Column(name="born", type=ColumnType.DATE, calendar=dates, categories=("2020-01-01",))
    assert listed.named_parts is None
