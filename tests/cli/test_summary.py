# SPDX-License-Identifier: Apache-2.0
"""The owner's block: on stderr where somebody sits at a terminal, and nothing of it anywhere else."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.cli.options import OwnerAsReader
from anonkit.cli.summary import OWNER_HEADING, release_outcome, release_text

POLICY = """
dataset = "patients"
unit = "none"
[columns]
name = { role = "identifier" }
age = { role = "quasi_identifier", bounds = [20, 57] }
zip = { role = "quasi_identifier", bounds = [100, 110] }
sex = { role = "quasi_identifier", categories = ["F", "M"] }
illness = { role = "sensitive" }
income = { role = "target", categories = ["high", "low"] }
"""
"""Two of 60 ages lie above the bounds."""
K = ("--method", "mondrian", "--k", "3", "--no-utility")
NOISE = ("--method", "dp-nb", "--epsilon", "1")
SEEN = "seen in your private table"
Terminal = Callable[..., tuple[int, str, str]]


@pytest.fixture
def policy(table: Path) -> Path:
    """The table's columns, declared, but for two ages."""
    path = table.with_name("policy.toml")
    path.write_text(POLICY, encoding="utf-8")
    return path


@pytest.fixture
def noise_policy(policy: Path) -> Path:
    """The same with domains for all."""
    text = POLICY.replace('role = "sensitive"', 'role = "quasi_identifier", categories = ["cold", "flu", "none"]')
    path = policy.with_name("noise.toml")
    path.write_text(text, encoding="utf-8")
    return path


@contextmanager
def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], str]]:
    """Have a pseudoterminal for stdin and stderr; what is called returns the lines it got."""
    ours, theirs = pty.openpty()
    with monkeypatch.context() as patched, os.fdopen(theirs, "r+b", buffering=0) as opened:
        patched.setattr(sys, "stdin", io.TextIOWrapper(os.fdopen(os.dup(theirs), "rb")))
        patched.setattr(sys, "stderr", io.TextIOWrapper(opened, encoding="utf-8", write_through=True))

        def read() -> str:
            os.set_blocking(ours, False)
            found = b""
            while True:
                try:
                    part = os.read(ours, 65536)
                except BlockingIOError:
                    return click.unstyle(found.decode()).replace("\r\n", "\n")
                found += part

        yield read
        sys.stdin.close()
    os.close(ours)


@pytest.fixture
def terminal(cli: Any, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Run a command line with stdin and stderr at a pseudoterminal; return exit code, stdout and what was there."""
    monkeypatch.delenv("CI", raising=False)

    def call(*words: object) -> tuple[int, str, str]:
        with at_a_terminal(monkeypatch) as read:
            ran = cli(*words)
            return ran.code, ran.out, read()

    return call


def asked(policy: Path, table: Path, *more: str) -> tuple[object, ...]:
    """The command line of a release."""
    return ("release", "--policy", policy, "--no-ledger", "--force", table, table.with_name("out.parquet"), *more)


def block_of(err: str) -> list[str]:
    """The lines from the heading on."""
    lines = err.splitlines()
    return lines[lines.index(OWNER_HEADING) :] if OWNER_HEADING in lines else []


def test_the_owner_at_a_terminal_reads_the_counts(terminal: Terminal, policy: Path, table: Path) -> None:
    """On stderr, at most twelve lines; stdout has none of it."""
    code, out, err = terminal(*asked(policy, table, *K))
    block = block_of(err)
    assert code == 0, err
    assert "Column 'age' has 2 cells outside" in err
    assert 1 < len(block) <= 12
    assert OWNER_HEADING not in out
    assert "Warning:" not in err


def test_points_that_may_part_thousands_are_a_warning_everywhere(cli: Any, tmp_path: Path) -> None:
    """`1.234` beside `900`: with `-q` and in `--json` too, without the owner's block."""
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{x},{at % 2}\n" for at, x in enumerate(["1.234", "900"] * 9)))
    words = ("release", "--no-ledger", "--force", "--k", "2", "--no-target", "--unit", "none")
    words += (tmp_path / "t.csv", tmp_path / "out.parquet")
    quiet, document = cli(*words, "-q"), cli(*words, "-q", "--json")
    assert "Warning: Column 'x' has whole numbers beside ones" in " ".join(quiet.err.split())
    assert any("parts thousands" in line for line in json.loads(document.out)["warnings"])
    assert OWNER_HEADING not in quiet.err


@pytest.mark.quick_cases("--no-owner")
@pytest.mark.parametrize("more", [("--no-owner",), ("-q",), ()], ids=["--no-owner", "-q", "CI"])
def test_elsewhere_the_same_is_said_without_counts(
    more: tuple[str, ...], terminal: Terminal, policy: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --no-owner, with -q and where CI is set: a warning on stderr that names the column alone."""
    if not more:
        monkeypatch.setenv("CI", "true")
    _, out, err = terminal(*asked(policy, table, *K, *more))
    (warning,) = [line for line in err.splitlines() if line.startswith("Warning: ")]
    assert warning.startswith("Warning: Column 'age' has cells outside")
    assert OWNER_HEADING not in err
    assert (out == "") is ("-q" in more)


@pytest.mark.slow
def test_without_a_terminal_only_owner_shows_the_block(cli: Any, policy: Path, table: Path) -> None:
    """A pipe is no terminal; --owner shows it anywhere, with -q too."""
    plain = cli(*asked(policy, table, *K))
    assert "Warning: Column 'age' has cells outside" in plain.err
    assert OWNER_HEADING not in plain.err
    for more in ((), ("-q",)):
        shown = cli(*asked(policy, table, *K, "--owner", *more))
        assert "Column 'age' has 2 cells outside" in shown.err
        assert OWNER_HEADING not in shown.out


@pytest.mark.slow
def test_json_has_warnings_without_counts(terminal: Terminal, policy: Path, table: Path) -> None:
    """The document may be kept by any user: `warnings` as elsewhere, the counts on the terminal alone."""
    _, out, err = terminal(*asked(policy, table, *K, "--json"))
    document = json.loads(out)
    (warning,) = document["warnings"]
    assert warning.startswith("Column 'age' has cells outside")
    assert "owner_only" not in document
    assert block_of(err)


def test_under_noise_warnings_are_in_the_block_alone(terminal: Terminal, noise_policy: Path, table: Path) -> None:
    """It begins with what choosing by it means; neither CI nor JSON nor -q has a word of it."""
    code, out, err = terminal(*asked(noise_policy, table, *NOISE))
    block = block_of(err)
    assert code == 0, err
    assert block[1].strip().startswith(SEEN)
    assert "Column 'age' has 2 cells outside" in err
    assert SEEN not in out
    for more in (("--no-owner",), ("-q",), ("--no-owner", "--json")):
        _, out, err = terminal(*asked(noise_policy, table, *NOISE, *more))
        assert "outside its declared" not in out + err
        assert not out.startswith("{") or json.loads(out)["warnings"] == []


def test_a_terminal_makes_no_dry_run_draw(terminal: Terminal, noise_policy: Path, table: Path) -> None:
    """Of two neighbours stdout and stderr are the same: nothing is drawn or counted without a request."""
    other = table.with_name("other.csv")
    lines = table.read_text(encoding="utf-8").splitlines()
    other.write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")
    dry = (*NOISE, "--dry-run")
    first, second = (terminal(*asked(noise_policy, source, *dry)) for source in (table, other))
    assert first[:2] == second[:2]
    seconds = r"(?:step \d+|\d+ of \d+): [^\r\n]*"  # how many a step took
    shown = [re.sub(seconds, "", err) for _, _, err in (first, second)]
    assert shown[0].strip() == shown[1].strip()
    assert first[0] == 0
    assert block_of(first[2]) == []


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> anonkit.Release:
    """A release under a promise of noise."""
    from cli.conftest import table_text

    folder = tmp_path_factory.mktemp("noisy")
    (folder / "in.csv").write_text(table_text(), encoding="utf-8")
    text = POLICY.replace('role = "sensitive"', 'role = "quasi_identifier", categories = ["cold", "flu", "none"]')
    (folder / "policy.toml").write_text(text, encoding="utf-8")
    return anonkit.release(
        folder / "in.csv", method="dp-nb", epsilon=1.0, policy=folder / "policy.toml", ledger=None, utility=False
    )


_figures = st.dictionaries(
    st.sampled_from(["age", "zip", "illness"]), st.fixed_dictionaries({"outside": st.integers(0, 99)}), max_size=3
)
_mixed = st.dictionaries(
    st.sampled_from(["age", "zip"]), st.fixed_dictionaries({"cells": st.just(99), "no_numbers": st.integers(1, 24)})
)


@given(
    owner=st.fixed_dictionaries(
        {},
        optional={
            "cells_not_as_declared": _figures,
            "cells_among_numbers": _mixed,
            "reading_notes": st.lists(st.text(max_size=9), max_size=20),
            "search": st.dictionaries(st.text(max_size=5), st.floats(0, 1), max_size=30),
        },
    ),
    is_declared=st.booleans(),
    quiet=st.booleans(),
)
def test_no_measure_of_the_owner_is_outside_the_block_under_noise(
    noisy: anonkit.Release, owner: dict[str, Any], is_declared: bool, quiet: bool
) -> None:
    """Text, notes, warnings and exit code of neighbours are the same, whatever was counted; the block has 12 lines."""
    reader = OwnerAsReader(is_declared=is_declared, is_at_terminal=True)
    bare, full = (release_outcome(noisy.with_owner(each), reader, quiet=quiet) for each in ({}, owner))
    assert (bare.text, bare.notes, bare.warnings, bare.even_quiet, bare.exit_code) == (
        full.text,
        full.notes,
        full.warnings,
        full.even_quiet,
        full.exit_code,
    )
    assert full.document.get("owner_only", {}).keys() >= (owner.keys() if is_declared else set())
    assert {**bare.document, "owner_only": None} == {**full.document, "owner_only": None}
    assert len(full.owner_lines) <= 12
    assert bool(full.owner_lines) <= (is_declared or not quiet)


@pytest.mark.slow
def test_a_release_with_two_secrets_is_one_screen(table: Path, policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 100 columns at most 25 lines, with the promise and the risk of what is known at most among them."""
    monkeypatch.setenv("COLUMNS", "100")
    text = POLICY.replace('sex = { role = "quasi_identifier"', 'sex = { role = "sensitive"')
    policy.write_text(text, encoding="utf-8")
    made = anonkit.release(
        table, output=table.with_name("out.parquet"), method="mondrian", k=3, policy=policy, ledger=None
    )
    lines = click.unstyle(release_text(made)).splitlines()
    assert len(lines) <= 25
    for label in ("Table", "Target", "Whose rows", "Promise", "Risk", "Secrets", "Usefulness", "Files"):
        assert any(line.startswith(label) for line in lines)


@pytest.mark.slow
def test_what_to_expect_of_the_next_batch_is_the_owners(terminal: Terminal, policy: Path, table: Path) -> None:
    """In the block alone: neither on stdout, nor in the document, nor in any file that is handed out."""
    _, out, err = terminal(*asked(policy, table, *K))
    assert any(line.strip().startswith("next batch: ") for line in block_of(err))
    _, document, _ = terminal(*asked(policy, table, *K, "--json"))
    files = [path.read_text(encoding="utf-8") for path in table.parent.glob("out.*") if path.suffix != ".parquet"]
    assert len(files) == 4
    for text in (out, document, *files):
        assert not re.search("next.batch|share_in_groups_too_small", text, re.IGNORECASE)
