"""Ledgers of both kinds: what holds for a file holds for a server's database, by the same tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.conftest import cli as cli
from cli.conftest import table as table

from anonkit.ledger import Ledger


@pytest.fixture(params=["file", "server"])
def where(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The place of a new ledger: a path, or an address with a password."""
    if request.param == "server":
        server = request.getfixturevalue("postgresql")
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
        address: str = server.new_ledger()
        Ledger.create(address)
        return address
    return str(tmp_path / "ledger.sqlite")


@pytest.fixture
def ledger(where: str) -> Ledger:
    """A new ledger."""
    return Ledger(where)
