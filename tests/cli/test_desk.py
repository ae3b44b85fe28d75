"""`anonkit desk`: one line with the address, exit codes, and an end by Ctrl-C or by idleness."""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from anonkit.cli import anonkit
from anonkit.cli.boundary import run
from anonkit.cli.desk import command
from anonkit.desk.decided_release import PRIVATE, RELEASE
from anonkit.desk.release_desk import Desk
from anonkit.errors import ParameterError
from anonkit.pipeline.release_space import Output


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["absent.csv"], 3, "does not exist"),
        (["-"], 2, "more than once"),
        (["{table}", "--seed", "3"], 2, "--not-for-release"),
        (["{table}", "--seed", "3", "--not-for-release", "--sign", "key.pem"], 2, "--sign"),
        (["{table}", "--sign", "absent.pem"], 3, "absent.pem"),
        (["{table}", "--policy", "absent.toml"], 3, "absent.toml"),
        (["{table}", "--host-name", "evil.example:80"], 2, "a host name is"),
        (["{table}", "--idle", "0"], 2, "idle"),
        (["{table}", "--output", "away/release"], 2, "would be handed out with the release"),
        (["postgresql://owner:secret@host/db?table=people"], 2, "secret"),
    ],
)
def test_what_cannot_be_served_is_refused(
    table: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
    arguments: list[str],
    code: int,
    says: str,
) -> None:
    """Before a page is shown, with the exit code of its kind; nothing is written."""
    monkeypatch.chdir(tmp_path)
    words = [word.format(table=table) for word in arguments]
    assert run(anonkit, ["desk", *words, "--no-browser"], "anonkit") == code
    shown = capsys.readouterr()
    assert says in shown.err
    assert shown.out == ""
    assert "owner:secret" not in shown.err
    assert not (tmp_path / "release" / "policy.toml").exists()


def test_the_default_folder_takes_the_owners_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of a desk is not handed out: it is none that a release has for itself."""
    monkeypatch.chdir(tmp_path)
    folder = next(option.default for option in command.params if option.name == "output")
    output = Output.at(f"{folder}/{RELEASE}", owner_report=f"{folder}/{PRIVATE}")
    output.refuse_unwritable(seeded=False)
    with pytest.raises(ParameterError, match="handed out with the release"):
        Desk("people.csv", tmp_path / Path(RELEASE).stem)


@pytest.mark.parametrize("missing", ["starlette", "uvicorn", "tomlkit"])
def test_without_the_extra_it_says_which(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, missing: str
) -> None:
    """Exit code 4."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, missing, None)
    assert run(anonkit, ["desk", str(table)], "anonkit") == 4
    assert "anonkit[desk]" in capsys.readouterr().err


@pytest.fixture
def served(table: Path, tmp_path: Path) -> Iterator[Any]:
    """Start the command in a process of its own."""
    started: list[subprocess.Popen[str]] = []

    def serve(*more: str) -> tuple[subprocess.Popen[str], str]:
        words = [sys.executable, "-m", "anonkit", "desk", str(table), "--output", str(tmp_path / "out"), "--no-browser"]
        process = subprocess.Popen([*words, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    yield serve
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def ask() -> Iterator[Any]:
    """Send requests as a program of this machine could."""
    with ExitStack() as opened:

        def ask(address: str, path: str, **headers: str) -> http.client.HTTPResponse:
            asked = opened.enter_context(closing(http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)))
            asked.request("GET", path, headers=headers)
            return opened.enter_context(closing(asked.getresponse()))

        yield ask


def test_one_line_opens_the_desk_and_ctrl_c_ends_it(served: Any, ask: Any) -> None:
    """The line is all of stdout; exit code 130, and no traceback, also while a stream is open."""
    process, address = served()
    parts = urlsplit(address)
    assert parts.path == "/open"
    assert ask(address, "/").status == 403
    assert ask(address, "/", Host="evil.example").status == 403
    opened = ask(address, f"{parts.path}?{parts.query}")
    assert opened.status == 303
    cookie = str(opened.getheader("set-cookie")).partition(";")[0]
    first = ask(address, "/", Cookie=cookie)
    assert first.status == 200
    assert "server" not in {name.lower() for name, _ in first.getheaders()}
    assert b"Noise or classes?" in first.read()
    stream = ask(address, "/events", Cookie=cookie)
    assert stream.readline() == b"event: changed\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert "interrupted" in err


@pytest.mark.slow
def test_an_idle_desk_ends_although_a_stream_is_open(served: Any, ask: Any) -> None:
    """Exit code 0; a stream makes no request."""
    process, address = served("--idle", "0.02")
    opened = ask(address, f"/open?{urlsplit(address).query}")
    cookie = str(opened.getheader("set-cookie")).partition(";")[0]
    stream = ask(address, "/events", Cookie=cookie)
    assert stream.status == 200
    out, err = process.communicate(timeout=60)

    assert process.returncode == 0, err
    assert "the desk is closed" in out
