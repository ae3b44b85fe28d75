# SPDX-License-Identifier: Apache-2.0
"""The simulated table of a recipe: `simulate = { … }`, read, and drawn at its first use."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from anonkit.datasets import (
    bank_customers,
    bank_customers_policy,
    bank_customers_policy_toml,
    simulated_table,
    simulation,
)
from anonkit.errors import PolicyError
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy
from anonkit.policy.side_files import expect, refuse_unknown

_UNNAMED = ("rows", "seed")
_NAMED = ("table", "people", "seed")


@dataclass(frozen=True, kw_only=True)
class SimulatedSource:
    """A simulated table in place of a source."""

    table: str | None
    """Its name; None: bank customers without their numbers."""
    people: int
    seed: int

    @classmethod
    def from_toml(cls, where: str, raw: object, *, named: bool = False) -> SimulatedSource:
        """Read a recipe's entry: `{ table, people, seed }`, or `{ rows, seed }` of bank customers unless `named`.

        Raises
        ------
        PolicyError
            It is no table, has a key that is not known, or one that is no integer.
        ParameterError
            No such table is simulated.
        """
        words: Mapping[str, object] = expect(where, "simulate", raw, dict)
        named = named or bool({"table", "people"} & set(words))
        refuse_unknown(f"{where}, simulate", words, _NAMED if named else _UNNAMED)
        people = words.get("people", 1_000) if named else words.get("rows", 5_000)
        seed = words.get("seed", 0)
        if type(people) is not int or type(seed) is not int:
            raise PolicyError(
                f"{where}: simulate needs whole numbers", 'simulate = { table = "patients", people = 1000, seed = 1 }'
            )
        name = words.get("table", "") if named else None
        if name is not None:
            simulation(str(name))
        return cls(table=None if name is None else str(name), people=people, seed=seed)

    def draw(self) -> pa.Table:
        """Return its rows."""
        if self.table is None:
            return bank_customers(self.people, self.seed)
        return simulated_table(self.table, self.people, self.seed)

    def policy(self) -> Policy:
        """Return the policy that declares it, or one that says nothing where it has none of its own."""
        if self.table is None:
            return bank_customers_policy()
        declared = simulation(self.table).policy
        return Policy() if declared is None else Policy.from_dict(tomllib.loads(declared()))


def customers_to_show(rows: int) -> tuple[pa.Table, str]:
    """Return simulated bank customers with their numbers, as files hold them, and the policy in TOML."""
    customers = bank_customers(rows, customer_id=True)
    texts = [
        column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column for column in customers.columns
    ]
    return pa.table(texts, names=customers.column_names), bank_customers_policy_toml(customer_id=Role.IDENTIFIER)
