"""`anonkit audit`: the attacks as a table and as JSON, for the owner."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy


@pytest.mark.slow
def test_people_see_every_attack_with_its_controls(cli: Any, table: Path, released: Path) -> None:
    """One line an attack, the banner above, notes on stderr."""
    ran = cli("audit", released, "--original", table, "--attacks", "20")
    assert ran.code == 0
    assert "DO NOT PUBLISH" in ran.out
    for word in ("singling out", "linkability", "inference", "identity", "renamed", "shuffled"):
        assert word in ran.out
    assert "Person" not in ran.out + ran.err


def test_machines_get_the_keys_of_the_contract(cli: Any, table: Path, released: Path) -> None:
    """`attack_rate`, `control_rate`, `risk`, `ci` of each attack; membership with control rows."""
    document = cli("audit", released, "--original", table, "--control", table, "--attacks", "20", "--json").document
    assert document["ok"] is True
    for name in ("singling_out", "linkability", "inference", "membership"):
        assert {"attack_rate", "control_rate", "risk", "ci"} <= set(document[name])


@pytest.mark.slow
def test_a_claimed_epsilon_has_a_lower_bound_beside_it(cli: Any, tmp_path: Path) -> None:
    """In the terminal and in the JSON, from noise that is drawn anew; 0 runs leave it out. No ledger is touched."""
    source, out = tmp_path / "in.parquet", tmp_path / "release" / "out.parquet"
    pq.write_table(bank_customers(100, seed=1), source)
    given = {"policy": bank_customers_policy(), "epsilon": 1.0, "ledger": None}
    anonkit.release(source, method="dp-nb", output=out, **given)
    before = sorted(tmp_path.rglob("*"))
    ran = cli("audit", out, "--original", source, "--attacks", "10", "--runs", "20")
    assert ran.code == 0
    assert "epsilon  claimed 1  at least " in ran.out
    document = cli("audit", out, "--original", source, "--attacks", "10", "--runs", "20", "--json").document
    assert document["epsilon"]["lower_bound"] <= document["epsilon"]["claimed"] <= 1
    assert "epsilon  claimed" not in cli("audit", out, "--original", source, "--attacks", "10", "--runs", "0").out
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.slow
def test_any_table_can_be_attacked(cli: Any, table: Path) -> None:
    """The raw table as its own release: every row is found."""
    ran = cli("audit", table, "--original", table, "--sensitive", "illness", "--attacks", "20", "--json")
    assert ran.code == 0
    assert ran.document["linkability"]["attack_rate"] > 0.9


@pytest.mark.slow
def test_what_is_not_there_is_named(cli: Any, table: Path, released: Path) -> None:
    """Exit code 3 and the path."""
    ran = cli("audit", released, "--original", "absent.csv")
    assert ran.code == 3
    assert "'absent.csv' does not exist" in ran.err


@pytest.mark.slow
def test_the_result_can_be_kept_for_the_owner(cli: Any, table: Path, released: Path) -> None:
    """--owner-report writes what is shown, under the banner, for the owner alone, even over a readable file."""
    folder = table.with_name("owner")
    folder.mkdir()
    path = folder / "audit.owner.report.json"
    path.write_text("an older audit", encoding="utf-8")
    path.chmod(0o644)
    (folder / "owner.report.json").write_text("of the release", encoding="utf-8")
    asked = ("audit", released, "--original", table, "--attacks", "20", "--owner-report", folder)
    document = cli(*asked, "--json").document
    written = json.loads(path.read_text(encoding="utf-8"))
    assert next(iter(written.items())) == ("format", "anonkit-owner-report/1")
    assert written["banner"].startswith("DO NOT PUBLISH")
    assert written["audit"]["linkability"] == document["linkability"]
    assert document["owner_report"] == str(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(one.name for one in folder.iterdir()) == ["audit.owner.report.json", "owner.report.json"]
    assert (folder / "owner.report.json").read_text(encoding="utf-8") == "of the release"
    assert f"Wrote {path}" in cli(*asked).out


def test_an_owner_report_that_cannot_stand_there_is_refused(cli: Any, table: Path, released: Path) -> None:
    """In a file's place, or beside the release, which is handed out: nothing is attacked, nothing written."""
    asked = ("audit", released, "--original", table, "--owner-report")
    assert "cannot write to" in cli(*asked, table).err
    beside = cli(*asked, released.parent)
    assert beside.code == 2
    assert "is the folder of the release" in beside.err
    assert not (released.parent / "audit.owner.report.json").exists()


@pytest.mark.slow
def test_people_see_every_secret_and_full_knowledge(cli: Any, tmp_path: Path) -> None:
    """A line each, what is known where all columns are, and how many values give their holders away; no value."""
    at, rows = range(600), tmp_path / "in.csv"
    lines = (f"{i % 30},{'MARKER' if i % 30 == 7 else 'none'},{'fm'[i % 2]}" for i in at)
    rows.write_text("\n".join(["street,illness,sex", *lines]) + "\n", encoding="utf-8")
    asked = ("--method", "mondrian", "--k", "5", "--no-target", "--sensitive", "illness", "--alpha", "1", "--no-ledger")
    made = cli("release", *asked, "--insensitive", "sex", rows, tmp_path / "out.parquet")
    assert made.code == 0, made.err
    ran = cli("audit", tmp_path / "out.parquet", "--original", rows, "--sensitive", "sex", "--attacks", "100")
    assert ran.code == 0, ran.err
    for line in (
        "inference of illness",
        "inference of sex",
        "Linkability where all released columns of a person are known: ",
        "Holders of a value of illness: distinguished from others for 1 of 2 values; ",
    ):
        assert line in ran.out, ran.out
    assert "MARKER" not in ran.out + ran.err
    asked = ("--original", rows, "--sensitive", "sex", "--attacks", "100", "--json")
    document = cli("audit", tmp_path / "out.parquet", *asked).document
    assert set(document["inference"]["secrets"]) == {"illness", "sex"}
    assert {entry["value"] for entry in document["inference"]["secrets"]["illness"]["by_value"]} == {"MARKER", "none"}
