"""Attacks on releases of dates, times and places: an attacker reads their labels as anybody does."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import h3
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.auditing.attacks.attack_evidence import compatible
from anonkit.domains.dates_and_times import LEVELS, CalendarKind, CalendarParts
from anonkit.policy.declaration import Policy

POINTS = {CalendarKind.DATE: st.dates(), CalendarKind.DATETIME: st.datetimes(), CalendarKind.TIME: st.times()}


@pytest.mark.parametrize("kind", CalendarKind)
@given(data=st.data())
def test_a_part_of_the_calendar_may_stand_for_the_values_in_it(kind: CalendarKind, data: Any) -> None:
    """And for no other, at every level."""
    parts = CalendarParts(kind=kind, levels=LEVELS[kind])
    values = data.draw(st.lists(POINTS[kind], min_size=2, max_size=4, unique=True))
    for level in range(parts.n_levels):
        names = [parts.part(value, level)[2] for value in values]
        assert compatible([names[0]], values).tolist() == [[name == names[0] for name in names]]


def test_a_year_among_numbers_is_a_number_and_what_is_no_part_stands_for_nothing() -> None:
    """2021 may be an amount; 30 February is no day; a cell represents those below it."""
    assert compatible(["2021"], [2021, 2022]).tolist() == [[True, False]]
    assert compatible(["2021-02-30", "Berlin"], [datetime(2021, 2, 3), None]).tolist() == [[False, False]] * 2
    cells = [h3.latlng_to_cell(52.5, 13.4, 8), h3.latlng_to_cell(48.1, 11.6, 8), "elsewhere"]
    labels = [h3.cell_to_parent(cells[0], 4), h3.latlng_to_cell(52.5, 13.4, 9), "8ffffffffffffff"]
    assert compatible(labels, cells).tolist() == [[True, False, False], [False] * 3, [False] * 3]


@pytest.mark.slow
@pytest.mark.parametrize("method", [pytest.param("rfka", marks=pytest.mark.slow), "mondrian"])
def test_an_audit_reads_the_source_as_the_release_did(method: str) -> None:
    """By format and place: the attacker knows them, and how the table was made is known, so no attack is left out."""
    random = np.random.default_rng(3)
    days = [date(2018, 1, 1) + timedelta(days=int(each)) for each in random.integers(0, 900, 400)]
    north = random.random(400) < 0.5
    table = pa.table(
        {
            "born": [f"{day:%d.%m.%Y}" for day in days],
            "lat": np.where(north, 53.5, 48.1) + random.normal(0, 0.05, 400),
            "lon": np.where(north, 10.0, 11.6) + random.normal(0, 0.05, 400),
            "y": np.where(north ^ np.array([day.year > 2018 for day in days]), "a", "b"),
        }
    )
    policy = Policy.from_dict(
        {
            "columns": {"born": {"type": "date", "format": "%d.%m.%Y"}, "y": {"role": "target"}},
            "places": {"home": {"latitude": "lat", "longitude": "lon"}},
        }
    )
    released = anonkit.release(table, method=method, k=10, policy=policy, ledger=None)
    audited = anonkit.audit(released, table, attacks=50)
    assert not any("How the table was made is not known" in note for note in audited.notes)


def test_an_audit_of_randomized_dates_reads_the_bins_that_were_randomized() -> None:
    """With hardly any noise nearly every answer is the true one: the attack finds many of the people."""
    random = np.random.default_rng(4)
    days = [date(2018, 1, 1) + timedelta(days=int(each)) for each in random.integers(0, 1400, 300)]
    table = pa.table(
        {
            "born": [f"{day:%d.%m.%Y}" for day in days],
            "lat": random.uniform(47.5, 55, 300),
            "lon": random.uniform(6, 15, 300),
            "y": random.choice(["a", "b"], 300),
        }
    )
    bounds = ["2018-01-01", "2021-12-31"]
    born = {"type": "date", "format": "%d.%m.%Y", "bounds": bounds, "levels": ["month"]}
    place = {"latitude": "lat", "longitude": "lon", "box": [47.2, 5.8, 55.1, 15.1], "resolutions": [2]}
    columns = {"born": born, "y": {"role": "target", "categories": ["a", "b"]}}
    policy = Policy.from_dict({"columns": columns, "places": {"home": place}})
    released = anonkit.release(table, method="ppnb", p_keep=0.99, policy=policy, ledger=None)
    audited = anonkit.audit(released, table, attacks=50, runs=0)
    assert audited.to_dict()["linkability"]["attack_rate"] > 0.2
