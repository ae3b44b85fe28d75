"""JSON Lines: objects of a block, with numbers as they were spelled, and keys taken out of them."""

from __future__ import annotations

import json

import pytest

from anonkit.engines.reading.json_lines import literal_column, objects_of, without, without_texts

BLOCK = b'\xef\xbb\xbf{"a": 1.50, "b": "x"}\n {"a": 12345678901234567890, "c": ["y"]}{"a": null, "b": true}\n'


def test_objects_follow_each_other_in_any_way() -> None:
    """On a line each or on one, with a mark of the byte order; a key that occurs twice has its last value."""
    assert [list(one) for one in objects_of(BLOCK)] == [["a", "b"], ["a", "c"], ["a", "b"]]
    assert objects_of(b'{"a": "x", "a": "y"}')[0]["a"] == "y"
    assert objects_of(b" \n ") == []


@pytest.mark.parametrize("block", [b"[1]", b'{"a": 1', b'{"a": "\xff"}', b"1", b"[" * 100_000])
def test_what_is_no_sequence_of_objects_is_refused(block: bytes) -> None:
    """The error may hold cells: whoever catches it shows none."""
    with pytest.raises(ValueError):  # noqa: PT011 - its text is not shown
        objects_of(block)


def test_literals_keep_their_digits() -> None:
    """A double would lose those of a long number; lists are JSON, a key that is absent is missing."""
    objects = objects_of(BLOCK)
    assert literal_column(objects, "a").to_pylist() == ["1.5", "12345678901234567890", None]
    assert literal_column(objects, "b").to_pylist() == ["x", None, "true"]
    assert json.loads(literal_column(objects, "c").to_pylist()[1]) == ["y"]


def test_keys_and_texts_are_taken_out() -> None:
    """Numbers stay as they were spelled; a text that means missing goes where the key has other values than texts."""
    assert without(objects_of(BLOCK), ["b", "c"]).splitlines() == [
        b'{"a":1.50}',
        b'{"a":12345678901234567890}',
        b'{"a":null}',
    ]
    objects = objects_of(b'{"n": 1, "t": "NA"}{"n": "NA", "t": "x"}')
    assert [json.loads(line) for line in without_texts(objects, ["NA"]).splitlines()] == [
        {"n": 1, "t": "NA"},
        {"n": None, "t": "x"},
    ]
