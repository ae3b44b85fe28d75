# SPDX-License-Identifier: Apache-2.0
"""`report`, and the group of all commands."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest

from anonkit.cli import COMMANDS, anonkit


@pytest.mark.slow
def test_the_report_is_shown_in_plain_words(cli: Any, released: Path) -> None:
    """The claim, its limits and the key figures, from the data file, a sidecar, or the report alone."""
    out = cli("report", released).out
    for words in (
        "Privacy report",
        "Promise",
        "narrow",
        "Limits",
        "Homogeneity",
        "Checked",
        "columns are released",
        "Risk",
    ):
        assert words in out
    assert cli("report", released.with_name("out.params.json")).out == out
    released.unlink()
    assert cli("report", released.with_name("out.report.json")).out == out


@pytest.mark.slow
def test_a_profile_is_shown_and_is_a_document(cli: Any, released: Path) -> None:
    """A checklist with marks; the same as an object; nothing else is made beside it, and no other name passes."""
    ran = cli("report", released, "--profile", "gdpr-research")
    assert ran.code == 0
    assert "✓ Singling out." in ran.out
    assert "no verdict of law" in ran.out
    found = cli("report", released, "--profile", "gdpr-research", "--json").document["profile"]
    assert {item["state"] for item in found["items"]} <= {"evidence", "open", "against"}
    assert cli("report", released, "--profile", "gdpr").code == 2
    assert cli("report", released, "--profile", "ehds", "--html", "page.html").code == 2


@pytest.mark.slow
def test_the_report_as_a_document(cli: Any, released: Path) -> None:
    """--json has the report as it is in the file."""
    document = cli("report", released, "--json").document

    assert document["ok"] is True
    assert document["report"] == json.loads(released.with_name("out.report.json").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_the_page_is_rendered_anew(cli: Any, released: Path) -> None:
    """--html writes the page elsewhere, never over a file of the release, and replaces with --force only."""
    page = released.with_name("review.html")
    assert cli("report", released, "--html", page).code == 0
    assert page.read_text(encoding="utf-8") == released.with_name("out.report.html").read_text(encoding="utf-8")
    assert cli("report", released, "--html", page).code == 2
    assert cli("report", released, "--html", page, "--force").code == 0
    assert cli("report", released, "--html", released.with_name("out.report.html"), "--force").code == 2
    assert cli("validate", released).code == 0


def test_a_page_with_an_audit_is_kept_from_the_release(cli: Any, table: Path, released: Path) -> None:
    """For its owner alone, in another folder, and only with the audit of this very release."""
    private = table.with_name("private")
    assert cli("audit", released, "--original", table, "--attacks", "10", "--owner-report", private).code == 0
    audit, page = private / "audit.owner.report.json", private / "review.html"
    asked = ("report", released, "--audit", audit, "--html")
    assert cli(*asked, page).code == 0
    assert "DO NOT PUBLISH" in page.read_text(encoding="utf-8")
    assert page.stat().st_mode & 0o777 == 0o600
    beside = cli(*asked, released.with_name("review.html"))
    assert beside.code == 2
    assert "is the folder of the release" in beside.err
    assert cli("report", released, "--audit", audit).code == 2
    released.write_bytes(released.read_bytes() + b"x")
    assert "is no audit of this release" in cli(*asked, private / "other.html").err


@pytest.mark.slow
def test_a_page_may_show_what_changed(cli: Any, table: Path, released: Path) -> None:
    """--html with --diff."""
    page = table.with_name("changed.html")
    assert cli("report", released, "--diff", released, "--html", page).code == 0
    assert "the same promise" in page.read_text(encoding="utf-8")


@pytest.mark.quick_cases("*report/9*")
@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"format": "anonkit-report/1"}', '{"format": "anonkit-report/9"}']
)
def test_a_damaged_report_is_refused(cli: Any, released: Path, content: str) -> None:
    """Exit code 3 and the file's name."""
    released.with_name("out.report.json").write_text(content, encoding="utf-8")
    ran = cli("report", released)

    assert ran.code == 3
    assert "out.report.json" in ran.err
    assert "internal error" not in ran.err


@pytest.mark.parametrize("command", COMMANDS)
def test_help_begins_with_examples_and_explains_every_option(cli: Any, command: str) -> None:
    """`COMMAND --help`: a sentence, lines to paste, then options, each with a text."""
    ran = cli(command, "--help")
    lines = [line.strip() for line in ran.out.splitlines()]
    examples = [line for line in lines if f"anonkit {command}" in line and not line.startswith("Usage")]

    assert ran.code == 0
    assert len(examples) >= 2
    assert lines.index(examples[0]) <= 5
    found = anonkit.get_command(None, command)  # type: ignore[arg-type]
    assert found is not None
    assert all(one.help for one in found.params if isinstance(one, click.Option))


def test_every_short_help_is_whole(cli: Any) -> None:
    """No sentence in the list of commands is cut off."""
    out = cli("--help").out

    assert "..." not in out.partition("Commands:")[2]
    assert re.findall(r"^  (\w+)  ", out, flags=re.MULTILINE) == list(COMMANDS)


def test_an_unknown_command_is_refused_with_the_closest(cli: Any) -> None:
    """Exit code 2 and a suggestion, in JSON too."""
    ran = cli("relese", "--json")

    assert ran.code == 2
    assert ran.document["hint"] == "did you mean 'release'?"
    assert cli("relese").err.splitlines() == ["Error: no such command: relese", "Hint: did you mean 'release'?"]


def test_a_mistyped_option_is_refused_with_the_closest(cli: Any, table: Path) -> None:
    """Exit code 2 and a suggestion, for the command's own options and the methods'."""
    for typed, meant in (("--polcy", "--policy"), ("--max-supression", "--max-suppression")):
        ran = cli("release", table, "out.parquet", typed, "1")
        assert ran.code == 2
        assert ran.err == f"Error: no such option: {typed}\nHint: did you mean {meant}?\n"


def test_the_version_is_shown(cli: Any) -> None:
    """`--version` names the program and its version."""
    from anonkit import __version__

    assert cli("--version").out == f"anonkit, version {__version__}\n"
