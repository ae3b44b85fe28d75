# SPDX-License-Identifier: Apache-2.0
"""The reference page has every command, option and parameter. Run this file to write its help texts anew."""

from __future__ import annotations

import io
import os
import re
from contextlib import redirect_stdout
from pathlib import Path

import click
import pytest

from anonkit.cli import COMMANDS, anonkit
from anonkit.cli.boundary import run
from anonkit.cli.commands import ShortHelp, declared_parameters, option_record
from anonkit.methods import METHODS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
WIDTH = "100"
UPDATE = "out of date: python tests/cli/test_reference.py"


def help_of(*command: str) -> str:
    """Return a help text, as wide as the page shows it."""
    shown = io.StringIO()
    with redirect_stdout(shown):
        found = anonkit.get_command(click.Context(anonkit), command[0]) if command else None
        assert run(anonkit, [*command, "--help-all" if isinstance(found, ShortHelp) else "--help"], "anonkit") == 0
    return shown.getvalue().rstrip("\n")


def blocks() -> str:
    """Return the part of the page that is generated."""
    names: tuple[tuple[str, ...], ...] = ((), *((command,) for command in COMMANDS))
    return "".join(f"\n### {' '.join(('anonkit', *name))}\n\n```text\n{help_of(*name)}\n```\n" for name in names)


def rewritten(page: str) -> str:
    """Return the page with the help texts of today."""
    kept, marker, _ = re.split(r"(<!-- The blocks below.*?-->\n)", page, maxsplit=1, flags=re.DOTALL)
    return f"{kept}{marker}{blocks()}"


def as_written(command: str) -> str:
    """Return what the page has on a command, line by line."""
    page = PAGE.read_text(encoding="utf-8")
    return page.split(f"\n### anonkit {command}\n", 1)[1].split("\n### ", 1)[0]


def section(command: str) -> str:
    """Return what the page has on a command, white space made one, words joined again."""
    return " ".join(re.sub(r"-\n\s+", "-", as_written(command)).split())


def told(command: str) -> dict[str, str]:
    """Return every option of a command with what its help says, parameters of all methods included."""
    found = anonkit.get_command(click.Context(anonkit), command)
    assert found is not None
    # a context of the program: click keeps the help option that the first context of a command makes
    context = click.Context(found, parent=anonkit.make_context("anonkit", [command]))
    options = [one for one in found.get_params(context) if isinstance(one, click.Option)]
    return {
        name: one.help or "" for one in options for name in (*one.opts, *one.secondary_opts) if name.startswith("--")
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_option_stands_in_the_page(command: str) -> None:
    """The options of the page are those of the program, with the same words."""
    text, options = section(command), told(command)

    assert [name for name, help_text in options.items() if name not in text or help_text not in text] == [], UPDATE
    listed = re.findall(r"^  (?:-\w, )?(--[a-z][a-z-]*)", as_written(command), flags=re.MULTILINE)
    assert set(listed) <= set(options), UPDATE


@pytest.mark.parametrize("method", METHODS)
def test_every_parameter_stands_in_the_page_with_range_and_default(method: str) -> None:
    """As `release --help-all` has them."""
    text = section("release")
    for one in declared_parameters()[method]:
        left, right = option_record(one)
        assert left in text, UPDATE
        assert right in text, UPDATE


@pytest.mark.pinned
def test_the_help_texts_of_the_page_are_those_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block of cli.md that is generated, to the letter; other versions of click break lines elsewhere."""
    monkeypatch.setenv("COLUMNS", WIDTH)
    page = PAGE.read_text(encoding="utf-8")
    assert rewritten(page) == page, UPDATE


def test_the_page_names_every_error_code() -> None:
    """Every word that --json can give as `code` is explained."""
    from anonkit.cli import boundary
    from anonkit.errors import AnonkitError

    assert boundary.InternalError.code
    classes = [AnonkitError]
    for one in classes:
        classes += one.__subclasses__()
    page = PAGE.read_text(encoding="utf-8")
    assert [one.code for one in classes if one is not AnonkitError and f"`{one.code}`" not in page] == []


if __name__ == "__main__":
    os.environ["COLUMNS"] = WIDTH
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
