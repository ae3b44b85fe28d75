# SPDX-License-Identifier: Apache-2.0
"""Simulated tables: bank customers, hospital visits, a household survey, bicycle trips; nobody in them is real.

Nothing here is private, so `numpy.random` is used. A row is a function of the seed and its number alone: the
same whatever the number of rows and the size of the batches.
"""

from anonkit.datasets.bank_card_customers import (
    bank_customers,
    bank_customers_batches,
    bank_customers_policy,
    bank_customers_policy_toml,
)
from anonkit.datasets.simulated_tables import (
    bicycle_riders,
    bicycle_trips,
    hospital_patients,
    hospital_visits,
    simulated_table,
    simulation,
    survey_respondents,
    survey_respondents_policy_toml,
)

__all__ = [
    "bank_customers",
    "bank_customers_batches",
    "bank_customers_policy",
    "bank_customers_policy_toml",
    "bicycle_riders",
    "bicycle_trips",
    "hospital_patients",
    "hospital_visits",
    "simulated_table",
    "simulation",
    "survey_respondents",
    "survey_respondents_policy_toml",
]
