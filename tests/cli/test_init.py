# SPDX-License-Identifier: Apache-2.0
"""`anonkit init`: a policy drafted from a table, or no file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from anonkit.policy.declaration import Policy


def test_a_policy_is_drafted(cli: Any, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`init` writes a policy that loads, shows it with `-o -`, and touches no file without --force."""
    monkeypatch.chdir(table.parent)
    ran = cli("init", table)

    assert ran.code == 0
    assert "anonkit release --policy policy.toml" in ran.out
    draft = (table.parent / "policy.toml").read_text(encoding="utf-8")
    assert set(Policy.load("policy.toml").columns) == {"name", "age", "zip", "sex", "illness", "income"}
    assert cli("init", table, "-o", "-").out == draft
    assert cli("init", table).code == 2
    assert cli("init", table, "--force", "--target", "illness", "--quiet").out == ""
    assert Policy.load("policy.toml").target == "illness"
    document = cli("init", table, "-o", "other.toml", "--json").document
    assert document["file"] == "other.toml"
    assert document["policy"] == draft
    assert sorted(path.name for path in table.parent.iterdir()) == ["in.csv", "other.toml", "policy.toml"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("absent.csv",), 3), (("in.csv", "--target", "nobody"), 3), (("in.csv", "-o", "no/such/folder.toml"), 3)],
)
def test_a_draft_that_cannot_be_made_leaves_no_file(
    cli: Any, table: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int
) -> None:
    """Exit code 3 and nothing written."""
    monkeypatch.chdir(table.parent)
    ran = cli("init", *arguments)

    assert ran.code == code
    assert ran.err.startswith("Error: ")
    assert [path.name for path in table.parent.iterdir()] == ["in.csv"]
