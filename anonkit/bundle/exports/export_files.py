# SPDX-License-Identifier: Apache-2.0
"""An exported file with its sidecars beside it: written aside, read back there, and renamed into place together."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar
from zipfile import BadZipFile

import pyarrow as pa

from anonkit.bundle.atomic import Staging, finish, reason_of
from anonkit.bundle.exports.export_targets import Target
from anonkit.bundle.exports.exported_form import ExportedRows
from anonkit.errors import EngineError, ReleaseFormatError
from anonkit.report.descriptor import MEDIA_TYPES

DESCRIPTOR = "datapackage.json"
"""The sidecar that describes the exported file, with the hash of each file."""


class ExportFile(ABC):
    """One file of its own; a subclass writes and reads its rows."""

    escapes_formulas: ClassVar[bool] = False
    empty_is_missing: ClassVar[bool] = False
    typed_cells: ClassVar[bool] = False
    digits: ClassVar[int | None] = None

    def __init__(self, target: Target) -> None:
        assert target.path is not None  # noqa: S101 - targets of files have one
        self.target, self.path = target, target.path
        self._staging: Staging | None = None
        self.remains = False
        self._names: list[str] = []

    @property
    def readable(self) -> Path:
        """The file that is read: the one written aside, else the one in place."""
        return self.path if self._staging is None else self._staging.folder / self.path.name

    def refuse_unheld(self, names: Sequence[str], texts: Mapping[str, Sequence[str]]) -> None:  # noqa: B027
        """Refuse nothing: the form holds any columns."""

    def refuse_size(self, n_rows: int) -> None:  # noqa: B027
        """Refuse nothing: the form holds any number of rows."""

    @abstractmethod
    def write_table(self, rows: ExportedRows, path: Path) -> None:
        """Write the rows into a file."""

    def exists(self) -> bool:
        """Return True if the file is there; what a killed process had finished is put in place first."""
        if self.path.parent.is_dir():
            finish(self.path.parent, self.path.name)
        return self.path.exists()

    def write(self, rows: ExportedRows, sidecars: Mapping[str, bytes]) -> None:
        """Write the file and its sidecars into a hidden folder beside its place.

        Raises
        ------
        EngineError
            The folder cannot be written to.
        """
        self._staging = Staging(self.path.parent, self.path.name)
        try:
            self.write_table(rows, self.readable)
            for name, content in self._described(sidecars).items():
                (self._staging.folder / name).write_bytes(content)
                self._names.append(name)
        except OSError as error:
            raise EngineError(f"cannot write {str(self.path)!r}: {reason_of(error)}") from None

    def _described(self, sidecars: Mapping[str, bytes]) -> dict[str, bytes]:
        """Return the sidecars by name, the descriptor with this file in the place of the release's data file."""
        prefix = f"{self.path.name}."
        files = {f"{prefix}{name}": content for name, content in sidecars.items() if name != DESCRIPTOR}
        document = json.loads(sidecars[DESCRIPTOR])
        data = next(resource for resource in document["resources"] if resource["name"] == "data")
        with self.readable.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        form = self.target.form
        data |= {"path": self.path.name, "format": form, "mediatype": MEDIA_TYPES[form], "hash": f"sha256:{digest}"}
        described = [data]
        for resource in document["resources"]:
            content = files.get(f"{prefix}{resource['name']}.json")
            if content is not None:
                named = {"path": f"{prefix}{resource['name']}.json"}
                described.append({**resource, **named, "hash": f"sha256:{hashlib.sha256(content).hexdigest()}"})
        document["resources"] = described
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        return {**files, f"{prefix}{DESCRIPTOR}": text.encode()}

    @contextmanager
    def refusing_unreadable(self) -> Iterator[None]:
        """Refuse a file that cannot be read, without a word of its content.

        Raises
        ------
        ReleaseFormatError
            It is no file of its form, or damaged.
        """
        try:
            yield
        except (pa.ArrowException, BadZipFile, OSError, KeyError, ValueError, SyntaxError):
            raise ReleaseFormatError(f"{str(self.path)!r} cannot be read as {self.target.form}") from None

    def commit(self) -> None:
        """Rename the file and its sidecars into place."""
        assert self._staging is not None  # noqa: S101 - it was written
        self._staging.commit([self.path.name, *self._names])

    def close(self) -> None:
        """Delete what was not put in place."""
        if self._staging is not None:
            self._staging.discard()
            self._staging = None
