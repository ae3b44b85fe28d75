"""The user's ledger of a test is its own: no release of one test is seen by another, and none reaches the user's home.

The folder of data of the user's ledger is that of an environment variable, which programs that a test
starts have, too. Every test gets one of its own, and so does every fixture that outlives a test.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

VARIABLES = ("XDG_DATA_HOME", "XDG_CONFIG_HOME")
"""The paths of the user's ledger, and of the keys of servers' ledgers."""


class OwnLedgers:
    """Gives every test, and every fixture that outlives one, a user's folder of its own."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="users-of-tests-"))
        self._made = 0
        self._set(self._new())

    def _new(self) -> Path:
        self._made += 1
        return self._folder / str(self._made)

    @staticmethod
    def _set(folder: Path) -> None:
        for name in VARIABLES:
            os.environ[name] = str(folder / name.lower())

    @contextmanager
    def _own(self) -> Iterator[None]:
        before = {name: os.environ[name] for name in VARIABLES}
        self._set(self._new())
        try:
            yield
        finally:
            os.environ.update(before)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Iterator[None]:
        """Let a test have a ledger of its own."""
        with self._own():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        """Let a fixture that outlives a test have one, too."""
        if fixturedef.scope == "function":
            return (yield)
        with self._own():
            return (yield)

    def pytest_unconfigure(self) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self._folder, ignore_errors=True)
