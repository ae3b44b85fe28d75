# SPDX-License-Identifier: Apache-2.0
"""Simulated trips of bicycles: times, places, and riders."""

from __future__ import annotations

import pyarrow.compute as pc

from anonkit.datasets import bicycle_riders, bicycle_trips


def test_trips_belong_to_riders_and_stay_in_the_city() -> None:
    """Every rider has 1 to 20 trips; coordinates are within the box, times within the day, days within the spring."""
    riders, trips = bicycle_riders(400, 5), bicycle_trips(400, 5)

    number = trips.group_by("rider").aggregate([([], "count_all")])
    assert set(number["rider"].to_pylist()) == set(riders["rider_id"].to_pylist())
    assert 1 <= pc.min(number["count_all"]).as_py() < pc.max(number["count_all"]).as_py() <= 20
    for name, low, high in (
        *((f"{end}_lat", 51.91, 52.09) for end in ("start", "end")),
        *((f"{end}_lon", 9.856, 10.144) for end in ("start", "end")),
        ("minutes", 2, 90),
    ):
        assert low <= pc.min(trips[name]).as_py() < pc.max(trips[name]).as_py() <= high, name
    assert str(pc.min(trips["day"])) >= "2025-03-03"
    assert str(pc.max(trips["day"])) <= "2025-06-01"
    assert str(pc.min(trips["clock"])) >= "06:00:00"
    assert str(pc.max(trips["clock"])) < "23:00:00"


def test_a_home_is_identified_by_two_trips_of_a_rider() -> None:
    """Starts of morning trips of one rider lie within 500 metres: what makes trips a risk is in the simulation."""
    trips = bicycle_trips(300, 1).to_pandas()
    early = trips[trips["clock"].astype(str) < "08:30:00"]
    spread = early.groupby("rider")["start_lat"].agg(["std", "size"])
    assert (spread[spread["size"] > 3]["std"] * 111 < 0.5).mean() > 0.3
