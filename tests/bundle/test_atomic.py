"""Several files that appear together or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from pathlib import Path

import pytest

import anonkit
import anonkit.bundle.atomic as atomic
from anonkit.bundle.atomic import Staging, put_folder, recover
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import EngineError


def _stage(folder: Path, content: str, *, in_folder: bool = False) -> Staging:
    """Prepare two files, or a file and a folder of two."""
    staging = Staging(folder, "out")
    (staging.folder / "out.a").write_text(content)
    if in_folder:
        (staging.folder / "out.b").mkdir()
        for name in ("0", content):
            (staging.folder / "out.b" / name).write_text(content)
    else:
        (staging.folder / "out.b").write_text(content)
    return staging


def _contents(folder: Path) -> set[str]:
    files = [path for path in folder.rglob("*") if path.is_file() and not path.parts[len(folder.parts)].startswith(".")]
    return {path.read_text() for path in files}


def test_files_appear_together(tmp_path: Path) -> None:
    """After a commit all files are there, and no trace of the staging."""
    staging = _stage(tmp_path, "new")
    assert not _contents(tmp_path)
    staging.commit(["out.a", "out.b"])

    assert _contents(tmp_path) == {"new"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.a", "out.b"]


@pytest.mark.quick_cases("False-False-*", "True-True-*")
@pytest.mark.parametrize("stop", range(1, 14))
@pytest.mark.parametrize(("was_folder", "is_folder"), [(False, False), (False, True), (True, False), (True, True)])
def test_a_stop_at_any_system_call_leaves_the_old_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int, was_folder: bool, is_folder: bool
) -> None:
    """Recovery ends with one generation after a stop at any system call, also where folders are swapped."""
    _stage(tmp_path, "old", in_folder=was_folder).commit(["out.a", "out.b"])
    staging = _stage(tmp_path, "new", in_folder=is_folder)
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
    monkeypatch.setattr(atomic, "_OWN", set())
    recover(tmp_path, "out")

    assert _contents(tmp_path) in ({"old"}, {"new"})
    in_folder = was_folder if _contents(tmp_path) == {"old"} else is_folder
    assert (tmp_path / "out.b").is_dir() == in_folder
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.a", "out.b"]


@pytest.mark.parametrize("stop", range(1, 12))
def test_what_must_not_be_beside_new_files_goes_with_the_old_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    """After a stop at any system call and recovery, no old signature is beside new files."""
    _stage(tmp_path, "old").commit(["out.a", "out.b"])
    (tmp_path / "out.signature").write_text("of the old")
    staging = _stage(tmp_path, "new")
    calls = 0

    class Killed(BaseException):
        pass

    def counted(real):  # type: ignore[no-untyped-def]
        def call(*args, **settings):  # type: ignore[no-untyped-def]
            nonlocal calls
            calls += 1
            if calls == stop:
                raise Killed
            return real(*args, **settings)

        return call

    with monkeypatch.context() as patched:
        for home, name in ((atomic.os, "replace"), (atomic.os, "fsync"), (atomic.Path, "unlink")):
            patched.setattr(home, name, counted(getattr(home, name)))
        with contextlib.suppress(Killed):
            staging.commit(["out.a", "out.b"], absent=["out.signature"])
    monkeypatch.setattr(atomic, "_OWN", set())
    recover(tmp_path, "out")

    assert _contents(tmp_path) in ({"old", "of the old"}, {"new"})


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


OUTSIDE = [
    '{"put": ["../out.b"], "remove": []}',
    '{"put": [], "remove": ["../out.b"]}',
    '{"put": [], "remove": ["another"]}',
    '{"put": [], "remove": ["out/.."]}',
    '{"put": []}',
    "[" * 100_000,
    "no JSON",
]


@pytest.mark.parametrize("mark", OUTSIDE, ids=range(len(OUTSIDE)))
def test_a_mark_from_others_reaches_no_other_file(tmp_path: Path, mark: str) -> None:
    """A release that somebody sent may bring a hidden folder with a mark of its own: nothing outside is touched."""
    for name in ("out.b", "release/another"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine")
    staged = tmp_path / "release" / ".out.anonkit-1-00000000"
    staged.mkdir()
    for name in ("out.b", "COMPLETE"):
        (staged / name).write_text(mark)
    recover(tmp_path / "release", "out")
    assert [(tmp_path / name).read_text() for name in ("out.b", "release/another")] == ["mine", "mine"]


def _made(folder: Path) -> tuple[Path, dict[str, str]]:
    """Make a folder of two files; return it with their hashes."""
    made = folder / "made"
    made.mkdir()
    for name in ("a", "b"):
        (made / name).write_text(name)
    return made, {name: hashlib.sha256(name.encode()).hexdigest() for name in ("a", "b")}


@pytest.mark.parametrize("same", [True, False], ids=["one file system", "two"])
def test_a_folder_is_put_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, same: bool) -> None:
    """By a rename where that is possible, else byte by byte."""
    made, digests = _made(tmp_path)
    if not same:
        monkeypatch.setattr(os, "rename", _refuse(errno.EXDEV))
    put_folder(made, tmp_path / "place", digests)

    assert sorted((path.name, path.read_text()) for path in (tmp_path / "place").iterdir()) == [("a", "a"), ("b", "b")]
    assert made.exists() != same


def test_a_copy_that_is_another_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copied file is hashed; a file that the system refuses for another reason is not copied."""
    made, digests = _made(tmp_path)
    monkeypatch.setattr(os, "rename", _refuse(errno.EXDEV))
    with pytest.raises(EngineError, match="not copied as it was made"):
        put_folder(made, tmp_path / "place", {**digests, "b": digests["a"]})
    monkeypatch.setattr(os, "rename", _refuse(errno.EACCES))
    with pytest.raises(PermissionError):
        put_folder(made, tmp_path / "other", digests)
    assert not (tmp_path / "other").exists()


def _refuse(number: int):  # type: ignore[no-untyped-def]
    def rename(*paths: Path) -> None:
        raise OSError(number, "no")

    return rename


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EXDEV])
def test_a_folder_in_which_nothing_can_be_renamed_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """As a mounted bucket: files could not appear together there. Nothing is drawn, booked or left."""

    def refuse(*paths: object, **more: object) -> None:
        raise OSError(number, os.strerror(number))

    for name in ("rename", "replace"):
        monkeypatch.setattr(os, name, refuse)
    (tmp_path / "here").mkdir()
    for output in (tmp_path / "here" / "out.parquet", f"{tmp_path}/out/"):
        with pytest.raises(EngineError, match="no file can be renamed in"):
            anonkit.release(
                bank_customers(50, seed=1),
                method="ppnb",
                p_keep=0.5,
                policy=bank_customers_policy(),
                output=output,
                ledger=tmp_path / "ledger.sqlite",
            )
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["here"]
