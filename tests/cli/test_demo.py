# SPDX-License-Identifier: Apache-2.0
"""`anonkit demo`: simulated customers, from the raw table to the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def test_the_demo_leads_from_customers_to_a_report(cli: Any, tmp_path: Path) -> None:
    """Simulated customers, their policy, a release that validates, where to look, and commands that can be pasted."""
    folder = tmp_path / "demo"
    document = cli("demo", "--folder", folder, "--rows", "100", "--json").document
    assert document["k_anonymity"]["meets"] is True
    assert Path(document["files"]["page"]).exists()
    assert cli("demo", "--folder", folder).code == 2

    ran = cli("demo", "--folder", folder, "--rows", "600", "--force")
    suggested = [line.split()[1:] for line in ran.out.splitlines() if line.startswith("  anonkit ")]
    assert ran.code == 0, ran.err
    assert str(folder / "release.report.html") in ran.out
    assert "Left out as identifiers: customer_id" in ran.out
    assert len(suggested) >= 4
    for words in suggested:
        again = cli(*words)
        assert again.code == 0, (words, again.err)
