"""Files of Arrow IPC are read in place, and take no option of text files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from engines.snapshots.live import read

from anonkit.errors import AnonkitError, SourceError

PEOPLE = pa.table({"id": [1, 2], "name": ["a", None]})


def test_a_file_of_arrow_is_read_as_it_is(tmp_path: Path) -> None:
    """By its ending."""
    path = tmp_path / "people.arrow"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, PEOPLE.schema) as writer:
        writer.write_table(PEOPLE)
    assert read(path).equals(PEOPLE)
    with pytest.raises(AnonkitError, match="Arrow IPC"):
        read(path, delimiter=";")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """And not waited for."""
    with pytest.raises(SourceError, match="does not exist"):
        read(tmp_path / "absent.arrow")
