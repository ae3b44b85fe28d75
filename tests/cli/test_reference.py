# SPDX-License-Identifier: Apache-2.0
"""The reference page holds the help text of every command, word for word. Run this file to write them anew."""

from __future__ import annotations

import io
import os
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from anonkit.cli import COMMANDS, anonkit
from anonkit.cli.boundary import run

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
WIDTH = "100"


def help_of(*command: str) -> str:
    """Return a help text, as wide as the page shows it."""
    shown = io.StringIO()
    with redirect_stdout(shown):
        assert run(anonkit, [*command, "--help"], "anonkit") == 0
    return shown.getvalue().rstrip("\n")


def blocks() -> str:
    """Return the part of the page that is generated."""
    names: tuple[tuple[str, ...], ...] = ((), *((command,) for command in COMMANDS))
    return "".join(f"\n### {' '.join(('anonkit', *name))}\n\n```text\n{help_of(*name)}\n```\n" for name in names)


def rewritten(page: str) -> str:
    """Return the page with the help texts of today."""
    kept, marker, _ = re.split(r"(<!-- The blocks below.*?-->\n)", page, maxsplit=1, flags=re.DOTALL)
    return f"{kept}{marker}{blocks()}"


def test_the_page_holds_every_help_text_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command, option, range and default stands in the page, and nothing that is gone."""
    monkeypatch.setenv("COLUMNS", WIDTH)
    page = PAGE.read_text(encoding="utf-8")

    assert page == rewritten(page), "out of date: python tests/cli/test_reference.py"


def test_the_page_names_every_error_code() -> None:
    """Every word that --json can give as `code` is explained."""
    from anonkit.cli import boundary, validate
    from anonkit.errors import AnonkitError

    assert boundary.InternalError.code
    assert validate.Unchecked.code
    classes = [AnonkitError]
    for one in classes:
        classes += one.__subclasses__()
    page = PAGE.read_text(encoding="utf-8")
    assert [one.code for one in classes if one is not AnonkitError and f"`{one.code}`" not in page] == []


if __name__ == "__main__":
    os.environ["COLUMNS"] = WIDTH
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
