"""Dates, times and coordinates in a drafted policy: comments to uncomment, but where all cells settle the form."""

from __future__ import annotations

import re
import tomllib
from datetime import date, datetime, time, timedelta

import pyarrow as pa
import pytest

from anonkit.drafting.policy_draft import draft_policy
from anonkit.policy.declaration import Policy

DAYS = [date(2020, 1, 1) + timedelta(days=3 * at) for at in range(60)]
MOMENTS = [datetime(2020, 1, 1) + timedelta(hours=7 * at) for at in range(60)]


def table(**columns: object) -> pa.Table:
    """Some columns, and a target."""
    return pa.table({**columns, "y": ["a", "b"] * 30})


@pytest.mark.parametrize(
    ("cells", "declared", "settled"),
    [
        ([f"{day:%d.%m.%Y}" for day in DAYS], {"type": "date", "format": "%d.%m.%Y"}, True),
        ([f"{day:%m/%d/%Y}" for day in DAYS], {"type": "date", "format": "%m/%d/%Y"}, True),
        ([f"{day.day}-{day.month}-{day.year}" for day in DAYS], {"type": "date", "format": "%d-%m-%Y"}, True),
        (["03/04/2020", "05/06/2021"] * 30, {"type": "date", "format": "%d/%m/%Y"}, False),
        ([moment.isoformat() + "Z" for moment in MOMENTS], {"type": "datetime"}, True),
        ([f"{moment:%H:%M}" for moment in MOMENTS], {"type": "time"}, False),
        (DAYS, {"type": "date"}, False),
        (MOMENTS, {"type": "datetime"}, False),
        ([time(at % 24) for at in range(60)], {"type": "time"}, False),
    ],
)
def test_what_looks_like_dates_is_proposed(cells: list[object], declared: dict[str, str], settled: bool) -> None:
    """Declared where all cells settle the form; else a comment, with a question for the format that no cell settles."""
    draft = draft_policy(table(born=cells), target="y")
    assert (Policy.from_dict(tomllib.loads(draft)).column("born").calendar is not None) is settled
    filled = draft.replace("FIRST DAY", "2020-01-01").replace("LAST DAY", "2024-12-31")
    uncommented = tomllib.loads(re.sub(r"^# ((?:type|format|levels|bounds) = )", r"\1", filled, flags=re.MULTILINE))
    spec = uncommented["columns"]["born"]
    assert {key: spec[key] for key in ("type", "format") if key in spec} == declared
    calendar = Policy.from_dict(uncommented).column("born").calendar
    assert calendar is not None
    assert calendar.levels == tuple(spec["levels"])
    assert ("declare which of them is the day" in draft) is ("format" in declared and not settled)


def test_other_texts_are_no_dates() -> None:
    """Nor are texts of which some look so."""
    draft = draft_policy(table(born=["03.04.2021", "often"] * 30), target="y")
    assert "# type" not in draft


def test_two_columns_of_coordinates_are_proposed_as_a_place() -> None:
    """By their names, when there is one of each; uncommented, it is a policy."""
    degrees = [48.1 + at / 100 for at in range(60)]
    draft = draft_policy(table(home_lat=degrees, home_lon=degrees), target="y")
    uncommented = tomllib.loads(re.sub(r"^# (\[places\]|place = )", r"\1", draft, flags=re.MULTILINE))
    place = uncommented["places"]["place"]
    assert (place["latitude"], place["longitude"]) == ("home_lat", "home_lon")
    del uncommented["columns"]["home_lat"], uncommented["columns"]["home_lon"]
    assert Policy.from_dict(uncommented).column("place").place is not None
    for more in ({"work_lat": degrees}, {"home_lat": ["north", "south"] * 30}):
        columns = {"home_lat": degrees, "home_lon": degrees, **more}
        assert "[places]" not in draft_policy(table(**columns), target="y")
