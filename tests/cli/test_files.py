"""Single files of a command: whole or not at all, private where they must be, never over another unasked."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from anonkit.cli.files import refuse_existing, write_text
from anonkit.errors import EngineError, ParameterError


def test_a_file_is_replaced_when_forced_alone(tmp_path: Path) -> None:
    """Unforced the old one stays; nothing is left beside it."""
    path = tmp_path / "page.html"
    write_text(path, "first", force=False)
    with pytest.raises(ParameterError, match="exists"):
        write_text(path, "second", force=False)
    assert path.read_text() == "first"
    write_text(path, "zweite ü", force=True)
    assert path.read_text(encoding="utf-8") == "zweite ü"
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_a_private_file_is_its_owners_alone(tmp_path: Path) -> None:
    """Under any umask."""
    path = tmp_path / "owner.json"
    write_text(path, "{}", force=False, private=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_a_file_is_made_from_is_never_replaced(tmp_path: Path) -> None:
    """Forced or not."""
    source = tmp_path / "in.csv"
    source.write_text("a\n1\n")
    with pytest.raises(ParameterError):
        refuse_existing(source, True, made_from=source)
    refuse_existing(tmp_path / "out.html", False, made_from=source)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """One line, no traceback."""
    with pytest.raises(EngineError, match="cannot write"):
        write_text(tmp_path / "absent" / "page.html", "text", force=False)
