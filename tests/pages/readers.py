"""Readers of a page: they type its blocks, in order, into a shell and a Python prompt that stay open.

`Reader` types into real programs, each `anonkit` a process of its own. `QuickReader` runs the same in this process: for
pages whose shell blocks are `anonkit …` lines that are alone.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import IO, Any, Protocol

import pytest
from pages.blocks import REPOSITORY, Block
from pages.commands import anonkit_arguments, simple_commands

from anonkit.cli import anonkit
from anonkit.cli.boundary import run

PROMPT = Path(__file__).with_name("prompt.py")

PROGRAMS = {
    "anonkit": '#!/bin/sh\nexec "{python}" -m anonkit "$@"\n',
    "python": '#!/bin/sh\nexec "{python}" "$@"\n',
    "python3": '#!/bin/sh\nexec "{python}" "$@"\n',
    # nothing is installed: extras that pages name are compared with those of the package
    "pip": '#!/bin/sh\nexec "{python}" "{here}/installer.py" "$@"\n',
    # `make demo` is made, in the reader's folder; of other targets the commands are only shown
    "make": '#!/bin/sh\n[ "$*" = demo ] || set -- -n "$@"\nexec "{make}" -f "{repository}/Makefile" '
    '--no-print-directory BIN="{bin}" CORE= STAMP= "$@"\n',
}
"""Programs that are first on a reader's path."""


class Refused(AssertionError):  # noqa: N818 - what it is
    """A block that did not end well."""


class Typing(Protocol):
    """A reader that types blocks, and returns their output."""

    def shell(self, block: Block, ends: int = 0) -> str: ...
    def python(self, block: Block) -> str: ...
    def close(self) -> None: ...


class Reader:
    """A reader with real programs, in a folder.

    Parameters
    ----------
    folder : Path
        Where the page's inputs are; the programs' own things are beside it.
    environment : mapping
        Variables on top of this process's, without those of anonkit.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder, self._beside = folder, folder.parent
        self._state, self._shown = self._beside / "state.sh", self._beside / "shown.txt"
        bin_ = self._beside / "bin"
        bin_.mkdir()
        make = "/usr/bin/make"
        for name, text in PROGRAMS.items():
            settings = {"python": sys.executable, "here": PROMPT.parent, "repository": REPOSITORY, "make": make}
            (bin_ / name).write_text(text.format(**settings, bin=bin_))
            (bin_ / name).chmod(0o755)
        settings = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ANONKIT_")},
            "PATH": os.pathsep.join([str(bin_), os.environ["PATH"]]),
            "COLUMNS": "100",  # as pages show it, whatever the terminal of the tests, and of their workers, is
            "PYTHONPATH": str(REPOSITORY),
            "HOME": str(self._beside),
            "XDG_CONFIG_HOME": str(self._beside / ".config"),
            "XDG_DATA_HOME": str(self._beside / ".local" / "share"),
            "MPLBACKEND": "Agg",
            **environment,
        }
        self._environment = settings
        self._prompt: subprocess.Popen[str] | None = None
        self._answers: IO[str] | None = None
        self._state.write_text("")
        self.shown = ""

    def shell(self, block: Block, ends: int = 0) -> str:
        """Type into the shell: the first command that ends with anything but 0 is the last, and must end with `ends`.

        Variables and the folder stay for the next block.
        """
        state = shlex.quote(str(self._state))
        script = f'. {state}\n{block.text}\nexport -p > {state}\necho "cd $(printf %q "$PWD")" >> {state}\n'
        with self._shown.open("w") as shown:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", script],
                cwd=self.folder, env=self._environment, stdout=shown, stderr=subprocess.STDOUT, check=False,
            )  # fmt: skip
        said = self._shown.read_text(encoding="utf-8")
        self.shown += said
        if done.returncode != ends:
            raise Refused(f"{block.where} ended with {done.returncode}, not {ends}:\n{block.text}\n{said[-4000:]}")
        return said

    def python(self, block: Block) -> str:
        """Type into the prompt; names stay for the next block."""
        with self._shown.open("a+") as shown:
            shown.seek(0, os.SEEK_END)
            before = shown.tell()
            prompt, answers = self._opened()
            assert prompt.stdin is not None
            prompt.stdin.write(json.dumps({"text": block.text, "name": block.page, "line": block.line}) + "\n")
            prompt.stdin.flush()
            answer = answers.readline()
            shown.seek(before)
            said = shown.read()
        self.shown += said
        if not answer or json.loads(answer) is not None:
            raise Refused(f"{block.where}:\n{json.loads(answer) if answer else 'the process died'}\n{said[-4000:]}")
        return said

    def _opened(self) -> tuple[subprocess.Popen[str], IO[str]]:
        if self._prompt is None or self._answers is None:
            reading, writing = os.pipe()
            script = f'. {shlex.quote(str(self._state))}\nexec python "$@"'
            with self._shown.open("a") as shown:
                self._prompt = subprocess.Popen(
                    ["bash", "-c", script, "prompt", "-u", str(PROMPT), str(writing)], text=True, cwd=self.folder,
                    env=self._environment, stdin=subprocess.PIPE, stdout=shown, stderr=subprocess.STDOUT,
                    pass_fds=[writing],
                )  # fmt: skip
            os.close(writing)
            self._answers = os.fdopen(reading)
        return self._prompt, self._answers

    def close(self) -> None:
        """End the prompt."""
        if self._prompt is not None and self._answers is not None:
            assert self._prompt.stdin is not None
            self._prompt.stdin.close()
            self._prompt.wait(timeout=60)
            self._answers.close()


class QuickReader:
    """A reader in this process, in a folder that it works in."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        monkeypatch.chdir(folder)
        monkeypatch.setenv("XDG_CONFIG_HOME", str(folder.parent))
        self._capfd, self._names = capfd, ModuleType("__main__")
        self._stack = ExitStack()

    def shell(self, block: Block, ends: int = 0) -> str:
        """Run every `anonkit …` line; the last must end with `ends`."""
        self._capfd.readouterr()
        code = 0
        for words, alone in simple_commands(block.text):
            assert code == 0, f"{block.where}: refused before {words}"
            arguments = anonkit_arguments(words)
            assert alone, f"{block.where}: {words[:2]} is not for a quick reader"
            assert arguments is not None, f"{block.where}: {words[:2]} is not for a quick reader"
            code = run(anonkit, arguments, "anonkit")
            if code not in (0, ends):
                raise Refused(f"{block.where}: {words} ended with {code}:\n{self._said()[-4000:]}")
        if code != ends:
            raise Refused(f"{block.where} ended with {code}, not {ends}")
        return self._said()

    def python(self, block: Block) -> str:
        """Run a text."""
        self._capfd.readouterr()
        exec(compile("\n" * (block.line - 1) + block.text, block.page, "exec"), vars(self._names))
        return self._said()

    def _said(self) -> str:
        shown = self._capfd.readouterr()
        return shown.out + shown.err

    def close(self) -> None:
        """Nothing stays open."""


def declared_extras() -> set[str]:
    """Return the extras of the package."""
    project: dict[str, Any] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return set(project["optional-dependencies"])
