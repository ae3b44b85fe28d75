"""A descriptor that lists its files otherwise than anonkit does describes no release in an object store."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from objects_in_memory import Bucket

import anonkit
from anonkit.bundle.release_place import Place
from anonkit.errors import ParameterError, ReleaseFormatError

OUT = "s3://bucket/monthly/out.parquet"
KEY = "monthly/out.datapackage.json"


def _edit(edit: Callable[[dict[str, Any]], None]) -> Callable[[bytes], bytes]:
    def edited(content: bytes) -> bytes:
        document = json.loads(content)
        edit(document)
        return json.dumps(document).encode()

    return edited


def _data(document: dict[str, Any]) -> dict[str, Any]:
    return next(resource for resource in document["resources"] if resource["name"] == "data")


def _rename(document: dict[str, Any], name: str) -> None:
    data = _data(document)
    data["path"][0] = data["anonkit:files"][0]["path"] = name


@pytest.mark.parametrize(
    "forge",
    [
        lambda content: b"no JSON",
        lambda content: content[: len(content) // 2],
        _edit(lambda document: _data(document).pop("anonkit:files")),
        _edit(lambda document: _data(document)["path"].reverse()),
        _edit(lambda document: _data(document)["anonkit:files"][0].update(bytes=-1)),
        _edit(lambda document: _data(document)["anonkit:files"][0].update(hash="sha256:0")),
        _edit(lambda document: _data(document)["anonkit:files"][0].update(hash="sha256:" + "0" * 64)),
        _edit(lambda document: _rename(document, "/etc/passwd")),
        _edit(lambda document: _rename(document, f"out.{'0' * 32}/../out.parquet")),
        _edit(lambda document: _rename(document, f"out.{'0' * 32}/out.parquet/part-00000.parquet")),
        _edit(lambda document: document["resources"][1].update(path="out.params.json")),
    ],
)
def test_a_descriptor_that_lists_otherwise_than_anonkit_is_none(
    bucket: Bucket, released: anonkit.Release, forge: Callable[[bytes], bytes]
) -> None:
    """Names outside of one run, hashes that do not add up, a torn document: there is no release."""
    released.save(OUT)
    bucket.objects[KEY] = forge(bucket.objects[KEY])

    with pytest.raises(ReleaseFormatError, match="is not the descriptor of a release in a store"):
        anonkit.load(OUT)
    with pytest.raises(ParameterError, match="exists"):  # and nobody replaces it unasked
        released.save(OUT)
    released.save(OUT, force=True)
    assert anonkit.validate(OUT).passed


def test_without_a_descriptor_there_is_no_release(bucket: Bucket, released: anonkit.Release) -> None:
    """Without a descriptor there is no release, with any other files."""
    released.save(OUT)
    del bucket.objects[KEY]

    with pytest.raises(ReleaseFormatError, match="does not exist"):
        anonkit.load(OUT)
    assert Place.of(OUT).stray_objects == 6
