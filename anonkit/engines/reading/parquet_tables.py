# SPDX-License-Identifier: Apache-2.0
"""Parquet files and datasets, plain or partitioned (`folder/key=value/part.parquet`)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from anonkit.engines.reading.canonical import canonical_type
from anonkit.engines.reading.failures import shielded
from anonkit.engines.reading.file_tables import FileTable
from anonkit.engines.reading.lake_folders import refuse_lake_table
from anonkit.engines.reading.names import check_names
from anonkit.engines.reading.sources import ParquetPart, ParquetRows, not_parquet_table
from anonkit.engines.reading.text_cells import TextCells
from anonkit.engines.reading.untyped import fit_column
from anonkit.errors import SourceError
from anonkit.policy.declaration import Policy
from anonkit.policy.encodings import UTF8, encoding_named

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"

Keys = Mapping[str, str | None]
"""Cells from the names of a file's folders, as strings."""


def open_parquet(path: Path, policy: Policy) -> ParquetRows:
    """Open a Parquet file, or every file in a folder and its subfolders, in the order of their names.

    Files whose name begins with a dot or an underscore are markers of other tools, and skipped. The keys of a
    partitioned folder are strings, typed as the cells of a text file are.

    Raises
    ------
    SourceError
        A file is not Parquet, the files do not fit together, a column is of a type anonkit does not take, or they
        belong to a lake table whose log says which of their rows still count.
    """
    refuse_lake_table(path)
    if encoding_named(policy.encoding) != UTF8:
        raise SourceError(
            f"{str(path)!r} is Parquet, which says its own encoding",
            "leave the encoding out: it is for CSV, TSV and JSON Lines",
        )
    if not path.is_dir():
        return _rows([path], [{}], policy)
    files = data_files(path)
    if not files:
        raise SourceError(f"{str(path)!r} holds no Parquet file")
    keys = [_keys(file.parent.relative_to(path)) for file in files]
    if len({tuple(key) for key in keys}) > 1:
        raise SourceError(f"the files of {str(path)!r} are partitioned by different keys")
    return _rows(files, keys, policy)


def open_parquet_files(table: FileTable, policy: Policy) -> ParquetRows:
    """Open Parquet files that a snapshot wrote or found, in their order, as one table; or one folder of them."""
    if len(table.paths) == 1 and table.path.is_dir():
        return open_parquet(table.path, policy)
    named = table.shown if len(table.paths) == 1 else None
    return _rows(table.paths, [{} for _ in table.paths], policy, named)


def data_files(folder: Path) -> list[Path]:
    """Return the files of a folder and its subfolders, in the order of their names, markers of other tools left out."""
    paths: list[Path] = []
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        paths += [Path(place, name) for name in names if not name.startswith((".", "_"))]
    return sorted(paths)


def _keys(place: Path) -> Keys:
    pairs = (part.partition("=") for part in place.parts if "=" in part)
    return {unquote(key): None if value == _NO_VALUE else unquote(value) for key, _, value in pairs}


def _rows(files: Sequence[Path], keys: Sequence[Keys], policy: Policy, named: str | None = None) -> ParquetRows:
    stored, counts = zip(*(_footer(file, named) for file in files), strict=True)
    schema = _merged(stored, policy)
    constants: list[dict[str, pa.Scalar]] = [{} for _ in files]
    for name in keys[0]:
        if name in schema.names:
            continue  # some tools write the key into the files as well
        texts = pa.array([key[name] for key in keys], pa.string())
        rule = TextCells.of(policy.column(name), cell_by_cell=policy.cell_by_cell)
        kind, cells = fit_column(name, rule, texts, None, 0)
        schema = schema.append(pa.field(name, kind or pa.string()))
        for values, cell in zip(constants, cells, strict=True):
            values[name] = cell
    check_names(schema.names)
    parts = [
        ParquetPart(path=str(file), names=frozenset(own.names), n_rows=n_rows, constants=values, named=named)
        for file, own, n_rows, values in zip(files, stored, counts, constants, strict=True)
    ]
    return ParquetRows(parts=parts, schema=schema, stored_types=_stored_types(stored), cell_by_cell=policy.cell_by_cell)


def _footer(path: Path, named: str | None) -> tuple[pa.Schema, int]:
    def read() -> tuple[pa.Schema, int]:
        with pq.ParquetFile(path) as file:
            return file.schema_arrow.remove_metadata(), file.metadata.num_rows

    schema, n_rows = shielded(read, not_parquet_table(named or repr(str(path))))
    check_names(schema.names)
    return schema, n_rows


def _merged(schemas: Sequence[pa.Schema], policy: Policy) -> pa.Schema:
    """Return all columns in order of first sight, with a canonical type that the type in every file widens to.

    A column that is read cell by cell is a string column where its type differs: a file of floats rounds no integer
    of another.
    """
    kinds: dict[str, dict[pa.DataType, None]] = {}
    for schema in schemas:
        for column in schema:
            kinds.setdefault(column.name, {})[column.type] = None
    by_cell = {name for name in kinds if policy.cell_by_cell or policy.column(name).is_read_by_cell}
    return pa.schema(
        [
            (name, canonical_type(name, _common_type(name, list(kinds_of_column), by_cell=name in by_cell)))
            for name, kinds_of_column in kinds.items()
        ]
    )


def _common_type(name: str, kinds: Sequence[pa.DataType], *, by_cell: bool) -> pa.DataType:
    if len(kinds) == 1:
        return kinds[0]
    if by_cell:
        for kind in kinds:
            canonical_type(name, kind)
        return pa.string()
    schemas = [pa.schema([("column", kind)]) for kind in kinds]
    merged = shielded(
        lambda: pa.unify_schemas(schemas, promote_options="permissive"),
        lambda _: SourceError(f"column {name!r} has types that do not fit together in the files of the folder"),
    )
    return merged.field(0).type


def _stored_types(schemas: Sequence[pa.Schema]) -> dict[str, pa.DataType]:
    """Return the columns of the first file that have one type in all files; none when some file lacks a column."""
    if any(set(schema.names) != set(schemas[0].names) for schema in schemas):
        return {}
    return {
        column.name: column.type
        for column in schemas[0]
        if all(schema.field(column.name).type == column.type for schema in schemas)
    }
