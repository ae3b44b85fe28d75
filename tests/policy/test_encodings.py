"""Text files in other encodings: read when it is named, and the one that fits is named in the hint otherwise."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonkit.engines.local.local_engine import LocalEngine
from anonkit.errors import PolicyError, SourceError
from anonkit.policy.declaration import Policy
from anonkit.policy.encodings import ENCODINGS

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
