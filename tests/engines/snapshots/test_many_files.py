"""Patterns and folders of files: one table by the names of the columns, and what does not fit together is refused."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonkit.errors import ParameterError, SourceError
from anonkit.policy.declaration import Policy


def _parts(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return folder


def test_files_are_one_table_by_the_names_of_their_columns(tmp_path: Path, read: Any) -> None:
    """In the order of their names, columns in any order, one of them packed, one without rows, another delimiter."""
    folder = _parts(
        tmp_path / "in", a_csv="age,zip\n31,01234\n42,x\n", b_csv="zip;age\nMARK;53\n", d_csv="age,zip\n", _gitkeep=""
    )
    (folder / "c.csv.gz").write_bytes(gzip.compress(b"age,zip\n64,\n"))
    whole = {"age": [31, 42, 53, 64], "zip": ["01234", "x", "MARK", None]}

    assert read(folder).to_pydict() == whole
    assert read(f"{folder}/*.csv*").to_pydict() == whole
    assert read(folder, format="csv").to_pydict() == whole


def test_the_table_is_typed_as_one_file_would_be(tmp_path: Path, read: Any) -> None:
    """A word in the last file makes all a column of texts, with the cells that are in the files."""
    folder = _parts(tmp_path / "in", a_csv="n,q\n1,5\n2,5.50\n", b_csv="n,q\n3,?\n4,007\n")
    whole = tmp_path / "whole.csv"
    whole.write_text("n,q\n1,5\n2,5.50\n3,?\n4,007\n", encoding="utf-8")

    for policy in (Policy(), Policy(missing_values=("", "?", "007")), Policy(cell_by_cell=True)):
        assert read(folder, policy).equals(read(whole, policy))


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ("age,zap\n31,MARK\n", "b.csv' lacks column 'zip', which .*a.csv' has"),
        ("age,zip,sex\n31,MARK,f\n", "b.csv' has column 'sex', which .*a.csv' lacks"),
        ("age,zip\n31,MARK,f\n", "line 2 of .*b.csv' has 3 cells"),
        ("age,zip\n31,MARK\"\"\n32,\"MARK\n", "b.csv'"),
        ("", "b.csv' is empty"),
    ],
)  # fmt: skip
def test_a_file_that_does_not_fit_is_named_with_its_column(tmp_path: Path, read: Any, other: str, says: str) -> None:
    """The file, the column or the line, and no cell."""
    folder = _parts(tmp_path / "in", a_csv="age,zip\n31,01234\n", b_csv=other)
    with pytest.raises(SourceError, match=says) as refused:
        read(folder)

    assert "MARK" not in repr(vars(refused.value)) + str(refused.value)


def test_lines_of_json_are_joined(tmp_path: Path, read: Any) -> None:
    """With or without a line end at the end of a file, and whatever their encoding."""
    folder = tmp_path / "in"
    folder.mkdir()
    for name, text in (("a.jsonl", '{"age": 31, "q": "é"}'), ("b.jsonl", '{"age": 42, "q": "x"}\n')):
        (folder / name).write_bytes(text.encode("cp1252"))

    assert read(folder, Policy(encoding="cp1252")).to_pydict() == {"age": [31, 42], "q": ["é", "x"]}


def test_a_pattern_of_parquet_is_one_table(tmp_path: Path, read: Any) -> None:
    """Columns that a file lacks are missing in its rows, as in a folder of Parquet."""
    pq.write_table(pa.table({"age": [31]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"age": [42], "zip": ["x"]}), tmp_path / "b.parquet")

    assert read(f"{tmp_path}/*.parquet").to_pydict() == {"age": [31, 42], "zip": [None, "x"]}


def test_a_lake_table_within_a_pattern_is_refused(tmp_path: Path, read: Any) -> None:
    """Its files hold rows that were deleted since."""
    (tmp_path / "t" / "_delta_log").mkdir(parents=True)
    pq.write_table(pa.table({"age": [31]}), tmp_path / "t" / "a.parquet")
    with pytest.raises(SourceError, match="Delta Lake"):
        read(f"{tmp_path}/t/*.parquet")


def test_files_of_two_formats_no_file_and_keys_in_paths_are_refused(tmp_path: Path, read: Any) -> None:
    """Nothing is left out silently, and no column is lost with the name of a folder."""
    mixed = _parts(tmp_path / "mixed", a_csv="a,b\n1,2\n", b_jsonl='{"a": 1, "b": 2}\n')
    with pytest.raises(SourceError, match="another format"):
        read(mixed)
    with pytest.raises(SourceError, match="matches no file"):
        read(f"{tmp_path}/none-*.csv")
    (tmp_path / "keys").mkdir()
    _parts(tmp_path / "keys" / "year=2020", a_csv="a,b\n1,2\n")
    with pytest.raises(SourceError, match="keys in their paths"):
        read(tmp_path / "keys")
    with pytest.raises(ParameterError, match="sheet"):
        read(f"{mixed}/*.csv", sheet="x")


def test_a_file_whose_name_is_a_pattern_is_that_file(tmp_path: Path, read: Any) -> None:
    """A bracket in a name does not make it a pattern of others."""
    (tmp_path / "in[1].csv").write_text("a,b\n1,2\n", encoding="utf-8")

    assert read(tmp_path / "in[1].csv").to_pydict() == {"a": [1], "b": [2]}
