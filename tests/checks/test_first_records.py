"""A bare file of text whose first line is a record: no message of a validation shows it as the names of columns."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import anonkit
from anonkit.checks.table_scans import refuse_first_record
from anonkit.errors import ChoiceError, ParameterError

ROWS = "".join(f"{20 + at % 9},{'FM'[at % 2]}\n" for at in range(40))


def bare(folder: Path, text: str, name: str = "in.csv") -> Path:
    """A file of text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["in.csv", "in.txt"])
def test_a_record_is_no_header(tmp_path: Path, name: str) -> None:
    """Columns that it does not have are requested: the refusal does not list its cells."""
    path = bare(tmp_path, f"25,F,Xqvwj\n{ROWS.replace(chr(10), ',Xqvwj' + chr(10))}", name)
    with pytest.raises(ChoiceError, match="looks like a record, not names: 2 of its 3 cells") as refusal:
        anonkit.validate(path, quasi_identifiers=["age"], k=1)

    assert "Xqvwj" not in str(refusal.value)
    assert refusal.value.exit_code == 2


def test_a_missing_cell_is_no_name(tmp_path: Path) -> None:
    """It looks like nothing; the other cells of the line decide."""
    path = bare(tmp_path, "25,,F\n" + ROWS.replace(",", ",a,"))

    with pytest.raises(ChoiceError, match="2 of its 3 cells"):
        refuse_first_record(path)


@pytest.mark.parametrize("text", [f"age,sex\n{ROWS}", "age,sex\n"])
def test_names_are_names(tmp_path: Path, text: str) -> None:
    """A column that is not among them is unknown, with the closest of them as a hint."""
    with pytest.raises(ParameterError, match="agee"):
        anonkit.validate(bare(tmp_path, text), quasi_identifiers=["agee"], k=1)


def test_columns_that_are_named_as_the_line_has_them_are_meant(tmp_path: Path) -> None:
    """Quasi-identifiers that equal cells of the first line make this line the names."""
    assert anonkit.validate(bare(tmp_path, f"25,F\n{ROWS}"), quasi_identifiers=["25", "F"], k=1).passed


def test_other_tables_have_names_of_their_own(tmp_path: Path) -> None:
    """Tables in memory, other formats, folders, and files that cannot be read: their readers raise the error."""
    refuse_first_record(pa.table({"25": [25, 25]}))
    refuse_first_record(bare(tmp_path, '{"25": 25}\n', "in.jsonl"))
    refuse_first_record(tmp_path)
    broken = tmp_path / "in.csv.gz"
    broken.write_bytes(b"\x1f\x8bnot whole")
    refuse_first_record(broken)
