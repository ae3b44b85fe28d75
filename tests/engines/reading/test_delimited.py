"""CSV, TSV and JSON Lines: types without loss, file order, every compression, tables larger than memory."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from awkward import TEXTS
from hypothesis import example, given
from hypothesis import strategies as st

from anonkit.engines import LocalEngine
from anonkit.errors import SourceError
from anonkit.policy.column_declarations import Column, ColumnType, Outside
from anonkit.policy.declaration import Policy

ENGINE = LocalEngine()

TABLE = {
    "zip": ["01234", "99999", "00000"],
    "age": [17, None, 90],
    "income": [1.5, -0.25, None],
    "born": [datetime.date(1969, 12, 31), datetime.date(2024, 2, 29), None],
    "job": ['a "quoted", one', "two\nlines", "Müller; 日本"],
    "empty": [None, None, None],
}
TYPES = {
    "zip": pa.string(),
    "age": pa.int64(),
    "income": pa.float64(),
    "born": pa.date32(),
    "job": pa.string(),
    "empty": pa.string(),
}


def read(data: Any, policy: Policy | None = None, engine: LocalEngine = ENGINE) -> pa.Table:
    """Scan a table and read all of it."""
    source = engine.scan(data, policy or Policy())
    return pa.Table.from_batches(source.batches(), source.schema)


def delimited(columns: dict[str, list[Any]], delimiter: str = ",") -> bytes:
    """Return a table as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().encode()


def json_lines(columns: dict[str, list[Any]]) -> bytes:
    """Return a table as JSON Lines, missing cells left out."""
    rows = [
        {name: cell for name, cell in zip(columns, row, strict=True) if cell is not None}
        for row in zip(*columns.values(), strict=True)
    ]
    return "".join(json.dumps(row, default=str, ensure_ascii=False) + "\n" for row in rows).encode()


def _zstd(content: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(content, asbytes=True))


@pytest.mark.parametrize(
    ("ending", "compress"), [("", bytes), (".gz", gzip.compress), (".zst", _zstd), (".GZ", gzip.compress)]
)
@pytest.mark.parametrize(("kind", "delimiter"), [(".csv", ","), (".tsv", "\t"), (".csv", ";"), (".txt", "|")])
def test_delimited_files_bring_their_types(
    tmp_path: Path, kind: str, delimiter: str, ending: str, compress: Callable[[bytes], bytes]
) -> None:
    """Codes stay texts, numbers and dates become such, missing is missing, whatever the delimiter and compression."""
    path = tmp_path / f"table{kind}{ending}"
    path.write_bytes(compress(delimited(TABLE, delimiter)))
    table = read(path)
    assert {field.name: field.type for field in table.schema} == TYPES
    assert table.to_pydict() == TABLE


@pytest.mark.parametrize(("ending", "compress"), [("", bytes), (".gz", gzip.compress), (".zst", _zstd)])
def test_json_lines_bring_their_types(tmp_path: Path, ending: str, compress: Callable[[bytes], bytes]) -> None:
    """Texts stay texts, also those that look like dates; a key that is not there is missing."""
    path = tmp_path / f"table.jsonl{ending}"
    columns = {**TABLE, "born": ["1969-12-31", "2024-02-29", None], "member": [True, None, False]}
    del columns["empty"]
    path.write_bytes(compress(json_lines(columns)))
    table = read(path)
    assert table.to_pydict() == columns
    assert table.schema.field("born").type == pa.string()
    assert table.schema.field("member").type == pa.bool_()


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        (b"a,b\n", {"a": [], "b": []}),
        (b"a,b", {"a": [], "b": []}),
        (b"\n\na,b\n\n1,2\n\n", {"a": [1], "b": [2]}),
        (b"\xef\xbb\xbfa,b\n1,2\n", {"a": [1], "b": [2]}),
        (b"a,b\r1,2\r", {"a": [1], "b": [2]}),
        (b"a,b\n1,2", {"a": [1], "b": [2]}),
        (b"a\n1\n\n3\n", {"a": [1, None, 3]}),
        (b'"a\nb",c\n1,2\n', {"a\nb": [1], "c": [2]}),
        (b'"a,b";c\n1;2\n', {"a,b": [1], "c": [2]}),
        (b"a\n1,5\n2,5\n", {"a": ["1", "2"]}),
    ],
    ids=[
        "header",
        "header alone",
        "blank lines",
        "mark",
        "old Mac",
        "no end",
        "one column",
        "header of two lines",
        "comma in header",
        "ragged",
    ],
)
def test_files_at_the_edge_of_the_format(tmp_path: Path, content: bytes, columns: dict[str, list[Any]]) -> None:
    """A header without rows is a table of none; an empty line is a missing cell only where a row has one cell."""
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    if content.startswith(b"a\n1,5"):
        with pytest.raises(SourceError, match=r"line 2 of .* has 2 cells where the header has 1"):
            read(path)
        return
    assert read(path).to_pydict() == columns


CELLS = st.sampled_from(
    [
        *(text for text in TEXTS if "\0" not in text),
        "0",
        "-1",
        "12",
        "1.5",
        "-0.0",
        "1e5",
        "007",
        "+5",
        "0x1F",
        "2024-02-29",
        "nan",
        "inf",
        " 7",
        "7 ",
    ]
)
MANY = st.sampled_from(["9007199254740993", "12345678901234567890", "1.50", ".5", "-00", "0000-00-00", "1E400", "١٢"])


@given(cells=st.lists(CELLS | MANY, min_size=1, max_size=6))
@example(cells=["1", "2.5", "9007199254740993"])
@example(cells=["2024-02-29", "1"])
def test_a_guess_loses_nothing(tmp_path_factory: pytest.TempPathFactory, cells: list[str]) -> None:
    """Every typed cell gives the text it was read from, blanks around numbers and trailing zeros apart."""
    path = tmp_path_factory.getbasetemp() / "guess.csv"
    path.write_bytes(delimited({"a": cells, "last": ["x"] * len(cells)}))
    column = read(path).column("a")
    for text, cell in zip(cells, column.to_pylist(), strict=True):
        if pa.types.is_string(column.type):
            assert (cell or "") == text
        elif cell is None:
            assert text == ""
        elif pa.types.is_floating(column.type):
            assert cell == float(text)
            assert str(cell) != "-0.0"
            digits = text.strip().lstrip("-")
            assert not (digits.startswith("0") and digits[1:2].isdigit()), "a code became a number"
            assert not (digits.isdigit() and int(digits) != abs(cell)), "digits were lost"
        else:
            assert str(cell) == text.strip()


@given(data=st.data(), n_rows=st.integers(1, 40))
def test_a_table_larger_than_memory_is_read_as_a_small_one(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, n_rows: int
) -> None:
    """Types found late, in a part that no longer fits in memory, are those of the whole file."""
    columns: dict[str, list[Any]] = {}
    for name in ("a", "b", "c"):
        start = data.draw(st.sampled_from(["1", "", "2024-02-29", "x", "2.5"]))
        late = data.draw(st.sampled_from(["1", "", "2024-02-29", "x", "2.5", "007", "9007199254740993"]))
        at = data.draw(st.integers(0, n_rows))
        columns[name] = [start] * at + [late] * (n_rows - at)
    numbers = [
        {"n": None, "w": at, "late": None if at < n_rows - 1 else 1.5, "t": f"2024-01-{at % 28 + 1:02d}"}
        for at in range(n_rows)
    ]
    folder = tmp_path_factory.getbasetemp()
    table, lines = folder / "large.csv", folder / "large.jsonl"
    table.write_bytes(delimited(columns))
    lines.write_bytes(
        b"".join(json.dumps({k: v for k, v in row.items() if v is not None}).encode() + b"\n" for row in numbers)
    )
    with (
        patch("anonkit.engines.local.local_engine._IN_MEMORY", 64),
        patch("anonkit.engines.reading.delimited._BLOCK", 128),
        patch("anonkit.engines.reading.json_lines._BLOCK", 64),
        LocalEngine() as engine,
    ):
        for path in (table, lines):
            large, small = read(path, engine=engine), read(path)
            assert large.schema == small.schema
            assert large.to_pydict() == small.to_pydict()


DECLARED = [
    (Column(name="a", bounds=(0, 99)), ["17", "017", " 90 ", ""], pa.int64(), [17, 17, 90, None]),
    (Column(name="a", bounds=(0, 99)), ["17", "90.5"], pa.float64(), [17.0, 90.5]),
    (Column(name="a", ladder=(5, 10)), ["17", "18"], pa.int64(), [17, 18]),
    (Column(name="a", categories=("1", "2")), ["1", "2", " 2"], pa.string(), ["1", "2", " 2"]),
    (Column(name="a", tree=(("01", "0*"), ("02", "0*"))), ["01", "02"], pa.string(), ["01", "02"]),
    (Column(name="a", type=ColumnType.STRING), ["1", "2"], pa.string(), ["1", "2"]),
    (Column(name="a", type=ColumnType.INTEGER), ["-1", "02"], pa.int64(), [-1, 2]),
    (Column(name="a", type=ColumnType.NUMBER), ["1", "-0", "nan"], pa.float64(), [1.0, 0.0, None]),
    (Column(name="a", type=ColumnType.BOOLEAN), ["true", "FALSE", "1"], pa.bool_(), [True, False, True]),
    (Column(name="a", type=ColumnType.DATE), ["2024-02-29", ""], pa.date32(), [datetime.date(2024, 2, 29), None]),
]


@pytest.mark.parametrize(("column", "texts", "kind", "cells"), DECLARED)
def test_declared_types_are_kept_to(
    tmp_path: Path, column: Column, texts: list[str], kind: pa.DataType, cells: list[Any]
) -> None:
    """A declared type, domain or ladder decides how cells are read; integers stay whole under bounds."""
    path = tmp_path / "table.csv"
    path.write_bytes(delimited({"a": texts, "b": ["x"] * len(texts)}))
    table = read(path, Policy(columns={"a": column}))
    assert table.schema.field("a").type == kind
    assert table.column("a").to_pylist() == cells


@pytest.mark.parametrize(
    ("column", "texts", "row", "kind"),
    [
        (Column(name="a", bounds=(0, 99), outside=Outside.REFUSE), ["1"] * 700 + ["many"], 701, "number"),
        (Column(name="a", bounds=(0, 99), outside=Outside.REFUSE), ["1", "inf"], 2, "number"),
        (Column(name="a", type=ColumnType.INTEGER), ["1.5"], 1, "integer"),
        (Column(name="a", type=ColumnType.INTEGER), ["1", "0x1F", "2"], 2, "integer"),
        (Column(name="a", type=ColumnType.BOOLEAN), ["true", "true", "perhaps", "true"], 3, "boolean"),
        (Column(name="a", type=ColumnType.DATE), ["2024-02-29", "2023-02-29"], 2, "date"),
    ],
)
def test_a_cell_that_is_not_of_the_declared_type_is_named_by_its_row(
    tmp_path: Path, column: Column, texts: list[str], row: int, kind: str
) -> None:
    """The message says where to look, not what is there."""
    path = tmp_path / "table.csv"
    path.write_bytes(delimited({"a": texts, "b": ["x"] * len(texts)}))
    with pytest.raises(SourceError, match=rf"column 'a': the cell in row {row} is not of type {kind}\n"):
        read(path, Policy(columns={"a": column}))


def test_texts_that_mean_missing_are_the_policys(tmp_path: Path) -> None:
    """NA is a country code until the policy says otherwise."""
    path = tmp_path / "table.csv"
    path.write_bytes(b'a,b\nNA,1\n?,\n"",3\n')
    assert read(path).to_pydict() == {"a": ["NA", "?", None], "b": [1, None, 3]}
    declared = Policy(missing_values=("NA", "?"))
    assert read(path, declared).to_pydict() == {"a": [None, None, ""], "b": ["1", "", "3"]}


def test_rows_keep_the_order_of_the_file(tmp_path: Path) -> None:
    """Row numbers follow the file, over many blocks and both ways of holding a table."""
    lines = list(range(20_000))
    (tmp_path / "t.csv").write_bytes(delimited({"a": lines, "b": ["text"] * len(lines)}))
    (tmp_path / "t.jsonl").write_bytes(json_lines({"a": lines}))
    for in_memory in (1 << 30, 1 << 10):
        with (
            patch("anonkit.engines.local.local_engine._IN_MEMORY", in_memory),
            patch("anonkit.engines.reading.delimited._BLOCK", 1 << 12),
            patch("anonkit.engines.reading.json_lines._BLOCK", 1 << 12),
            LocalEngine() as engine,
        ):
            for path in sorted(tmp_path.iterdir()):
                assert read(path, engine=engine).column("a").to_pylist() == lines


def test_a_file_that_is_widened_late_leaves_no_copy(tmp_path: Path) -> None:
    """When a table is read anew with other types, what was spilled before is deleted."""
    path = tmp_path / "t.csv"
    path.write_bytes(delimited({"a": [*range(3_000), "x"], "b": ["y"] * 3_001}))
    with (
        patch("anonkit.engines.local.local_engine._IN_MEMORY", 1 << 10),
        patch("anonkit.engines.reading.delimited._BLOCK", 1 << 12),
        LocalEngine() as engine,
    ):
        source = engine.scan(path, Policy())
        assert source.schema.field("a").type == pa.string()
        assert source.n_rows == 3_001
        assert len(list(engine._private.path.glob("*/*.parquet"))) == 1
