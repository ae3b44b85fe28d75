# SPDX-License-Identifier: Apache-2.0
"""JSON Lines files: one object a line, in file order; texts stay texts, whatever they look like."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pajson

from anonkit.engines.canonical import canonical_array, canonical_type
from anonkit.engines.failures import shielded, shielded_iterator
from anonkit.engines.names import check_names
from anonkit.engines.text_files import TextFile
from anonkit.engines.untyped import NotOfType, Untyped
from anonkit.errors import SourceError

_BLOCK = 8 << 20  # bytes parsed at a time
_LONGEST = 64 << 20  # bytes of the longest line


def open_json_lines(file: TextFile) -> Untyped:
    """Open a JSON Lines file: the columns are the keys of all its objects, in order of first sight.

    Raises
    ------
    SourceError
        The file is empty, not UTF-8, damaged, or a line is not an object of plain values.
    """
    head, _ = file.head(_BLOCK)
    if not head.strip():
        raise SourceError(f"{file} is empty", "a table needs at least one line")
    table = _JsonLines(file)
    names = table.names()
    check_names(names)
    return Untyped(names=names, open=table.batches, cells={name: _JsonCells() for name in names})
