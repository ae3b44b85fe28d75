"""Cells that are no coordinates or no moments: refused by column and rule, never quoted, never lost unsaid."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import anonkit
from anonkit.domains.calendar_cells import CalendarReader
from anonkit.domains.calendar_parts import CalendarKind
from anonkit.errors import GuaranteeError, PolicyError
from anonkit.policy.declaration import Policy

N = 60
SECRET = "northoftown"
BOX = [52.0, 13.0, 53.0, 14.0]


def table(latitudes: dict[int, Any], longitudes: dict[int, Any]) -> pa.Table:
    """People around one place, some cells exchanged; texts, as of a text file."""
    lat = [str(latitudes.get(at, 52.4 + at % 5 / 50)) for at in range(N)]
    lon = [str(longitudes.get(at, 13.4 + at % 7 / 50)) for at in range(N)]
    return pa.table({"lat": lat, "lon": lon, "y": ["ab"[at % 2] for at in range(N)]})


def policy(**more: Any) -> Policy:
    """One place, a target."""
    return Policy.from_dict(
        {
            "columns": {"y": {"role": "target", "categories": ["a", "b"]}},
            "places": {"home": {"latitude": "lat", "longitude": "lon", **more}},
        }
    )


def released(source: pa.Table, declared: Policy, **asked: Any) -> Any:
    """A release in memory."""
    return anonkit.release(source, policy=declared, ledger=None, utility=False, **asked)


@pytest.mark.parametrize("method", ["mondrian", "rfka"])
@pytest.mark.parametrize("more", [{}, {"box": BOX}, {"box": BOX, "outside": "refuse"}], ids=str)
@pytest.mark.parametrize(
    ("latitudes", "longitudes", "words"),
    [
        ({3: SECRET}, {}, "column 'lat' has 1 cells that are no coordinates"),
        ({}, {4: SECRET, 5: "13,41"}, "column 'lon' has 2 cells that are no coordinates"),
        ({3: 90.5}, {}, "column 'lat' has 1 cells"),
        ({}, {3: -181}, "column 'lon' has 1 cells"),
        ({}, {3: "inf"}, "column 'lon' has 1 cells"),
    ],
)
def test_cells_that_are_no_coordinates_refuse_the_table(
    method: str, more: dict[str, Any], latitudes: dict[int, Any], longitudes: dict[int, Any], words: str
) -> None:
    """A word, a decimal comma, degrees beyond the globe: the column is named, the cell is not."""
    with pytest.raises(PolicyError, match=words) as caught:
        released(table(latitudes, longitudes), policy(**more), method=method, k=5)
    assert SECRET not in str(caught.value)
    assert caught.value.hint is not None
    assert "13,41" not in str(caught.value)


def test_such_places_are_missing_where_that_is_declared() -> None:
    """And reported to the owner with what lies beyond the box."""
    made = released(table({3: SECRET}, {5: 999}), policy(outside="missing"), method="mondrian", k=5)

    assert made.to_arrow().num_rows > 0


def test_under_differential_privacy_a_cell_decides_about_its_own_row_alone() -> None:
    """No refusal, which would disclose one cell: the place is missing."""
    declared = policy(box=BOX, resolutions=[3])
    asked = {"method": "rr", "epsilon": 1.0, "seed": 5}

    plain = released(table({}, {}), declared, **asked).to_arrow()
    strange = released(table({3: SECRET}, {}), declared, **asked).to_arrow()

    assert plain.num_rows == strange.num_rows


def test_a_place_without_a_name_is_refused() -> None:
    """Its column would have none."""
    for name in ("", " "):
        with pytest.raises(PolicyError, match="a place has no name"):
            Policy.from_dict({"places": {name: {"latitude": "lat", "longitude": "lon"}}})


def test_an_offset_of_a_day_or_more_is_no_moment() -> None:
    """Hours up to 23 and minutes up to 59, with a colon or without, by ISO 8601 and by a format."""
    reader = CalendarReader(kind=CalendarKind.DATETIME)
    texts = ["+23:59", "-23:59", "+25:00", "-24:00", "+01:60", "+2400", "Z", ""]
    cells = pa.array([f"2020-02-02T10:00:00{text}" for text in texts])
    assert reader.places(cells)[1].tolist() == [True, True, False, False, False, False, True, True]
    for kind, form, start in (
        (CalendarKind.DATETIME, "%Y-%m-%d %H:%M%z", "2020-02-02 10:00"),
        (CalendarKind.TIME, "%H:%M%z", "10:00"),
    ):
        reader = CalendarReader(kind=kind, format=form)
        assert reader.places(pa.array([f"{start}+25:00", f"{start}+02:00"]))[1].tolist() == [False, True]


@pytest.mark.quick_cases("mondrian-date")
@pytest.mark.parametrize("kind", ["date", "datetime", "time"])
@pytest.mark.parametrize("method", ["mondrian", "rfka"])
def test_durations_are_no_moments_and_not_dropped(method: str, kind: str) -> None:
    """Declared as dates or times they are refused, in every role; undeclared they are numbers like others."""
    cells = {
        "age": [20 + at % 9 for at in range(N)],
        "stay": pa.array([at * 1_000_000 for at in range(N)], pa.duration("us")),
        "y": ["ab"[at % 2] for at in range(N)],
    }
    for role in ("quasi_identifier", "sensitive", "insensitive"):
        declared = Policy.from_dict({"columns": {"stay": {"type": kind, "role": role}, "y": {"role": "target"}}})
        with pytest.raises((PolicyError, GuaranteeError), match="'stay'"):
            released(pa.table(cells), declared, method=method, k=5)
    made = released(pa.table(cells), Policy.from_dict({"columns": {"y": {"role": "target"}}}), method=method, k=5)
    assert next(column for column in made.report["columns"] if column["name"] == "stay")["role"] != "identifier"


@pytest.mark.slow
def test_clocks_are_no_addresses_of_computers() -> None:
    """Texts of hours, minutes and seconds; addresses with :: or eight groups still are."""
    for cells, role in (
        ([f"{at % 24:02}:{at % 60:02}:10" for at in range(N)], "quasi_identifier"),
        ([f"2001:db8::{at % 50:x}:1" for at in range(N)], "identifier"),
        ([f"2001:db8:0:0:0:ff00:42:{at % 50:x}" for at in range(N)], "identifier"),
    ):
        source = pa.table({"age": [20 + at % 9 for at in range(N)], "x": cells, "y": ["ab"[at % 2] for at in range(N)]})
        made = released(source, Policy.from_dict({"columns": {"y": {"role": "target"}}}), method="mondrian", k=5)
        assert next(column for column in made.report["columns"] if column["name"] == "x")["role"] == role
