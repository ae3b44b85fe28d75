"""Workbooks: every cell as a CSV file would have it, names of columns, sheets, and workbooks that cannot be read."""

from __future__ import annotations

import datetime
import zipfile
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anonkit.errors import MissingDependencyError, ParameterError, SourceError
from anonkit.policy.column_declarations import Column
from anonkit.policy.declaration import Policy

CELLS = (
    (5, "5"),
    (5.5, "5.5"),
    ("five", "five"),
    ("007", "007"),
    (" 5 ", " 5 "),
    (True, "true"),
    (0.1 + 0.2, "0.3"),  # what the file holds: sixteen digits
    (1 / 3, "0.3333333333333333"),
    (1e-12, "1e-12"),
    (-0.0, "0"),
    (123456789.123456789, "123456789.1234568"),
    (datetime.date(2020, 1, 31), "2020-01-31"),
    (datetime.datetime(2020, 1, 31, 10, 5, 1), "2020-01-31 10:05:01"),
    (datetime.time(10, 5), "10:05:00"),
    ("#N/A", "#N/A"),
    (None, None),
)
"""Contents of a cell, and the text it is read as."""


def _write(sheet: Any, book: Any, row: int, column: int, cell: object) -> None:
    forms = {
        datetime.date: "yyyy-mm-dd",
        datetime.datetime: "yyyy-mm-dd hh:mm:ss",
        datetime.time: "hh:mm:ss",
    }
    if isinstance(cell, datetime.date | datetime.time):
        sheet.write_datetime(row, column, cell, book.add_format({"num_format": forms[type(cell)]}))
    elif isinstance(cell, str):
        sheet.write_string(row, column, cell)
    elif cell is not None:
        sheet.write(row, column, cell)


def workbook(path: Path, rows: list[list[object]], *, sheet: str = "People", first_row: int = 0) -> Path:
    """A workbook of one sheet with these rows, the first of which names the columns."""
    with xlsxwriter.Workbook(str(path)) as book:
        page = book.add_worksheet(sheet)
        for row, cells in enumerate(rows):
            for column, cell in enumerate(cells):
                _write(page, book, first_row + row, column, cell)
    return path


@pytest.mark.parametrize(("cell", "text"), CELLS, ids=[str(at) for at in range(len(CELLS))])
def test_a_cell_is_read_as_csv_would_have_it(tmp_path: Path, read: Any, cell: object, text: str | None) -> None:
    """Among texts every cell is the shortest text that reads back as it."""
    path = workbook(tmp_path / "in.xlsx", [["n", "q"], [1, "x"], [2, cell], [3, "y"]])

    assert read(path).column("q").to_pylist() == ["x", text, "y"]


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.permutations([cell for cell, _ in CELLS]), st.integers(0, len(CELLS)))
def test_no_cell_of_a_sheet_is_typed_by_others(tmp_path: Path, read: Any, cells: list[object], taken: int) -> None:
    """In any order, and whichever others are left out, a cell beside a word is read as the same text."""
    texts = {id(cell): text for cell, text in CELLS}
    kept = cells[taken:]
    path = workbook(tmp_path / "in.xlsx", [["n", "q"], *([at, cell] for at, cell in enumerate(kept)), [-1, "word"]])

    assert read(path).column("q").to_pylist() == [*(texts[id(cell)] for cell in kept), "word"]


def test_columns_are_typed_as_those_of_csv(tmp_path: Path, read: Any) -> None:
    """Numbers, days and texts that look like codes come with the types, and listed texts missing, as from CSV."""
    rows: list[list[object]] = [
        ["age", "born", "zip", "score"],
        [31, datetime.date(2020, 1, 31), "01234", 1.5],
        [42, datetime.date(1999, 12, 1), "12345", "?"],
    ]
    book, text = workbook(tmp_path / "in.xlsx", rows), tmp_path / "in.csv"
    text.write_text("age,born,zip,score\n31,2020-01-31,01234,1.5\n42,1999-12-01,12345,?\n", encoding="utf-8")
    policies = [
        Policy(missing_values=("", "?")),
        Policy(),
        Policy(columns={"score": Column(name="score", bounds=(0.0, 9.0))}, cell_by_cell=True),
    ]

    for policy in policies:
        assert read(book, policy).equals(read(text, policy))


def test_formulas_give_their_values_and_errors_are_missing(tmp_path: Path, read: Any) -> None:
    """The stored value of a formula counts; #N/A and #DIV/0! are missing, and change no other cell."""
    path = tmp_path / "in.xlsx"
    with xlsxwriter.Workbook(str(path)) as book:
        page = book.add_worksheet()
        page.write_row(0, 0, ["n", "q"])
        values = [("=A1*2", 10), ('="x"', "x"), ("=NA()", "#N/A"), ("=1/0", "#DIV/0!"), ('=""', "")]
        for row, (formula, value) in enumerate(values, start=1):
            page.write(row, 0, row)
            page.write_formula(row, 1, formula, None, value)

    assert read(path).column("q").to_pylist() == ["10", "x", None, None, None]


def test_a_sheet_is_named_or_is_the_only_one(tmp_path: Path, read: Any) -> None:
    """Of several sheets one must be named, and the refusal names them; a name that is none is refused."""
    path = tmp_path / "in.xlsx"
    with xlsxwriter.Workbook(str(path)) as book:
        for name in ("People", "Visits"):
            book.add_worksheet(name).write_row(0, 0, [name, "q"])

    assert read(path, sheet="Visits").column_names == ["Visits", "q"]
    with pytest.raises(SourceError, match="2 sheets: 'People', 'Visits'"):
        read(path)
    with pytest.raises(SourceError, match="no sheet 'Vists'") as refused:
        read(path, sheet="Vists")
    assert "Visits" in str(refused.value)


def test_names_are_in_the_row_that_was_named(tmp_path: Path, read: Any) -> None:
    """Without a row it is the first that is not empty; rows count as the sheet shows them; rows above are left out."""
    path = workbook(tmp_path / "in.xlsx", [["Report of 2020", None], ["age", "zip"], [31, "x"]], first_row=2)
    plain = workbook(tmp_path / "plain.xlsx", [["age", "zip"], [31, "x"]], first_row=2)

    assert read(path, header_row=4).to_pydict() == {"age": [31], "zip": ["x"]}
    assert read(plain).to_pydict() == read(plain, header_row=3).to_pydict() == {"age": [31], "zip": ["x"]}
    with pytest.raises(SourceError, match="no row 9"):
        read(path, header_row=9)
    with pytest.raises(ParameterError, match="header_row"):
        read(path, header_row=0)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([["a", "a"], ["MARK", 1]], "columns 1 and 2 of sheet 'People' have the same name"),
        ([["a", None, "c"], [1, "MARK", 2]], "column 2 of sheet 'People' has cells and no name"),
        ([[None, None], [None, None]], "is empty"),
        ([], "is empty"),
    ],
)
def test_columns_without_names_of_their_own_are_refused(
    tmp_path: Path, read: Any, rows: list[list[object]], says: str
) -> None:
    """Twice the same name, a merged or empty one above cells, and an empty sheet; no cell is quoted."""
    path = workbook(tmp_path / "in.xlsx", rows)
    with pytest.raises(SourceError, match=says) as refused:
        read(path)

    assert "MARK" not in str(refused.value)


def test_rows_and_columns_without_cells_are_none(tmp_path: Path, read: Any) -> None:
    """An empty row is none, as a blank line of CSV; nor is an empty column without name; a header alone is a table."""
    path = workbook(tmp_path / "in.xlsx", [["a", None, "c"], [1, None, 2], [None, None, None], [3, None, 4]])
    header = workbook(tmp_path / "header.xlsx", [["a", "b"]])

    assert read(path).to_pydict() == {"a": [1, 3], "c": [2, 4]}
    assert (read(header).column_names, read(header).num_rows) == (["a", "b"], 0)


def _ods(path: Path) -> Path:
    cell = '<table:table-cell office:value-type="{}"><text:p>{}</text:p></table:table-cell>'
    number = 'float" office:value="31.5'
    rows = [[("string", "age"), ("string", "zip")], [(number, "31,5"), ("string", "01234")]]
    cells = "".join(f"<table:table-row>{''.join(cell.format(*each) for each in row)}</table:table-row>" for row in rows)
    names = "".join(
        f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("mimetype", kind)
        packed.writestr(
            "content.xml",
            f'<?xml version="1.0"?><office:document-content{names}><office:body><office:spreadsheet>'
            f'<table:table table:name="People">{cells}</table:table></office:spreadsheet></office:body>'
            "</office:document-content>",
        )
        packed.writestr("META-INF/manifest.xml", "<manifest/>")
    return path


def test_open_document_sheets_are_read_too(tmp_path: Path, read: Any) -> None:
    """An .ods file gives its values, whatever its cells show."""
    assert read(_ods(tmp_path / "in.ods")).to_pydict() == {"age": [31.5], "zip": ["01234"]}


def _damaged(path: Path, how: str) -> Path:
    whole = workbook(path, [["a", "b"], *([f"MARK{at}", at] for at in range(300))]).read_bytes()
    if how == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif how == "text":
        path.write_bytes(b"a,b\nMARK,1\n")
    elif how == "protected":
        path.write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 2000 + "EncryptedPackage".encode("utf-16-le"))
    else:  # the XML of the sheet ends in its midst
        with zipfile.ZipFile(path) as packed:
            parts = {name: packed.read(name) for name in packed.namelist()}
        with zipfile.ZipFile(path, "w") as packed:
            for name, part in parts.items():
                packed.writestr(name, part[: len(part) // 2] if name.endswith("sheet1.xml") else part)
    return path


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("cut", "not a readable workbook"),
        ("text", "not a readable workbook"),
        ("sheet", "not a readable workbook"),
        ("protected", "protected by a password"),
    ],
)
def test_a_workbook_that_cannot_be_read_is_named_without_its_cells(
    tmp_path: Path, read: Any, how: str, says: str
) -> None:
    """Cut short, no workbook at all, damaged inside, or protected: one line, a hint, no cell."""
    with pytest.raises(SourceError, match=says) as refused:
        read(_damaged(tmp_path / "in.xlsx", how))

    assert "MARK" not in repr(vars(refused.value)) + str(refused.value)
    assert refused.value.hint is not None
    assert refused.value.__context__ is None


def test_what_means_nothing_for_a_workbook_is_refused_and_a_missing_extra_named(
    tmp_path: Path, read: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query and an encoding are refused; without the library the extra is named, exit code 4."""
    path = workbook(tmp_path / "in.xlsx", [["a", "b"], [1, 2]])
    with pytest.raises(ParameterError, match="query"):
        read(path, query="select 1")
    with pytest.raises(SourceError, match="its own encoding"):
        read(path, Policy(encoding="cp1252"))
    monkeypatch.setitem(__import__("sys").modules, "fastexcel", None)
    with pytest.raises(MissingDependencyError) as refused:
        read(path)

    assert refused.value.exit_code == 4
    assert "anonkit[excel]" in str(refused.value)
