# SPDX-License-Identifier: Apache-2.0
"""Rows of a database or a lake as a private copy: with the types that they bring, and no type that a cell has not."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import pyarrow as pa

from anonkit.engines.reading.canonical import canonical_schema
from anonkit.engines.reading.file_tables import FileTable
from anonkit.engines.reading.names import check_names
from anonkit.engines.snapshots.private_copies import typed_copy


def written_copy(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, folder: Path, named: str, texts: Collection[str] = ()
) -> FileTable:
    """Write the rows of a source; return the table that readers open.

    Cells are as the source gave them: what is canonical the readers decide by the policy.

    Parameters
    ----------
    batches : iterator of pyarrow.RecordBatch
        Errors of the source are `AnonkitError` already.
    schema : pyarrow.Schema
        Their names and types, in table order.
    folder : Path
        A private folder.
    named : str
        What the owner called the source.
    texts : collection of str
        Columns of strings without a type of their own: they are typed as the cells of a text file are.

    Raises
    ------
    SourceError
        The columns cannot be distinguished by name, or one is of a type that is none of a cell.
    EngineError
        The copy cannot be written.
    """
    check_names(schema.names)
    canonical_schema(schema)
    stored = pa.schema([(field.name, _stored_type(field.type)) for field in schema])
    return typed_copy(folder, stored, (batch.cast(stored) for batch in batches), named, texts)


def _stored_type(given: pa.DataType) -> pa.DataType:
    """Return the type in the copy: one type of strings, and categories as strings."""
    if pa.types.is_dictionary(given):
        return _stored_type(given.value_type)
    return pa.string() if pa.types.is_large_string(given) or pa.types.is_string_view(given) else given
