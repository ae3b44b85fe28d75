"""`simulate = { … }` of a recipe: read by name, drawn by its seed, with the policy that declares it."""

from __future__ import annotations

from typing import Any

import pytest

from anonkit.datasets import bank_customers, hospital_patients
from anonkit.errors import AnonkitError
from anonkit.pipeline.recipe_sources import SimulatedSource, customers_to_show


def test_customers_are_the_default_and_others_are_named() -> None:
    """By rows, or by table and people; the same for the same seed."""
    customers = SimulatedSource.from_toml("r", {"rows": 50, "seed": 3})
    assert customers.draw().equals(bank_customers(50, 3))
    assert customers.policy().columns
    patients = SimulatedSource.from_toml("r", {"table": "patients", "people": 40, "seed": 2})
    assert patients.draw().equals(hospital_patients(40, 2))


@pytest.mark.parametrize(
    ("raw", "named"),
    [
        ([], False),
        ({"people": 5, "rows": 5}, False),
        ({"rows": 5.0}, False),
        ({"rows": True}, False),
        ({"table": "nobody"}, False),
        ({"rows": 5}, True),
    ],
)
def test_what_is_no_simulated_table_is_refused(raw: Any, named: bool) -> None:
    """Keys, numbers and names."""
    with pytest.raises(AnonkitError):
        SimulatedSource.from_toml("r", raw, named=named)


def test_customers_to_show_have_numbers_and_a_policy_for_them() -> None:
    """Strings, as a file holds them; the policy takes the number for an identifier."""
    table, policy = customers_to_show(20)
    assert table.num_rows == 20
    assert not any(str(kind).startswith("dictionary") for kind in table.schema.types)
    assert "customer_id" in table.column_names
    assert "identifier" in policy
