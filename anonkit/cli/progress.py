# SPDX-License-Identifier: Apache-2.0
"""A line of progress on stderr, on a terminal alone, for work of more than a second; and notes while work is done."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from anonkit.cli.boundary import show_note
from anonkit.errors import UNFINISHED_LOG

_CLEARED = "\r\x1b[K"
"""Sequence that empties the line of a terminal, and goes back to its begin."""


@contextmanager
def progress_line(
    quiet: bool, stream: TextIO | None = None, *, steps: Sequence[str] = (), delay: float = 1.0, tick: float = 0.2
) -> Iterator[Callable[[str, float], None]]:
    """Show one line with the step that is done, and for how long, until the block ends; then it is gone.

    Parameters
    ----------
    quiet : bool
        Show nothing.
    stream : text stream, optional
        Where to draw; stderr by default. Nothing is drawn unless it is a terminal.
    steps : sequence of str
        Names of the steps that are expected, in order: then the line says which of how many it is.
    delay : float
        Seconds before the line appears.
    tick : float
        Seconds between two looks at the clock.
    """
    stream = sys.stderr if stream is None else stream
    line = _ProgressLine(stream, delay, steps)
    if quiet or not stream.isatty():
        yield line.note
        return
    ended = threading.Event()

    def draw() -> None:
        while not ended.wait(tick):
            line.draw()

    clock = threading.Thread(target=draw, daemon=True)
    clock.start()
    try:
        yield line.note
    finally:
        ended.set()
        clock.join()
        line.end()


@contextmanager
def notes_at_once(quiet: bool) -> Iterator[None]:
    """Show notes before their event, such as a new draw, on stderr until the block ends.

    Parameters
    ----------
    quiet : bool
        Show nothing.
    """
    log, handler = logging.getLogger("anonkit"), logging.NullHandler() if quiet else _Notes()
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


class _Notes(logging.Handler):
    """Shows each message as a note."""

    def emit(self, record: logging.LogRecord) -> None:
        """Show a message, but for those that the boundary shows."""
        if record.name != UNFINISHED_LOG:
            show_note(record.getMessage())


class _ProgressLine:
    """The step that is being done. A clock draws, since a step may report only at its begin."""

    def __init__(self, stream: TextIO, delay: float, steps: Sequence[str]) -> None:
        self._stream, self._steps = stream, list(steps)
        self._first = time.monotonic() + delay
        self._step: str | None = None
        self._number = 0
        self._share = 0.0
        self._begin = 0.0
        self._is_shown = False

    def note(self, step: str, share: float) -> None:
        """Take note of how far a step is; a `Progress`."""
        if step != self._step:
            self._begin, self._number = time.monotonic(), self._number + 1
            self._expect(step)
        self._step, self._share = step, share

    def _expect(self, step: str) -> None:
        """Find the place of a step among those that are expected; one that nobody expected is one more."""
        if not self._steps:
            return
        if step not in self._steps:
            self._steps.insert(self._number - 1, step)
        self._number = self._steps.index(step) + 1

    def draw(self) -> None:
        """Draw the line of the current step."""
        now = time.monotonic()
        if self._step is None or now < self._first:
            return
        share = f", {self._share:.0%}" if self._share else ""  # a step that does not say how far it is has none
        place = f"{self._number} of {len(self._steps)}" if self._steps else f"step {self._number}"
        self._stream.write(f"{_CLEARED}{place}: {self._step}{share}, {now - self._begin:.0f} s")
        self._stream.flush()
        self._is_shown = True

    def end(self) -> None:
        """Empty the line."""
        if self._is_shown:
            self._stream.write(_CLEARED)
            self._stream.flush()
