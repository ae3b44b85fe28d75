"""Accounts: which ledger a release is booked in, and what is refused before it is opened.

Budgets of a dataset: epsilon and delta of all releases together, and no second draw unasked.
"""

from __future__ import annotations

import math
from dataclasses import fields
from pathlib import Path

import pytest
from ledger.claims import claim

from anonkit.bundle.release_place import Place
from anonkit.errors import BudgetError, LedgerError, ParameterError
from anonkit.ledger.account import REQUIRED, VARIABLE, Account, Where, refuse_overspent
from anonkit.ledger.booked_releases import NO_LIMIT, Allowance, Cost, DatasetState, Entry, ReleaseState, allowed
from anonkit.ledger.earlier_releases import SIMULATED_NAME, leave_pointer
from anonkit.ledger.ledger_place import LedgerPlace, users_ledger
from anonkit.ledger.store import NAME, Ledger
from anonkit.policy.bookkeeping import Bookkeeping
from anonkit.promises.guarantee import ADD_OR_REMOVE, Neighbours

ROW = Neighbours(adjacency=ADD_OR_REMOVE)


def state(allowance: Allowance, *spent: float, redrawn: bool = False) -> DatasetState:
    """A dataset with releases of some losses."""
    entries = []
    for number, epsilon in enumerate(spent, 1):
        planned = claim(epsilon, redrawn=redrawn, neighbours=ROW, delta=1e-6)
        given = {one.name: getattr(planned, one.name) for one in fields(planned)}
        entries.append(Entry(**given, number=number, state=ReleaseState.COMMITTED, created="2026-01-01", process="1 2"))
    return DatasetState(dataset="d", allowance=allowance, entries=entries)


def cost(epsilon: float | None, delta: float = 0.0, *, redrawn: bool = False) -> Cost:
    """The loss of a further release."""
    return Cost(epsilon=epsilon, delta=delta, redrawn=redrawn, neighbours=ROW)


def test_a_budget_may_be_spent_to_its_end_and_no_further() -> None:
    """The losses of all releases that count, with the new one's."""
    standing = state(Allowance(epsilon=1.0, neighbours=ROW), 0.25, 0.5)
    refuse_overspent(standing, cost(0.25), NO_LIMIT)
    with pytest.raises(BudgetError, match=r"epsilon 0\.75 is spent, this release needs 0\.26"):
        refuse_overspent(standing, cost(0.26), NO_LIMIT)
    refuse_overspent(standing, cost(None), NO_LIMIT)  # k-anonymity spends none


def test_delta_has_a_budget_of_its_own() -> None:
    """Spent by two releases, and by the third."""
    standing = state(Allowance(epsilon=9.0, delta=3e-6, neighbours=ROW), 0.1, 0.1)
    refuse_overspent(standing, cost(0.1, 1e-6), NO_LIMIT)
    with pytest.raises(BudgetError, match="budget of delta"):
        refuse_overspent(standing, cost(0.1, 2e-6), NO_LIMIT)


def test_a_loss_without_a_bound_fits_into_no_finite_budget() -> None:
    """And into an infinite one."""
    with pytest.raises(BudgetError, match="no bound"):
        refuse_overspent(state(Allowance(epsilon=5.0, neighbours=ROW)), cost(math.inf), NO_LIMIT)
    refuse_overspent(state(Allowance(epsilon=math.inf)), cost(math.inf), NO_LIMIT)


def test_rows_are_not_randomized_twice_unasked() -> None:
    """Independent answers average out: a budget must allow it."""
    with pytest.raises(BudgetError, match=r"randomized before \(release 1\).*together epsilon would be 0\.3"):
        refuse_overspent(state(NO_LIMIT, 0.1, redrawn=True), cost(0.2, redrawn=True), NO_LIMIT)
    refuse_overspent(state(Allowance(epsilon=1.0), 0.1, redrawn=True), cost(0.2, redrawn=True), NO_LIMIT)
    refuse_overspent(state(NO_LIMIT, 0.1), cost(0.2, redrawn=True), NO_LIMIT)


def found(account: Account, place: Place | None, declared: Bookkeeping | None = None) -> Path | None:
    """Return the file of the ledger that a release would be booked in."""
    where = account.found(place, declared).place
    return None if where is None else where.file


def test_the_default_ledger_is_the_users_unless_one_stands_beside(tmp_path: Path) -> None:
    """Found from every folder; one that is beside the files, or beside the folder that is handed out, is first."""
    places = [Place.of(tmp_path / name / "a.parquet") for name in ("2024-01", "2024-02")]
    places.append(Place.of(f"{tmp_path}/2024-02/out/"))
    assert {found(Account(), place) for place in places} == {users_ledger().file}
    Ledger.create(tmp_path / "2024-02" / NAME)
    assert [found(Account(), place) for place in places] == [users_ledger().file, *[tmp_path / "2024-02" / NAME] * 2]
    assert found(Account(), None) is None
    assert Account().place is None


def test_simulated_people_have_a_ledger_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable, requirement, pointer or ledger of real people changes its place; in memory they have none."""
    place, ours = Place.of(tmp_path / "a.parquet"), Account(ledger=Where.SIMULATED)
    leave_pointer(place, Ledger.create(tmp_path / "elsewhere.sqlite"))
    monkeypatch.setenv(VARIABLE, str(tmp_path / "machine's"))
    monkeypatch.setenv(REQUIRED, "1")
    Ledger.create(tmp_path / NAME)
    for beside in (place, Place.of(f"{tmp_path}/out/")):
        assert found(ours, beside) == tmp_path / SIMULATED_NAME
        assert ours.found(beside).is_simulated
    for nowhere in (None, Place.of("s3://bucket/a.parquet")):
        assert found(ours, nowhere, Bookkeeping(budget=1.0)) is None


def test_real_people_are_in_no_ledger_of_simulated_ones(tmp_path: Path) -> None:
    """Neither one that is there, nor one of which the key is left."""
    Ledger.create(tmp_path / SIMULATED_NAME)
    assert found(Account(), Place.of(tmp_path / "a.parquet")) == users_ledger().file
    (tmp_path / SIMULATED_NAME).unlink()
    assert found(Account(), Place.of(tmp_path / "a.parquet")) == users_ledger().file


def test_a_key_whose_ledger_is_gone_is_found_beside(tmp_path: Path) -> None:
    """The ledger is refused then; the user's does not take its place."""
    place = Place.of(tmp_path / "a.parquet")
    Ledger.create(tmp_path / NAME)
    (tmp_path / NAME).unlink()
    account = Account().found(place)
    assert account.place == LedgerPlace(file=tmp_path / NAME)
    with pytest.raises(LedgerError, match="is not there, and its key is"):
        Ledger(tmp_path / NAME)


def test_a_ledger_that_is_named_or_refused_is_where_the_owner_says(tmp_path: Path) -> None:
    """The output has no influence on a ledger that is named or refused."""
    place = Place.of(tmp_path / "a.parquet")
    assert found(Account(ledger=str(tmp_path / "l")), place) == tmp_path / "l"
    assert found(Account(ledger=None), place) is None


@pytest.mark.parametrize("budget", [0.0, -1.0, float("nan")])
def test_a_budget_is_above_zero(budget: float) -> None:
    """Infinity is one."""
    with pytest.raises(ParameterError, match="budget"):
        Account(budget=budget)
    assert Account(budget=float("inf")).budget == float("inf")


def test_a_budget_needs_a_ledger(tmp_path: Path) -> None:
    """Nothing would add it up."""
    with pytest.raises(ParameterError, match="needs a ledger"):
        Account(budget=1.0).found(None)
    assert Account(budget=1.0).found(Place.of(tmp_path / "a.parquet")).budget == 1.0
    for declared in (Bookkeeping(budget=1.0), Bookkeeping(budget_delta=0.0)):
        with pytest.raises(ParameterError, match="the policy's budget needs a ledger"):
            Account().found(None, declared)
    for where in (Where.FOUND, Where.SIMULATED, Where.NOWHERE, None):
        with pytest.raises(ParameterError, match="a budget needs a ledger"):
            Account(ledger=where, budget_delta=1e-6).found(None)


def test_a_joint_group_has_at_least_one_person() -> None:
    """0 is no group."""
    with pytest.raises(ParameterError, match="accept_joint_k"):
        Account(accept_joint_k=0)


def test_the_name_of_a_dataset_holds_no_secret() -> None:
    """It is in messages and reports."""
    account = Account(dataset="s3://key:secret@bucket/people.csv")
    assert account.dataset is not None
    assert "secret" not in account.dataset
    assert account.found(None).dataset == account.dataset


def test_what_an_account_leaves_open_is_taken_from_another_one() -> None:
    """Its own ledger and what it says itself stay."""
    mine, recipe = Account(ledger=None, dataset="mine"), Account(dataset="other", accept_joint_k=3)
    assert mine.over(recipe) == Account(ledger=None, dataset="mine", accept_joint_k=3)


def test_the_caller_goes_before_the_policy_and_the_policy_before_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The policy belongs to the dataset, the environment to a machine; in memory too. Then one beside the output."""
    place, declared = Place.of(tmp_path / "out" / "a.parquet"), Bookkeeping(ledger=tmp_path / "policy's")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "machine's"))
    for output in (place, None):
        assert found(Account(ledger=tmp_path / "caller's"), output, declared) == tmp_path / "caller's"
        assert found(Account(), output, declared) == tmp_path / "policy's"
        assert found(Account(), output) == tmp_path / "machine's"
        assert found(Account(ledger=None), output, declared) is None
        assert found(Account(ledger=Where.NOWHERE), output, declared) is None
    Ledger.create(tmp_path / "out" / NAME)
    assert found(Account(), place) == tmp_path / "machine's"
    monkeypatch.setenv(VARIABLE, "")
    assert found(Account(), place) == tmp_path / "out" / NAME


@pytest.mark.parametrize("who", ["policy", "environment"])
def test_a_required_ledger_is_there_or_nothing_is_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    """Not made silently, not left out, and not left to chance; what is handed to nobody needs none."""
    place = Place.of(tmp_path / "a.parquet")
    declared = Bookkeeping(required=who == "policy")
    monkeypatch.setenv(REQUIRED, "0" if who == "policy" else "Yes")
    for output in (place, None):
        with pytest.raises(ParameterError, match="requires a ledger, and this release is to have none"):
            Account(ledger=None).found(output, declared)
        with pytest.raises(LedgerError, match="is not there") as refused:
            Account(ledger=tmp_path / "l.sqlite").found(output, declared)
        assert "anonkit ledger create" in str(refused.value.hint)
        assert found(Account(ledger=Where.NOWHERE), output, declared) is None
    with pytest.raises(LedgerError, match="nothing says where it is"):
        Account().found(None, declared)
    with pytest.raises(LedgerError, match="is not there"):
        Account().found(place, declared)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / NAME).touch()
    with pytest.raises(LedgerError, match="is not there"):  # one that was cut to nothing knows nothing
        Account().found(place, declared)
    (tmp_path / NAME).unlink()
    Ledger.create(tmp_path / NAME)
    assert found(Account(), place, declared) == tmp_path / NAME


def test_whether_a_ledger_is_required_is_not_guessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A word that is neither yes nor no stops everything."""
    monkeypatch.setenv(REQUIRED, "sometimes")
    with pytest.raises(ParameterError, match=REQUIRED):
        Account().found(Place.of(tmp_path / "a.parquet"))


def test_a_policy_lowers_a_budget_and_never_raises_it(tmp_path: Path) -> None:
    """An explicit budget is used, and the owner is warned when it exceeds the policy's."""
    place, declared = Place.of(tmp_path / "a.parquet"), Bookkeeping(budget=3.0)
    silent = Account().found(place, declared)
    assert [
        allowed(Allowance(epsilon=known), given=silent.given, declared=silent.declared).epsilon
        for known in (None, 2.0, 5.0)
    ] == [3.0, 2.0, 3.0]
    assert silent.notes == ()
    knowing = Account(budget=4.0).found(place, declared)
    assert [
        allowed(Allowance(epsilon=known), given=knowing.given, declared=knowing.declared).epsilon
        for known in (None, 2.0, 5.0)
    ] == [4.0, 4.0, 4.0]
    assert "beyond the 3 that the policy declares" in knowing.notes[0]
    assert Account(budget=2.0).found(place, declared).notes == ()


def test_a_policy_lowers_a_budget_of_delta_and_never_raises_it(tmp_path: Path) -> None:
    """As that of epsilon, and apart from it."""
    place, declared = Place.of(tmp_path / "a.parquet"), Bookkeeping(budget_delta=1e-6)
    silent, knowing = Account().found(place, declared), Account(budget_delta=2e-6).found(place, declared)
    assert [
        allowed(Allowance(delta=known), given=silent.given, declared=silent.declared).delta
        for known in (None, 0.0, 1e-5)
    ] == [1e-6, 0.0, 1e-6]
    assert [
        allowed(Allowance(delta=known), given=knowing.given, declared=knowing.declared).delta
        for known in (None, 0.0, 1e-5)
    ] == [2e-6] * 3
    assert silent.notes == ()
    assert knowing.notes == ("The budget of delta of 2e-06 goes beyond the 1e-06 that the policy declares.",)
    assert allowed(Allowance(epsilon=1.0), given=knowing.given, declared=knowing.declared).epsilon == 1.0


@pytest.mark.parametrize("budget_delta", [-1e-9, 1.5, float("nan"), float("inf")])
def test_a_budget_of_delta_is_a_probability(budget_delta: float) -> None:
    """Both ends are: none at all, and no limit."""
    with pytest.raises(ParameterError, match="budget_delta"):
        Account(budget_delta=budget_delta)
    assert [Account(budget_delta=end).given.delta for end in (0.0, 1.0)] == [0.0, 1.0]


def test_no_password_stands_in_the_words_of_an_account() -> None:
    """Neither in `repr` nor in the text of its place."""
    account = Account(ledger="postgresql://bob:hunter2@db/ledger?password=hunter2").found(None)
    assert account.place is not None
    assert account.place.address is not None
    assert "hunter2" in account.place.address
    for text in (repr(account), str(account.place), repr(account.place), f"{account.place}"):
        assert "hunter2" not in text
