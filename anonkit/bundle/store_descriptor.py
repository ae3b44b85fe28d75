# SPDX-License-Identifier: Apache-2.0
"""The content of the descriptor of a release in an object store: a folder, and its files with sizes and SHA-256.

The files of a release in a store are under `out.NUMBER/`, where NUMBER is random and of one run. The descriptor
is beside that folder and names them by their paths in it; on this machine it names them as those of any release.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anonkit.bundle.data_files import SUFFIX, joint_digest
from anonkit.bundle.json_documents import parse_json, to_json
from anonkit.report.listed_files import BYTES, FILES

_NUMBER_BYTES = 16
_DIGEST = re.compile("sha256:([0-9a-f]{64})")


@dataclass(frozen=True, kw_only=True)
class ListedFile:
    """A file as a descriptor lists it."""

    size: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Listing:
    """The content of a descriptor."""

    run: str
    """The folder of the files."""
    files: Mapping[str, ListedFile]
    """Files by their names in that folder."""
    data_sha256: str


def new_run(stem: str) -> str:
    """Return the name of a folder for the files of a new run."""
    return f"{stem}.{secrets.token_hex(_NUMBER_BYTES)}"


def run_pattern(stem: str) -> str:
    """Return the regular expression of the folders of all runs."""
    return rf"{re.escape(stem)}\.[0-9a-f]{{{2 * _NUMBER_BYTES}}}"


def listing_of(content: bytes, stem: str, shown: str) -> Listing:
    """Return the entries of a descriptor.

    A descriptor comes from others: what it lists must lie in the one folder of its run, under names of a release.

    Raises
    ------
    ReleaseFormatError, KeyError, TypeError, ValueError, AttributeError
        It lists none, or otherwise than anonkit does.
    """
    document = parse_json(content, repr(shown))
    found: dict[str, ListedFile] = {}
    data_sha256 = ""
    for resource in document["resources"]:
        if resource["name"] == "data":
            data_sha256 = _digest(resource["hash"])
        parted = isinstance(resource["path"], list)
        for entry in resource[FILES] if parted else [resource]:
            size = entry["bytes" if parted else BYTES]
            if entry["path"] in found or type(size) is not int or size < 0:
                raise ValueError
            found[entry["path"]] = ListedFile(size=size, sha256=_digest(entry["hash"]))
        if parted and resource["path"] != [entry["path"] for entry in resource[FILES]]:
            raise ValueError
    name = re.escape(stem)
    part = rf"{name}{re.escape(SUFFIX)}/part-[0-9]{{5,}}\.parquet"
    allowed = re.compile(rf"({run_pattern(stem)})/({name}\.[a-z.]+|{part})")
    matched = [allowed.fullmatch(path) for path in found]
    runs = {match[1] if match else None for match in matched}
    (run,) = runs
    if run is None:
        raise ValueError
    files = {path.partition("/")[2]: facts for path, facts in found.items()}
    data = f"{stem}{SUFFIX}"
    parts = {
        file.removeprefix(f"{data}/"): facts.sha256 for file, facts in files.items() if file.startswith(f"{data}/")
    }
    if (joint_digest(parts) if parts else files[data].sha256) != data_sha256:
        raise ValueError
    return Listing(run=run, files=files, data_sha256=data_sha256)


def _digest(stated: str) -> str:
    match = _DIGEST.fullmatch(stated)
    if match is None:
        raise ValueError
    return match[1]


def moved(content: bytes, before: str, after: str) -> bytes:
    """Return a descriptor that lists its files under another folder."""
    document: dict[str, Any] = parse_json(content, "the descriptor")

    def moved_path(path: str) -> str:
        return f"{after}{path.removeprefix(before)}"

    for resource in document["resources"]:
        path = resource["path"]
        resource["path"] = [moved_path(one) for one in path] if isinstance(path, list) else moved_path(path)
        for entry in resource.get(FILES, ()):
            entry["path"] = moved_path(entry["path"])
    return to_json(document)
