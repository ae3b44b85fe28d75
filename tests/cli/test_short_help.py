# SPDX-License-Identifier: Apache-2.0
"""Short help of a command."""

from __future__ import annotations

import re
from typing import Any

import click
import pytest

from anonkit.cli import COMMANDS, anonkit
from anonkit.cli.short_help import ShortHelp


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_one_screen_and_says_what_it_leaves_out(cli: Any, command: str) -> None:
    """At most sixty lines of eighty columns; an option is in `--help`, or counted there and in `--help-all`."""
    short, found = cli(command, "--help").out, anonkit.get_command(None, command)  # type: ignore[arg-type]
    assert len(short.splitlines()) <= 60
    if command == "release" or not isinstance(found, ShortHelp):
        return
    names = [one.opts[-1] for one in found.params if isinstance(one, click.Option)]
    listed, all_listed = (
        re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, flags=re.MULTILINE)
        for text in (short, cli(command, "--help-all").out)
    )
    assert set(names) <= set(all_listed)
    left_out = [name for name in names if name not in listed]
    assert f"{len(left_out)} more, on" in short
    assert left_out
