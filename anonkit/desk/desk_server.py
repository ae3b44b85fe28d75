# SPDX-License-Identifier: Apache-2.0
"""The server of the desk: on this machine alone, with one address that opens it, until it is ended or idle."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from anonkit.desk.desk_pages import DeskPages
from anonkit.desk.release_desk import Desk
from anonkit.desk.request_guard import OPENING, RequestGuard
from anonkit.errors import EngineError, MissingDependencyError, ParameterError

if TYPE_CHECKING:
    import uvicorn

_LOOKS = 1.0
"""Seconds between two looks whether the desk is idle."""
_STREAM = "/events"
_QUIET = ("uvicorn", "uvicorn.error", "uvicorn.access", "asyncio")
"""Logs whose lines may quote requests and cells."""


def refuse_without_extra() -> None:
    """Refuse to begin where an optional part is not installed.

    Raises
    ------
    MissingDependencyError
    """
    try:
        import starlette  # noqa: F401
        import tomlkit  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingDependencyError.of_extra("the desk", "desk") from None


def allowed_name(host_name: str) -> str:
    """Return a `Host` that may be allowed besides those of this machine.

    Browsers say where a request comes from to names of this machine alone: to any other, a page could not show that it
    is the desk's own.

    Raises
    ------
    ParameterError
        It is no such name with a port.
    """
    name, colon, port = host_name.rpartition(":")
    is_port = port.isascii() and port.isdigit() and 0 < int(port) < 65_536
    labels = name.split(".")
    is_label = all(label and set(label) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for label in labels)
    if not colon or not is_port or not (name == "127.0.0.1" or (is_label and labels[-1] == "localhost")):
        raise ParameterError(
            "a host name is one of this machine with a port, as the browser shows it",
            "such as localhost:8899, after ssh -L 8899:localhost:PORT HOST",
        )
    return host_name


def serve(
    desk: Desk,
    port: int,
    *,
    host_name: str | None,
    idle: float,
    opened: Callable[[str], None],
    connect: Callable[[Callable[[], None]], None],
) -> bool:
    """Answer requests until the desk is idle, or this process is interrupted.

    Parameters
    ----------
    desk : Desk
    port : int
        0: one that is free.
    host_name : str, optional
        The one `Host` that is allowed besides those of this machine.
    idle : float
        Seconds without a request, or a job, after which it ends.
    opened : callable
        Called with the address that opens a browser, once it answers.
    connect : callable
        Given what is to be called when something that pages show has changed.

    Returns
    -------
    bool
        True: it was idle.

    Raises
    ------
    EngineError
        The port cannot be listened on.
    """
    import uvicorn

    listening = _listening(port)
    port = listening.getsockname()[1]
    for name in _QUIET:
        log = logging.getLogger(name)
        log.handlers, log.propagate = [logging.NullHandler()], False
    clock = _Clock(idle=idle)
    guard = RequestGuard(application=_nobody, port=port, host_name=host_name, seen=clock.seen)
    pages = DeskPages(desk, guard.form_token)
    guard.application = pages.application()
    connect(pages.changed)
    config = uvicorn.Config(
        guard,
        log_config=None,
        access_log=False,
        ws="none",
        lifespan="off",
        server_header=False,
        proxy_headers=False,  # what a header says of a client is no fact
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    address = f"http://127.0.0.1:{port}{OPENING}?token={guard.opening_token}"

    async def answer() -> None:
        pages.watch(asyncio.get_running_loop())
        desk.open()
        looking = asyncio.create_task(clock.look(desk, server, pages, lambda: opened(address)))
        try:
            await server.serve(sockets=[listening])
        finally:
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking

    try:
        asyncio.run(answer())
    finally:
        listening.close()
    return clock.was_idle


async def _nobody(scope: object, receive: object, send: object) -> None:
    """Answer nothing, before there are pages."""


def _listening(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(64)
    except (OSError, OverflowError):
        listening.close()
        raise EngineError(f"port {port} of this machine cannot be listened on", "port 0 is one that is free") from None
    return listening


class _Clock:
    """Time of the last request to the desk."""

    def __init__(self, idle: float) -> None:
        self._idle = idle
        self._last = time.monotonic()
        self.was_idle = False

    def seen(self, path: str) -> None:
        """Take note of a request; an open stream asks for nothing."""
        if path != _STREAM:
            self._last = time.monotonic()

    async def look(self, desk: Desk, server: uvicorn.Server, pages: DeskPages, opened: Callable[[], None]) -> None:
        """End the server once it is idle, and its open streams once it ends."""
        while not server.started:
            await asyncio.sleep(0.01)
        opened()
        while not server.should_exit:
            if desk.jobs.are_at_work:
                self._last = time.monotonic()
            if time.monotonic() - self._last > self._idle:
                self.was_idle = server.should_exit = True
            await asyncio.sleep(min(_LOOKS, self._idle / 4))
        pages.end()
