# SPDX-License-Identifier: Apache-2.0
"""`anonkit risk`: its table, its document, its refusals, and that no cell leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

ROLES = ("--identifier", "name", "--sensitive", "illness", "--target", "income")


def test_the_terminal_begins_with_whom_it_is_for(cli: Any, table: Path) -> None:
    """One table, for the owner; figures of the sample, of the population and of sets of columns."""
    ran = cli("risk", table, *ROLES, "--sampling-fraction", "0.1")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("For you only")
    for words in ("quasi-identifiers", "age, zip, sex", "unique in the population", "separation", "bits lost"):
        assert words in ran.out


def test_the_document_has_the_keys_of_the_contract(cli: Any, table: Path) -> None:
    """Every block, whatever is known of the population."""
    document = cli("risk", table, *ROLES, "--population-size", "6000", "--json").document
    assert set(document) == {"ok", "sample", "population", "suda", "sets", "coarsenings"}
    assert set(document["sample"]) == {"k", "uniques"}
    assert set(document["population"]) == {"basis", "assumption", "estimates", "individual", "household"}
    assert set(document["population"]["estimates"]) == {"pitman", "zayatz", "snb", "rule", "tau"}
    assert set(document["population"]["individual"]) == {"sum", "max"}
    assert [set(each) for each in document["population"]["estimates"]["tau"]] == [{"model", "tau1", "tau2"}] * 2
    assert set(document["suda"]) == {"minimal_uniques", "dis", "max_score", "columns"}
    assert [set(each) for each in document["suda"]["minimal_uniques"]] == [{"size", "count"}] * 3
    assert all(set(each) == {"column", "share"} for each in document["suda"]["columns"])
    assert all(set(each) == {"columns", "unique_rows", "distinction", "separation"} for each in document["sets"])
    bare = cli("risk", table, *ROLES, "--json").document
    assert set(bare) == set(document)
    assert set(bare["population"]) == set(document["population"])


def test_a_file_of_the_population(cli: Any, table: Path) -> None:
    """The table itself as the population: its k is the fewest people, and everybody is in it."""
    document = cli("risk", table, *ROLES, "--population", table, "--json").document
    assert document["population"]["basis"] == "file"
    assert document["population"]["file"]["k_map"] == document["sample"]["k"]
    assert document["population"]["file"]["delta_presence"] == {"max": 1.0, "mean": 1.0}
    assert "people in the population file" in cli("risk", table, *ROLES, "--population", table).out


def test_a_file_that_lacks_classes_is_said_to(cli: Any, table: Path) -> None:
    """The terminal says that it is no whole population; nothing of anybody is named."""
    lines = table.read_text(encoding="utf-8").splitlines()
    half = table.with_name("half.csv")
    half.write_text("\n".join(lines[:31]) + "\n", encoding="utf-8")
    assert "the file is not the whole population" in cli("risk", table, *ROLES, "--population", half).out


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_no_cell_leaves(cli: Any, tmp_path: Path, as_json: tuple[str, ...]) -> None:
    """Columns are named, and no value of them, in any output."""
    source = tmp_path / "people.csv"
    rows = [f"Zanzibar{at},Quuxville{at % 5},{at % 4}77123" for at in range(40)]
    source.write_text("\n".join(["nickname,town,code", *rows]) + "\n", encoding="utf-8")
    ran = cli("risk", source, "--no-target", "--sampling-fraction", "0.5", *as_json)
    assert ran.code == 0, ran.err
    for secret in ("Zanzibar", "Quuxville", "77123"):
        assert secret not in ran.out + ran.err


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--population-size", "3"), 2),
        (("--population-size", "100", "--sampling-fraction", "0.1"), 2),
        (("--sampling-fraction", "2"), 2),
        (("--population", "nowhere.csv"), 3),
        (("--identifier", "nobody"), 3),
    ],
)
def test_refusals(cli: Any, table: Path, options: tuple[str, ...], code: int) -> None:
    """One line, a hint, the exit code of its kind."""
    ran = cli("risk", table, *ROLES, *options)
    assert ran.code == code
    assert ran.err.startswith("Error: ")
    assert ran.out == ""


def test_quiet_shows_nothing(cli: Any, table: Path) -> None:
    """But errors."""
    ran = cli("risk", table, *ROLES, "--quiet")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_the_page_is_for_the_owner(cli: Any, table: Path) -> None:
    """--html writes the same figures under the banner, for its owner's eyes, and replaces with --force only."""
    page = table.with_name("risk.html")
    ran = cli("risk", table, *ROLES, "--html", page, "--json")
    assert ran.document["page"] == str(page)
    text = page.read_text(encoding="utf-8")
    for words in ("DO NOT PUBLISH", "Coarser columns that would help", "separation", "age, zip"):
        assert words in text
    assert page.stat().st_mode & 0o777 == 0o600
    assert cli("risk", table, *ROLES, "--html", page).code == 2
    assert "Wrote" in cli("risk", table, *ROLES, "--html", page, "--force").out
    assert cli("risk", table, *ROLES, "--html", table, "--force").code == 2
    assert table.read_text(encoding="utf-8").startswith("name,age")
