"""Files beside a table: every way in which people save them means the same tree, matrix and policy."""

from __future__ import annotations

import codecs
import unicodedata
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.domains.cell_keys import category_codes
from anonkit.errors import PolicyError
from anonkit.policy.declaration import Policy

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
