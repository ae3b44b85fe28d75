# SPDX-License-Identifier: Apache-2.0
"""The folder raw rows may spill to: readable by the owner only, deleted at the end, swept after a crash."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from anonkit.atomic import is_alive

_PREFIX = "anonkit-raw-"


class PrivateFolder:
    """A temporary folder of mode 0700, made when first asked for.

    Privacy
    -------
    It holds source rows. `close` deletes it; after a killed process the next one to make a folder deletes
    what that process left behind.
    """

    __slots__ = ("_path",)

    def __init__(self) -> None:
        self._path: Path | None = None

    @property
    def path(self) -> Path:
        """The folder, made now if it was not there."""
        if self._path is None:
            sweep()
            self._path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        return self._path

    def close(self) -> None:
        """Delete the folder and all in it."""
        if self._path is not None:
            shutil.rmtree(self._path, ignore_errors=True)
            self._path = None


def sweep() -> None:
    """Delete the folders of processes that are no more."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        pid = folder.name.removeprefix(_PREFIX).split("-")[0]
        if not is_alive(pid):
            shutil.rmtree(folder, ignore_errors=True)
