"""Labels of the calendar, read once more from params.json: right ones pass, forged ones are counted."""

from __future__ import annotations

import json
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.checks.calendar_labels import covered, is_calendar_label
from anonkit.checks.recoded_labels import label_checks
from anonkit.domains.dates_and_times import LEVELS, CalendarKind, CalendarParts
from anonkit.domains.named_parts import point_text
from anonkit.policy.declaration import Policy

DATES = {"kind": "date", "levels": ["day", "month", "quarter", "year", "decade"]}
HOURS = {"kind": "datetime", "levels": ["hour", "day", "month", "quarter", "year", "decade"]}
CLOCK = {"kind": "time", "levels": ["hour", "part"]}
POINTS = {CalendarKind.DATE: st.dates(), CalendarKind.DATETIME: st.datetimes(), CalendarKind.TIME: st.times()}


@pytest.mark.parametrize("kind", CalendarKind)
@given(data=st.data())
def test_the_checker_reads_a_label_as_it_was_written(kind: CalendarKind, data: Any) -> None:
    """Two pieces of code that share nothing agree on the ends of every part; no other level is taken for it."""
    parts = CalendarParts(kind=kind, levels=LEVELS[kind])
    value = data.draw(POINTS[kind])
    for level, name in enumerate(parts.levels):
        low, high, label = parts.part(value, level)
        cuts = [point_text(point) for point in (low, high) if point is not None]
        stated = {"kind": str(kind), "levels": [name]}
        assert is_calendar_label(label, [1], cuts, stated)
        assert not is_calendar_label(label, [1], cuts, {"kind": str(kind), "levels": []})
        assert not is_calendar_label(label, [0], cuts, stated)


@given(day=st.dates(min_value=date(1700, 1, 1), max_value=date(2250, 12, 31)), frequency=st.sampled_from("DMQY"))
def test_the_checker_agrees_with_the_periods_of_pandas(day: date, frequency: str) -> None:
    """Days, months, quarters and years end where `pandas.Period` says."""
    period = pd.Period(day, freq=frequency)
    label = str(period) if frequency != "Q" else f"{period.year}-Q{period.quarter}"
    after = period.end_time.date() + timedelta(days=1)
    assert list(covered(label, DATES)) == [(period.start_time.date().isoformat(), after.isoformat())]


@pytest.mark.parametrize(
    "label",
    [
        *[
            "2021-13",
            "2021-00",
            "2021-02-29",
            "2021-04-31",
            "2021-05-00",
            "0000",
            "0000-Q1",
            "0000-01",
            "2021-Q5",
            "2021s",
        ],
        *["2021-03-01T24", "2021-02-30T01", "2021-3", "٢٠٢١", "*", "08:00-08:59"],
    ],
)
def test_what_names_no_part_covers_nothing(label: str) -> None:
    """Months, days and hours that no calendar has, digits of other scripts, a time of day among days."""
    assert not covered(label, HOURS)


@pytest.mark.parametrize("label", ["24:00-24:59", "08:00-09:59", "03:00-08:59", "06:00-12:59", "2021"])
def test_what_names_no_part_of_the_day_covers_nothing(label: str) -> None:
    """An hour that no day has, two hours, six hours that begin elsewhere, a year."""
    assert not covered(label, CLOCK)


def test_an_hour_may_also_be_named_by_the_ends_of_its_day() -> None:
    """Midnight is written with and without its time; the last hour of a month ends with it."""
    assert is_calendar_label("2021-03-31T23", [1], ["2021-03-31T23:00:00", "2021-04-01T00:00:00"], HOURS)
    assert is_calendar_label("2021-04-01T00", [1], ["2021-04-01T00:00:00", "2021-04-01T01:00:00"], HOURS)
    assert is_calendar_label("2021-04", [1, 2], ["2021-04-01", "2021-04-05", "2021-05-01"], HOURS)
    assert not is_calendar_label("2021-04", [1, 3], ["2021-04-01", "2021-04-05", "2021-04-07", "2021-05-01"], HOURS)
    assert not is_calendar_label("2021-04", [2], ["2021-04-01", "2021-05-01"], HOURS)
    assert not is_calendar_label("2021-04", [1, 4], ["2021-04-01", "2021-05-01"], HOURS)
    assert not is_calendar_label(None, [1], ["2021-04-01", "2021-05-01"], HOURS)


CUTS = ["2021-01-01", "2021-02-01", "2021-03-01", "2021-04-01"]
LABELS = ["< 2021-01-01", "2021-01", "2021-02", "2021-03", ">= 2021-04-01"]


def wrong(recoding: dict[str, Any], shown: list[str], folder: Path) -> int:
    """The number of labels of the column that the checker counts as wrong."""
    pq.write_table(pa.table({"born": shown}), folder / "a.parquet")
    params = {"recoding": recoding, "columns": [{"name": "born", "calendar": DATES}]}
    report = {"columns": [{"name": "born", "released_values": len(set(shown))}]}
    checks = {check.name: check for check in label_checks(folder / "a.parquet", ["born"], params, report)}
    return int(checks["labels:born"].observed)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("at", "label", "n_wrong"),
    [
        *[(1, "2021-01", 0), (1, "2021-02", 1), (1, "2021-Q1", 1), (1, "2020-01", 1), (1, "Jan 2021", 1), (1, "*", 0)],
        *[(1, "[2021-01-01, 2021-02-01)", 0), (4, "2021-04", 1), (0, "2020s", 1)],
    ],
)
def test_a_forged_label_of_a_global_recoding_is_counted(at: int, label: str, n_wrong: int, tmp_path: Path) -> None:
    """A month for another one, a quarter for a month, a name of no level, a month for all that comes later."""
    labels = [*LABELS[:at], label, *LABELS[at + 1 :]]
    axis = {"name": "born", "kind": "intervals", "cuts": CUTS, "missing": False, "labels": labels}
    assert wrong({"kind": "global", "columns": [axis]}, labels, tmp_path) == n_wrong


@pytest.mark.parametrize(
    ("groups", "n_wrong"),
    [
        ([("2021-01", [1]), ("2021-Q1", [1, 2, 3])], 0),
        ([("2021-02", [1])], 1),
        ([("2021-Q1", [1, 2])], 1),
        ([("2021", [1, 2, 3])], 1),
        ([("2021-01", [])], 1),
        ([("2021-01", [1, 9])], 1),
        ([("*", [1])], 1),
    ],
)
def test_a_forged_group_of_a_local_recoding_is_counted(
    groups: list[tuple[str, list[int]]], n_wrong: int, tmp_path: Path
) -> None:
    """The labels of boxes are checked against the cuts as well: they are in params.json alone."""
    axis = {"name": "born", "kind": "intervals", "cuts": CUTS, "missing": False}
    axis["groups"] = [{"label": label, "parts": parts} for label, parts in groups]
    recoding = {"kind": "local", "axes": [axis], "nodes": [None]}
    assert wrong(recoding, ["*"], tmp_path) == n_wrong


@pytest.mark.parametrize("low", ["08:00:00", "08:00:00.000001"])
def test_a_time_of_day_is_followed_by_the_next_microsecond(low: str, tmp_path: Path) -> None:
    """One value between two cuts may be its own label, among times of day too; two may not."""
    for steps, n_wrong in ((1, 0), (2, 1)):
        later = datetime.combine(date.min, time.fromisoformat(low)) + timedelta(microseconds=steps)
        cuts = [low, later.time().isoformat()]
        axis = {"name": "born", "kind": "intervals", "cuts": cuts, "missing": False, "labels": ["*", low, "*"]}
        assert wrong({"kind": "global", "columns": [axis]}, [low], tmp_path) == n_wrong


def table(n_rows: int = 400) -> pa.Table:
    """People born over twelve years, and when they came."""
    days = [date(2009, 1, 1) + timedelta(days=11 * at) for at in range(n_rows)]
    came = [datetime(2021, 1, 1) + timedelta(hours=7 * at, minutes=at) for at in range(n_rows)]
    clock = [time(at % 24, at % 60) for at in range(n_rows)]
    label = ["old" if day.year < 2014 else "young" for day in days]
    return pa.table({"born": days, "came": came, "clock": clock, "y": label})


POLICY = {
    "columns": {
        "born": {"type": "date", "levels": ["month", "quarter", "year", "decade"]},
        "came": {"type": "datetime", "levels": ["day", "month", "year"]},
        "clock": {"type": "time", "levels": ["hour", "part"]},
        "y": {"role": "target"},
    }
}


@pytest.mark.quick_cases("incognito", "mondrian")
@pytest.mark.parametrize("method", ["rfka", "datafly", "incognito", "mondrian"])
def test_a_release_of_dates_validates_and_a_forged_one_does_not(method: str, tmp_path: Path) -> None:
    """Every label of the file and of the params says what it covers; one year more or less is found."""
    path = tmp_path / "a.parquet"
    asked = {"k": 10} if method == "mondrian" else {"k": 10, "max_suppression": 0.1}
    anonkit.release(table(), method=method, policy=Policy.from_dict(POLICY), output=path, ledger=None, **asked)
    assert anonkit.validate(path).passed
    params = tmp_path / "a.params.json"
    raw = json.loads(params.read_text())
    assert {column["name"] for column in raw["columns"] if "calendar" in column} == {"born", "came", "clock"}
    text = params.read_text()
    label = next(label for label in ("2010s", "2012", "2021", "2021-01") if f'"{label}"' in text)
    params.write_text(text.replace(f'"{label}"', f'"{label.replace("20", "19", 1)}"'))
    failed = {check.name for check in anonkit.validate(path).checks if not check.passed}
    assert any(name.startswith("labels:") for name in failed)
