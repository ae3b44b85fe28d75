# SPDX-License-Identifier: Apache-2.0
"""The protocol of an exported form: written, read back cell by cell, then put in place or taken back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

BATCH_ROWS = 1 << 15
"""Rows in memory at a time."""


class ExportedRows(Protocol):
    """The rows of a release."""

    @property
    def schema(self) -> pa.Schema:
        """Names and types; categories are strings."""
        ...

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def categories(self) -> Mapping[str, Sequence[str]]:
        """Strings of columns that have a list of them, in its order."""
        ...

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield them, in order, from the first on at each call."""
        ...


class ExportedForm(Protocol):
    """A release in another form, at one place."""

    escapes_formulas: ClassVar[bool]
    """True: a string that a spreadsheet would take for a formula has an apostrophe in front."""
    empty_is_missing: ClassVar[bool]
    """True: an empty string is no cell."""
    typed_cells: ClassVar[bool]
    """True: cells are read as strings after a letter for their type, s, n or b."""
    digits: ClassVar[int | None]
    """Significant digits of a number that are kept; None: all of them."""

    remains: bool
    """True: cells of what was replaced may stay in the file of a database."""

    def exists(self) -> bool:
        """Return True if the target exists."""
        ...

    def write(self, rows: ExportedRows, sidecars: Mapping[str, bytes]) -> None:
        """Write rows and sidecars aside, or within a transaction."""
        ...

    def columns(self) -> Sequence[tuple[str, str]]:
        """Return name and type of every column, as they are read back; the type is empty where a form has none."""
        ...

    def type_of(self, kind: pa.DataType) -> str:
        """Return the type that a column of the release has in this form."""
        ...

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as they are read back, their cells as the form has them or as its strings."""
        ...

    def commit(self) -> None:
        """Put what was written in place."""
        ...

    def close(self) -> None:
        """Take back what was not put in place."""
        ...


class CopyForm(ExportedForm, Protocol):
    """A form in which the data may be among the files of a release, as one file without sidecars of its own."""

    def refuse_unheld(self, names: Sequence[str], texts: Mapping[str, Sequence[str]]) -> None:
        """Refuse columns that the form cannot hold, before there are rows.

        Parameters
        ----------
        names : sequence of str
            All columns.
        texts : mapping
            Strings that a column may have, by its name, as far as they are declared.

        Raises
        ------
        ParameterError
        """
        ...

    def refuse_size(self, n_rows: int) -> None:
        """Refuse more rows than the form can hold.

        Raises
        ------
        ParameterError
        """
        ...

    def write_table(self, rows: ExportedRows, path: Path) -> None:
        """Write the rows into a file that is not there yet."""
        ...
