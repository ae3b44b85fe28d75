# SPDX-License-Identifier: Apache-2.0
"""Files of a release compared with the SHA-256 that its descriptor states of each, before they are used."""

from __future__ import annotations

from pathlib import Path

from anonkit.bundle.capped_files import read_capped
from anonkit.bundle.data_files import sha256
from anonkit.bundle.json_documents import parse_json
from anonkit.bundle.release_names import DATA, DESCRIPTOR
from anonkit.bundle.release_place import Place
from anonkit.errors import GuaranteeError, ReleaseFormatError


def refuse_changed(place: Place, *suffixes: str) -> None:
    """Compare files with the hashes in the descriptor of their release, before they are used.

    A descriptor that is absent states no hash: there is nothing to compare with then.

    Parameters
    ----------
    place : Place
    *suffixes : str
        Of the files that will be used; those that are absent are passed over.

    Raises
    ------
    GuaranteeError
        A file is not the one that was released.
    ReleaseFormatError
        The descriptor cannot be read.
    """
    descriptor = place.file(DESCRIPTOR)
    if not descriptor.exists():
        return
    stated = stated_hashes(descriptor)
    for suffix in suffixes:
        path, name = place.file(suffix), "data" if suffix == DATA else suffix.split(".")[1]
        if path.exists() and sha256(path) != stated.get(name):
            raise GuaranteeError(
                f"{place.shown(suffix)!r} was changed after the release: its SHA-256 is not that of the descriptor",
                "take the files from their owner again; `anonkit validate` looks at all of them",
            )


def stated_hashes(descriptor: Path) -> dict[str, str]:
    """Return the SHA-256 of every file by its role, as a descriptor states them.

    Raises
    ------
    ReleaseFormatError
        It is no descriptor.
    """
    try:
        resources = parse_json(read_capped(descriptor), repr(str(descriptor)))["resources"]
        return {str(resource["name"]): str(resource["hash"]).removeprefix("sha256:") for resource in resources}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise ReleaseFormatError(f"{str(descriptor)!r} is not the descriptor of a release") from None
