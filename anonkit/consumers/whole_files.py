# SPDX-License-Identifier: Apache-2.0
"""Files a receiver writes: whole in their place, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from anonkit.bundle.atomic import Staging
from anonkit.bundle.kept_files import refuse_one_place, refuse_replacing
from anonkit.errors import ParameterError, option


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file aside and put it in place when it is complete.

    Parameters
    ----------
    path : path
    write : callable
        Given where to write; what it raises is raised, and nothing is left.
    """
    staging = Staging(path.parent, path.stem)
    try:
        write(staging.folder / path.name)
        staging.commit([path.name])
    finally:
        staging.discard()


def refuse_existing(paths: Sequence[str | Path | None], force: bool, *, read: Iterable[Path]) -> None:
    """Refuse, before any work is done, what would be in the way, and to write over what is read or written.

    Raises
    ------
    ParameterError
        One of the files is there, and none is to be replaced; or it is one that is read, or another of them.
    """
    written = [Path(path) for path in paths if path is not None]
    refuse_one_place(written)
    refuse_replacing(written, read)
    for path in written:
        if path.exists() and not force:
            raise ParameterError(f"{str(path)!r} exists", f"{option('force', True)} replaces it")
