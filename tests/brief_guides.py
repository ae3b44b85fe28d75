# SPDX-License-Identifier: Apache-2.0
"""Brief forests guide mondrian in tests of files, commands, drafts and ledgers, a tenth of the time of its own.

Its forests were half of a release of few rows. A brief guide cuts other classes, and every promise holds of them: no
test of these folders is about where classes are cut. Those of methods, golden releases and utility have the whole ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

FOLDERS = ("bundle", "cli", "desk", "drafting", "ledger")
"""Folders of tests that are about no class that a search finds."""


class BriefGuides:
    """The pytest plugin: it says before each test, and before its fixtures, which forests guide."""

    def __init__(self, tests: Path) -> None:
        from anonkit.methods.mondrian import Mondrian  # after the memory of forests, which modules would not have

        self._method = Mondrian
        self._folders = [tests / name for name in FOLDERS]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Let brief forests guide while a test runs that does not look at classes."""
        self._method.in_brief = any(item.path.is_relative_to(folder) for folder in self._folders)
        try:
            return (yield)
        finally:
            self._method.in_brief = False
