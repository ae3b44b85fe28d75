"""The log of a release: steps and public notes under `anonkit`, and nothing of the owner unless it is requested."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import anonkit
from anonkit.errors import GuaranteeError

MARK = "Zq7MARKERx9"


class _Kept(logging.Handler):
    """Keeps what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@pytest.fixture
def owner_log() -> Iterator[list[str]]:
    """The records that a handler of its own gets from the owner's logger."""
    handler = _Kept()
    logger = logging.getLogger("anonkit.owner")
    logger.addHandler(handler)
    level = logger.level
    logger.setLevel(logging.INFO)
    yield handler.lines
    logger.removeHandler(handler)
    logger.setLevel(level)


def _frame(rows: int = 60) -> pd.DataFrame:
    columns: dict[str, Any] = {
        "q": [f"{MARK}{at % 3}" for at in range(rows)],
        "age": [*(str(20 + at % 9) for at in range(rows - 1)), f"{MARK}?"],
        "c": [f"{MARK}{'ab'[at % 2]}" for at in range(rows)],
    }
    return pd.DataFrame(columns)


def _release(path: Path, **more: Any) -> anonkit.Release:
    _frame().to_csv(path / "in.csv", index=False)
    return anonkit.release(path / "in.csv", method="mondrian", **{"k": 3, "output": path / "out.parquet", **more})


def test_a_release_logs_its_steps_and_its_public_notes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """One line a step in their order, then the file and the notes of the report; no cell in any, all at INFO."""
    with caplog.at_level(logging.DEBUG):
        made = _release(tmp_path)
    lines = [record.getMessage() for record in caplog.records if record.name == "anonkit"]
    steps = [line.removeprefix("release by mondrian: ") for line in lines]
    assert steps[0] == "reading"
    assert {"cutting boxes", "checking"} <= set(steps)
    end = steps.index(f"made {tmp_path / 'out.parquet'}")
    assert steps[end + 1 :] == [f"note: {note}" for note in made.report["notes"]]
    assert len(set(steps)) == len(steps)
    assert {record.levelno for record in caplog.records if record.name == "anonkit"} == {logging.INFO}
    assert MARK not in caplog.text


def test_notes_of_the_owner_need_a_handler_of_their_own(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, owner_log: list[str]
) -> None:
    """Notes about the raw cells reach no other logger, at any level."""
    others = _Kept()
    for logger in (logging.getLogger(), logging.getLogger("anonkit")):
        logger.addHandler(others)
    try:
        with caplog.at_level(logging.DEBUG), caplog.at_level(logging.DEBUG, "anonkit"):
            made = _release(tmp_path)
    finally:
        for logger in (logging.getLogger(), logging.getLogger("anonkit")):
            logger.removeHandler(others)
    notes = made.owner["reading_notes"]
    assert notes
    assert owner_log == [f"release by mondrian: note: {note}" for note in notes]
    assert others.lines
    assert not any(note in line for note in notes for line in others.lines)
    assert MARK not in "".join(owner_log)


def test_a_refusal_is_logged_by_its_word(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Its message, which may count rows, is for anyone who catches it."""
    with caplog.at_level(logging.DEBUG), pytest.raises(GuaranteeError) as refused:
        _release(tmp_path, k=61)
    assert caplog.messages[-1] == "release by mondrian: refused (PROMISE)"
    assert refused.value.message not in caplog.text


def test_a_fault_is_logged_by_its_kind(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The text of an error that is not ours may quote a cell."""

    def broken(step: str, share: float) -> None:
        raise ZeroDivisionError(MARK)

    with caplog.at_level(logging.DEBUG), pytest.raises(ZeroDivisionError):
        _release(tmp_path, progress=broken)
    assert caplog.messages[-1] == "release by mondrian: failed (ZeroDivisionError)"
    assert MARK not in " ".join(caplog.messages)


def test_a_dry_run_and_a_release_in_memory_say_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A dry run has no notes: nothing is published that they could follow from."""
    with caplog.at_level(logging.DEBUG):
        _release(tmp_path, dry_run=True)
        assert caplog.messages[-1] == "release by mondrian: dry run, nothing was written"
        assert not any("note" in line for line in caplog.messages)
        _release(tmp_path, output=None)
    assert "release by mondrian: made in memory" in caplog.messages
