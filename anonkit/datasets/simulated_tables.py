# SPDX-License-Identifier: Apache-2.0
"""Simulated tables, by name: patients and visits, riders and trips, survey respondents, and bank customers.

Recipes and `python -m anonkit.datasets` take the names. Visits and trips have several rows a person: the first join
with their patients, the second have times and places. The survey has small municipalities, weights, missing answers and
a policy of its own. Bank customers are in `bank_card_customers`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from anonkit.datasets.bank_card_customers import bank_customers, bank_customers_policy_toml
from anonkit.datasets.simulated_rows import FloatArray, IntArray, Stream, normals, numbered, uniforms
from anonkit.errors import ParameterError, did_you_mean
from anonkit.policy.column_declarations import Role

_PATIENT_REGIONS = ("north", "south", "east", "west", "islands", "abroad")
_WARDS = ("cardiology", "surgery", "maternity", "eyes", "emergency")
_MOST_VISITS = 12


def hospital_patients(n: int = 1_000, seed: int = 0) -> pa.Table:
    """Simulate patients, one row each: `patient_id`, `age` (18 to 97), `sex`, `region` (six).

    Parameters
    ----------
    n : int
        Patients, in [0, inf).
    seed : int
        Which population, in [0, inf).
    """
    patients = _patients(n, seed)
    return pa.table(
        {
            "patient_id": numbered("P", np.arange(n)),
            "age": pa.array(18 + (patients[:, 0] * 80).astype(np.int64)),
            "sex": pa.array(np.array(["f", "m"])[(patients[:, 1] * 2).astype(np.int64)]),
            "region": pa.array(
                np.array(_PATIENT_REGIONS)[(patients[:, 2] ** 2 * len(_PATIENT_REGIONS)).astype(np.int64)]
            ),
        }
    )


def hospital_visits(n: int = 1_000, seed: int = 0) -> pa.Table:
    """Simulate the visits of the patients of `hospital_patients` with the same parameters.

    A third of the patients have none; the others have 1 to 12, older ones more. `patient` identifies the person of a
    visit. Its columns are `ward` (five), `month` (1 to 12), `days` (1 to 20) and whether the patient was `readmitted`
    (`yes`, `no`), which depends on age, ward and days.

    Parameters
    ----------
    n, seed : int
        As in `hospital_patients`: the patients, not the visits.
    """
    patients = _patients(n, seed)
    often = 0.25 + 0.5 * patients[:, 0]
    visits = np.floor(np.log1p(-np.maximum(patients[:, 3] - 1 / 3, 0) * 1.5) / np.log(often))
    number = np.where(patients[:, 3] < 1 / 3, 0, np.minimum(1 + visits, _MOST_VISITS)).astype(np.int64)
    patient = np.repeat(np.arange(n), number)
    of_visit = (np.cumsum(number) - number)[patient]
    # a visit is drawn by its patient and its place among the patient's visits: more patients change no visit
    words = uniforms(seed, Stream.VISIT, 4 * _MOST_VISITS, 0, n).reshape(n, _MOST_VISITS, 4)
    visits = words[patient, np.arange(patient.size) - of_visit]
    ward = (visits[:, 0] * len(_WARDS)).astype(np.int64)
    days = 1 + (19 * visits[:, 2] ** 2).astype(np.int64)
    chance = 0.1 + 0.35 * patients[patient, 0] + np.array([0.3, 0.15, 0.0, -0.05, 0.0])[ward] + 0.01 * days
    return pa.table(
        {
            "patient": numbered("P", patient),
            "ward": pa.array(np.array(_WARDS)[ward]),
            "month": pa.array(1 + (12 * visits[:, 1]).astype(np.int64)),
            "days": pa.array(days),
            "readmitted": pa.array(np.where(visits[:, 3] < chance, "yes", "no")),
        }
    )


def _patients(n: int, seed: int) -> FloatArray:
    """Return four uniform numbers a patient, shape (n, 4)."""
    return uniforms(seed, Stream.PATIENT, 4, 0, n)


_CENTRE = (52.0, 10.0)
"""Latitude and longitude, degrees: of the invented city."""
_REACH = 0.09
"""Extent of the city north and south of its centre, degrees."""
_EAST = 1.6
"""Degrees of longitude for one of latitude, to reach as far in kilometres."""
_FIRST_DAY = np.datetime64("2025-03-03", "D")  # a Monday
_WEEKS = 13
_AGE_GROUPS = ("under 25", "25 to 39", "40 to 59", "60 or more")
_MOST_TRIPS = 20
_TRIP_WIDTH = 11  # uniform numbers a trip


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
            "age_group": pa.array(np.array(_AGE_GROUPS)[_age(riders)]),
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
    u = uniforms(seed, Stream.TRIP, _TRIP_WIDTH * _MOST_TRIPS, 0, n).reshape(n, _MOST_TRIPS, _TRIP_WIDTH)[
        rider, of_trip
    ]
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


_SURVEY_REGIONS = ("north", "east", "south", "west", "islands")
_IN_A_REGION = 12
_MUNICIPALITIES = tuple(f"{region} {number:02d}" for region in _SURVEY_REGIONS for number in range(1, _IN_A_REGION + 1))
_RESPONDENT_AGES = (16, 95)
_MOST_IN_A_HOUSEHOLD = 8
_BIRTHPLACES = ("this country", "neighbouring country", "elsewhere in Europe", "Africa", "Americas", "Asia", "Oceania")
_BORN_THERE = (820, 70, 50, 25, 15, 18, 2)  # per mille
_EDUCATIONS = ("primary", "lower secondary", "upper secondary", "vocational", "bachelor", "master or more")
_ACTIVITIES = ("employed", "unemployed", "student", "retired", "at home")
_OCCUPATIONS = (
    *("management", "professional", "technical", "clerical", "sales and services"),
    *("agriculture", "crafts", "machines and transport", "elementary"),
)
_HEALTHS = ("good", "fair", "poor")
_ANSWERS = ("easily", "with some difficulty", "with great difficulty")
_MOST_INCOME = 12_000
_RESPONDENT_WIDTH = 14  # uniform numbers a respondent, and two more for the normal ones


def survey_respondents(n: int = 5_000, seed: int = 0) -> pa.Table:
    """Simulate the respondents of a household survey, one row each.

    ================= ================================================== ======================
    column            values                                             missing
    ================= ================================================== ======================
    respondent_id     R0000000, ...                                      never
    municipality      60, twelve in each of five regions, the last ones  never
                      of a region with a few respondents each
    age               16 to 95 years                                     never
    sex               f, m                                               never
    household_size    1 to 8 people                                      never
    born_in           this country, ... (7), the last with 2 per mille   never
    education         primary, ..., master or more (6)                   4 %
    activity          employed, unemployed, student, retired, at home    never
    occupation        management, ..., elementary (9)                    who is not employed
    income            0 to 12,000 a month, in steps of 50                12 %, of high incomes
                                                                         more often
    health            good, fair, poor                                   2 %
    makes_ends_meet   easily, with some difficulty, with great           never
                      difficulty
    weight            people of the population whom a respondent         never
                      represents, by region and age: 15 integers
    ================= ================================================== ======================

    Parameters
    ----------
    n : int
        Respondents, in [0, inf). Fewer with the same seed are the first of more.
    seed : int
        Which population, in [0, inf).

    Returns
    -------
    pyarrow.Table
        Strings and int64, with nulls where an answer is missing.
    """
    random_numbers = uniforms(seed, Stream.RESPONDENT, _RESPONDENT_WIDTH + 2, 0, n)
    u, normal = random_numbers[:, :_RESPONDENT_WIDTH], normals(random_numbers[:, _RESPONDENT_WIDTH:])[:, 0]
    region = (u[:, 0] * len(_SURVEY_REGIONS)).astype(np.int64)
    municipality = region * _IN_A_REGION + (u[:, 1] ** 2.5 * _IN_A_REGION).astype(np.int64)
    age = _RESPONDENT_AGES[0] + (
        (_RESPONDENT_AGES[1] - _RESPONDENT_AGES[0] + 1) * (0.6 * u[:, 2] + 0.4 * u[:, 2] ** 2)
    ).astype(np.int64)
    schooling = np.minimum(u[:, 3] + 0.1 * (age < 60), 1 - 1e-9) * (age >= 18)
    education = (schooling * len(_EDUCATIONS)).astype(np.int64)
    activity = _activity(age, u[:, 4])
    # good schooling leads to the first of the occupations, with some luck
    rank = np.clip(1 - schooling + 0.6 * (u[:, 5] - 0.5), 0, 1 - 1e-9)
    occupation = (rank * len(_OCCUPATIONS)).astype(np.int64)
    household = 1 + np.minimum((-1.8 * np.log1p(-u[:, 6])).astype(np.int64), _MOST_IN_A_HOUSEHOLD - 1)
    mean = np.array([7.75, 6.9, 6.6, 7.3, 6.7])[activity] + 0.11 * education - 0.03 * occupation * (activity == 0)
    income = np.minimum(np.rint(np.exp(mean + 0.4 * normal) / 50) * 50, _MOST_INCOME).astype(np.int64)
    unwell = u[:, 7] + 0.006 * (age - 50) - 0.00004 * np.minimum(income, 5_000)
    health = np.digitize(unwell, [0.55, 0.85])
    need = u[:, 8] + 0.08 * household - np.minimum(income, 6_000) / 4_000 + 0.2 * (activity == 1)
    answer = np.digitize(need, [-0.05, 0.35])
    weight = np.array([[820, 610, 480], [700, 530, 410], [760, 560, 440], [640, 500, 390], [230, 170, 130]])
    return pa.table(
        {
            "respondent_id": numbered("R", np.arange(n)),
            "municipality": _words(_MUNICIPALITIES, municipality),
            "age": pa.array(age),
            "sex": _words(("f", "m"), (u[:, 9] * 2).astype(np.int64)),
            "household_size": pa.array(household),
            "born_in": _words(_BIRTHPLACES, np.repeat(np.arange(7), _BORN_THERE)[(u[:, 10] * 1000).astype(np.int64)]),
            "education": _words(_EDUCATIONS, education, u[:, 11] < 0.04),
            "activity": _words(_ACTIVITIES, activity),
            "occupation": _words(_OCCUPATIONS, occupation, activity != 0),
            "income": pa.array(income, mask=u[:, 12] < 0.08 + 0.00002 * income),
            "health": _words(_HEALTHS, health, u[:, 13] < 0.02),
            "makes_ends_meet": _words(_ANSWERS, answer),
            "weight": pa.array(weight[region, np.digitize(age, [30, 65])].astype(np.int64)),
        }
    )


def survey_respondents_policy_toml() -> str:
    """Return the policy of `survey_respondents` as the text of a TOML file, every domain declared.

    The municipality has its region as hierarchy, `income` and `health` are sensitive, and nothing is the target: a
    survey is for many questions. The weight is a quasi-identifier that is useful in full alone (`ladder = "none"`):
    it discloses region and age.
    """
    paths = [[name, _SURVEY_REGIONS[at // _IN_A_REGION]] for at, name in enumerate(_MUNICIPALITIES)]
    declared = {
        "respondent_id": 'role = "identifier"',
        "municipality": f"tree = {json.dumps(paths)}",
        "age": f"bounds = {json.dumps(_RESPONDENT_AGES)}, ladder = [5, 10, 20]",
        "sex": 'categories = ["f", "m"]',
        "household_size": f"bounds = [1, {_MOST_IN_A_HOUSEHOLD}]",
        "born_in": f"categories = {json.dumps(_BIRTHPLACES)}",
        "education": f"categories = {json.dumps(_EDUCATIONS)}",
        "activity": f"categories = {json.dumps(_ACTIVITIES)}",
        "occupation": f"categories = {json.dumps(_OCCUPATIONS)}",
        "income": f'role = "sensitive", bounds = [0, {_MOST_INCOME}]',
        "health": f'role = "sensitive", categories = {json.dumps(_HEALTHS)}',
        "makes_ends_meet": f'role = "insensitive", categories = {json.dumps(_ANSWERS)}',
        "weight": 'ladder = "none"',
    }
    lines = [
        "# Simulated respondents of a survey. The domains are those of the simulation, so they are public.",
        'dataset = "household-survey"',
        'declared_by = "anonkit.datasets, which draws from these domains and no others"',
        'license = "CC0-1.0"',
        "target = false  # a survey has many questions, not one",
        "",
        "[columns]",
        *(f"{name:<15} = {{ {words} }}" for name, words in declared.items()),
    ]
    return "\n".join(lines) + "\n"


def _activity(age: IntArray, uniform: np.ndarray) -> IntArray:
    """Return people's activities, as numbers of `_ACTIVITIES`: studying is for the young, a pension for the old."""
    young, old = np.digitize(uniform, [0.35, 0.41, 0.95]), np.digitize(uniform, [0.04, 0.045, 0.05, 0.95])
    grown = np.digitize(uniform, [0.78, 0.85, 0.87, 0.89])
    of_the_young = np.array([0, 1, 2, 4])[young]
    activity: IntArray = np.where(age < 25, of_the_young, np.where(age >= 66, old, grown))
    return activity


def _words(words: tuple[str, ...], codes: IntArray, missing: np.ndarray | None = None) -> pa.Array:
    """Return a column of words by their numbers, some of them missing."""
    return pa.array(np.array(words, dtype=object)[codes], pa.string(), mask=missing)


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """A table that can be simulated."""

    summary: str
    draw: Callable[[int, int], pa.Table]
    """By the number of people and the seed."""
    policy: Callable[[], str] | None = None
    """The TOML of a policy that declares every domain; None for tables that are released joined, by a recipe."""


def _customers(people: int, seed: int) -> pa.Table:
    """Return bank customers as an owner has them: with their numbers, and strings in place of dictionaries."""
    table = bank_customers(people, seed, customer_id=True)
    plain = [
        column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column for column in table.itercolumns()
    ]
    return pa.table(plain, names=table.column_names)


SIMULATIONS: Mapping[str, Simulation] = {
    "customers": Simulation(
        summary="bank-card customers, one row each",
        draw=_customers,
        policy=lambda: bank_customers_policy_toml(customer_id=Role.IDENTIFIER),
    ),
    "patients": Simulation(summary="hospital patients, one row each", draw=hospital_patients),
    "visits": Simulation(summary="the visits of these patients, 0 to 12 of each", draw=hospital_visits),
    "respondents": Simulation(
        summary="respondents of a household survey, one row each",
        draw=survey_respondents,
        policy=survey_respondents_policy_toml,
    ),
    "riders": Simulation(summary="riders of hired bicycles, one row each", draw=bicycle_riders),
    "trips": Simulation(summary="the trips of these riders, 1 to 20 of each", draw=bicycle_trips),
}


def simulation(name: str) -> Simulation:
    """Return the simulation of a name.

    Raises
    ------
    ParameterError
        Nothing is; the hint has the closest name.
    """
    if name not in SIMULATIONS:
        raise ParameterError(f"no table {name!r} is simulated", did_you_mean(name, list(SIMULATIONS)))
    return SIMULATIONS[name]


def simulated_table(name: str, people: int, seed: int) -> pa.Table:
    """Return a simulated table by its name.

    Parameters
    ----------
    name : str
        One of `SIMULATIONS`.
    people : int
        How many people, in [0, inf): rows of the tables with one row each.
    seed : int
        Which population, in [0, inf). Tables of one situation that shall be joined take the same.

    Raises
    ------
    ParameterError
        There is no such table, or a number is below 0.
    """
    of_that_name = simulation(name)
    if people < 0 or seed < 0:
        raise ParameterError(f"people ({people}) and seed ({seed}) must be in [0, inf)")
    return of_that_name.draw(people, seed)
