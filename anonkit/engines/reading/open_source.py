# SPDX-License-Identifier: Apache-2.0
"""Opening a source: from a path or a table in memory to the module that reads it."""

from __future__ import annotations

import os
from pathlib import Path

from anonkit.engines.reading.arrow_files import open_arrow
from anonkit.engines.reading.delimited import DELIMITERS, open_delimited
from anonkit.engines.reading.failures import shielded
from anonkit.engines.reading.file_tables import TEXTS, FileTable
from anonkit.engines.reading.frames import CanonicalStream, open_frame
from anonkit.engines.reading.json_lines import open_json_lines
from anonkit.engines.reading.parquet_tables import open_parquet, open_parquet_files
from anonkit.engines.reading.preambles import GivenLayout
from anonkit.engines.reading.sources import ParquetRows
from anonkit.engines.reading.text_files import TextFile
from anonkit.engines.reading.text_rows import open_text_rows
from anonkit.engines.reading.untyped import Untyped
from anonkit.errors import SourceError
from anonkit.policy.declaration import Policy
from anonkit.policy.encodings import encoding_named

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": ","}
_JSON = (".jsonl", ".ndjson", ".json")
_PARQUET = (".parquet", ".pq")
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}

FORMATS = (
    "CSV, TSV, JSON Lines (each also .gz or .zst), Parquet, Arrow IPC, workbooks, files of SPSS, SAS and Stata, data "
    "frames with the Arrow interface"
)


def open_table(data: object, policy: Policy) -> ParquetRows | Untyped | CanonicalStream:
    """Open a path or a table in memory; the policy has the strings that mean missing and the declared types.

    Raises
    ------
    SourceError
        There is no such file, its format is not known, or it is not a well-formed table.
    """
    if isinstance(data, FileTable):
        return _open_files(data, policy)
    if not isinstance(data, str | os.PathLike):
        return open_frame(data, policy)
    path = Path(data)
    if not shielded(path.exists, lambda _: SourceError(f"{str(path)!r} cannot be examined")):
        raise SourceError(f"{str(path)!r} does not exist")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = _COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    kind = "".join(suffixes[-2:-1] if compression else suffixes[-1:])
    if path.is_dir() or kind in _PARQUET:
        return open_parquet(path, policy)
    file = TextFile(str(path), compression, encoding_named(policy.encoding))
    if kind in _DELIMITERS:
        given = GivenLayout(declared=frozenset(policy.columns), by_shape=policy.cell_by_cell)
        return open_delimited(file, _DELIMITERS[kind], policy, given)
    if kind in _JSON:
        return open_json_lines(file, policy)
    raise SourceError(f"the format of {str(path)!r} is not known by its name", f"known formats: {FORMATS}")


def _open_files(table: FileTable, policy: Policy) -> ParquetRows | Untyped | CanonicalStream:
    """Open a table by its format, whatever the names of its files."""
    if table.format == TEXTS:
        return open_text_rows(table, policy)
    if table.format == "parquet":
        return open_parquet_files(table, policy)
    if table.format == "arrow":
        return open_arrow(table, policy)
    file = TextFile(str(table.path), table.compression, encoding_named(table.encoding or policy.encoding), table.shown)
    if table.format == "jsonl":
        return open_json_lines(file, policy)
    return open_delimited(file, DELIMITERS[table.format], policy, table.layout(policy))
