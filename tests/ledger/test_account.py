"""Accounts: which ledger a release is booked in, and what is refused before it is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from anonkit.bundle.stored_release import Place
from anonkit.errors import ParameterError
from anonkit.ledger.account import Account
from anonkit.ledger.store import NAME


def test_the_default_ledger_stands_beside_what_is_handed_out(tmp_path: Path) -> None:
    """Beside the files, or beside the folder that is handed out as a whole; none for a release in memory."""
    assert Account().beside(Place.of(tmp_path / "a.parquet")).path == tmp_path / NAME
    assert Account().beside(Place.of(f"{tmp_path}/out/")).path == tmp_path / NAME
    assert Account().beside(None).path is None
    assert Account().path is None


def test_a_ledger_that_is_named_or_refused_is_where_the_owner_says(tmp_path: Path) -> None:
    """Whatever the output is."""
    place = Place.of(tmp_path / "a.parquet")
    assert Account(ledger=str(tmp_path / "l")).beside(place).path == tmp_path / "l"
    assert Account(ledger=None).beside(place).path is None


@pytest.mark.parametrize("budget", [0.0, -1.0, float("nan")])
def test_a_budget_is_above_zero(budget: float) -> None:
    """Infinity is one."""
    with pytest.raises(ParameterError, match="budget"):
        Account(budget=budget)
    assert Account(budget=float("inf")).budget == float("inf")


def test_a_budget_needs_a_ledger(tmp_path: Path) -> None:
    """Nothing would add it up."""
    with pytest.raises(ParameterError, match="needs a ledger"):
        Account(budget=1.0).beside(None)
    assert Account(budget=1.0).beside(Place.of(tmp_path / "a.parquet")).budget == 1.0


def test_a_joint_group_has_at_least_one_person() -> None:
    """0 is no group."""
    with pytest.raises(ParameterError, match="accept_joint_k"):
        Account(accept_joint_k=0)


def test_the_name_of_a_dataset_holds_no_secret() -> None:
    """It stands in messages and reports."""
    account = Account(dataset="s3://key:secret@bucket/people.csv")
    assert account.dataset is not None
    assert "secret" not in account.dataset
    assert account.beside(None).dataset == account.dataset


def test_what_an_account_leaves_open_is_taken_from_another_one() -> None:
    """Its own ledger and what it says itself stay."""
    mine, recipe = Account(ledger=None, dataset="mine"), Account(dataset="other", accept_joint_k=3)
    assert mine.over(recipe) == Account(ledger=None, dataset="mine", accept_joint_k=3)
