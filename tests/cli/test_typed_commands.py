"""The command that `anonkit init` proposes is typed into a shell as it is, whatever the source is called."""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from anonkit.cli.typed_commands import release_command, typed
from anonkit.redaction import HIDDEN


def proposed(text: str) -> str:
    """The command of the last line."""
    return text.splitlines()[-1].partition(":  ")[2]


@pytest.mark.quick_cases("-dash.csv")
@pytest.mark.parametrize("name", ['it\'s $HOME & "two"; a#b.csv', "-dash.csv", "ü*[1]?.csv"])
def test_the_proposed_command_reads_the_file_that_was_given(
    name: str, table: Path, cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Split as a shell does it, it releases the same file by the policy that was written."""
    monkeypatch.chdir(table.parent)
    Path(name).write_bytes(table.read_bytes())
    given = f"./{name}" if name.startswith("-") else name

    command = proposed(cli("init", given, "-o", "my policy.toml").out)

    words = shlex.split(command)
    assert words[:4] == ["anonkit", "release", "--policy", "my policy.toml"]
    assert [Path(word) for word in words[4:]] == [Path(name), Path("OUT.parquet")]
    done = cli(*words[1:], "--method", "mondrian", "--k", "5", "--no-ledger", "--quiet")
    assert done.code == 0, done.err


@pytest.mark.slow
def test_the_options_by_which_a_source_was_read_are_in_the_command(table: Path, cli: Callable[..., Any]) -> None:
    """A query, a table of an address, a pattern; what the policy holds is not said twice."""
    base = table.parent / "people.db"
    with closing(sqlite3.connect(base)) as connection, connection:
        connection.execute("CREATE TABLE people (age INTEGER, sex TEXT, income TEXT)")
        connection.executemany(
            "INSERT INTO people VALUES (?, ?, ?)", [(20 + at % 9, "FM"[at % 2], "lh"[at % 2]) for at in range(60)]
        )
    for at, given in enumerate(
        [
            [f"sqlite:///{base}?table=people"],
            [f"sqlite:///{base}", "--query", "SELECT age, sex, income FROM people WHERE sex <> 'x; y'"],
            [str(table.parent / "*.csv"), "--decimal", ".", "--encoding", "utf-8"],
        ]
    ):
        policy = table.parent / f"{at}.toml"
        words = shlex.split(proposed(cli("init", *given, "-o", policy).out))
        assert words[3] == str(policy)
        expected = given[:1] if "--decimal" in given else given
        assert set(expected) <= set(words)
        assert "--decimal" not in words
        out = table.parent / f"{at}.parquet"
        done = cli(*words[1:-1], out, "--method", "mondrian", "--k", "5", "--no-ledger", "--quiet")
        assert done.code == 0, done.err


def test_what_may_be_a_secret_is_a_variable() -> None:
    """An address with a user or a password, and a name that no terminal shows as it is."""
    address = "postgresql://owner:pass word@host/db?table=people"
    for source in (address, "https://h/people.csv?token=abc", "https://h/people.csv#abc", "a\nb.csv"):
        said = release_command("policy.toml", source, {"query": None})
        assert said == (
            "Read and correct it, set $SOURCE to what you gave, then:  "
            'anonkit release --policy policy.toml "$SOURCE" OUT.parquet'
        )
        assert HIDDEN not in said
    said = release_command("policy.toml", "sqlite:///p.db", {"query": "SELECT 1 AS a -- password=abc"})
    assert '--query "$QUERY" sqlite:///p.db' in said


def test_rows_from_a_pipe_are_asked_for_again() -> None:
    """The format is said, since no name says it."""
    assert release_command("p.toml", "-", {"format": "csv", "decimal": ","}) == (
        "Read and correct it, then with the same rows through the pipe:  "
        "anonkit release --policy p.toml --format csv - OUT.parquet"
    )
    assert typed("a b", Path("c")) == "'a b' c"
