# SPDX-License-Identifier: Apache-2.0
"""Connections to a server that is starting up: for a while it refuses, and then it answers."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")

_STARTING, _REFUSED = 60.0, 2.0
"""Seconds to wait for a server that says it is starting, and for one that nobody answers for yet."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0


def when_started(connect: Callable[[], _T], failures: tuple[type[Exception], ...]) -> _T:
    """Return a connection to a server of PostgreSQL, tried again while it is starting up.

    Parameters
    ----------
    connect : callable
        Opens it, and has done nothing when it fails.
    failures : tuple of type
        What it raises of a server. One that says that it is starting is waited for up to 60 s, one that refuses the
        connection up to 2 s. Any other failure is raised at once.
    """
    begun, pause = time.monotonic(), _FIRST_PAUSE
    while True:
        try:
            return connect()
        except failures as error:
            if time.monotonic() - begun >= _patience(error):
                raise
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _patience(error: Exception) -> float:
    """Return the number of seconds for which a failure is waited out."""
    words = str(error).lower()
    if getattr(error, "sqlstate", None) == "57P03" or re.search(
        "starting up|in recovery mode|not yet accepting", words
    ):
        return _STARTING
    return _REFUSED if "connection refused" in words else 0.0
