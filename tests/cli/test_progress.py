# SPDX-License-Identifier: Apache-2.0
"""The line of progress: on a terminal only, and only for what takes longer than a second."""

from __future__ import annotations

import io
import re
import time

import pytest

from anonkit.cli.progress import progress_line


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Return True."""
        return True

    def wait_for(self, pattern: str) -> None:
        """Wait until something was drawn; the test's own time limit ends a wait in vain."""
        while re.search(pattern, self.getvalue()) is None:
            time.sleep(0.01)


def test_one_line_moves_on_a_terminal() -> None:
    """Every step has its number, how far it is, and its seconds; nothing is left of it."""
    terminal = Terminal()
    with progress_line(False, terminal, delay=0.0, tick=0.01) as progress:
        progress("reading", 0.25)
        terminal.wait_for(r"step 1: reading, 25%, \d+ s")
        progress("checking", 0.5)
        terminal.wait_for(r"step 2: checking, 50%, \d+ s")
    drawn = terminal.getvalue()

    assert "\n" not in drawn
    assert drawn.endswith("\r\x1b[K")


def test_expected_steps_are_counted() -> None:
    """Steps are numbered out of those expected; an unexpected step is one more, and a repeated one keeps its place."""
    terminal = Terminal()
    with progress_line(False, terminal, steps=("reading", "coding", "checking"), delay=0.0, tick=0.01) as progress:
        progress("reading", 0.0)
        terminal.wait_for(r"1 of 3: reading, \d+ s")
        progress("drawing a sample", 0.0)
        terminal.wait_for(r"2 of 4: drawing a sample, \d+ s")
        progress("coding", 0.0)
        terminal.wait_for(r"3 of 4: coding, \d+ s")
        progress("reading", 0.0)
        progress("checking", 0.5)
        terminal.wait_for(r"4 of 4: checking, 50%, \d+ s")


def test_a_step_that_only_said_that_it_began_is_shown() -> None:
    """The clock draws, not the work."""
    terminal = Terminal()
    with progress_line(False, terminal, delay=0.0, tick=0.01) as progress:
        progress("reading", 0.0)
        terminal.wait_for(r"step 1: reading, \d+ s")


@pytest.mark.parametrize(
    ("terminal", "quiet", "delay"), [(io.StringIO(), False, 0.0), (Terminal(), True, 0.0), (Terminal(), False, 60.0)]
)
def test_nothing_is_drawn_elsewhere_or_for_short_work(terminal: io.StringIO, quiet: bool, delay: float) -> None:
    """Neither into a pipe, nor with --quiet, nor before the delay is over."""
    with progress_line(quiet, terminal, delay=delay, tick=0.01) as progress:
        progress("reading", 0.5)
        time.sleep(0.1)

    assert terminal.getvalue() == ""


def test_an_error_passes_through_and_empties_the_line() -> None:
    """The clock stops when the work fails; what is said next begins a line."""
    terminal = Terminal()

    def fail() -> None:
        with progress_line(False, terminal, delay=0.0, tick=0.01) as progress:
            progress("reading", 0.25)
            terminal.wait_for("25%")
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        fail()

    assert terminal.getvalue().endswith("\r\x1b[K")
