"""`anonkit ledger`: what people and machines are told of a dataset's releases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anonkit.ledger import NAME


def test_people_see_what_is_spent_and_left(cli: Any, table: Path, released: Path) -> None:
    """A table a dataset: number, method, promise, epsilon, state."""
    ran = cli("ledger", released)
    assert ran.code == 0
    assert "in: epsilon 0 spent, no budget set" in ran.out
    assert "mondrian" in ran.out
    assert "k-anonymity, k = 3" in ran.out
    assert "committed" in ran.out


def test_machines_get_every_release(cli: Any, table: Path, released: Path, quick: tuple[str, ...]) -> None:
    """The same by folder, by file and by option."""
    assert cli("release", table, released.with_name("b.parquet"), *quick, "--dataset", "other", "--quiet").code == 0
    documents = [cli("ledger", where, "--json").document for where in (table.parent, table.with_name(NAME), released)]
    assert documents[0] == documents[1] == documents[2]
    assert cli("ledger", "--ledger", table.with_name(NAME), "--json").document == documents[0]
    assert [one["dataset"] for one in documents[0]["datasets"]] == ["in", "other"]
    release = documents[0]["datasets"][0]["releases"][0]
    assert release["k"] == 3
    assert release["epsilon"] is None
    assert release["counts"] is True
    assert Path(release["output"]) == released


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


def test_no_ledger_is_said(cli: Any, tmp_path: Path) -> None:
    """Nothing is made by looking."""
    assert cli("ledger", tmp_path).code == 3
    assert list(tmp_path.iterdir()) == []


def test_the_options_exclude_each_other(cli: Any, table: Path, quick: tuple[str, ...]) -> None:
    """A ledger is named or not wanted, not both; a budget needs one."""
    output = table.with_name("out.parquet")
    assert cli("release", table, output, *quick, "--no-ledger", "--ledger", "x.sqlite").code == 2
    assert cli("release", table, output, *quick, "--no-ledger", "--budget", "1").code == 2
    assert cli("release", table, output, *quick, "--no-ledger", "--quiet").code == 0
    assert not table.with_name(NAME).exists()


def test_the_joint_view_is_for_the_owner(cli: Any, table: Path, released: Path, quick: tuple[str, ...]) -> None:
    """A second release of the same rows: the terminal says how small the joint groups are, no file does."""
    second = released.with_name("b.parquet")
    asked = ("release", table, second, "--method", "mondrian", "--k", "4", "--identifier", "name", "--json")
    refused = cli(*asked)
    assert refused.code == 1
    assert "--accept-joint-k" in refused.document["hint"]
    assert not second.exists()
    ran = cli(*asked, "--accept-joint-k", "1")
    assert ran.code == 0
    assert ran.document["owner_only"]["joint_view"]["with_releases"] == [1]
    assert b"joint_view" not in second.with_name("b.report.json").read_bytes()


def test_two_reports_are_compared(cli: Any, table: Path, released: Path, quick: tuple[str, ...]) -> None:
    """The second release names the first, and --diff tells what changed."""
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
