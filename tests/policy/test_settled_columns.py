"""Cells of dates, moments, times and places as they are settled: within bounds, by public bin, each by itself."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.policy.declaration import Policy
from anonkit.policy.declared_cells import declared_cells
from tests.policy.test_places import BERLIN, LATITUDES, LONGITUDES, MUNICH, policy, settled_places


def settled(spec: dict[str, Any], cells: list[Any], *, cell_by_cell: bool) -> list[Any]:
    """Cells of a text column as they are settled."""
    policy = Policy.from_dict({"columns": {"born": spec}})
    rule = declared_cells(policy.column("born"), Policy(columns=policy.columns, cell_by_cell=cell_by_cell))
    assert rule is not None
    array = pa.array(cells, pa.string())
    return rule.settled(array, rule.settled_kind(array.type)).to_pylist()  # type: ignore[no-any-return]


CELLS = ["01.02.1999", "15.03.2020", "31.12.9999", "31.02.2020", None, "15.03.20"]


def test_cells_beyond_the_bounds_count_as_the_nearest_bin_or_are_missing() -> None:
    """As numbers are clamped; what cannot be read is missing, and may count as the lower bound."""
    spec = {"type": "date", "format": "%d.%m.%Y", "bounds": ["2020-01-01", "2020-06-30"], "levels": ["month"]}
    assert settled(spec, CELLS, cell_by_cell=True) == ["2020-01", "2020-03", "2020-06", None, None, None]
    assert settled({**spec, "outside": "missing"}, CELLS, cell_by_cell=True) == [None, "2020-03", *[None] * 4]
    first = settled({**spec, "missing": "first"}, CELLS, cell_by_cell=True)
    assert first == ["2020-01", "2020-03", "2020-06", *["2020-01"] * 3]


def test_nothing_finer_than_the_finest_level_is_left_of_a_cell() -> None:
    """Under k-anonymity a cell becomes the first day of its month; a column released as it is, the name of it."""
    spec = {"type": "date", "format": "%d.%m.%Y", "levels": ["month", "year"], "outside": "missing"}
    days = [date(1999, 2, 1), date(2020, 3, 1), date(9999, 12, 1), None, None, None]
    assert settled(spec, CELLS, cell_by_cell=False) == days
    names = ["1999-02", "2020-03", "9999-12", None, None, None]
    assert settled({**spec, "role": "insensitive"}, CELLS, cell_by_cell=False) == names
    hours = settled({"type": "datetime"}, ["2021-03-04T05:06:07.5Z", "2021-03-04 05:59"], cell_by_cell=False)
    assert hours == [datetime(2021, 3, 4, 5)] * 2


@given(cells=st.lists(st.sampled_from(CELLS) | st.dates().map(lambda day: f"{day:%d.%m}.{day.year:04}"), max_size=8))
def test_a_bin_is_a_function_of_its_cell_alone(cells: list[str | None]) -> None:
    """Under differential privacy no other row has a part in it, and none is refused."""
    spec = {"type": "date", "format": "%d.%m.%Y", "bounds": ["2020-01-01", "2020-06-30"], "levels": ["month"]}
    together = settled(spec, cells, cell_by_cell=True)
    assert together == [settled(spec, [cell], cell_by_cell=True)[0] for cell in cells]


def test_a_place_that_lacks_a_coordinate_or_is_on_no_globe_is_missing() -> None:
    """Under differential privacy; beyond the box it counts as the nearest place in it, or is missing."""
    spec = {"cells": [BERLIN, MUNICH]}
    latitudes, longitudes = [52.5, 48.1, None, 52.5, 95.0, 52.5, 0.0], [13.4, 11.6, 13.4, None, 13.4, 181.0, 0.0]
    assert settled_places(spec, latitudes, longitudes, by_cell=True) == [BERLIN, MUNICH, *[None] * 5]
    texts = [[None if each is None else str(each) for each in cells] for cells in (latitudes, longitudes)]
    assert settled_places(spec, *texts, by_cell=True) == [BERLIN, MUNICH, *[None] * 5]
    box = {"box": [52.3, 13.1, 52.7, 13.8], "resolutions": [3]}
    assert settled_places(box, [52.5, 40.0], [13.4, 13.4], by_cell=True) == [BERLIN, BERLIN]
    assert settled_places({**box, "outside": "missing"}, [52.5, 40.0], [13.4, 13.4], by_cell=True) == [BERLIN, None]


@settings(max_examples=30)
@given(
    places=st.lists(st.tuples(LATITUDES | st.floats(allow_nan=False), LONGITUDES | st.none()), max_size=5),
    south=st.integers(-89, 60),
    height=st.integers(1, 29),
    west=st.integers(-180, 179),
    width=st.integers(1, 300),
)
def test_every_row_has_a_public_cell_of_its_own(
    places: list[tuple[float, float | None]], south: int, height: int, west: int, width: int
) -> None:
    """For any places beside it, and any box: across the antimeridian, at a pole, round the globe."""
    box = [south, west, south + height, (west + width + 180) % 360 - 180]
    spec = {"box": box, "resolutions": [1]}
    cells = pa.array([lat for lat, _ in places], pa.float64()), pa.array([lng for _, lng in places], pa.float64())
    together = settled_places(spec, *cells, by_cell=True)
    bins = policy(**spec).column("home").bins
    assert bins is not None
    for (latitude, longitude), cell in zip(places, together, strict=True):
        alone = settled_places(spec, pa.array([latitude]), pa.array([longitude], pa.float64()), by_cell=True)
        assert [cell] == alone
        on_globe = longitude is not None and abs(latitude) <= 90 and abs(longitude) <= 180
        assert (cell in bins.labels) is on_globe
