"""`--keep`: the exit codes of what cannot be kept, and what is said of a column that is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.mark.quick_cases("incognito")
@pytest.mark.parametrize("method", ["rfka", "datafly", "incognito", "mdav", "mondrian"])
def test_a_kept_column_is_released_or_nothing_is(cli: Any, table: Path, method: str) -> None:
    """Two parts of it are shown and checked; where they cannot be, exit code 1 names it and nothing is written."""
    output = table.with_name("out.parquet")
    asked = (
        "--method",
        method,
        "--identifier",
        "name",
        "--target",
        "income",
        "--insensitive",
        "illness",
        "--no-ledger",
    )
    ran = cli("release", table, output, *asked, "--k", 3, "--keep", "sex", "--json")
    assert ran.code == 0, ran.err
    assert "kept_columns" in {check["name"] for check in ran.document["checks"]}
    assert cli("validate", output).code == 0

    other = table.with_name("other.parquet")
    ran = cli("release", table, other, *asked, "--k", 40, "--keep", "sex")
    assert ran.code == 1
    assert "'sex'" in ran.err
    assert not other.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--identifier", "name", "--keep", "name"), "'name' cannot be kept"),
        (("--search", "greedy", "--no-drop-freely"), "--no-drop-freely"),
    ],
)
def test_what_can_never_be_kept_is_a_usage_error(cli: Any, table: Path, options: tuple[str, ...], said: str) -> None:
    """An identifier, and a search that has no such order: exit code 2, before anything is written."""
    output = table.with_name("out.parquet")
    ran = cli("release", table, output, "--method", "rfka", "--k", 3, "--target", "income", *options, "--no-ledger")
    assert ran.code == 2, ran.err
    assert said in ran.err
    assert not output.exists()
