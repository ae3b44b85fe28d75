"""Brief forests guide mondrian in tests that are not about its classes, and in no other."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from brief_guides import FOLDERS, BriefGuides

from anonkit.methods.mondrian import Mondrian

TESTS = Path(__file__).parent


@pytest.mark.parametrize(("path", "brief"), [(f"{FOLDERS[0]}/test_x.py", True), ("methods/test_x.py", False)])
def test_a_guide_is_brief_in_these_folders_alone(path: str, brief: bool) -> None:
    """Before the test, and no longer than it."""
    item: Any = SimpleNamespace(path=TESTS / path)
    running: Any = BriefGuides(TESTS).pytest_runtest_protocol(item)
    next(running)
    assert Mondrian.in_brief is brief
    running.close()
    assert Mondrian.in_brief is False


def test_no_promise_or_row_is_tested_with_a_brief_guide() -> None:
    """The folders that look at classes, rows and figures are none of these, and those there are exist."""
    assert not {"contract", "golden", "k_anonymity", "methods", "privacy", "promises", "checks", "utility"} & {*FOLDERS}
    assert all((TESTS / folder).is_dir() for folder in FOLDERS)
