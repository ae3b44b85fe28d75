# SPDX-License-Identifier: Apache-2.0
"""Simulated riders of hired bicycles and their trips: times and places, with several rows a person."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from anonkit.datasets.seeded_draws import FloatArray, IntArray, Stream, normals, numbered, uniforms

_CENTRE = (52.0, 10.0)
"""Latitude and longitude, degrees: of the invented city."""
_REACH = 0.09
"""Extent of the city north and south of its centre, degrees."""
_EAST = 1.6
"""Degrees of longitude for one of latitude, to reach as far in kilometres."""
_FIRST_DAY = np.datetime64("2025-03-03", "D")  # a Monday
_WEEKS = 13
_AGES = ("under 25", "25 to 39", "40 to 59", "60 or more")
_MOST_TRIPS = 20
_WIDTH = 11  # uniform numbers a trip


def bicycle_riders(n: int = 1_000, seed: int = 0) -> pa.Table:
    """Simulate the riders of an invented city, one row each: `rider_id`, `age_group` (four), `subscriber` (yes, no).

    Parameters
    ----------
    n : int
        Riders, in [0, inf).
    seed : int
        Which population, in [0, inf).
    """
    riders = _riders(n, seed)
    return pa.table(
        {
            "rider_id": numbered("B", np.arange(n)),
            "age_group": pa.array(np.array(_AGES)[_age(riders)]),
            "subscriber": pa.array(np.where(_subscribed(riders), "yes", "no")),
        }
    )


def bicycle_trips(n: int = 1_000, seed: int = 0) -> pa.Table:
    """Simulate the trips of the riders of `bicycle_riders` with the same parameters.

    Every rider has 1 to 20 trips in thirteen weeks from 3 March 2025, subscribers more. Four in five trips of a
    subscriber, and one in three of others, are between home and work, on a weekday, in the morning or in the late
    afternoon; the others start anywhere at any time of the day. Homes and places of work are a rider's own: with
    them the table distinguishes people although no name is in it.

    ======================== ==================================================== ===============
    column                   values                                               unit
    ======================== ==================================================== ===============
    rider                    the `rider_id`
    day                      3 March to 1 June 2025
    clock                    when it started: 06:00 to 22:59, to the minute       local time
    start_lat, start_lon     within 0.09 by 0.144 degrees of 52 N, 10 E           degrees, 5 digits
    end_lat, end_lon         the same                                             degrees, 5 digits
    minutes                  2 to 90                                              minutes
    electric                 yes, no: more often on long trips, and of the older
    ======================== ==================================================== ===============

    Parameters
    ----------
    n, seed : int
        As in `bicycle_riders`: the riders, not the trips.
    """
    riders = _riders(n, seed)
    often = np.where(_subscribed(riders), 0.88, 0.6)
    number = 1 + np.minimum(np.log1p(-riders[:, 2]) / np.log(often), _MOST_TRIPS - 1).astype(np.int64)
    rider = np.repeat(np.arange(n), number)
    of_trip = np.arange(rider.size) - (np.cumsum(number) - number)[rider]
    # a trip is drawn by its rider and its place among the rider's trips: more riders change no trip
    u = uniforms(seed, Stream.TRIP, _WIDTH * _MOST_TRIPS, 0, n).reshape(n, _MOST_TRIPS, _WIDTH)[rider, of_trip]
    home, work = _homes(riders)[rider], _works(riders)[rider]
    commute = u[:, 0] < np.where(_subscribed(riders)[rider], 0.8, 1 / 3)
    morning = u[:, 1] < 0.5
    elsewhere = _around(normals(u[:, 2:4]), 0.025)
    out = np.where(commute, morning, u[:, 1] < 0.7)[:, None]
    other_end = np.where(commute[:, None], work, elsewhere)
    parked = normals(u[:, 4:8]).reshape(-1, 2, 2) * 0.0006  # some fifty metres from the door
    start = _in_the_city(np.where(out, home, other_end) + parked[:, 0])
    end = _in_the_city(np.where(out, other_end, home) + parked[:, 1])
    kilometres = 111 * np.hypot(end[:, 0] - start[:, 0], (end[:, 1] - start[:, 1]) / _EAST)
    minutes = np.clip(np.rint(2 + kilometres * (3.5 + 2 * ((u[:, 0] + u[:, 9]) % 1))), 2, 90).astype(np.int64)
    bent = 0.05 + 0.06 * kilometres + 0.12 * _age(riders)[rider]
    return pa.table(
        {
            "rider": numbered("B", rider),
            "day": pa.array(_day(commute, u[:, 8])),
            "clock": pa.array(_clock(commute, morning, u[:, 9]), pa.time32("s")),
            "start_lat": pa.array(start[:, 0]),
            "start_lon": pa.array(start[:, 1]),
            "end_lat": pa.array(end[:, 0]),
            "end_lon": pa.array(end[:, 1]),
            "minutes": pa.array(minutes),
            "electric": pa.array(np.where(u[:, 10] < bent, "yes", "no")),
        }
    )


def _riders(n: int, seed: int) -> FloatArray:
    """Return eight uniform numbers a rider, shape (n, 8)."""
    return uniforms(seed, Stream.RIDER, 8, 0, n)


def _age(riders: FloatArray) -> IntArray:
    return np.digitize(riders[:, 0], [0.25, 0.65, 0.9])


def _subscribed(riders: FloatArray) -> np.ndarray:
    return riders[:, 1] < np.array([0.6, 0.5, 0.35, 0.2])[_age(riders)]


def _homes(riders: FloatArray) -> FloatArray:
    return _around(normals(riders[:, 3:5]), 0.035)


def _works(riders: FloatArray) -> FloatArray:
    return _around(normals(riders[:, 5:7]), 0.015)


def _around(normal: FloatArray, deviation: float) -> FloatArray:
    """Return places around the centre; `normal` has shape (rows, 2), `deviation` is in degrees of latitude."""
    return _in_the_city(np.array(_CENTRE) + deviation * normal * np.array([1, _EAST]))


def _in_the_city(places: FloatArray) -> FloatArray:
    """Fold places at the borders of the city, to five digits (a metre)."""
    reach = _REACH * np.array([1, _EAST])
    off = np.abs(places - np.array(_CENTRE))
    off = np.sign(places - np.array(_CENTRE)) * np.abs(reach - np.abs(reach - off))
    folded: FloatArray = np.round(np.array(_CENTRE) + np.clip(off, -reach, reach), 5)
    return folded


def _day(commute: np.ndarray, day: FloatArray) -> np.ndarray:
    """Return the days of trips: weekdays, of those to and from work."""
    week, weekday = np.divmod((day * _WEEKS * 7).astype(np.int64), 7)
    return _FIRST_DAY + week * 7 + np.where(commute, weekday % 5, weekday)


def _clock(commute: np.ndarray, morning: np.ndarray, minute: FloatArray) -> np.ndarray:
    """Return when trips started, in seconds of the day: to work near eight, home near half past five."""
    to_work, home = 450 + (75 * minute).astype(np.int32), 1005 + (90 * minute).astype(np.int32)
    any_time = 360 + (1020 * minute).astype(np.int32)
    of_day: np.ndarray = 60 * np.where(commute, np.where(morning, to_work, home), any_time)
    return of_day.astype(np.int32)
