"""JSON documents of a release: written one way, and read as documents that somebody may have forged."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.bundle.json_documents import parse_json, read_capped, read_json, refuse_irregular, to_json
from anonkit.errors import ReleaseFormatError


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    """Keys in order, letters as they are."""
    document = {"format": "anonkit-release-1", "b": [1, 2.5, None], "a": "für alle"}
    path = tmp_path / "out.params.json"
    path.write_bytes(to_json(document))
    assert read_json(path) == document
    assert list(read_json(path)) == list(document)
    assert "für".encode() in path.read_bytes()
    with pytest.raises(ValueError, match="JSON compliant"):
        to_json({"x": float("nan")})


VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
DOCUMENTS = st.recursive(
    VALUES,
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), DOCUMENTS))
def test_the_bytes_are_those_of_python_with_two_spaces(document: dict[str, Any]) -> None:
    """Of any values, empty lists and keys that are no strings among them."""
    expected = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    assert to_json(document) == expected.encode("utf-8")


@pytest.mark.parametrize(
    "content",
    [
        b'{"a": 1, "a": 2}',
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"a": 1' + b"0" * 5_000 + b"}",
        b"{",
    ],
)
def test_what_anonkit_does_not_write_is_refused(content: bytes) -> None:
    """A key twice, no number of JSON, no text, too deep, too long, cut short."""
    with pytest.raises(ReleaseFormatError, match="the params"):
        parse_json(content, "the params")


@pytest.mark.parametrize("content", [b"[]", b"{}", b'{"format": "other-1"}'])
def test_a_document_of_others_is_no_sidecar(tmp_path: Path, content: bytes) -> None:
    """An object with the format of anonkit, and nothing else."""
    path = tmp_path / "out.params.json"
    path.write_bytes(content)
    with pytest.raises(ReleaseFormatError, match="not a file of an anonkit release"):
        read_json(path)
    with pytest.raises(ReleaseFormatError, match="does not exist"):
        read_json(tmp_path / "absent.json")


def test_nothing_is_waited_for(tmp_path: Path) -> None:
    """A pipe is not opened, a file beyond the limit not read."""
    pipe, large = tmp_path / "pipe.json", tmp_path / "large.json"
    os.mkfifo(pipe)
    with pytest.raises(ReleaseFormatError, match="not a regular file"):
        read_capped(pipe)
    large.write_bytes(b"x" * 11)
    with pytest.raises(ReleaseFormatError, match="at most 10"):
        refuse_irregular(large, 10)
    refuse_irregular(tmp_path / "absent", 10)
