"""Hidden folders come along with a release: readers finish what this user's own record vouches for, and no other."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import anonkit
from anonkit.bundle import atomic
from anonkit.bundle.atomic import Staging, finish, recover
from anonkit.bundle.liveness import Process
from anonkit.cli import anonkit as commands
from anonkit.cli.boundary import run
from anonkit.datasets import bank_customers, bank_customers_policy

SIDECARS = [".datapackage.json", ".params.json", ".report.html", ".report.json"]
MARKS = [
    '{"put": [], "remove": ["k.parquet", "keep.csv", "k.report.html"]}',
    '{"put": ["keep.csv", "k.parquet"], "remove": []}',
    "",
]


def _release(folder: Path, name: str = "k.parquet") -> Path:
    """Make a small release."""
    output = folder / name
    anonkit.release(
        bank_customers(60, seed=2), method="rr", epsilon=1.0, policy=bank_customers_policy(), output=output, ledger=None
    )
    return output


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _command(*words: str) -> Callable[[Path], object]:
    return lambda path: run(commands, [*words, str(path)], "anonkit")


READERS: dict[str, Callable[[Path], object]] = {
    "validate": anonkit.validate,
    "load": anonkit.load,
    "anonkit validate": _command("validate"),
    "anonkit report": _command("report"),
}


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("reader", READERS)
def test_a_hidden_folder_that_was_sent_along_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, reader: str, mark: str
) -> None:
    """With any content of its mark, every file of the folder is unchanged, and the reader names what it ignored."""
    output = _release(tmp_path)
    (tmp_path / "keep.csv").write_text("mine")
    sent = tmp_path / ".k.anonkit-1-0000000a"
    sent.mkdir()
    (sent / "COMPLETE").write_text(mark)
    (sent / "keep.csv").write_text("theirs")
    (sent / "k.parquet").write_text("theirs")
    before = _contents(tmp_path)
    with caplog.at_level(logging.WARNING, "anonkit"):
        READERS[reader](output)

    assert _contents(tmp_path) == before
    assert f"{sent.name!r} beside the release was left alone" in caplog.text


class _Killed(BaseException):
    """The process is gone at this moment."""


@pytest.fixture
def dead(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Afterwards every process counts as dead, this one too."""

    def die() -> None:
        monkeypatch.setattr(atomic, "_OWN", set())
        monkeypatch.setattr(Process, "is_surely_dead", lambda self: True)

    return die


def _killed_after_mark(folder: Path, monkeypatch: pytest.MonkeyPatch, names: dict[str, str]) -> Path:
    """Prepare files, and die right after they were marked complete."""
    staging = Staging(folder, "k")
    for name, content in names.items():
        (staging.folder / name).write_text(content)
    with monkeypatch.context() as patched:
        patched.setattr(atomic, "_finish", _die)
        with pytest.raises(_Killed):
            staging.commit(list(names), absent=["k.signature.json"])
    return staging.folder


def _die(*given: object) -> None:
    raise _Killed


def test_what_the_own_record_vouches_for_is_finished_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, dead: Callable[[], None]
) -> None:
    """A run of this user was killed among its renames: the next reader ends them, and states it."""
    (tmp_path / "k.signature.json").write_text("old")
    staged = _killed_after_mark(tmp_path, monkeypatch, {"k.parquet": "new", "k.params.json": "new"})
    dead()
    with caplog.at_level(logging.WARNING, "anonkit"):
        finish(tmp_path, "k")

    assert _contents(tmp_path) == {"k.parquet": b"new", "k.params.json": b"new"}
    assert not staged.exists()
    assert "finished" in caplog.text


@pytest.mark.parametrize("how", ["changed", "added", "link", "gone"])
def test_what_does_not_fit_its_record_is_left_alone(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    dead: Callable[[], None],
    how: str,
) -> None:
    """Somebody has changed what was prepared: nothing is put in place, and nothing removed."""
    (tmp_path / "k.signature.json").write_text("old")
    staged = _killed_after_mark(tmp_path, monkeypatch, {"k.parquet": "new", "k.params.json": "new"})
    if how == "changed":
        (staged / "k.parquet").write_text("theirs")
    elif how == "gone":
        (staged / "k.parquet").unlink()
    elif how == "link":
        (tmp_path / "elsewhere").write_text("new")
        (staged / "k.parquet").unlink()
        (staged / "k.parquet").symlink_to(tmp_path / "elsewhere")
    else:
        (staged / "k.parquet").unlink()
        (staged / "k.parquet").mkdir()
        (staged / "k.parquet" / "x").write_text("new")
    dead()
    before = _contents(tmp_path)
    with caplog.at_level(logging.WARNING, "anonkit"):
        recover(tmp_path, "k")

    assert _contents(tmp_path) == before
    assert "left alone" in caplog.text


def test_with_a_key_nothing_is_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dead: Callable[[], None]
) -> None:
    """A reader that requires a signature judges the files as they are: not even its own record restores any."""
    output = _release(tmp_path)
    staged = _killed_after_mark(tmp_path, monkeypatch, {"k.parquet": "new"})
    dead()
    key = tmp_path / "owner.pub"
    key.write_bytes(_public_key())
    before = _contents(tmp_path)
    found = anonkit.validate(output, signed_by=key)

    assert not found.passed
    assert _contents(tmp_path) == before
    assert staged.exists()


def _public_key() -> bytes:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return Ed25519PrivateKey.generate().public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def test_a_reader_deletes_nothing_of_a_run_that_died_before_the_mark(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, dead: Callable[[], None]
) -> None:
    """It stays, for the ledger sees by it that nothing was published; who writes there clears it away."""
    staging = Staging(tmp_path, "k")
    (staging.folder / "k.parquet").write_text("new")
    dead()
    with caplog.at_level(logging.WARNING, "anonkit"):
        finish(tmp_path, "k")
    assert (staging.folder / "k.parquet").exists()
    assert "never put in place" in caplog.text
    recover(tmp_path, "k")
    assert not list(tmp_path.iterdir())


def test_a_writer_deletes_no_folder_that_it_did_not_make(tmp_path: Path, dead: Callable[[], None]) -> None:
    """A folder of this form that another machine is at work in, or that somebody sent, has no record here."""
    sent = tmp_path / ".k.anonkit-1-0000000a"
    sent.mkdir()
    (sent / "k.parquet").write_text("theirs")
    dead()
    recover(tmp_path, "k")
    assert (sent / "k.parquet").read_text() == "theirs"


def test_without_a_home_records_are_among_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dead: Callable[[], None]
) -> None:
    """A user of a container may have none: the folder there is private, and one of somebody else is not believed."""
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "file" / "none"))
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    output = tmp_path / "data"
    staged = _killed_after_mark(output, monkeypatch, {"k.parquet": "new"})
    (private,) = (path for path in tmp_path.iterdir() if path.name.startswith("anonkit-state-"))
    assert private.stat().st_mode & 0o077 == 0
    dead()
    private.chmod(0o777)
    finish(output, "k")
    assert staged.exists()
    private.chmod(0o700)
    finish(output, "k")
    assert _contents(output) == {"k.parquet": b"new"}


def test_no_record_is_left_of_what_was_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a finished release nor an abandoned one leaves a private record."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    _release(tmp_path / "data")
    staging = Staging(tmp_path / "data", "k")
    staging.discard()
    assert [path for path in (tmp_path / "state").rglob("*") if path.is_file()] == []
    kept = Staging(tmp_path / "data", "k")
    (record,) = (path for path in (tmp_path / "state").rglob("*") if path.is_file())
    assert record.stat().st_mode & 0o077 == 0
    assert json.loads(record.read_text())["folder"] == os.path.realpath(kept.folder)
    kept.discard()
