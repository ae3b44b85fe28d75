"""The beginning of a delimited text: preambles above the header, and separators between the cells."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.engines import LocalEngine
from anonkit.engines.snapshots.addresses import source_at
from anonkit.engines.snapshots.dispatch import snapshot
from anonkit.errors import AnonkitError, ChoiceError, SourceError
from anonkit.policy.declaration import Policy

ROWS = [("Ann", "3", "x"), ("Bo", "4", "y"), ("Cy", "5", "z")]
NAMES = ("name", "age", "kind")


def _read(path: Path, *, by_cell: bool = False, **how: object) -> tuple[list[str], list[tuple[str, ...]], str]:
    with LocalEngine() as engine, snapshot(source_at(path, **how)) as rows:
        source = rows.scan(engine, Policy(cell_by_cell=by_cell))
        table = pa.Table.from_batches(list(source.batches()), source.schema)
        cells = [[str(cell) for cell in column.to_pylist()] for column in table.columns]
        return table.column_names, list(zip(*cells, strict=True)), " ".join(rows.notes)


def _lines(delimiter: str, names: tuple[str, ...] = NAMES) -> list[str]:
    return [delimiter.join(row) for row in (names, *ROWS)]


@given(
    st.sampled_from([",", ";", "\t", "|"]),
    st.lists(
        st.sampled_from(["My table", "", "As of 2020-01-01", "PADDED", "# a comment, with a comma; or two"]), max_size=4
    ),
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["utf-8", "utf-8-sig"]),
    st.booleans(),
)
def test_what_stands_above_the_header_is_passed_over(
    tmp_path_factory: pytest.TempPathFactory,
    delimiter: str,
    above: list[str],
    said: bool,
    end: str,
    encoding: str,
    by_cell: bool,
) -> None:
    """Titles, also padded as a spreadsheet pads them, empty lines and comments, below `sep=` or not; said aloud."""
    above = sorted(above, key=lambda line: not line.startswith("#"))
    padded = [f"Title{delimiter * 2}" if line == "PADDED" else line for line in above]
    path = tmp_path_factory.mktemp("text") / "t.csv"
    sep = [f"sep={delimiter}"] if said else []
    path.write_bytes(end.join([*sep, *padded, *_lines(delimiter), ""]).encode(encoding))
    names, rows, notes = _read(path, by_cell=by_cell)
    assert names == list(NAMES)
    assert rows == ROWS
    assert ("above the header" in notes) is bool([line for line in padded if line])


@pytest.mark.parametrize("mark", ["#", "# "])
def test_a_header_behind_a_mark_is_the_header(tmp_path: Path, mark: str) -> None:
    """Cells below it that are numbers show it; under noise a declared name does."""
    path = tmp_path / "t.csv"
    path.write_text("\n".join([mark + "name,age,kind", *_lines(",")[1:]]))
    assert _read(path)[:2] == (list(NAMES), ROWS)
    with pytest.raises(ChoiceError, match="begins with #"):
        _read(path, by_cell=True)
    assert _read(path, by_cell=True, skip_rows=0)[:2] == (list(NAMES), ROWS)


def test_a_mark_that_may_be_either_needs_a_choice(tmp_path: Path) -> None:
    """Both answers are lines of the command."""
    path = tmp_path / "t.csv"
    path.write_text("# a,b\nname,kind\nAnn,x\nBo,y\n")
    with pytest.raises(ChoiceError, match=r"line 1 .* begins with #") as caught:
        _read(path)
    assert "skip_rows=0" in (caught.value.hint or "")
    assert _read(path, skip_rows=1)[0] == ["name", "kind"]
    assert _read(path, skip_rows=0)[0] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "names", "n"),
    [
        ("#,name\n1,Ann\n2,Bo\n", ["#", "name"], 2),
        ("name\n#5\nAnn\n", ["name"], 2),
        ("a,b\n#1,2\n3,4\n", ["a", "b"], 2),
        ("#Age\n3\n4\n", ["Age"], 2),
        ("# some comment\nage\n3\n4\n", ["age"], 2),
        ("\n\na,b\n1,2\n", ["a", "b"], 1),
        ("a,b\n", ["a", "b"], 0),
        ("sep=;\na;b\n", ["a", "b"], 0),
        ("Title\n\na;b\n1;2\n", ["a", "b"], 1),
        ('"a long\nname",b\n1,2\n', ["a long\nname", "b"], 1),
        ('Title\n\n"a long\nname",b\n1,2\n', ["a long\nname", "b"], 1),
        ("a;b\n1,5;x\n2,5;y\n", ["a", "b"], 2),
    ],
)
def test_only_what_is_above_the_header_is_passed_over(tmp_path: Path, text: str, names: list[str], n: int) -> None:
    """A mark in a cell, a column that is called #, empty lines, a header alone, line breaks in names."""
    path = tmp_path / "t.csv"
    path.write_text(text)
    found, rows, _ = _read(path, header=True)
    assert (found, len(rows)) == (names, n)


@pytest.mark.parametrize(
    "text",
    ["a,b\n1,2,3\n1,2,3\n", "a,b,c\n1,2,3\n1,2,3,4\n5,6,7\n", "name\nx,1\ny,2\n", "a,b,c\n1,2,3\n1,2\n4,5,6\n"],
)
def test_a_malformed_table_is_no_preamble(tmp_path: Path, text: str) -> None:
    """A header without the column of row names, a row with a cell more or less: refused by its line, nothing lost."""
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(AnonkitError, match=r"line [23] of"):
        _read(path, header=True)


def test_a_line_below_a_preamble_is_named_by_its_number(tmp_path: Path) -> None:
    """Lines are counted as an editor counts them."""
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["My table", "", *_lines(","), *([",".join(ROWS[0])] * 70), "a,b"]))
    with pytest.raises(SourceError, match="line 77 of"):
        _read(path)


@pytest.mark.parametrize("delimiter", ["~", ":", "tab"])
def test_a_delimiter_that_is_said_is_used(tmp_path: Path, delimiter: str) -> None:
    """Without it, one column where another delimiter gives several is pointed out."""
    path = tmp_path / "t.txt"
    path.write_text("\n".join(_lines("\t" if delimiter == "tab" else delimiter)))
    assert _read(path, delimiter=delimiter)[:2] == (list(NAMES), ROWS)
    if delimiter != "tab":
        assert "one column" in _read(path)[2]


def test_of_two_delimiters_that_fit_the_one_of_more_columns_is_read(tmp_path: Path) -> None:
    """A comma in a name and in every decimal parts the lines too; it was read as two columns. It is said."""
    path = tmp_path / "t.csv"
    path.write_text("pay, EUR;age;kind\n1,5;3;x\n2,5;4;y\n")
    for by_cell in (False, True):
        names, _, notes = _read(path, by_cell=by_cell)
        assert names == ["pay, EUR", "age", "kind"]
        assert "Cells are parted by ';'. Parted by ',' they would be 2 columns" in notes
    assert _read(path, delimiter=",")[0] == ["pay", " EUR;age;kind"]
    assert _read(path, delimiter=",")[2] == ""
    path.write_text("name,tags\nAnn,x;y;z\nBo,x;y;z\n")  # the header has no other delimiter
    assert _read(path)[0] == ["name", "tags"]


def test_quotes_behind_a_backslash_are_quotes(tmp_path: Path) -> None:
    """Under noise such a file is refused: a backslash in one row must not change another."""
    path = tmp_path / "t.csv"
    path.write_text('name,said\nAnn,"she \\"said\\", twice"\nBo,"C:\\\\x"\n')
    assert _read(path)[1] == [("Ann", 'she "said", twice'), ("Bo", "C:\\x")]
    with pytest.raises(SourceError):
        _read(path, by_cell=True)


def test_a_backslash_before_a_closing_quote_is_a_backslash(tmp_path: Path) -> None:
    """A path that ends in one is read as it always was."""
    path = tmp_path / "t.csv"
    path.write_text('name,place\nAnn,"C:\\"\nBo,"D:\\"\n')
    assert _read(path)[1] == [("Ann", "C:\\"), ("Bo", "D:\\")]
