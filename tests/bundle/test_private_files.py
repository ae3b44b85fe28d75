"""The folder raw rows may spill to.

Space that is reserved on a disk before files are written: refused where it is not there, and given back.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from anonkit.bundle import private_files
from anonkit.bundle.private_files import MEGABYTE, PrivateFolder, ReservedSpace, sweep
from anonkit.errors import EngineError


def free_bytes(monkeypatch: pytest.MonkeyPatch, free: int, blocks: int = 10**9) -> None:
    """Let the system say how much is free on every disk."""
    state = SimpleNamespace(f_blocks=blocks, f_bavail=free, f_frsize=1)
    monkeypatch.setattr(private_files.os, "statvfs", lambda folder: state)


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

        watched.setattr(private_files.os, "posix_fallocate", noted)
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

    monkeypatch.setattr(private_files.os, "posix_fallocate", over)
    space = ReservedSpace([tmp_path])
    with pytest.raises(EngineError, match="Disk quota exceeded"):
        space.take(MEGABYTE)
    assert space._taken == {}


def everything(folder: Path) -> list[Path]:
    """Return all files and folders below a folder."""
    return sorted(folder.rglob("*"))


@pytest.mark.slow
def test_a_forgotten_engine_is_cleaned_up(temporary: Path) -> None:
    """When nobody closes it, the folder goes with the engine, or with the process."""
    folder = PrivateFolder()
    (folder.path / "rows").write_text("raw")
    del folder
    gc.collect()
    assert everything(temporary) == []
    code = "from anonkit.bundle.private_files import PrivateFolder; kept = PrivateFolder(); print(kept.path)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(str(temporary))
    assert everything(temporary) == []


LIVE = textwrap.dedent(
    """
    import sys
    from anonkit.bundle.private_files import PrivateFolder
    folder = PrivateFolder()
    (folder.path / "rows").write_text("raw")
    print(folder.path, flush=True)
    sys.stdin.read()
    """
)


def test_the_folder_of_a_killed_process_is_swept_and_that_of_a_live_one_is_not(temporary: Path) -> None:
    """The lock of a folder falls with its process; anyone who makes a folder next deletes what was left."""
    live, dead = (
        subprocess.Popen([sys.executable, "-c", LIVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    )
    assert live.stdin is not None
    places = []
    for process in (live, dead):
        assert process.stdout is not None
        places.append(Path(process.stdout.readline().strip()))
    dead.send_signal(signal.SIGKILL)
    dead.wait()
    assert [place.exists() for place in places] == [True, True]
    own = PrivateFolder()
    assert own.path.exists()
    assert [place.exists() for place in places] == [True, False]
    live.stdin.close()
    assert live.wait() == 0
    assert not places[0].exists()
    own.close()
    for stream in (live.stdout, dead.stdout, dead.stdin):
        assert stream is not None
        stream.close()


def test_a_forked_child_does_not_delete_what_its_parent_reads(temporary: Path) -> None:
    """Only the process that made a folder deletes it at its end."""
    code = textwrap.dedent(
        """
        import os, sys
        from anonkit.bundle.private_files import PrivateFolder
        folder = PrivateFolder()
        (folder.path / "rows").write_text("raw")
        child = os.fork()
        if child == 0:
            folder.close()
            sys.exit(0)
        os.waitpid(child, 0)
        assert (folder.path / "rows").read_text() == "raw"
        """
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert everything(temporary) == []


def test_sweeping_touches_nothing_else(temporary: Path) -> None:
    """A link, a folder without a lock and other names stay."""
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "owner.lock").touch()
    (temporary / "anonkit-raw-link").symlink_to(elsewhere)
    (temporary / "anonkit-raw-without-lock").mkdir()
    before = everything(temporary)
    sweep()
    assert everything(temporary) == before


def test_no_space_for_private_files_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A temporary folder that is not there is an error of one line."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(EngineError, match="no private folder can be made among temporary files: No such") as caught:
        _ = PrivateFolder().path
    assert caught.value.__context__ is None


def test_a_machine_without_space_for_temporary_files_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python finds no folder in which it could write a byte."""

    def nowhere() -> str:
        raise FileNotFoundError

    monkeypatch.setattr(tempfile, "gettempdir", nowhere)
    with pytest.raises(EngineError, match=r"^no folder for temporary files can be written to"):
        _ = PrivateFolder().path


@pytest.mark.parametrize("name", ["TMPDIR", "TEMP", "TMP"])
@pytest.mark.parametrize("place", ["nowhere", "a file"])
def test_a_named_folder_that_is_of_no_use_is_refused(
    name: str, place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Raw rows go where their owner said, or nowhere: Python itself would take another folder without a word."""
    (tmp_path / "a file").touch()
    monkeypatch.setattr(tempfile, "tempdir", None)
    for each in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(name, str(tmp_path / place))
    with pytest.raises(EngineError, match=f"^{name} is '.*{place}', where no temporary file can be made: No") as caught:
        _ = PrivateFolder().path
    assert caught.value.__context__ is None
    monkeypatch.setenv(name, str(tmp_path))
    PrivateFolder().close()
    assert PrivateFolder(tmp_path).path.parent == tmp_path


def test_a_folder_chosen_in_python_may_differ_from_the_one_that_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`tempfile.tempdir` counts where the environment names another folder that could be used."""
    (tmp_path / "own").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "own"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert PrivateFolder().path.parent == tmp_path / "own"
