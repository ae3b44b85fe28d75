# SPDX-License-Identifier: Apache-2.0
"""`anonkit completion`: scripts that the shell understands, and the words they complete."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import pytest


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_what_the_shell_understands(cli: Any, shell: str) -> None:
    """The script is printed alone, and the shell, where it is installed, accepts it."""
    ran = cli("completion", shell)

    assert ran.code == 0
    assert "_ANONKIT_COMPLETE" in ran.out
    if shutil.which(shell):
        checked = subprocess.run([shell, "-n"], input=ran.out, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize(
    ("line", "expected"),
    [("anonkit rel", "release"), ("anonkit release --max", "--max-suppression"), ("anonkit completion z", "zsh")],
)
def test_completion_knows_commands_options_and_words(
    cli: Any, monkeypatch: pytest.MonkeyPatch, line: str, expected: str
) -> None:
    """The completion answers the shell's request through the environment, parameters of methods included."""
    monkeypatch.setenv("_ANONKIT_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))

    assert f"plain,{expected}" in cli().out.splitlines()
