"""Bookkeeping in a policy: where the ledger is, whether it must be there, the budgets."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from anonkit.errors import PolicyError
from anonkit.policy.declaration import Policy


def load(folder: Path, text: str) -> Policy:
    """Read a policy from a file."""
    (folder / "policy.toml").write_text(text, encoding="utf-8")
    return Policy.load(folder / "policy.toml")


def test_a_path_is_relative_to_the_policy_and_an_address_is_none(tmp_path: Path) -> None:
    """A user of the policy charges the same ledger from any folder."""
    declared = load(tmp_path, 'ledger = "private/l.sqlite"\nbudget = 3\nledger_required = true').bookkeeping
    assert declared.ledger == tmp_path / "private" / "l.sqlite"
    assert (declared.budget, declared.required) == (3.0, True)
    assert load(tmp_path, 'ledger = "postgresql://db/l"').bookkeeping.ledger == "postgresql://db/l"
    assert load(tmp_path, f'ledger = "{tmp_path}/x"').bookkeeping.ledger == tmp_path / "x"
    assert load(tmp_path, "budget = inf").bookkeeping.budget == math.inf
    assert [load(tmp_path, f"budget_delta = {end}").bookkeeping.budget_delta for end in ("0", "1e-6")] == [0.0, 1e-6]


def test_nothing_is_declared_by_default(tmp_path: Path) -> None:
    """No ledger, no budget, nothing required."""
    declared = load(tmp_path, 'dataset = "d"').bookkeeping
    assert (declared.ledger, declared.budget, declared.budget_delta, declared.required) == (None, None, None, False)


@pytest.mark.parametrize(
    "line",
    [
        "ledger = 3",
        'ledger = " "',
        "budget = 0",
        "budget = -1",
        "budget = nan",
        "budget = true",
        'budget = "3"',
        "budget_delta = -1e-9",
        "budget_delta = 1.5",
        "budget_delta = nan",
        "budget_delta = true",
        'budget_neighbours = "moved"',
        'budget_unit = "patient"',
        "remember_people = 1",
        'budget_delta = "1e-6"',
        "ledger_required = 1",
        'ledger_required = "yes"',
    ],
)
def test_what_is_not_understood_is_refused(tmp_path: Path, line: str) -> None:
    """The key is named."""
    with pytest.raises(PolicyError, match=line.split()[0]):
        load(tmp_path, line)


@pytest.mark.parametrize(
    "address", ["postgresql://bob:hunter2@db/l", "postgresql://db/l?password=hunter2&sslmode=require"]
)
def test_a_policy_holds_no_password(tmp_path: Path, address: str) -> None:
    """It is shown around; a name of a user is no secret."""
    with pytest.raises(PolicyError, match="password") as refused:
        load(tmp_path, f'ledger = "{address}"')
    assert "hunter2" not in str(refused.value)
    assert load(tmp_path, 'ledger = "postgresql://bob@db:5432/l?sslmode=require"').bookkeeping.ledger is not None
