# SPDX-License-Identifier: Apache-2.0
"""The simulated tables by their names, as recipes and `python -m anonkit.datasets` take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from anonkit.datasets.bank_card_customers import bank_customers, bank_customers_policy_toml
from anonkit.datasets.bicycle_trips import bicycle_riders, bicycle_trips
from anonkit.datasets.hospital_admissions import hospital_patients, hospital_visits
from anonkit.datasets.survey_respondents import survey_respondents, survey_respondents_policy_toml
from anonkit.errors import ParameterError, did_you_mean
from anonkit.policy.column_declarations import Role


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
