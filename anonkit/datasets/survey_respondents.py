# SPDX-License-Identifier: Apache-2.0
"""Simulated respondents of a household survey: small municipalities, weights, missing answers, and their policy."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

from anonkit.datasets.seeded_draws import IntArray, Stream, normals, numbered, uniforms

_REGIONS = ("north", "east", "south", "west", "islands")
_IN_A_REGION = 12
_MUNICIPALITIES = tuple(f"{region} {number:02d}" for region in _REGIONS for number in range(1, _IN_A_REGION + 1))
_AGES = (16, 95)
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
_WIDTH = 14  # uniform numbers a respondent, and two more for the normal ones


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
    random_numbers = uniforms(seed, Stream.RESPONDENT, _WIDTH + 2, 0, n)
    u, normal = random_numbers[:, :_WIDTH], normals(random_numbers[:, _WIDTH:])[:, 0]
    region = (u[:, 0] * len(_REGIONS)).astype(np.int64)
    municipality = region * _IN_A_REGION + (u[:, 1] ** 2.5 * _IN_A_REGION).astype(np.int64)
    age = _AGES[0] + ((_AGES[1] - _AGES[0] + 1) * (0.6 * u[:, 2] + 0.4 * u[:, 2] ** 2)).astype(np.int64)
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
    paths = [[name, _REGIONS[at // _IN_A_REGION]] for at, name in enumerate(_MUNICIPALITIES)]
    declared = {
        "respondent_id": 'role = "identifier"',
        "municipality": f"tree = {json.dumps(paths)}",
        "age": f"bounds = {json.dumps(_AGES)}, ladder = [5, 10, 20]",
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
