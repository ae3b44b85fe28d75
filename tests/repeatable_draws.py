# SPDX-License-Identifier: Apache-2.0
"""Every test draws the same noise each time it is run: an assertion on noise fails always or never.

`Randomness.secure` is keyed from the operating system, and stays so for whoever uses the package. Here its keys follow
from the name of the test (or of the fixture that is set up, when several tests share it) and from how often that test
has asked. `make test-random` draws other noise each time; so do the programs a test starts, and what is under
`@pytest.mark.system_entropy`.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterator

import pytest

from anonkit.randomness import SECURE, Randomness

MARK = "system_entropy"
_OWN_PROCESS = os.getpid()


class RepeatableKeys:
    """Keys that follow from the test, and from the number of keys before."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._numbers = itertools.count()

    def next(self) -> bytes:
        """Return 32 bytes; a forked process never gets those of its parent."""
        process = "" if os.getpid() == _OWN_PROCESS else f"process {os.getpid()}"
        return hashlib.sha256(f"{self._owner}|{next(self._numbers)}|{process}".encode()).digest()


class RepeatableDraws:
    """The pytest plugin: it names the owner of the next draws."""

    def __init__(self) -> None:
        self._keys: RepeatableKeys | None = None
        self._secure = Randomness.secure
        Randomness.secure = self._draw  # type: ignore[method-assign]

    def _draw(self) -> Randomness:
        return self._secure() if self._keys is None else Randomness(self._keys.next(), SECURE)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """A test begins: its draws are its own."""
        self._keys = None if item.get_closest_marker(MARK) else RepeatableKeys(item.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
    ) -> Iterator[None]:
        """Shared fixtures are drawn alike for any first test that uses them."""
        if fixturedef.scope == "function":
            return (yield)
        before = self._keys
        which = getattr(request, "param_index", 0)
        self._keys = RepeatableKeys(f"{request.node.nodeid}|{fixturedef.argname}|{which}")
        try:
            return (yield)
        finally:
            self._keys = before
