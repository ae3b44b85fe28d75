"""A server of PostgreSQL that is starting up is waited for, as a ledger and as a source; other failures are not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread

import pytest
from postgresql import Server

import anonkit
from anonkit.bundle import starting_servers
from anonkit.bundle.starting_servers import when_started
from anonkit.ledger import Ledger


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A server that other tests do not need while it is stopped."""
    server = Server.start()
    try:
        yield server
    finally:
        server.remove()


@pytest.mark.slow
def test_a_server_that_starts_is_waited_for(
    own_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a crash, whose log it reads first."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    monkeypatch.setattr(starting_servers, "_REFUSED", 30.0)  # whatever else this machine does
    address = own_server.new_ledger()
    Ledger.create(address)
    with closing(own_server.connect()) as base:
        base.execute("CREATE TABLE people AS SELECT n % 9 + 20 AS age, n % 2 AS class FROM generate_series(1, 60) AS n")

    def booked() -> bool:
        return Ledger(address).datasets() == []

    def read() -> bool:
        source = f"{own_server.address}?table=people"
        return bool(anonkit.release(source, method="mondrian", k=5, target="class", ledger=None).report["rows"])

    for ask in (booked, read):
        own_server.stop("immediate")
        starting = Thread(target=own_server.resume)
        starting.start()
        try:
            assert ask()
        finally:
            starting.join()


class RefusedError(Exception):
    """An error of a driver."""

    def __init__(self, words: str, sqlstate: str | None = None) -> None:
        super().__init__(words)
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (RefusedError("FATAL: the database system is starting up"), 60),
        (RefusedError("FATAL: das Datenbanksystem startet", "57P03"), 60),
        (RefusedError("connection to server failed: Connection refused"), 2),
        (RefusedError("password authentication failed"), 0),
    ],
)
def test_the_wait_is_bounded(error: RefusedError, seconds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what the server says."""
    clock = [0.0]
    monkeypatch.setattr("anonkit.bundle.starting_servers.time.monotonic", lambda: clock[0])
    monkeypatch.setattr(
        "anonkit.bundle.starting_servers.time.sleep", lambda pause: clock.__setitem__(0, clock[0] + pause)
    )

    def connect() -> None:
        raise error

    with pytest.raises(RefusedError):
        when_started(connect, (RefusedError,))
    assert seconds <= clock[0] <= seconds + 1
