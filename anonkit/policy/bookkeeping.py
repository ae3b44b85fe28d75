# SPDX-License-Identifier: Apache-2.0
"""Bookkeeping declared in a policy: where the ledger of the dataset is, whether it must be there, and its budgets.

The ledger follows the dataset: whoever has the policy books in the same place, from whatever folder and machine.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anonkit.errors import PolicyError
from anonkit.policy.side_files import optional_text

KEYS = ("ledger", "budget", "budget_delta", "budget_neighbours", "budget_unit", "ledger_required", "remember_people")
"""Top-level keys of a policy that are read here, beside `joint_k`."""

ADJACENCIES = ("added or removed", "replaced")
"""Neighbour relations of a budget: a record comes or goes, or has other values."""
_WHERE = 'ledger = "ledger.sqlite", or "postgresql://host/database"'


@dataclass(frozen=True, kw_only=True)
class Bookkeeping:
    """The owner's declaration of the ledger of the dataset.

    Raises
    ------
    PolicyError
        The budget is not above 0 or that of delta not in [0, 1], or a password is in the ledger's address: policies
        are shown around.
    """

    ledger: str | Path | None = None
    """A file, or the address of a server's; None: not declared."""
    budget: float | None = None
    """Total ε allowed for the dataset, in (0, inf]; None: not declared. It never raises what the ledger remembers."""
    budget_delta: float | None = None
    """Total δ allowed for the dataset, in [0, 1]; None: not declared. It lowers and never raises, as the budget."""
    budget_neighbours: str | None = None
    """Between which two tables the budget holds, one of `ADJACENCIES`; None: not declared."""
    budget_unit: str | None = None
    """Column whose values are the people of these tables; None or "none": they differ in one row."""
    required: bool = False
    """True: a release that is not booked, or whose ledger is not there, is refused."""
    remember_people: bool = True
    """False: the ledger keeps no tags of the people of the dataset, and does not know them again."""

    def __post_init__(self) -> None:
        if self.budget is not None and not self.budget > 0:
            raise PolicyError("policy: budget must be a number above 0", "budget = 3.0, or inf")
        if self.budget_delta is not None and not 0 <= self.budget_delta <= 1:
            raise PolicyError("policy: budget_delta must be a number from 0 to 1", "budget_delta = 1e-6")
        if self.budget_neighbours not in (None, *ADJACENCIES):
            words = " or ".join(map(repr, ADJACENCIES))
            raise PolicyError(f"policy: budget_neighbours must be {words}", f'budget_neighbours = "{ADJACENCIES[0]}"')
        if self.budget_unit is not None and self.budget_neighbours is None:
            raise PolicyError(
                "policy: budget_unit goes with budget_neighbours", f'budget_neighbours = "{ADJACENCIES[0]}"'
            )
        if isinstance(self.ledger, str) and _has_password(self.ledger):
            raise PolicyError(
                "policy: ledger holds a password, and policies are shown around",
                "name host and database; PGPASSFILE, PGPASSWORD or ANONKIT_LEDGER hold what is secret",
            )


def bookkeeping_of(raw: Mapping[str, Any], folder: Path | None) -> Bookkeeping:
    """Read the bookkeeping from the parsed document of a policy; a relative path is relative to `folder`.

    Raises
    ------
    PolicyError
        A key holds something of the wrong kind, or `Bookkeeping` refuses it.
    """
    ledger, required = raw.get("ledger"), raw.get("ledger_required")
    if ledger is not None and (not isinstance(ledger, str) or not ledger.strip()):
        raise PolicyError("policy: ledger must be a text in quotes", _WHERE)
    remembers = raw.get("remember_people", True)
    for key, setting in (("ledger_required", required), ("remember_people", remembers)):
        if setting is not None and not isinstance(setting, bool):
            raise PolicyError(f"policy: {key} must be true or false", f"{key} = true")
    return Bookkeeping(
        ledger=ledger if ledger is None or "://" in ledger else (folder or Path()) / Path(ledger).expanduser(),
        budget=_number(raw, "budget", "above 0", "budget = 3.0, or inf"),
        budget_delta=_number(raw, "budget_delta", "from 0 to 1", "budget_delta = 1e-6"),
        budget_neighbours=optional_text("policy", "budget_neighbours", raw),
        budget_unit=optional_text("policy", "budget_unit", raw),
        required=bool(required),
        remember_people=remembers,
    )


def _number(raw: Mapping[str, Any], key: str, range_words: str, example: str) -> float | None:
    """Return a number of the policy's; None where it is not declared. Its range is `Bookkeeping`'s to refuse."""
    value = raw.get(key)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or math.isnan(value):
        raise PolicyError(f"policy: {key} must be a number {range_words}", example)
    return float(value)


def _has_password(address: str) -> bool:
    """Return True if more than a user comes before the host, or a parameter is called after a password."""
    before, at, _ = address.partition("://")[2].rpartition("@")
    keys = (pair.partition("=") for pair in re.split("[?&;]", address)[1:])
    return bool(at and ":" in before) or any(equals and "passw" in key.lower() for key, equals, _ in keys)


def joint_floor_of(raw: Mapping[str, Any]) -> int | None:
    """Read the smallest joint k that is allowed, 1 or more; None where it is not declared.

    Raises
    ------
    PolicyError
        It is no such number.
    """
    value = raw.get("joint_k")
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return value
    raise PolicyError("policy: joint_k must be a whole number, 1 or more", "joint_k = 5")
