# SPDX-License-Identifier: Apache-2.0
"""Tables of experiments are recognized by their rows: the publisher's own file is the table, another row is not."""

from __future__ import annotations

import csv
import gzip
from hashlib import sha256
from pathlib import Path

import pytest
from papers.harness.public_tables import TableFile, plain_text, public_tables

from anonkit.errors import SourceError

ROWS = [["a", "1", "x"], ["b", "2", "y"], ["b", "?", "x"]]
NAMES = ("car_evaluation.csv", "adult_test.csv")


def _published(path: Path) -> bytes:
    """Return a table in the form of UCI's files: no header, blanks behind commas, a remark, an empty line."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    return ("|a remark\n" + "".join(", ".join(row) + ".\n" for row in rows) + "\n").encode()


@pytest.mark.parametrize("name", NAMES)
def test_the_publishers_own_file_is_the_table(name: str, tmp_path: Path, real_tables: Path) -> None:
    """Without a header, with blanks, under its own name; what is read is the same text."""
    known = public_tables()[name]
    (own,) = known.files[0]
    (tmp_path / own).write_bytes(_published(real_tables / name))
    table = TableFile(name=name, sha256=known.rows)
    with table.opened(tmp_path) as path:
        assert path.read_bytes() == (real_tables / name).read_bytes()


@pytest.mark.slow
def test_a_table_that_was_compressed_again_is_the_table(tmp_path: Path, real_tables: Path) -> None:
    """Other bytes, the same rows; in two parts too."""
    name = "adult_train.csv.gz"
    stored = sha256((real_tables / name).read_bytes()).hexdigest()
    text = gzip.decompress((real_tables / name).read_bytes())
    (tmp_path / name).write_bytes(gzip.compress(text, 1))
    table = TableFile(name=name, sha256=stored)
    with table.opened(tmp_path) as path:
        assert path.read_bytes() == text
    with table.opened(real_tables) as path:
        assert path == real_tables / name

    whole = TableFile(name="adult.csv.gz", sha256="0" * 64)
    (tmp_path / "adult.data").write_bytes(text.partition(b"\n")[2])
    (tmp_path / "adult.test").write_bytes(_published(real_tables / "adult_test.csv"))
    whole.checked(tmp_path)


def test_a_row_more_is_another_table(tmp_path: Path, real_tables: Path) -> None:
    """The refusal says which public table is meant and where it is described; so does an absent one."""
    table = TableFile(name="car_evaluation.csv", sha256=public_tables()["car_evaluation.csv"].rows)
    with pytest.raises(SourceError, match="is not there") as absent:
        table.checked(tmp_path)
    assert "https://doi.org/10.24432/C5JP48 (car.data)" in str(absent.value.hint)
    (tmp_path / "car.data").write_bytes(
        _published(real_tables / "car_evaluation.csv") + b"low,low,4,4,big,high,vgood\n"
    )
    with pytest.raises(SourceError, match="the sha256 of its rows is") as refused:
        table.checked(tmp_path)
    assert "Car Evaluation, UCI" in str(refused.value.hint)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\x1f\x8b\x08 cut", b'"' + b"x" * 200_000 + b'"\n'])
def test_what_is_no_text_is_another_table(content: bytes, tmp_path: Path) -> None:
    """A damaged archive, another encoding, a cell without end: refused by the file's own sum."""
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(SourceError, match="is not the table that the recipe means: its sha256"):
        TableFile(name="a.csv", sha256="0" * 64).checked(tmp_path)


def test_an_unknown_table_is_known_by_its_rows_too() -> None:
    """Its header is its first line; a full stop at the end of a row is a part of it."""
    text = "k,n,l\n" + "".join(",".join(row) + ".\n" for row in ROWS)
    assert plain_text([text.encode()]) == text
    assert plain_text([gzip.compress(text.replace(",", ", ").replace("\n", "\r\n").encode())]) == text
