# SPDX-License-Identifier: Apache-2.0
"""Files for the owner alone: JSON and pages under the banner, in a folder that is not handed out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anonkit import __version__
from anonkit.bundle.atomic import Staging, reason_of
from anonkit.bundle.json_documents import to_json
from anonkit.errors import EngineError
from anonkit.report.document import build_owner_report

OWNER_REPORT = "owner.report.json"
_DOSSIER = ".dossier.html"


def dossier_name(stem: str | None) -> str:
    """Return the name of the dossier of a release; None for a release in memory."""
    return f"{stem or 'release'}{_DOSSIER}"


def is_dossier_of(data_sha256: str, folder: Path, stem: str) -> bool:
    """Return True if the dossier of a release is in a folder, recognized by the SHA-256 of its data."""
    try:
        owner = json.loads((folder / OWNER_REPORT).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    is_same = isinstance(owner, dict) and owner.get("data_sha256") == data_sha256
    return is_same and (folder / dossier_name(stem)).is_file()


def write_owner_document(folder: Path, name: str, measures: Mapping[str, Any]) -> Path:
    """Write measures of the source under the banner, in a file that its owner alone may read.

    Parameters
    ----------
    folder, name
        As for `write_private`.

    Raises
    ------
    EngineError
        It cannot be written.
    """
    write_private(folder, {name: to_json(build_owner_report(__version__, measures))})
    return folder / name


def write_private(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files that their owner alone may read, together or not at all.

    Parameters
    ----------
    folder : Path
        Made when it is not there, for its owner alone.
    files : mapping
        Content by name; a file that is there is replaced, whoever could read it.

    Raises
    ------
    EngineError
        They cannot be written.
    """
    first, *others = files
    stem = "" if others else first  # what was interrupted may touch files alone that begin so
    try:
        if not folder.exists():
            folder.mkdir(mode=0o700, parents=True)
        staging = Staging(folder, stem)
    except OSError as error:
        raise EngineError(f"cannot write to {str(folder)!r}: {reason_of(error)}") from None
    try:
        for name, content in files.items():
            aside = staging.folder / name
            aside.touch(mode=0o600)
            aside.write_bytes(content)
        staging.commit(list(files))
    except OSError as error:
        raise EngineError(f"cannot write to {str(folder)!r}: {reason_of(error)}") from None
    finally:
        staging.discard()
