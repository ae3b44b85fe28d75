"""Outputs: what cannot be written is refused before any data is opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from anonkit.errors import ParameterError
from anonkit.pipeline.release_output import Output


def test_an_output_is_made_of_paths(tmp_path: Path) -> None:
    """Texts become places and paths; without one the release stays in memory."""
    output = Output.at(str(tmp_path / "a.parquet"), sign="key.pem", owner_report="mine", force=True)
    assert output.place is not None
    assert (output.place.folder, output.place.stem) == (tmp_path, "a")
    assert (output.sign, output.owner_report, output.force) == (Path("key.pem"), Path("mine"), True)
    assert Output.at(None) == Output()


@pytest.mark.parametrize(
    ("name", "options", "seeded", "said"),
    [
        (None, {"part_rows": 3}, False, "in memory is one file"),
        (None, {"sign": "key.pem"}, False, "in memory is not signed"),
        ("a.parquet", {"sign": "key.pem"}, True, "seeded release"),
        ("a.parquet", {"owner_report": "."}, False, "is the folder of the release"),
    ],
)
def test_what_cannot_be_written_so_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str | None,
    options: dict[str, Any],
    seeded: bool,
    said: str,
) -> None:
    """Each by its own rule, before a key or a table is read."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError) as refused:
        Output.at(name, **options).refuse_unwritable(seeded=seeded)
    assert said in str(refused.value)


def test_a_release_that_is_there_may_be_replaced_or_rehearsed(tmp_path: Path) -> None:
    """With force, and where nothing is written; else it is in the way, and it is said how it came to be."""
    (tmp_path / "there.parquet").write_bytes(b"")
    for options in ({"force": True}, {"dry_run": True}):
        Output.at(tmp_path / "there.parquet", **options).refuse_existing()
    with pytest.raises(ParameterError, match=r"exists(?s:.)*it was made of other rows; force=True"):
        Output.at(tmp_path / "there.parquet").refuse_existing("it was made of other rows")


def test_a_file_holds_at_least_one_row() -> None:
    """0 rows would be no file."""
    with pytest.raises(ParameterError, match="part_rows"):
        Output(part_rows=0)
