"""Budgets of datasets: what a release may add to, what is refused, and what a crash leaves."""

from __future__ import annotations

import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from ledger.claims import environment

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import BudgetError, LedgerError, ParameterError
from anonkit.ledger import NAME, Ledger
from anonkit.ledger.account import Where
from anonkit.ledger.booked_releases import ReleaseState
from anonkit.ledger.earlier_releases import POINTER
from anonkit.ledger.ledger_place import users_ledger
from anonkit.policy.bookkeeping import Bookkeeping
from anonkit.policy.declaration import Policy
from anonkit.promises.guarantee import ADD_OR_REMOVE, Neighbours


@pytest.fixture(scope="module")
def ten() -> pa.Table:
    """Ten customers."""
    return bank_customers(10, seed=1)


def draw(table: pa.Table, output: Path | None, **more: Any) -> anonkit.Release:
    """Release with randomized answers."""
    given = {"method": "rr", "epsilon": 1.0, "policy": bank_customers_policy(), **more}
    if given["method"] != "rr":
        del given["epsilon"]
    return anonkit.release(table, output=output, **given)


def test_a_second_draw_is_refused(ten: pa.Table, tmp_path: Path) -> None:
    """Fresh noise on the same rows, without a budget: refused, whatever the files are called."""
    draw(ten, tmp_path / "a.parquet")
    with pytest.raises(BudgetError, match=r"randomized before \(release 1\).*together epsilon would be 2"):
        draw(ten, tmp_path / "b.parquet")
    assert not (tmp_path / "b.parquet").exists()


def test_the_same_rows_are_found_under_no_name(ten: pa.Table, tmp_path: Path) -> None:
    """Without a name the ledger looks for the rows, in any order."""
    unnamed = replace(bank_customers_policy(), dataset=None)
    draw(ten, tmp_path / "a.parquet", policy=unnamed)
    turned = ten.take(pa.array(range(9, -1, -1)))
    with pytest.raises(BudgetError, match="randomized before"):
        draw(turned, tmp_path / "b.parquet", policy=unnamed)
    draw(bank_customers(10, seed=2), tmp_path / "c.parquet", policy=unnamed)
    assert [one.dataset for one in Ledger(users_ledger()).datasets()] == ["table", "table-2"]


def test_a_budget_allows_draws_until_it_is_spent(ten: pa.Table, tmp_path: Path) -> None:
    """Losses add up; the budget is remembered; what is left is said."""
    draw(ten, tmp_path / "a.parquet", budget=2.5)
    second = draw(ten, tmp_path / "b.parquet")
    with pytest.raises(BudgetError, match=r"2\.5 is allowed in all"):
        draw(ten, tmp_path / "c.parquet")

    note = "Together with the earlier releases of this dataset: epsilon 2 for one row replaced."
    assert note in second.report["notes"]
    position = second.report["ledger"]
    assert position["release_of_dataset"] == 2
    (together,) = position["totals"]
    assert (together["neighbours"], together["unit"], together["delta"]) == ("replaced", None, 0.0)
    assert 1.99 < together["epsilon"] <= 2
    assert position["budget_neighbours"] == {"neighbours": "replaced", "unit": None}
    assert position["epsilon_budget"] == 2.5


def central(table: pa.Table, output: Path, **more: Any) -> anonkit.Release:
    """Release by `dp-nb`, epsilon 1."""
    given = {"method": "dp-nb", "epsilon": 1.0, "policy": bank_customers_policy(), "output": output, **more}
    return anonkit.release(table, **given)


def visits() -> tuple[pa.Table, Policy]:
    """Return customers of whom each third has a row more, with who they are, and a policy by rows."""
    table = bank_customers(200, seed=1)
    who = [f"c{at // 3 * 2 + at % 2}" for at in range(200)]
    return table.append_column("who", pa.array(who)), bank_customers_policy().with_roles(identifiers=["who"])


def test_epsilons_of_different_neighbours_are_not_added_up_as_bare_numbers(tmp_path: Path) -> None:
    """`rr` and `dp-nb`: 3 for a replaced row, no bound for one more; the budget holds for the replaced one."""
    table = bank_customers(200, seed=1)
    central(table, tmp_path / "a.parquet")
    with pytest.raises(BudgetError, match="release needs 1, 2 is allowed in all, for one row replaced"):
        draw(table, tmp_path / "b.parquet", budget=2.0)
    made = draw(table, tmp_path / "b.parquet", budget=3.0)
    totals = made.report["ledger"]["totals"]
    assert [(one["neighbours"], one["epsilon"]) for one in totals] == [
        ("added or removed", "inf"),
        ("replaced", pytest.approx(3.0, abs=1e-6)),
    ]
    assert any("no bound for one row added or removed" in note for note in made.report["notes"])


def test_a_budget_that_names_nobody_holds_for_all_for_whom_there_is_a_bound(tmp_path: Path) -> None:
    """That of a policy; where by people and by rows leave none, nothing is released, and it is said why."""
    table, by_row = visits()
    declared = replace(by_row, bookkeeping=Bookkeeping(budget=2.5))
    central(table, tmp_path / "a.parquet", policy=declared)
    with pytest.raises(BudgetError, match=r"2\.5 is allowed in all, for one row replaced"):
        draw(table, tmp_path / "b.parquet", policy=declared)
    with pytest.raises(BudgetError, match="holds for nobody") as refused:
        central(table, tmp_path / "b.parquet", policy=declared.with_roles(unit="who"))
    assert "unit" in str(refused.value.hint)
    named = replace(declared, bookkeeping=Bookkeeping(budget=2.5, budget_neighbours="added or removed"))
    with pytest.raises(BudgetError, match="holds for one row added or removed, and this release has no bound for that"):
        draw(table, tmp_path / "b.parquet", policy=named)
    central(table, tmp_path / "b.parquet", policy=named, epsilon=1.1)
    (entry, _) = Ledger(users_ledger()).standing("bank-customers").entries
    assert (entry.neighbours, entry.people, entry.cap) == (Neighbours(adjacency=ADD_OR_REMOVE), None, None)


def test_whom_a_budget_is_for_is_named_or_follows_from_the_releases(tmp_path: Path) -> None:
    """A person where any release had a unit; the cap that was enforced is booked with it."""
    table, by_row = visits()
    people = by_row.with_roles(unit="who")
    central(table, tmp_path / "a.parquet", policy=people, rows_per_unit=3, budget=2.0)
    standing = Ledger(users_ledger()).standing("bank-customers")
    kind = Neighbours(adjacency=ADD_OR_REMOVE, unit="who")
    assert standing.allowance.neighbours == kind
    assert [(one.neighbours, one.people, one.cap) for one in standing.entries] == [(kind, "who", 3)]
    with pytest.raises(BudgetError, match=r"holds for one value of .who. added or removed, and this"):
        central(table, tmp_path / "b.parquet", policy=by_row)
    given = {"budget": 4.0, "budget_neighbours": "replaced", "budget_unit": "who"}
    made = central(table, tmp_path / "b.parquet", policy=people, rows_per_unit=3, **given)
    assert made.report["ledger"]["budget_neighbours"] == {"neighbours": "replaced", "unit": "who"}
    with pytest.raises(ParameterError, match="budget_neighbours"):
        central(table, tmp_path / "c.parquet", budget_neighbours="moved")
    with pytest.raises(ParameterError, match="budget_unit"):
        central(table, tmp_path / "c.parquet", budget_unit="who")


@pytest.mark.quick_cases("trr")
@pytest.mark.parametrize("method", ["trr", "ppnb"])
def test_a_loss_without_bound_fits_no_finite_budget(ten: pa.Table, tmp_path: Path, method: str) -> None:
    """TRR and labels published as they are: said clearly, the first time too, and no ledger is left behind."""
    more: dict[str, Any] = {"method": method, "policy": bank_customers_policy()}
    if method == "ppnb":
        more["p_keep"] = 0.5
    else:
        categories = ("education", "occupation", "marital_status", "income", "cards_held")
        more["policy"] = more["policy"].with_roles(insensitive=categories)
    with pytest.raises(BudgetError, match=r"has no bound.*no finite budget covers it"):
        draw(ten, tmp_path / "a.parquet", budget=100, **more)
    assert list(tmp_path.iterdir()) == []
    draw(ten, tmp_path / "a.parquet", **more)
    with pytest.raises(BudgetError, match="together the loss has no bound"):
        draw(ten, tmp_path / "b.parquet", **more)
    draw(ten, tmp_path / "c.parquet", budget=float("inf"), **more)


def test_what_only_the_rows_tell_is_for_the_owner(ten: pa.Table, tmp_path: Path) -> None:
    """Without a name the ledger knows a table by its rows: the report says that it is booked, and no more."""
    unnamed = replace(bank_customers_policy(), dataset=None)
    told = [draw(ten, tmp_path / f"{name}.parquet", policy=unnamed, budget=9) for name in ("a", "b")]

    assert told[1].owner["ledger"]["release_of_dataset"] == 2
    for one in told:
        assert one.report["ledger"] == {"booked": True}
        assert not any("earlier release" in note for note in one.report["notes"])


def test_one_dataset_does_not_pay_for_another(ten: pa.Table, tmp_path: Path) -> None:
    """Names keep budgets apart, and the owner learns that the rows are the same."""
    draw(ten, tmp_path / "a.parquet", dataset="a")
    other = draw(ten, tmp_path / "b.parquet", dataset="b")
    assert any("as dataset 'a' too" in note for note in other.owner["ledger"]["notes"])
    assert not any("dataset 'a'" in note for note in other.report["notes"])


@pytest.mark.slow
def test_where_the_ledger_stands(ten: pa.Table, tmp_path: Path) -> None:
    """In the user's folder of data, where it is requested, or nowhere; a pointer beside what is handed out says it."""
    draw(ten, tmp_path / "a.parquet")
    users = users_ledger().file
    assert users is not None
    assert stat.S_IMODE(users.stat().st_mode) == 0o600
    with pytest.raises(BudgetError):  # from another folder, too
        anonkit.release(ten, method="rr", epsilon=1.0, policy=bank_customers_policy(), output=f"{tmp_path}/x/out/")
    anonkit.release(
        ten, method="rr", epsilon=1.0, policy=bank_customers_policy(), output=f"{tmp_path}/x/out/", budget=9
    )
    assert (tmp_path / "x" / POINTER).exists()
    assert not (tmp_path / "x" / "out" / POINTER).exists()
    draw(ten, tmp_path / "y" / "b.parquet", ledger=tmp_path / "private" / "l.sqlite")
    draw(ten, tmp_path / "z" / "b.parquet", ledger=None)
    assert not (tmp_path / "z" / POINTER).exists()
    assert list(tmp_path.rglob(f"{NAME}*")) == []
    assert "ledger" not in draw(ten, None).report


def test_a_release_in_memory_can_be_booked(ten: pa.Table, tmp_path: Path) -> None:
    """With a path it is reserved and committed like any other."""
    draw(ten, None, ledger=tmp_path / "l.sqlite")
    with pytest.raises(BudgetError):
        draw(ten, None, ledger=tmp_path / "l.sqlite")


def test_a_required_ledger_is_required_in_memory_too(ten: pa.Table, tmp_path: Path) -> None:
    """Nothing is released, and nothing is made, before there is one."""
    declared = replace(bank_customers_policy(), bookkeeping=Bookkeeping(ledger=tmp_path / "l.sqlite", required=True))
    for ledger in (Where.FOUND, None):
        with pytest.raises(anonkit.AnonkitError, match="requires a ledger"):
            draw(ten, None, policy=declared, ledger=ledger)
    assert list(tmp_path.iterdir()) == []
    Ledger.create(tmp_path / "l.sqlite")
    draw(ten, None, policy=declared)
    with pytest.raises(BudgetError):
        draw(ten, None, policy=declared)


def test_a_budget_needs_a_ledger_and_a_number_above_zero(ten: pa.Table, tmp_path: Path) -> None:
    """Both are wrong usage."""
    with pytest.raises(ParameterError, match="needs a ledger"):
        draw(ten, None, budget=1)
    for budget in (0.0, -1.0, float("nan")):
        with pytest.raises(ParameterError, match="budget"):
            draw(ten, tmp_path / "a.parquet", budget=budget)


def test_a_dry_run_spends_nothing_and_still_refuses(ten: pa.Table, tmp_path: Path) -> None:
    """It looks at the ledger and leaves it."""
    draw(ten, tmp_path / "a.parquet", dry_run=True)
    assert list(tmp_path.iterdir()) == []
    assert not users_ledger().may_be_there
    draw(ten, tmp_path / "a.parquet", budget=1.5)
    with pytest.raises(BudgetError):
        draw(ten, tmp_path / "b.parquet", dry_run=True)


def test_a_dry_run_says_what_the_release_would_say(ten: pa.Table, tmp_path: Path) -> None:
    """The report's place in the ledger is the same, before there is a ledger and after."""
    for output in (tmp_path / "a.parquet", tmp_path / "b.parquet"):
        told = [draw(ten, output, budget=9, dry_run=dry_run).report["ledger"] for dry_run in (True, False)]
        assert told[0]["booked"] is told[1]["booked"] is True
        assert told[0].get("previous_release") == told[1].get("previous_release")


@pytest.mark.parametrize("where", ["file", pytest.param("server", marks=pytest.mark.slow)], indirect=True)
@pytest.mark.parametrize("step", ["anonkit.pipeline.publishing._write_data", "anonkit.bundle.atomic.Staging.commit"])
def test_a_full_disk_is_charged(
    ten: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, step: str
) -> None:
    """The size of a file follows from the draws: a full disk gives neither a first draw nor a stored result."""

    def fail(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(step, fail)
        with pytest.raises(anonkit.AnonkitError, match="its privacy loss is booked"):
            draw(ten, tmp_path / "a.parquet", ledger=where)
    (spent,) = Ledger(where).standing("bank-customers").counted
    assert (spent.state, spent.epsilon) == (ReleaseState.COMMITTED, pytest.approx(1.0))
    assert (spent.output, spent.data_sha256, spent.request, spent.redrawn) == (None, None, None, False)
    draw(ten, tmp_path / "a.parquet", ledger=where)
    assert Ledger(where).standing("bank-customers").epsilon == pytest.approx(2.0)


def test_a_full_disk_is_charged_by_the_next_reader_where_the_ledger_cannot_be_told(
    ten: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger on the same disk is full, too; this process has not forgotten what is to be charged."""

    def full(*args: object, **kwargs: object) -> None:
        raise LedgerError("full")

    def fail(*args: object, **kwargs: object) -> None:
        with_ledger.setattr("anonkit.ledger.file_store.FileStore.transaction", full)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as with_ledger:
        with_ledger.setattr("anonkit.bundle.atomic.Staging.commit", fail)
        with pytest.raises(anonkit.AnonkitError, match="No space left") as raised:
            draw(ten, tmp_path / "a.parquet")
        assert "booked" not in str(raised.value)  # nobody knows yet
    standing = Ledger(users_ledger()).standing("bank-customers")
    assert [entry.state for entry in standing.entries] == [ReleaseState.ROLLED_BACK, ReleaseState.COMMITTED]
    assert standing.epsilon == pytest.approx(1.0)


@pytest.mark.slow
def test_a_full_disk_takes_nothing_where_no_loss_is_promised(
    ten: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """k-anonymous classes that were not published are compared with nothing, and the message says nothing of a loss."""

    def fail(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("anonkit.bundle.atomic.Staging.commit", fail)
    with pytest.raises(anonkit.AnonkitError) as raised:
        draw(ten, tmp_path / "a.parquet", method="mondrian", k=5)
    assert "booked" not in str(raised.value)
    assert Ledger(users_ledger()).standing("bank-customers").counted == []


def test_an_interrupt_while_files_are_written_is_rolled_back(
    ten: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes from outside, and nothing was published."""

    def interrupt(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("anonkit.bundle.atomic.Staging.commit", interrupt)
        with pytest.raises(KeyboardInterrupt):
            draw(ten, tmp_path / "a.parquet")
    assert Ledger(users_ledger()).standing("bank-customers").epsilon == 0
    draw(ten, tmp_path / "a.parquet")


STEPS = (
    "anonkit.ledger.Ledger.reserve",
    "anonkit.ledger.Ledger.publishing",
    "anonkit.bundle.atomic._finish",
    "anonkit.ledger.Ledger.commit",
)

_KILLED = """
import os, sys
from pathlib import Path
import anonkit
from pkgutil import resolve_name
from anonkit.datasets import bank_customers, bank_customers_policy
place, when = sys.argv[2], sys.argv[3]
owner, _, name = place.rpartition(".")
owner = resolve_name(owner)
inner = getattr(owner, name)
def killed(*args, **kwargs):
    if when == "after":
        inner(*args, **kwargs)
    os.kill(os.getpid(), 9)
setattr(owner, name, killed)
anonkit.release(bank_customers(10, seed=1), method="rr", epsilon=1.0, policy=bank_customers_policy(),
                output=Path(sys.argv[1]) / "a.parquet", budget=1.0)
"""


@pytest.mark.quick_cases("anonkit.ledger.Ledger.reserve-after-file")
@pytest.mark.parametrize("where", ["file", pytest.param("server", marks=pytest.mark.slow)], indirect=True)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_a_crash_at_any_step_neither_loses_nor_overspends(tmp_path: Path, where: str, step: str, when: str) -> None:
    """Killed before or after each step: the release is whole and counted, or absent and not counted."""
    command = [sys.executable, "-c", _KILLED, str(tmp_path), step, when]
    done = subprocess.run(command, env={**environment(), "ANONKIT_LEDGER": where}, check=False)
    assert done.returncode == -9
    entries = Ledger(where).standing("bank-customers").entries
    published = (tmp_path / "a.parquet").exists()

    assert published == (step in STEPS[3:] or (step == STEPS[2]))
    if published:
        assert anonkit.validate(tmp_path / "a.parquet").passed
        assert [entry.state for entry in entries] == [ReleaseState.COMMITTED]
    else:
        assert [entry.state for entry in entries if entry.counts] == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_forty_releases_at_once_share_one_budget(tmp_path: Path, where: str) -> None:
    """Forty commands on one dataset with a budget of 1, each of epsilon 0.1: ten are released, thirty exit with 1."""
    table, policy = tmp_path / "in.csv", tmp_path / "policy.toml"
    done = [sys.executable, "-m", "anonkit"]
    subprocess.run([*done, "demo", "--folder", str(tmp_path), "--rows", "200", "--quiet"], check=True)
    (tmp_path / "customers.csv").rename(table)
    spend = [*done, "release", "--method", "rr", "--epsilon", "0.1", "--budget", "1", "--quiet", "--policy", policy]
    booked = {**environment(), "ANONKIT_LEDGER": where}
    (tmp_path / "out").mkdir()
    outputs = [str(tmp_path / "out" / f"out{number}.parquet") for number in range(40)]
    running = [subprocess.Popen([*spend, str(table), output], env=booked) for output in outputs]
    codes = [process.wait() for process in running]

    assert sorted(codes) == [0] * 10 + [1] * 30
    assert len(list(tmp_path.glob("out/out*.parquet"))) == 10
    assert Ledger(where).datasets()[0].epsilon <= 1
