# SPDX-License-Identifier: Apache-2.0
"""`anonkit report --dossier`: where it writes, what it needs, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.mark.slow
def test_the_dossier_of_a_stored_release(cli: Any, table: Path, released: Path) -> None:
    """Into a folder of its own beside the release, for the owner alone, with the policy and the requested examples."""
    policy = table.with_name("policy.toml")
    policy.write_text('[publication]\nrecipients = "the archive"\n', encoding="utf-8")

    ran = cli("report", released, "--dossier", "--original", table, "--policy", policy, "--examples", "2", "--json")

    page = released.parent / "owner-out" / "out.dossier.html"
    assert ran.code == 0, ran.err
    assert ran.document["file"] == str(page)
    assert page.stat().st_mode & 0o777 == 0o600
    assert page.parent.stat().st_mode & 0o777 == 0o700
    text = page.read_text(encoding="utf-8")
    assert "the archive" in text
    assert "Example rows" in text
    assert cli("validate", released).code == 0
    assert cli("report", released, "--dossier", "--original", table, "--owner-report", released.parent).code == 2


@pytest.mark.slow
def test_what_belongs_together_is_asked_for_together(cli: Any, table: Path, released: Path) -> None:
    """--dossier needs the original and is no other page; its options need it; another table is refused."""
    assert cli("report", released, "--dossier").code == 2
    assert cli("report", released, "--dossier", "--original", table, "--html", "x.html").code == 2
    for option in (("--original", table), ("--examples", "3"), ("--owner-report", "x")):
        ran = cli("report", released, *option)
        assert ran.code == 2
        assert option[0] in ran.err
    other = table.with_name("other.csv")
    other.write_text("a,b\n1,2\n", encoding="utf-8")
    ran = cli("report", released, "--dossier", "--original", other)
    assert ran.code == 3
    assert "not the table of the release" in ran.err
