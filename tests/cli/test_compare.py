"""`anonkit compare`: the table, the JSON and the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cli.conftest import table_text

from anonkit.cli.compare import table_within


@pytest.fixture
def longer(tmp_path: Path) -> Path:
    """A table with rows enough to be halved."""
    path = tmp_path / "long.csv"
    path.write_text(table_text(300), encoding="utf-8")
    return path


@pytest.mark.slow
def test_people_get_a_table_and_a_page(cli: Any, longer: Path) -> None:
    """One line a release, and the page where it was requested; never over one that is there."""
    page = longer.with_name("f.html")
    asked = ("compare", longer, "--target", "income", "--methods", "mondrian", "--k", "3", "--identifier", "name")
    ran = cli(*asked, "--attacks", "10", "--output", page)
    assert ran.code == 0
    assert "mondrian, k = 3" in ran.out
    assert "DO NOT PUBLISH" in ran.out
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert page.stat().st_mode & 0o077 == 0  # attacks on the raw table, and what models reach on it
    assert cli(*asked, "--output", page).code == 2


@pytest.mark.slow
def test_what_is_refused_says_why(cli: Any, longer: Path) -> None:
    """A k beyond the table is a line of its own, with the reason below; the other release is there."""
    asked = ("compare", longer, "--target", "income", "--methods", "mondrian", "--k", "3,200", "--identifier", "name")
    ran = cli(*asked, "--attacks", "10")
    assert ran.code == 0
    assert [line.split()[-1] for line in ran.out.splitlines() if line.startswith("mondrian, k = 200 ")] == ["refused"]
    assert "mondrian, k = 200: k (200) cannot be reached" in ran.out


@pytest.mark.slow
def test_the_target_is_that_of_the_policy(cli: Any, longer: Path) -> None:
    """It need not be stated twice; two targets are refused, and so is a command without one."""
    policy = longer.with_name("policy.toml")
    asked = (
        "compare",
        longer,
        "--policy",
        policy,
        "--methods",
        "mondrian",
        "--k",
        "3",
        "--attacks",
        "10",
        "--rows",
        "100",
    )
    policy.write_text('[columns]\nname = { role = "identifier" }\nincome = { role = "target" }\n', encoding="utf-8")
    shown = cli(*asked).out
    assert "target income" in shown
    assert "with 10 people attacked a risk below 0.3 may show as 0." in shown
    assert cli(*asked, "--target", "illness").code == 3
    policy.write_text('[columns]\nname = { role = "identifier" }\n', encoding="utf-8")
    ran = cli(*asked)
    assert ran.code == 2
    assert "no column is named as the target" in ran.err
    assert "--target COLUMN" in ran.err


def test_the_table_fits_the_terminal() -> None:
    """In 100 columns one table of two methods, each with the longest cells; in 80 two, and no line is wider."""
    heads = ("release", "AUC (95% interval)", "lost", "changed most", "singled", "linked", "inferred", "alone*")
    cells = (
        "mondrian, k = 50",
        "0.872 (0.861–0.884)",
        "12",
        "native-count… 89.7%",
        "0.235",
        "0.235",
        "0.235",
        "< 0.1%",
    )
    rows = [heads, ("your rows", cells[1], *[""] * 6), cells, ("rfka, k = 500", "refused", *[""] * 6)]
    wide, narrow = (list(table_within(rows, width)) for width in (100, 80))

    assert len(wide) == 4
    assert max(map(len, wide)) <= 100
    assert max(map(len, narrow)) <= 80
    assert [line.split("  ")[0] for line in narrow if "0.235" in line or "0.872" in line][-2:] == [cells[0]] * 2
    assert sum("refused" in line for line in narrow) == 1


def test_numbers_are_numbers(cli: Any, longer: Path) -> None:
    """Wrong usage otherwise."""
    assert cli("compare", longer, "--target", "income", "--methods", "mondrian", "--k", "few").code == 2
