# SPDX-License-Identifier: Apache-2.0
"""Progress bars: on a terminal only, and only for what takes longer than a second."""

from __future__ import annotations

import io
import time

import pytest

from anonkit.cli.progress import progress_bars


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True

    def wait_for(self, text: str) -> None:
        """Wait until something was drawn; the test's own time limit ends a wait in vain."""
        while text not in self.getvalue():
            time.sleep(0.01)


def test_a_bar_a_step_on_a_terminal() -> None:
    """Every step has its bar; one that is followed by another is done."""
    terminal = Terminal()
    with progress_bars(False, terminal, delay=0.0, tick=0.01) as progress:
        progress("reading", 0.25)
        terminal.wait_for("25%")
        progress("checking", 0.5)
        terminal.wait_for("50%")
    drawn = terminal.getvalue()

    assert drawn.index("reading") < drawn.index("100%") < drawn.index("checking")
    assert drawn.count("100%") == 1


def test_a_step_that_only_said_that_it_began_is_shown() -> None:
    """The clock draws, not the work."""
    terminal = Terminal()
    with progress_bars(False, terminal, delay=0.0, tick=0.01) as progress:
        progress("reading", 0.0)
        terminal.wait_for("reading")


@pytest.mark.parametrize(
    ("terminal", "quiet", "delay"), [(io.StringIO(), False, 0.0), (Terminal(), True, 0.0), (Terminal(), False, 60.0)]
)
def test_nothing_is_drawn_elsewhere_or_for_short_work(terminal: io.StringIO, quiet: bool, delay: float) -> None:
    """Neither into a pipe, nor with --quiet, nor before the delay is over."""
    with progress_bars(quiet, terminal, delay=delay, tick=0.01) as progress:
        progress("reading", 0.5)
        time.sleep(0.1)

    assert terminal.getvalue() == ""


def test_an_error_passes_through_and_ends_the_line() -> None:
    """The clock stops when the work fails, and the bar does not claim that it was done."""
    terminal = Terminal()

    def fail() -> None:
        with progress_bars(False, terminal, delay=0.0, tick=0.01) as progress:
            progress("reading", 0.25)
            terminal.wait_for("25%")
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        fail()

    assert terminal.getvalue().endswith("\n")
    assert "100%" not in terminal.getvalue()
