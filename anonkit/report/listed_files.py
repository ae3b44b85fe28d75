# SPDX-License-Identifier: Apache-2.0
"""The files of the data as the descriptor lists them: one file, or those of a folder one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BYTES = "anonkit:bytes"
"""Key of a file's size. Tools that know `bytes` count it for tables of text alone, and refuse others."""
FILES = "anonkit:files"
"""Key of the data that lists every file of a folder, with its bytes and SHA-256."""


def listed_files(paths: str | list[str], facts: Mapping[str, tuple[int, str]]) -> dict[str, Any]:
    """Return the keys by which a descriptor states the bytes of a data file, or lists the files of a folder.

    Parameters
    ----------
    paths : str or list of str
        The data file, or the files of a folder of data in their order.
    facts : mapping
        Name of each file to its bytes and its SHA-256.
    """
    if isinstance(paths, str):
        return {BYTES: facts[paths][0]}
    files = ((path, *facts[path]) for path in paths)
    return {FILES: [{"path": path, "bytes": size, "hash": f"sha256:{digest}"} for path, size, digest in files]}
