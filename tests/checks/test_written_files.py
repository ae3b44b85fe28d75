"""Files of a release that do not belong together, or are no documents of anonkit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from anonkit.bundle.stored_release import DESCRIPTOR, METADATA_KEY, Place
from anonkit.checks.described import _type_of
from anonkit.checks.written_files import manifest_of, read_descriptor
from anonkit.errors import ReleaseFormatError


@pytest.mark.parametrize("raw", [b"no JSON", b"[]", b'{"sidecars": 3}'])
def test_a_damaged_manifest_is_no_manifest(raw: bytes) -> None:
    """It is there, and is no object with a list of sidecars: neither believed nor taken for absent."""
    with pytest.raises(ReleaseFormatError, match="manifest in the data file is damaged"):
        manifest_of(pa.schema([], metadata={METADATA_KEY: raw}))


def test_a_manifest_that_other_tools_dropped_is_absent() -> None:
    """Without metadata, or with those of somebody else."""
    assert manifest_of(pa.schema([])) is None
    assert manifest_of(pa.schema([], metadata={"pandas": "{}"})) is None


def test_a_release_without_a_descriptor_says_so(tmp_path: Path) -> None:
    """The missing file is named."""
    with pytest.raises(ReleaseFormatError, match="does not exist"):
        read_descriptor(Place.of(tmp_path / "out.parquet"))


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("no JSON", "not the descriptor"),
        ({}, "not the descriptor"),
        ({"resources": [{"name": "data"}]}, "not the descriptor"),
        ({"resources": [{"name": "data", "path": "out.parquet", "hash": "sha256:0"}]}, "does not name all files"),
    ],
)
def test_what_is_no_descriptor_is_refused(tmp_path: Path, document: Any, words: str) -> None:
    """No JSON, no resources, none of their hashes, not all of the files."""
    place = Place.of(tmp_path / "out.parquet")
    place.file(DESCRIPTOR).write_text(document if isinstance(document, str) else json.dumps(document))
    with pytest.raises(ReleaseFormatError, match=words):
        read_descriptor(place)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (pa.dictionary(pa.int32(), pa.large_string()), "string"),
        (pa.bool_(), "boolean"),
        (pa.int8(), "integer"),
        (pa.decimal128(9, 2), "number"),
        (pa.date32(), "date"),
        (pa.timestamp("us"), "datetime"),
        (pa.time64("us"), "time"),
        (pa.binary(), "any"),
    ],
)
def test_every_column_has_a_type_of_a_data_package(kind: pa.DataType, name: str) -> None:
    """What has no type there is any."""
    assert _type_of(kind) == name
