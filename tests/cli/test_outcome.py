"""The outcome of a command: its exit code is that of its failure."""

from __future__ import annotations

from anonkit.cli.outcome import Outcome, WrongUsage
from anonkit.errors import EngineError, GuaranteeError


def test_the_exit_code_is_that_of_the_failure() -> None:
    """0 without one; a check that failed, an engine that could not work, wrong usage."""
    assert Outcome(text="done", document={}).exit_code == 0
    for failure in (GuaranteeError("broken"), EngineError("gone"), WrongUsage("unknown option")):
        assert Outcome(text="", document={}, failure=failure).exit_code == failure.exit_code
    assert WrongUsage.exit_code == 2
