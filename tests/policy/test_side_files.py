"""Files beside a table: every way in which people save them means the same tree, matrix and policy.

Text files in other encodings: read when it is named, and the one that fits is named in the hint otherwise.

Generalization trees: paths of one length whose levels refine each other, from a list or a file.
"""

from __future__ import annotations

import codecs
import gzip
import json
import unicodedata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.domains.cell_values import category_codes
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.errors import PolicyError, SourceError
from anonkit.policy.declaration import Policy
from anonkit.policy.side_files import ENCODINGS, check_tree, declared_tree

TREE = (("10115", "101", "Berlin"), ("10117", "101", "Berlin"), ("80331", "803", "Munich"))


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ((), "same number of levels"),
        ((("a", "x"), ("b",)), "row 2 has 1, row 1 has 2"),
        ((("a", "x"), ("a", "y")), "twice in the tree, in row 1 and row 2"),
        ((("a", "x", "top"), ("b", "x", "other")), "two different parents at level 2"),
    ],
)
def test_what_is_no_hierarchy_is_refused(tree: tuple[tuple[str, ...], ...], message: str) -> None:
    """By the rows that contradict each other."""
    with pytest.raises(PolicyError, match=message):
        check_tree("column 'zip'", tree)
    check_tree("column 'zip'", TREE)


@pytest.mark.parametrize("header", ["", "zip,group,city\n", "value,level 1,level 2\n"])
def test_a_file_is_read_with_or_without_a_header(tmp_path: Path, header: str) -> None:
    """A first line that names the column, or has usual headings, is no path."""
    (tmp_path / "zip.csv").write_text(header + "".join(",".join(path) + "\n" for path in TREE))
    assert declared_tree("column 'zip'", "zip", "zip.csv", tmp_path) == TREE
    assert declared_tree("column 'zip'", "zip", [list(path) for path in TREE], None) == TREE


CITIES = ["Köln", "Zürich", "Málaga", "Paris"]
TEXTS = {
    "t.csv": "city,age\n" + "".join(f'"{city}\n",{at}\n' for at, city in enumerate(CITIES)),
    "t.tsv": "city\tage\n" + "".join(f'"{city}\n"\t{at}\n' for at, city in enumerate(CITIES)),
    "t.jsonl": "".join(
        json.dumps({"city": f"{city}\n", "age": at}, ensure_ascii=False) + "\n" for at, city in enumerate(CITIES)
    ),
}
WESTERN = ("utf-16", "utf-16-le", "utf-16-be", "cp1252", "latin-1", "iso-8859-15", "cp1250", "mac-roman", "utf-8")


def read(source: Any, policy: Policy | None = None) -> dict[str, list[Any]]:
    """All cells of a source."""
    with LocalEngine() as engine:
        opened = engine.scan(source, policy or Policy())
        return pa.Table.from_batches(opened.batches(), schema=opened.schema).to_pydict()


def written(folder: Path, name: str, encoding: str, *, packed: bool = False) -> Path:
    """A file in an encoding; letters it lacks are left out of it."""
    raw = TEXTS[name].encode(encoding, "ignore")
    path = folder / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(raw) if packed else raw)
    return path


@pytest.mark.quick_cases("utf-16-t.csv-*", "*-t.csv-False", "cp1252-t.jsonl-True", "latin-1-t.tsv-False")
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("encoding", WESTERN)
def test_a_named_encoding_is_read(encoding: str, name: str, packed: bool, tmp_path: Path) -> None:
    """CSV, TSV and JSON Lines, packed or not, line breaks in cells: the same cells as in UTF-8."""
    cells = read(written(tmp_path, name, encoding, packed=packed), Policy(encoding=encoding))
    known = [city.encode(encoding, "ignore").decode(encoding) for city in CITIES]
    assert cells == {"city": [f"{city}\n" for city in known], "age": [0, 1, 2, 3]}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize(
    ("encoding", "hint"),
    [("utf-16", "utf-16"), ("utf-16-le", "utf-16-le"), ("utf-16-be", "utf-16-be"), ("cp1252", "cp1252")],
)
def test_the_hint_names_the_encoding_that_fits(name: str, encoding: str, hint: str, tmp_path: Path) -> None:
    """By the mark, by the zero bytes, or because every byte is a letter; and what is named then reads the file."""
    path = written(tmp_path, name, encoding)
    with pytest.raises(SourceError, match="is not UTF-8 text") as refused:
        read(path)
    typed = f'--encoding {hint}, or encoding = "{hint}" in the policy'
    assert refused.value.for_command_line()[1] == typed
    assert refused.value.hint == f'encoding = "{hint}" in the policy'
    assert read(path, Policy(encoding=hint))["age"] == [0, 1, 2, 3]


@pytest.mark.slow
def test_what_is_late_in_a_file_decides_too(tmp_path: Path) -> None:
    """A byte that is no letter of cp1252 after a megabyte of plain text: Latin-1; zeros all over: no text at all."""
    plain = b"a,b\n" + b"1,2\n" * 400_000
    (tmp_path / "t.csv").write_bytes(plain + b"\xe9,\x81\n")
    with pytest.raises(SourceError, match="is not UTF-8 text") as refused:
        read(tmp_path / "t.csv")
    assert 'encoding = "latin-1" in' in (refused.value.hint or "")
    (tmp_path / "t.csv").write_bytes(bytes(range(256)) * 9)
    with pytest.raises(SourceError, match="is not UTF-8 text") as refused:
        read(tmp_path / "t.csv")
    assert refused.value.hint == "is it a text file?"


@pytest.mark.parametrize("text", ["a,b\n1,x\0y\n", "a,b\0\n1,x\n", "ä,b\n1,ü\0\n"])
def test_text_with_nul_is_not_called_another_encoding(text: str, tmp_path: Path) -> None:
    """It is UTF-8, and what is in it besides is named; with other control characters it is no text."""
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(SourceError, match="has NUL characters in its text"):
        read(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text(f"{text}\x15")
    with pytest.raises(SourceError, match="is not UTF-8 text"):
        read(tmp_path / "t.csv")


@pytest.mark.parametrize("name", TEXTS)
def test_a_wrong_encoding_is_refused_with_the_right_one(name: str, tmp_path: Path) -> None:
    """UTF-16 that was called Shift JIS."""
    with pytest.raises(SourceError, match="is not shift_jis text") as refused:
        read(written(tmp_path, name, "utf-16"), Policy(encoding="shift_jis"))
    assert 'encoding = "utf-16" in' in (refused.value.hint or "")


@pytest.mark.parametrize("name", ["nonsense", "rot13", "hex", "utf\x00", ""])
def test_unknown_encodings_are_refused_with_the_list(name: str) -> None:
    """Names of no text encoding, or of one that is not supported, are refused."""
    with pytest.raises(PolicyError, match="is not known") as refused:
        read("t.csv", Policy(encoding=name)) if Path("t.csv").exists() else Policy.from_dict({"encoding": name or "?"})
    assert all(each in (refused.value.hint or "") for each in ENCODINGS)


def test_other_names_of_an_encoding_are_known() -> None:
    """As people call them."""
    names = {"UTF8": "utf-8", "windows-1252": "cp1252", "latin1": "latin-1", "UTF-16": "utf-16", "L1": "latin-1"}
    assert {name: Policy.from_dict({"encoding": name}).encoding for name in names} == names


def test_parquet_says_its_own_encoding(tmp_path: Path) -> None:
    """One line for a file or folder; a table in memory has no bytes to be read otherwise."""
    pq.write_table(pa.table({"a": [1]}), tmp_path / "t.parquet")
    for path in (tmp_path / "t.parquet", tmp_path):
        with pytest.raises(SourceError, match="is Parquet, which says its own encoding"):
            read(path, Policy(encoding="cp1252"))
    assert read(pa.table({"a": ["é"]}), Policy(encoding="cp1252")) == {"a": ["é"]}


ROWS = (("café", "warm", "*"), ("thé", "warm", "*"), ("eau", "cold", "*"))
_POLICY = '[columns]\ndrink = {{ role = "quasi_identifier", tree = "t.csv" }}\n{}'


def _written(*, delimiter: str, blank: str, form: str, header: str, end: str) -> str:
    lines = [delimiter.join(cell + blank for cell in row) for row in ROWS]
    head = {
        "": [],
        "names": [delimiter.join(("drink", "kind", "all"))],
        "usual": [delimiter.join(("value", "group", "level2"))],
    }
    marked = [f"sep={delimiter}"] if header == "sep" else head[header]
    return unicodedata.normalize(form, end.join([*marked, *lines, ""]))


@given(
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["", " ", "\u00a0"]),
    st.sampled_from(["NFC", "NFD"]),
    st.sampled_from(["", "names", "usual", "sep"]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_a_tree_is_the_same_however_it_is_saved(
    tmp_path_factory: pytest.TempPathFactory,
    delimiter: str,
    blank: str,
    form: str,
    header: str,
    end: str,
    encoding: str,
) -> None:
    """Marks, delimiters, blanks, composed letters, header lines and line ends change nothing."""
    folder = tmp_path_factory.mktemp("tree")
    text = _written(delimiter=delimiter, blank=blank, form=form, header=header, end=end)
    (folder / "t.csv").write_bytes(text.encode(encoding))
    (folder / "p.toml").write_text(_POLICY.format(""))
    assert Policy.load(folder / "p.toml").column("drink").tree == ROWS


def test_a_tree_has_the_encoding_of_the_policy_unless_it_is_utf_8(tmp_path: Path) -> None:
    """A file in UTF-8 beside a table in cp1252 is read as what it is."""
    (tmp_path / "p.toml").write_text('encoding = "cp1252"\n' + _POLICY.format(""))
    for encoding in ("cp1252", "utf-8"):
        (tmp_path / "t.csv").write_bytes("\n".join(map(",".join, ROWS)).encode(encoding))
        assert Policy.load(tmp_path / "p.toml").column("drink").tree == ROWS


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a;x;*\nb;x\n", "line 2 of 't.csv' has 2, line 1 of 't.csv' has 3"),
        ("a,x,*\n\na,x,*\n", "twice in the tree, in line 1 of 't.csv' and line 3 of 't.csv'"),
        ("a,x,*\nb,x,+\n", "in line 1 of 't.csv' and line 2 of 't.csv'"),
        ('a,"x\n', "a quote that is never closed"),
        ("a\0,x\n", "is not UTF-8 CSV"),
    ],
)
def test_a_message_names_the_line(tmp_path: Path, content: str, said: str) -> None:
    """Lines are counted as an editor counts them, empty ones too."""
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(PolicyError) as caught:
        Policy.from_dict({"columns": {"drink": {"tree": "t.csv"}}}, folder=tmp_path)
    assert said in caught.value.message


def test_other_bytes_are_refused_with_the_key_that_reads_them(tmp_path: Path) -> None:
    """Latin bytes without a declared encoding."""
    (tmp_path / "t.csv").write_bytes("café,warm\nthé,warm\n".encode("cp1252"))
    with pytest.raises(PolicyError, match="is not UTF-8 CSV") as caught:
        Policy.from_dict({"columns": {"drink": {"tree": "t.csv"}}}, folder=tmp_path)
    assert "encoding" in (caught.value.hint or "")


def test_a_value_named_as_its_column_is_no_header(tmp_path: Path) -> None:
    """Its group has other values too."""
    (tmp_path / "t.csv").write_text("other,rest\nmisc,rest\n")
    assert (
        len(Policy.from_dict({"columns": {"other": {"tree": "t.csv"}}}, folder=tmp_path).column("other").tree or ())
        == 2
    )


@pytest.mark.parametrize("mark", [codecs.BOM_UTF8, b""])
@pytest.mark.parametrize(
    "content", ["0.8,0.2\n0.3,0.7\n", "0,8;0,2\n0,3;0,7\n", "u;v\n0,8;0,2\n0,3;0,7\n", "u, v\n0.8 ,0.2\n0.3,0.7"]
)
def test_a_matrix_is_the_same_however_it_is_saved(tmp_path: Path, content: str, mark: bytes) -> None:
    """Also a policy with a byte order mark is read."""
    (tmp_path / "m.csv").write_bytes(mark + content.encode())
    (tmp_path / "p.toml").write_bytes(mark + b'[columns]\nc = { categories = ["u", "v"], response_matrix = "m.csv" }\n')
    answers = Policy.load(tmp_path / "p.toml").column("c").answers
    assert answers is not None
    assert answers.matrix == ((0.8, 0.2), (0.3, 0.7))


def test_a_matrix_whose_header_has_another_order_is_refused(tmp_path: Path) -> None:
    """Its rows would be those of other categories."""
    (tmp_path / "m.csv").write_text("v,u\n0.8,0.2\n0.3,0.7\n")
    with pytest.raises(PolicyError, match=r"line 1 of 'm.csv' does not name the categories in the order"):
        Policy.from_dict({"columns": {"c": {"categories": ["u", "v"], "response_matrix": "m.csv"}}}, folder=tmp_path)


def test_a_cell_is_the_category_it_differs_from_by_blanks_or_composed_letters() -> None:
    """A cell is neither of two categories that differ by that alone."""
    cells = pa.array(["café", "cafe\u0301", " café ", "tea", "x ", None])
    assert category_codes(cells, ["café", "tea"], texts_alone=True).tolist() == [0, 0, 0, 1, -1, -1]
    assert category_codes(pa.array([" x  "]), ["x", "x "], texts_alone=False).tolist() == [-1]


def test_no_cell_is_lost_beside_a_tree_with_a_byte_order_mark(tmp_path: Path) -> None:
    """Under local privacy a lost category is a missing cell, and nobody sees it."""
    (tmp_path / "t.csv").write_bytes("red;warm \nblue;cold\n".encode("utf-8-sig"))
    (tmp_path / "p.toml").write_text('[columns]\ncolour = { role = "quasi_identifier", tree = "t.csv" }\n')
    table = pa.table({"colour": ["red"] * 300 + ["blue"] * 300})
    released = anonkit.release(table, method="rr", epsilon=40.0, policy=tmp_path / "p.toml", no_target=True, seed=1)
    counts = {row["values"]: row["counts"] for row in released.to_arrow()["colour"].value_counts().to_pylist()}
    assert counts == {"red": 300, "blue": 300}
