# SPDX-License-Identifier: Apache-2.0
"""Copies of a release's data in other forms, such as a CSV file: they are those that its descriptor lists."""

from __future__ import annotations

from pathlib import Path

from anonkit.bundle.capped_files import read_capped
from anonkit.bundle.json_documents import parse_json
from anonkit.bundle.release_names import COPIES, DESCRIPTOR
from anonkit.errors import ReleaseFormatError

_WHOLE = ("data", "params", "report")
"""Names that the descriptor of a release has; one of another tool has others."""


def listed_copies(folder: Path, stem: str) -> dict[str, str]:
    """Return the SHA-256 of every copy by its form, as the descriptor of a release states them.

    Parameters
    ----------
    folder : Path
        Place of the release.
    stem : str
        What the names of its files begin with.

    Returns
    -------
    dict
        Empty where there is no descriptor, or none of a release. Whether the files are there is not looked at.
    """
    path = folder / f"{stem}{DESCRIPTOR}"
    try:
        resources = {entry["name"]: entry for entry in parse_json(read_capped(path), repr(str(path)))["resources"]}
        if not all(role in resources for role in _WHOLE):
            return {}
        listed = {form: resources[form] for form in COPIES if form in resources}
        return {
            form: str(entry["hash"]).removeprefix("sha256:")
            for form, entry in listed.items()
            if entry["path"] == f"{stem}{COPIES[form]}"
        }
    except (OSError, ValueError, KeyError, TypeError, RecursionError, ReleaseFormatError):
        return {}
