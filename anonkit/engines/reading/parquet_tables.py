# SPDX-License-Identifier: Apache-2.0
"""Parquet files and datasets, plain or partitioned (`folder/key=value/part.parquet`).

Delta Lake, Apache Hudi and Apache Iceberg tables: refused as plain Parquet, since their files hold deleted rows.

Such a table is what its log says, not what its Parquet files hold. Read as plain Parquet it would release people who
were deleted from it, and some of them twice. `anonkit.engines.snapshots.lake_tables` reads Delta and Iceberg tables by
their logs; no engine opens their files.

A table in files of this machine with a format beyond their names: a copy, or the format that `--format` names.

Column names: the rules by which they must differ.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from anonkit.engines.reading.column_encoding import canonical_type
from anonkit.engines.reading.failures import shielded
from anonkit.engines.reading.preambles import GivenLayout
from anonkit.engines.reading.sources import ParquetPart, ParquetRows, not_parquet_table
from anonkit.engines.reading.text_cells import TextCells, fit_column
from anonkit.errors import SourceError
from anonkit.policy.declaration import Policy
from anonkit.policy.side_files import UTF8, encoding_named

LOGS = {"_delta_log": "Delta Lake", ".hoodie": "Apache Hudi"}
"""Folder in which a table keeps its log, and whose table that is."""
_ICEBERG = "metadata"
_HINT = "let the tool that keeps the table write a snapshot of it as plain Parquet, and release that"


def refuse_lake_table(path: Path) -> None:
    """Refuse a file or folder that is a lake table, is a part of one, or has one below it.

    Parameters
    ----------
    path : Path
        A Parquet file, or a folder of them.

    Raises
    ------
    SourceError
        It is; says whose table it is.
    """
    whole = path.resolve()
    for folder in (whole, *whole.parents):
        kind = kind_of_folder(folder)
        if kind is not None:
            raise lake_table(str(path), kind, "is" if folder == whole else "is a part of")
    for below in whole.rglob("*") if whole.is_dir() else ():
        kind = kind_of_folder(below) if below.is_dir() else None
        if kind is not None:
            raise lake_table(str(path), kind, "holds")


def kind_of_folder(folder: Path) -> str | None:
    """Return the format of the lake table in a folder; None for an ordinary one."""
    for log, kind in LOGS.items():
        if (folder / log).is_dir():
            return kind
    if any((folder / _ICEBERG).glob("*.metadata.json")):
        return "Apache Iceberg"
    return None


def refuse_lake_place(place: str, has: Callable[[str], bool]) -> None:
    """Refuse a place that only an engine can see, when it has the log of a lake table in it.

    Parameters
    ----------
    place : str
        Such as `s3a://bucket/people`.
    has : callable
        Returns whether there is something at a place.

    Raises
    ------
    SourceError
        It is a lake table.
    """
    for log, kind in {**LOGS, f"{_ICEBERG}/*.metadata.json": "Apache Iceberg"}.items():
        if has(f"{place.rstrip('/')}/{log}"):
            raise lake_table(place, kind, "is")


def lake_table(place: str, kind: str, how: str) -> SourceError:
    """Return the refusal of a lake table."""
    return SourceError(
        f"{place!r} {how} a table of {kind}: its files hold rows that were deleted or replaced since", _HINT
    )


TEXTS = "texts"
"""A Parquet file in which cells are strings or missing, in all or some columns: typed as those of a text file are."""


@dataclass(frozen=True, kw_only=True, repr=False)
class FileTable:
    """A table that the readers open by its format, as often as they need to.

    Privacy
    -------
    Its paths may lie in a private folder: messages show `named`.
    """

    paths: Sequence[Path]
    """One file or folder; several files of Parquet are one table in their order."""
    format: str
    """`csv`, `tsv`, `jsonl`, `parquet`, `arrow`, or `TEXTS`."""
    named: str
    """The owner's name of the table, for messages and for its dataset; secrets of an address are still in it."""
    texts: frozenset[str] | None = None
    """Of `TEXTS`: the columns whose cells are strings; None: all are. The others have the types of the file."""
    points: bool = True
    """Of `TEXTS`: numbers have a decimal point, whatever the policy declares of text files."""
    compression: str | None = None
    """`gzip` or `zstd`, of the whole file."""
    has_header: bool = True
    """Of `csv` and `tsv`: the first line holds the names of the columns, and is no row."""
    names: Sequence[str] | None = None
    """Of `csv` and `tsv` without a header: names of the columns; None: c1, c2, …"""
    delimiter: str | None = None
    """Of `csv` and `tsv`: the delimiter of cells; None: by the format or the header."""
    skip_rows: int | None = None
    """Of `csv` and `tsv`: lines above the header; None: they are found."""
    cells_among_names: int = 0
    """Of `TEXTS`: how many names looked like cells when it was copied. See `anonkit.bundle.header_lines`."""
    encoding: str | None = None
    """Of text formats, one of `anonkit.policy.side_files.ENCODINGS`; None: the policy's."""

    def __repr__(self) -> str:
        return f"<FileTable of {self.format}>"

    def layout(self, policy: Policy) -> GivenLayout:
        """Return the declared layout of the lines of a text, by options and by the policy."""
        return GivenLayout(
            has_header=self.has_header,
            names=self.names,
            delimiter=self.delimiter,
            skip_rows=self.skip_rows,
            declared=frozenset(policy.columns),
            by_shape=policy.cell_by_cell,
        )

    @property
    def shown(self) -> str:
        """Name of the table in messages."""
        return "standard input" if self.named == "-" else repr(self.named)

    @property
    def path(self) -> Path:
        """The file or folder, where there is one."""
        return self.paths[0]


def check_names(names: Sequence[object]) -> None:
    """Refuse a table whose columns cannot be distinguished by name.

    Messages give positions: in a file without a header line the names are cells.

    Raises
    ------
    SourceError
        No columns, or a name that is no string, is blank, or occurs twice.
    """
    if not names:
        raise SourceError("the table has no columns")
    first: dict[object, int] = {}
    for number, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise SourceError(f"the name of column {number} is not a text", "rename the columns of the data frame")
        if not name.strip():
            raise SourceError(f"column {number} has no name", "give every column its own name")
        if first.setdefault(name, number) != number:
            raise SourceError(
                f"columns {first[name]} and {number} have the same name", "give every column its own name"
            )


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
