# SPDX-License-Identifier: Apache-2.0
"""Progress bars, on stderr, only on a terminal, only for work of more than a second; and notes while work is done."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import click

from anonkit.cli.boundary import show_note
from anonkit.errors import UNFINISHED_LOG

_PARTS = 100


@contextmanager
def progress_bars(
    quiet: bool, stream: TextIO | None = None, *, delay: float = 1.0, tick: float = 0.2
) -> Iterator[Callable[[str, float], None]]:
    """Show a bar a step until the block ends.

    Parameters
    ----------
    quiet : bool
        Show nothing.
    stream : text stream, optional
        Where to draw; stderr by default. Nothing is drawn unless it is a terminal.
    delay : float
        Seconds before the first bar appears.
    tick : float
        Seconds between two looks at the clock.
    """
    stream = sys.stderr if stream is None else stream
    bars = _Bars(stream, delay)
    if quiet or not stream.isatty():
        yield bars.note
        return
    ended = threading.Event()

    def draw() -> None:
        while not ended.wait(tick):
            bars.draw()

    clock = threading.Thread(target=draw, daemon=True)
    clock.start()
    try:
        yield bars.note
    finally:
        ended.set()
        clock.join()
        bars.end()


@contextmanager
def notes_at_once(quiet: bool) -> Iterator[None]:
    """Show what is said before something happens, such as a new draw, on stderr until the block ends.

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


class _Bars:
    """What is being done, and the bar that shows it. A clock draws, since a step may report only at its begin."""

    def __init__(self, stream: TextIO, delay: float) -> None:
        self._stream = stream
        self._first = time.monotonic() + delay
        self._step: str | None = None
        self._share = 0.0
        self._begin = 0.0
        self._bar: Any = None

    def note(self, step: str, share: float) -> None:
        """Take note of how far a step is; a `Progress`."""
        if step != self._step:
            self._begin = time.monotonic()
        self._step, self._share = step, share

    def draw(self) -> None:
        """Draw the bar of the current step."""
        step, share = self._step, self._share
        if step is None or time.monotonic() < self._first:
            return
        if self._bar is None or self._bar.label != step:
            self._finish(done=True)
            begin = self._begin
            self._bar = click.progressbar(
                length=_PARTS,
                label=step,
                file=self._stream,
                show_eta=False,
                item_show_func=lambda _: f"{time.monotonic() - begin:.0f} s",
            )
        self._render(share)

    def end(self) -> None:
        """Leave the line of the last bar behind, as far as it came."""
        self._finish(done=False)

    def _finish(self, *, done: bool) -> None:
        if self._bar is not None:
            self._render(1.0 if done else self._share)
            self._bar.render_finish()

    def _render(self, share: float) -> None:
        self._bar.make_step(max(0, int(share * _PARTS) - self._bar.pos))
        self._bar.show_percent = self._bar.pos > 0  # a step that does not tell how far it is shows its seconds only
        self._bar.render_progress()
