"""The file of `--junit`: found wherever it is named, begun before anything, and never over a file of another kind."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from anonkit.cli.junit_command import JunitCommand
from anonkit.cli.outcome import WrongUsage
from anonkit.errors import GuaranteeError


def command_that(raises: BaseException | None) -> click.Command:
    """A command with a table and a JUnit file."""

    @click.command(cls=JunitCommand, name="validate")
    @click.argument("table")
    @click.option("--junit")
    def command(table: str, junit: str | None) -> None:
        assert junit is None or "INTERRUPTED" in Path(junit).read_text()
        if raises is not None:
            raise raises

    return command


@pytest.mark.parametrize("named", [["--junit", "{}"], ["--junit={}"]])
def test_a_failure_is_the_result(tmp_path: Path, named: list[str]) -> None:
    """The file says so before the command runs, and then with the word of what was raised."""
    path = tmp_path / "results.xml"
    words = [word.format(path) for word in named]
    CliRunner().invoke(command_that(GuaranteeError("k is broken", "release anew")), ["in.csv", *words])
    text = path.read_text()
    assert GuaranteeError.code in text
    assert "k is broken" in text


def test_what_is_no_error_of_ours_is_named_and_not_quoted(tmp_path: Path) -> None:
    """Its message may hold cells."""
    path = tmp_path / "results.xml"
    CliRunner().invoke(command_that(ValueError("a cell of Miller")), ["in.csv", "--junit", str(path)])
    assert "ValueError" in path.read_text()
    assert "Miller" not in path.read_text()


def test_a_wrong_command_line_is_in_the_file(tmp_path: Path) -> None:
    """The last file of the line, before `--`."""
    path = tmp_path / "results.xml"
    CliRunner().invoke(command_that(None), ["--junit", str(path), "--unknown", "in.csv"])
    assert "USAGE" in path.read_text()


def test_a_file_of_another_kind_is_left_alone(tmp_path: Path) -> None:
    """Such as a release that was named by mistake."""
    path = tmp_path / "out.parquet"
    path.write_bytes(b"PAR1 rows")
    result = CliRunner().invoke(command_that(None), ["in.csv", "--junit", str(path)])
    assert isinstance(result.exception, WrongUsage)
    assert path.read_bytes() == b"PAR1 rows"
