"""Space that is reserved on a disk before files are written: refused where it is not there, and given back."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from anonkit.bundle import reserved_space
from anonkit.bundle.reserved_space import MEGABYTE, ReservedSpace
from anonkit.errors import EngineError


def free_bytes(monkeypatch: pytest.MonkeyPatch, free: int, blocks: int = 10**9) -> None:
    """Let the system say how much is free on every disk."""
    state = SimpleNamespace(f_blocks=blocks, f_bavail=free, f_frsize=1)
    monkeypatch.setattr(reserved_space.os, "statvfs", lambda folder: state)


@pytest.fixture
def no_large_files() -> Iterator[int]:
    """Files of this process have one megabyte at most."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MEGABYTE, before[1]))
    yield MEGABYTE
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_what_is_not_free_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the byte; the folder need not exist, and nothing is left in the one above it."""
    free_bytes(monkeypatch, 3 * MEGABYTE)
    with pytest.raises(EngineError, match=r"4 MB .*3 MB are free"):
        ReservedSpace([tmp_path / "new" / "folder"]).take(3 * MEGABYTE + 500_000)
    space = ReservedSpace([tmp_path / "new" / "folder"])
    space.take(3 * MEGABYTE)
    assert list(tmp_path.iterdir()) == []
    space.close()


def test_little_space_is_taken_until_it_is_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By files without a name: one for each disk's folder, each as large as was asked for."""
    free_bytes(monkeypatch, 20 * MEGABYTE)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with monkeypatch.context() as watched:
        sizes: list[int] = []
        real = os.posix_fallocate

        def noted(descriptor: int, start: int, size: int) -> None:
            real(descriptor, start, size)
            sizes.append(os.fstat(descriptor).st_blocks * 512)

        watched.setattr(reserved_space.os, "posix_fallocate", noted)
        space = ReservedSpace([tmp_path / "a", tmp_path / "b", tmp_path / "a" / "not there"])
        space.take(2 * MEGABYTE)
        space.take(MEGABYTE)  # as much is reserved already
    assert len(sizes) == 2
    assert min(sizes) >= 2 * MEGABYTE
    kept = space._taken[tmp_path / "a"]
    space.give_back(tmp_path / "b")
    assert not kept.closed
    space.close()
    assert kept.closed
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_disk_without_a_size_is_asked_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that says nothing of its space refuses nothing beforehand."""
    free_bytes(monkeypatch, 0, blocks=0)
    ReservedSpace([tmp_path]).take(10**15)


def test_a_limit_of_files_is_seen(tmp_path: Path, no_large_files: int) -> None:
    """The largest file that the system allows this process is refused as a disk that is full."""
    with pytest.raises(EngineError, match="may not be as large"):
        ReservedSpace([tmp_path]).take(no_large_files + 1)


def test_what_cannot_be_taken_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quota of the user is no free space of the disk: the system says so when the space is taken."""
    free_bytes(monkeypatch, 2 * MEGABYTE)

    def over(descriptor: int, start: int, size: int) -> None:
        raise OSError(122, "Disk quota exceeded")

    monkeypatch.setattr(reserved_space.os, "posix_fallocate", over)
    space = ReservedSpace([tmp_path])
    with pytest.raises(EngineError, match="Disk quota exceeded"):
        space.take(MEGABYTE)
    assert space._taken == {}
