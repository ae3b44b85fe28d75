"""`anonkit export`: a verified release in another form, and a word on what was written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.mark.slow
def test_a_release_is_written_as_csv(cli: Any, released: Path) -> None:
    """Its rows are those of the release, and a second export waits for --force."""
    target = released.with_name("copy.csv")
    ran = cli("export", released, target, "--json")
    assert ran.code == 0, ran.err
    assert ran.document["ok"]
    assert target.exists()
    assert cli("export", released, target).code == 2
    assert cli("export", released, target, "--force", "--quiet").out == ""


def test_what_does_not_validate_does_not_leave(cli: Any, released: Path) -> None:
    """Exit 1, and no file."""
    report = released.with_name("out.report.json")
    report.write_text(report.read_text().replace('"k": 3', '"k": 2', 1))
    target = released.with_name("copy.csv")
    assert cli("export", released, target).code == 1
    assert not target.exists()
