"""A browser without a browser: it requests the pages of a desk in this process, and reads them."""

from __future__ import annotations

import asyncio
import html
import re
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from anonkit.desk.desk_pages import DeskPages
from anonkit.desk.release_desk import Desk
from anonkit.desk.request_guard import RequestGuard

HOST = "127.0.0.1:8765"


class Visitor:
    """A user of a desk.

    Parameters
    ----------
    desk : Desk
        Opened by the visitor.
    """

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.guard = RequestGuard(application=_nobody, port=8765)
        self.pages = DeskPages(desk, self.guard.form_token)
        self.guard.application = self.pages.application()
        self.status = 0
        self.headers: dict[str, str] = {}
        self.text = ""
        self.at = ""

    def get(self, path: str) -> str:
        """Request a page; follow where it leads."""
        self._ask("GET", path, [], b"")
        return self._followed(path)

    def post(self, path: str, at: str = "table", **fields: str) -> str:
        """Send a form; names of fields have underscores for dashes."""
        given = [("form", self.guard.form_token), ("at", at)]
        given += [(name.replace("_", "-"), value) for name, value in fields.items()]
        headers = [
            ("origin", f"http://{HOST}"),
            ("sec-fetch-site", "same-origin"),
            ("content-type", "application/x-www-form-urlencoded"),
        ]
        self._ask("POST", path, headers, urlencode(given).encode())
        return self._followed(path)

    def _followed(self, path: str) -> str:
        self.at = path
        if self.status == 303:
            return self.get(self.headers["location"])
        return self.text

    def _ask(self, method: str, path: str, more: list[tuple[str, str]], body: bytes) -> None:
        cookie = f"{self.guard.cookie}={self.guard.session}"
        headers = [("host", HOST), ("cookie", cookie), *more]
        said: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            said.append(message)

        scope = {
            "type": "http",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in headers],
        }
        completed(self.guard(scope, receive, send))
        self.status = said[0]["status"]
        self.headers = {name.decode().lower(): value.decode() for name, value in said[0]["headers"]}
        self.text = b"".join(message.get("body", b"") for message in said[1:]).decode()

    @property
    def words(self) -> str:
        """The text of the page, without its tags."""
        return " ".join(html.unescape(re.sub("<[^>]+>", " ", self.text)).split())

    def wait(self, kind: str, seconds: float = 400) -> Any:
        """Wait until a job has ended; return it."""
        return wait_for(lambda: self._ended(kind), seconds)

    def _ended(self, kind: str) -> Any:
        job = self.desk.jobs.of_kind(kind)
        self.desk.settle()
        return job if job is not None and job.state != "at work" else None


def completed(work: Coroutine[Any, Any, Any]) -> Any:
    """Return what a coroutine returns, from a thread of its own: in the thread of the tests Playwright's loop runs."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def wait_for(look: Callable[[], Any], seconds: float = 400) -> Any:
    """Look again and again until there is something; return it."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        found = look()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it has not come about")


async def _nobody(scope: Any, receive: Any, send: Any) -> None:
    """Answer nothing."""


def files_below(folder: Path) -> list[Path]:
    """Return all files of a folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())
