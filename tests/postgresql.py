"""A PostgreSQL server of the tests: Debian's programs, a folder of its own, a free port, a user that is not root."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PASSWORD = "an-owner's-secret/with:odd@letters"
"""Of the owner's role, as it must never be seen; `%` spells it in an address."""
QUOTED = "an-owner%27s-secret%2Fwith%3Aodd%40letters"


def programs() -> Path | None:
    """Return the folder of the server's programs; None where there are none. Debian keeps them off the path."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    found = debian[-1] if debian else shutil.which("initdb")
    return None if found is None else Path(found).resolve().parent


@dataclass
class Server:
    """A server that runs, or is stopped for a while."""

    folder: Path
    port: int

    @classmethod
    def start(cls, *, certificate: bool = False) -> Server:
        """Make a cluster and start it; passwords are requested on every connection."""
        # not below a test's folder, which another user may not enter, and whose path is too long for a socket's name
        folder = Path(tempfile.mkdtemp(prefix="anonkit-pg-"))
        server = cls(folder, _free_port())
        if os.geteuid() == 0:
            owner = pwd.getpwnam(_user())
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        (folder / "password").write_text(PASSWORD, encoding="utf-8")
        (folder / "password").chmod(0o644)
        data = str(folder / "data")
        server._run(
            "initdb", "-D", data, "-U", "owner", "-A", "scram-sha-256", "--pwfile", str(folder / "password"),
            "--no-sync", "--no-locale", "-E", "UTF8",
        )  # fmt: skip
        with (folder / "data" / "postgresql.conf").open("a", encoding="utf-8") as settings:
            settings.write(
                f"listen_addresses = '127.0.0.1'\nport = {server.port}\nunix_socket_directories = '{folder}'\n"
                "max_connections = 100\nshared_buffers = 8MB\n"
            )
        server.resume()
        return server

    @property
    def address(self) -> str:
        """Of the database of all tests, with the owner's password."""
        return f"postgresql://owner:{QUOTED}@127.0.0.1:{self.port}/postgres"

    def new_ledger(self) -> str:
        """Return the address of a schema that is not there yet."""
        return f"{self.address}?schema=t_{secrets.token_hex(6)}"

    def connect(self, schema: str | None = None) -> Any:
        """Return a connection of the owner, who sees the tables of a ledger."""
        import psycopg

        connection = psycopg.connect(self.address, autocommit=True)
        if schema is not None:
            connection.execute(f'SET search_path TO "{schema}"')
        return connection

    def resume(self) -> None:
        """Start it, and wait until it answers."""
        data, log = str(self.folder / "data"), str(self.folder / "log")
        self._run("pg_ctl", "-D", data, "-l", log, "-w", "-t", "600", "start")

    def stop(self, how: str = "fast") -> None:
        """Stop it: `fast` ends all sessions, `immediate` is a crash."""
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-t", "600", "-m", how, "stop")

    def remove(self) -> None:
        """Stop it and delete its folder."""
        self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        where = programs()
        assert where is not None
        more: dict[str, Any] = {}
        if os.geteuid() == 0:  # the server refuses to be run by root
            owner = pwd.getpwnam(_user())
            more = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
        done = subprocess.run(
            [str(where / program), *arguments], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            check=False, text=True, **more,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


def _free_port() -> int:
    """Return a port that nothing listens on, below those that the kernel gives to anyone who asks for any.

    Making a cluster takes seconds, and longer on a busy machine: one of the kernel's own was taken meanwhile. Each
    process of the tests looks from another port on.
    """
    first = os.getpid() * 37
    for port in (20_000 + (first + at) % 12_000 for at in range(12_000)):
        with socket.socket() as free, suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port
    raise OSError("no port is free")


def _user() -> str:
    """Return a user that is not root."""
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"
