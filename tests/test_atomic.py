"""Several files that appear together or not at all."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

import anonkit.atomic as atomic
from anonkit.atomic import Staging, recover
from anonkit.errors import EngineError


def _stage(folder: Path, content: str) -> Staging:
    staging = Staging(folder, "out")
    for name in ("out.a", "out.b"):
        (staging.folder / name).write_text(content)
    return staging


def _contents(folder: Path) -> set[str]:
    return {(folder / name).read_text() for name in ("out.a", "out.b") if (folder / name).exists()}


def test_files_appear_together(tmp_path: Path) -> None:
    """After a commit all files stand there, and no trace of the staging."""
    staging = _stage(tmp_path, "new")
    assert not _contents(tmp_path)
    staging.commit(["out.a", "out.b"])

    assert _contents(tmp_path) == {"new"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.a", "out.b"]


@pytest.mark.parametrize("stop", range(1, 9))
def test_a_stop_at_any_system_call_leaves_the_old_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    """Whatever call is the last one made, recovery ends with files of one generation."""
    _stage(tmp_path, "old").commit(["out.a", "out.b"])
    staging = _stage(tmp_path, "new")
    calls = 0

    class Killed(BaseException):
        pass

    def counted(real):  # type: ignore[no-untyped-def]
        def call(*args):  # type: ignore[no-untyped-def]
            nonlocal calls
            calls += 1
            if calls == stop:
                raise Killed
            return real(*args)

        return call

    with monkeypatch.context() as patched:
        patched.setattr(atomic.os, "replace", counted(atomic.os.replace))
        patched.setattr(atomic.os, "fsync", counted(atomic.os.fsync))
        with contextlib.suppress(Killed):
            staging.commit(["out.a", "out.b"])
    monkeypatch.setattr(atomic, "is_alive", lambda pid: False)
    recover(tmp_path, "out")

    assert _contents(tmp_path) in ({"old"}, {"new"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.a", "out.b"]


def test_staging_of_a_living_process_is_left_alone(tmp_path: Path) -> None:
    """Recovery does not pull the floor from under a process that still works."""
    staging = _stage(tmp_path, "new")
    recover(tmp_path, "out")

    assert staging.folder.exists()
    staging.discard()
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_an_error_of_the_engine(tmp_path: Path) -> None:
    """A file in the way is said in one line."""
    (tmp_path / "file").write_text("")
    with pytest.raises(EngineError, match="cannot write"):
        Staging(tmp_path / "file" / "below", "out")
