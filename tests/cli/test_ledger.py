"""`anonkit ledger`: the output on a dataset's releases for people and for machines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from anonkit.ledger import NAME
from anonkit.ledger.ledger_place import users_ledger


def test_people_see_what_is_spent_and_left(cli: Any, table: Path, released: Path) -> None:
    """A table a dataset: number, method, promise, epsilon, state."""
    ran = cli("ledger", released)
    assert ran.code == 0
    assert "in: epsilon 0 spent, no budget set" in ran.out
    assert "mondrian" in ran.out
    assert "k-anonymity, k = 3" in ran.out
    assert "committed" in ran.out


@pytest.mark.slow
def test_a_budget_without_bound_is_said_in_words(cli: Any, table: Path, released: Path, quick: tuple[str, ...]) -> None:
    """Nothing is left of it, and all of it."""
    more = ("--force", "--budget", "inf", "--quiet")
    assert cli("release", table, released, *quick, *more).code == 0
    assert "in: epsilon 0 spent, the budget has no bound" in cli("ledger", released).out


@pytest.mark.slow
def test_machines_get_every_release(
    cli: Any, table: Path, released: Path, quick: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same by folder, by file, by option, and from any other folder."""
    assert cli("release", table, released.with_name("b.parquet"), *quick, "--dataset", "other", "--quiet").code == 0
    documents = [cli("ledger", where, "--json").document for where in (table.parent, users_ledger(), released)]
    assert documents[0] == documents[1] == documents[2]
    assert cli("ledger", "--ledger", users_ledger(), "--json").document == documents[0]
    monkeypatch.chdir(tmp_path.parent)
    assert cli("ledger", "--json").document == documents[0]
    assert [one["dataset"] for one in documents[0]["datasets"]] == ["in", "other"]
    release = documents[0]["datasets"][0]["releases"][0]
    assert release["k"] == 3
    assert release["epsilon"] is None
    assert release["counts"] is True
    assert Path(release["output"]) == released


@pytest.mark.slow
def test_a_dataset_is_named_or_refused(cli: Any, released: Path) -> None:
    """A name that is not there gets the closest one as a hint."""
    assert cli("ledger", released, "--dataset", "in").code == 0
    ran = cli("ledger", released, "--dataset", "inn")
    assert ran.code == 2
    assert "did you mean 'in'?" in ran.err


def test_a_release_can_be_withdrawn(cli: Any, released: Path) -> None:
    """The owner's word: it does not count any more."""
    assert cli("ledger", released, "--withdraw", "1").code == 0
    assert "withdrawn" in cli("ledger", released).out
    ran = cli("ledger", released, "--withdraw", "1")
    assert ran.code == 3
    assert "no release 1" in ran.err


@pytest.mark.slow
def test_the_name_of_a_dataset_is_no_place(cli: Any, table: Path, released: Path, quick: tuple[str, ...]) -> None:
    """It is said to be one, with the line that is meant; nothing is withdrawn by a wrong name or another's number."""
    assert cli("release", table, released.with_name("b.parquet"), *quick, "--dataset", "a b", "--quiet").code == 0
    ran = cli("ledger", "a b", "--withdraw", "2")
    assert ran.code == 3
    assert "'a b' is no ledger, folder or release: it is a dataset of the ledger" in ran.err
    assert "Hint: anonkit ledger --dataset 'a b' --withdraw 2" in ran.err
    assert "does not exist" in cli("ledger", "nowhere", "--withdraw", "2").err
    another = cli("ledger", "--dataset", "in", "--withdraw", "2")
    assert another.code == 3
    assert "release 2 is one of dataset 'a b', not of 'in'" in another.err
    assert cli("ledger", "--dataset", "inn", "--withdraw", "1").code == 2
    states = [entry["state"] for one in cli("ledger", "--json").document["datasets"] for entry in one["releases"]]
    assert states == ["committed", "committed"]
    assert cli("ledger", "--dataset", "a b", "--withdraw", "2").code == 0


@pytest.fixture
def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """Let somebody sit at a terminal who gives one answer; return what is requested."""

    def answering(answer: str) -> list[str]:
        asked: list[str] = []

        def confirm(question: str, **more: Any) -> bool:
            asked.append(question)
            return {"y": True, "n": False, "": more["default"]}[answer]

        monkeypatch.setattr("anonkit.cli.options._is_interactive", lambda: True)
        monkeypatch.setattr("click.confirm", confirm)
        return asked

    return answering


OTHER = ("--method", "mondrian", "--k", "4", "--identifier", "name", "--quiet")


@pytest.mark.quick_cases("forced-y")
@pytest.mark.parametrize("answer", ["y", "n", ""])
@pytest.mark.parametrize("way", ["deleted", "forced"])
def test_a_try_out_is_asked_for_and_withdrawn(
    cli: Any, table: Path, released: Path, at_a_terminal: Any, answer: str, way: str
) -> None:
    """Its files are gone, or --force replaces them: at "no", which Enter means, it does not count any more."""
    asked = at_a_terminal(answer)
    if way == "deleted":
        for path in released.parent.glob("out.*"):
            path.unlink()
    ran = cli("release", table, released, *OTHER, *(("--force",) if way == "forced" else ()))
    assert len(asked) == 1
    assert "release 1 of dataset 'in'" in asked[0]
    assert ran.code == (1 if answer == "y" else 0), ran.err
    states = [entry["state"] for entry in cli("ledger", released, "--json").document["datasets"][0]["releases"]]
    assert states == (["committed", "rolled back"] if answer == "y" else ["withdrawn", "committed"])


@pytest.mark.slow
def test_nothing_is_asked_where_nobody_answers_or_nothing_was_replaced(
    cli: Any, table: Path, released: Path, at_a_terminal: Any
) -> None:
    """Elsewhere the refusal begins with the way out; a release that is beside is not requested."""
    refused = cli("release", table, released, *OTHER, "--force")
    assert refused.code == 1
    assert "Hint: anonkit ledger --withdraw 1 where it was never handed out" in refused.err
    asked = at_a_terminal("n")
    refused = cli("release", table, released.with_name("b.parquet"), *OTHER)
    assert refused.code == 1
    assert cli("release", table, released, *OTHER, "--force", "--dry-run").code == 1
    assert asked == []


@pytest.mark.slow
def test_what_is_replaced_without_a_ledger_is_not_said_to_be_charged(cli: Any, table: Path, released: Path) -> None:
    """Nor is a k-anonymous release, which has no loss: it is booked."""
    loud = tuple(word for word in OTHER if word != "--quiet")
    ran = cli("release", table, released, *loud, "--force", "--no-ledger")
    assert ran.code == 0, ran.err
    assert "is replaced by a new release." in ran.err
    ran = cli("release", table, released, *loud, "--force", "--accept-joint-k", "1")
    assert "is replaced by a new release, which is booked" in ran.err


def test_no_ledger_is_said(cli: Any, tmp_path: Path) -> None:
    """Nothing is made by looking."""
    assert cli("ledger", tmp_path).code == 3
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_options_exclude_each_other(cli: Any, table: Path, quick: tuple[str, ...]) -> None:
    """A ledger is named or not wanted, not both; a budget needs one."""
    output = table.with_name("out.parquet")
    assert cli("release", table, output, *quick, "--no-ledger", "--ledger", "x.sqlite").code == 2
    assert cli("release", table, output, *quick, "--no-ledger", "--budget", "1").code == 2
    assert cli("release", table, output, *quick, "--no-ledger", "--quiet").code == 0
    assert not table.with_name(NAME).exists()


@pytest.mark.slow
def test_the_joint_view_is_for_the_owner(cli: Any, table: Path, released: Path, quick: tuple[str, ...]) -> None:
    """A second release of the same rows: the terminal says how small the joint groups are, no file does."""
    second = released.with_name("b.parquet")
    asked = ("release", table, second, "--method", "mondrian", "--k", "4", "--identifier", "name", "--json")
    refused = cli(*asked)
    assert refused.code == 1
    assert "--accept-joint-k" in refused.document["hint"]
    assert not second.exists()
    ran = cli(*asked, "--accept-joint-k", "1", "--owner")
    assert ran.code == 0
    assert ran.document["owner_only"]["joint_view"]["with_releases"] == [1]
    assert b"joint_view" not in second.with_name("b.report.json").read_bytes()


@pytest.mark.slow
def test_two_reports_are_compared(cli: Any, table: Path, released: Path, quick: tuple[str, ...]) -> None:
    """The second release names the first, and --diff shows what changed."""
    second = released.with_name("b.parquet")
    asked = ("--method", "mondrian", "--k", "6", "--identifier", "name", "--sensitive", "illness", "--quiet")
    named = ("--dataset", "in", "--accept-joint-k", "1")
    assert cli("release", table, second, *asked, *named).code == 0
    ran = cli("report", second, "--diff", released)
    assert ran.code == 0
    assert "a stronger promise" in ran.out
    assert "guarantee.parameters.k: 3 -> 6" in ran.out
    document = cli("report", second, "--json").document
    assert document["report"]["ledger"]["previous_release"]["k"] == 3


# --- where the ledger is -------------------------------------------------------------------------------------

POLICY = """dataset = "people"
{keys}
[columns]
name = {{ role = "identifier" }}
age = {{ role = "quasi_identifier", bounds = [20, 60] }}
zip = {{ role = "quasi_identifier", bounds = [100, 104] }}
sex = {{ role = "quasi_identifier", categories = ["F", "M"] }}
illness = {{ role = "sensitive", categories = ["flu", "cold", "none"] }}
income = {{ role = "target", categories = ["low", "high"] }}
"""


def checkout(folder: Path, table: Path, keys: str) -> tuple[str, ...]:
    """Make a fresh checkout, its policy with these keys; return the command line of a release into it."""
    folder.mkdir()
    (folder / "policy.toml").write_text(POLICY.format(keys=keys), encoding="utf-8")
    given = ("--method", "rr", "--epsilon", "1", "--policy", folder / "policy.toml", "--quiet")
    return ("release", table, folder / "out.parquet", *map(str, given))


def test_two_checkouts_share_the_ledger_of_the_environment(
    cli: Any, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Budget 1, epsilon 1, two folders that know nothing of each other: one releases, the other does not."""
    keys = "budget = 1.0\nledger_required = true"
    monkeypatch.setenv("ANONKIT_LEDGER", str(tmp_path / "kept" / "ledger.sqlite"))
    first, second = (checkout(tmp_path / name, table, keys) for name in ("one", "two"))
    refused = cli(*first)
    assert refused.code == 3
    assert "anonkit ledger create" in refused.err
    assert cli("ledger", "create", tmp_path / "kept" / "ledger.sqlite").code == 0
    assert [cli(*first).code, cli(*second).code] == [0, 1]
    assert not (tmp_path / "two" / "out.parquet").exists()
    shown = cli("ledger", "--json").document
    assert shown["ledger"] == str(tmp_path / "kept" / "ledger.sqlite")
    assert shown["datasets"][0]["budget"] == 1


@pytest.mark.slow
def test_two_checkouts_share_the_ledger_of_their_policy(cli: Any, table: Path, tmp_path: Path) -> None:
    """The same when the policy names it; `anonkit ledger --policy` shows it. An option raises the budget knowingly."""
    keys = 'ledger = "../ledger.sqlite"\nbudget = 1.0'
    first, second = (checkout(tmp_path / name, table, keys) for name in ("one", "two"))
    assert [cli(*first).code, cli(*second).code] == [0, 1]
    assert not (tmp_path / "one" / NAME).exists()
    shown = cli("ledger", "--policy", tmp_path / "two" / "policy.toml", "--json").document
    assert shown["datasets"][0]["epsilon"] <= 1
    knowing = cli(*second, "--budget", "2", "--owner", "--json")
    assert knowing.code == 0
    assert any("beyond the 1 that the policy" in note for note in knowing.document["owner_only"]["ledger"]["notes"])


def test_no_ledger_is_refused_where_one_is_required(cli: Any, table: Path, tmp_path: Path) -> None:
    """It is wrong usage, with any other options."""
    asked = checkout(tmp_path / "one", table, "ledger_required = true")
    refused = cli(*asked, "--no-ledger")
    assert refused.code == 2
    assert "ledger_required" in refused.err


def test_the_next_batch_is_booked_where_the_policy_says(cli: Any, table: Path, tmp_path: Path) -> None:
    """Ledger and joint k of `apply --policy` are the policy's; its name for the data is not: these are other people."""
    text = 'dataset = "people"\nledger = "kept.sqlite"\nledger_required = true\njoint_k = 2\nbudget = 1.0\n'
    (tmp_path / "policy.toml").write_text(text + '[columns]\nname = { role = "identifier" }\n', encoding="utf-8")
    asked = ("--policy", tmp_path / "policy.toml", "--quiet")
    first = ("release", table, tmp_path / "out.parquet", "--method", "mondrian", "--k", "3", *asked)
    rows = table.read_text(encoding="utf-8").splitlines(keepends=True)
    batch = tmp_path / "next.csv"
    batch.write_text("".join([rows[0], *(line.replace("flu", "cold") for line in rows[1:50])]), encoding="utf-8")
    then = ("apply", tmp_path / "out.parquet", batch, tmp_path / "next.parquet", "--max-suppression", "1", *asked)
    assert cli(*first).code == 3
    assert cli("ledger", "create", tmp_path / "kept.sqlite").code == 0
    assert cli(*first).code == 0
    (tmp_path / "kept.sqlite").rename(tmp_path / "away.sqlite")
    refused = cli(*then)
    assert refused.code == 3
    assert "ledger_required" in refused.err
    assert cli(*then, "--no-ledger").code == 2
    (tmp_path / "away.sqlite").rename(tmp_path / "kept.sqlite")
    ran = cli(*then, "--dataset", "next")
    assert ran.code == 0, ran.err
    assert not (tmp_path / NAME).exists()
    shown = {told["dataset"]: told for told in cli("ledger", tmp_path / "kept.sqlite", "--json").document["datasets"]}
    assert {name: told["budget"] for name, told in shown.items()} == {"people": 1, "next": None}
    report = json.loads((tmp_path / "next.report.json").read_text(encoding="utf-8"))
    assert report["ledger"]["joint_k_accepted"] == 2
    assert report["dataset"] is None


def test_a_recipe_books_where_its_policy_says(cli: Any, table: Path, tmp_path: Path) -> None:
    """The keys of a policy hold in a recipe, relative to the recipe; without a ledger that is required nothing is."""
    checkout(tmp_path / "one", table, "")
    recipe = tmp_path / "recipe.toml"
    columns = POLICY.format(keys="").split("[columns]\n")[1]
    recipe.write_text(
        f'method = "rr"\ninput = "{table.name}"\noutput = "made.parquet"\n[parameters]\nepsilon = 1.0\n'
        f'[policy]\ndataset = "people"\nledger = "kept.sqlite"\nledger_required = true\n[policy.columns]\n{columns}',
        encoding="utf-8",
    )
    assert cli("run", recipe).code == 3
    assert cli("run", recipe, "--no-ledger").code == 2
    assert cli("ledger", "create", tmp_path / "kept.sqlite").code == 0
    ran = cli("run", recipe, "--quiet")
    assert ran.code == 0, ran.err
    assert cli("ledger", tmp_path / "kept.sqlite", "--json").document["datasets"][0]["dataset"] == "people"


def test_a_ledger_is_created_once(cli: Any, tmp_path: Path) -> None:
    """With its key, both private; what is there is not touched, and wrong usage says what to write."""
    place = tmp_path / "private" / "l.sqlite"
    made = cli("ledger", "create", place)
    assert made.code == 0
    assert str(place) + ".key" in made.out
    assert cli("ledger", place).out.strip() == "Nothing was released yet."
    again = cli("ledger", "create", place)
    assert again.code == 3
    assert "is there already" in again.err
    for wrong in (("create",), ("create", place, place), ("create", place, "--dataset", "d"), (place, place)):
        assert cli("ledger", *wrong).code == 2
    assert cli("ledger", place, "--ledger", place).code == 2


@pytest.mark.slow
def test_what_is_handed_to_nobody_needs_no_ledger(cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo's customers are simulated: they are in no ledger, and none is required for them."""
    monkeypatch.setenv("ANONKIT_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.setenv("ANONKIT_LEDGER_REQUIRED", "1")
    assert cli("demo", "--folder", tmp_path / "demo", "--rows", "200", "--quiet").code == 0
    assert not (tmp_path / "ledger.sqlite").exists()
