# SPDX-License-Identifier: Apache-2.0
"""Integrity of a release's files: their format, their hashes, and the manifest inside the data file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit.bundle.capped_files import read_capped, refuse_irregular
from anonkit.bundle.data_files import sha256
from anonkit.bundle.json_documents import parse_json
from anonkit.bundle.release_names import DATA, DESCRIPTOR, METADATA_KEY, PAGE, PARAMS, REPORT
from anonkit.bundle.release_names import FORMAT as RELEASE_FORMAT
from anonkit.bundle.release_place import Place
from anonkit.errors import ReleaseFormatError
from anonkit.promises.guarantee import Check
from anonkit.report.document import FORMAT as REPORT_FORMAT

PARAMS_FORMAT = "anonkit-params/2"
"""Of releases with a recoding; the params of others name the format of their mechanism."""
_MECHANISMS = (
    "anonkit-randomized-1", "anonkit-forest-1", "anonkit-forest-2",
    "anonkit-noisy-tables-1", "anonkit-noisy-tables-2",
    "anonkit-noisy-histogram-1", "anonkit-aggregates-1",
    "anonkit-marginals-1", "anonkit-marginals-2", "anonkit-statement-1",
)  # fmt: skip
_RECODED = (PARAMS_FORMAT, "anonkit-drawn-rows-1")
_CURRENT = {"report.json": (REPORT_FORMAT,), "the manifest of the data": (RELEASE_FORMAT,)}
_LISTED = {suffix.lstrip(".") for suffix in (PARAMS, REPORT, PAGE)}
"""The sidecars whose hashes are in the data file; that of the descriptor cannot."""
_OLDER = ("anonkit-report/1", "anonkit-params/1", "anonkit-release/1")
"""Formats that lack what is looked at today: what they hold is neither a kept promise nor a forgery."""


_MOST_RESOURCES = 16
_LONGEST_NAME = 255
"""Bytes of a file's name."""


def refuse_other_formats(params: Mapping[str, Any], report: Mapping[str, Any], schema: pa.Schema) -> None:
    """Refuse to judge a release that was written in another format.

    Raises
    ------
    ReleaseFormatError
        One of its files is of an older format, or of one that this version does not know.
    """
    manifest = manifest_of(schema)
    versions = {"report.json": report.get("format"), "params.json": params.get("format")}
    if manifest is not None:
        versions["the manifest of the data"] = manifest.get("format")
    for file, version in versions.items():
        if version in _OLDER:
            raise ReleaseFormatError(
                f"written by an older format: {file} is {version}, which lacks what is checked today",
                f"release the table anew, or validate with the version that wrote it (anonkit {_version(report)})",
            )
        known = (_RECODED if "recoding" in params else _MECHANISMS) if file == "params.json" else _CURRENT[file]
        if version not in known:
            raise ReleaseFormatError(
                f"{file} is of a format that this version of anonkit does not know", "use the version that wrote it"
            )


def _version(report: Mapping[str, Any]) -> str:
    version = report.get("anonkit_version")
    return (
        version if isinstance(version, str) and re.fullmatch(r"[0-9][0-9A-Za-z.+]{0,30}", version) else "of that time"
    )


def manifest_of(schema: pa.Schema) -> Mapping[str, Any] | None:
    """Return the manifest in the metadata of the data file; None when other tools dropped it.

    Raises
    ------
    ReleaseFormatError
        It is there and no JSON object.
    """
    raw = (schema.metadata or {}).get(METADATA_KEY.encode())
    if raw is None:
        return None
    try:
        manifest = parse_json(raw, "the manifest in the data file")
    except ReleaseFormatError:
        manifest = None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("sidecars"), dict):
        raise ReleaseFormatError("the manifest in the data file is damaged", "was the file rewritten by another tool?")
    return manifest


def read_descriptor(place: Place) -> dict[str, Any]:
    """Read the Data Package descriptor of a release."""
    path = place.file(DESCRIPTOR)
    try:
        raw: dict[str, Any] = parse_json(read_capped(path), repr(str(path)))
        if len(raw["resources"]) > _MOST_RESOURCES:
            raise ValueError
        resources = {resource["name"]: _is_described(resource) for resource in raw["resources"]}
    except FileNotFoundError:
        raise ReleaseFormatError(f"{str(path)!r} does not exist") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ReleaseFormatError(f"{str(path)!r} is not the descriptor of a release") from None
    if not all(resources.values()):
        raise ReleaseFormatError(f"{str(path)!r} is not the descriptor of a release")
    if set(resources) < {"data", "params", "report", "page"}:
        raise ReleaseFormatError(f"{str(path)!r} does not name all files of the release")
    return raw


def _is_described(resource: Mapping[str, Any]) -> bool:
    """Return True if a file of a descriptor has a path that can be one, and a hash."""
    paths = resource["path"] if isinstance(resource["path"], list) else [resource["path"]]
    named = all(
        isinstance(path, str) and all(len(os.fsencode(part)) <= _LONGEST_NAME for part in path.split("/"))
        for path in paths
    )
    return named and bool(paths) and isinstance(resource["name"], str) and isinstance(resource["hash"], str)


def hash_checks(place: Place, descriptor: Mapping[str, Any]) -> Iterator[Check]:
    """Compare every file with the hash that the descriptor has of it."""
    for resource in descriptor["resources"]:
        is_data = resource["name"] == "data"
        path = place.file(DATA) if is_data else place.folder / Path(resource["path"]).name
        if not is_data:
            refuse_irregular(path)
        actual = sha256(path) if path.exists() else None
        stated = str(resource["hash"]).removeprefix("sha256:")
        yield Check(name=f"hash:{resource['name']}", passed=actual == stated, observed=actual, required=stated)


def manifest_checks(place: Place, schema: pa.Schema) -> Iterator[Check]:
    """Compare the sidecars with the hashes inside the data file; other tools drop those when they rewrite it."""
    manifest = manifest_of(schema)
    if manifest is None:
        yield Check(name="manifest", passed=False, observed="absent", required="present")
        return
    listed = set(manifest["sidecars"])
    yield Check(name="manifest", passed=listed == _LISTED, observed=len(listed), required=len(_LISTED))
    for name in sorted(_LISTED & listed):
        stated = manifest["sidecars"][name]
        path = place.file(f".{name}")
        actual = sha256(path) if path.exists() else None
        yield Check(name=f"manifest:{name}", passed=actual == stated, observed=actual, required=stated)
