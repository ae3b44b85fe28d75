"""Tests are compiled before the workers start, so that no worker does it again."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiled_ahead import outdated, rewrite_assertions


def test_rewritten_files_are_found_by_pytest(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file counts as rewritten until it is changed; what is there is what pytest itself would read."""
    monkeypatch.setattr("sys.pycache_prefix", None)
    path = tmp_path / "test_it.py"
    path.write_text("def test_it():\n    assert 1 + 1 == 2\n", encoding="utf-8")
    assert outdated(tmp_path) == [path]
    rewrite_assertions(request.config, [path])
    assert outdated(tmp_path) == []
    (kept,) = (tmp_path / "__pycache__").iterdir()
    assert b"@py_assert" in kept.read_bytes()
    path.write_text("def test_it():\n    assert 1 + 2 == 3\n\n", encoding="utf-8")
    assert outdated(tmp_path) == [path]
