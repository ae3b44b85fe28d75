# SPDX-License-Identifier: Apache-2.0
"""Delta Lake and Apache Iceberg tables in folders of this machine: which library reads one, and which is refused.

Such a table is what its log lists, not what its Parquet files hold: rows that were deleted or replaced since are still
in the files. Tables of Apache Hudi are refused, as is a folder that is only a part of a table or has one below it
(`anonkit.engines.reading.parquet_tables`).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from anonkit.engines.reading.failures import shielded
from anonkit.engines.reading.parquet_tables import kind_of_folder, lake_table
from anonkit.engines.snapshots.addresses import SourceAddress
from anonkit.engines.snapshots.dispatch import LiveTable
from anonkit.engines.snapshots.postgresql_tables import refuse_parameters
from anonkit.errors import ParameterError, SourceError
from anonkit.policy.declaration import Policy

_STATES: Mapping[str, tuple[str, str, str]] = {
    # kind: module, its name among formats, the parameter that names an earlier state
    "Delta Lake": ("delta_tables", "delta", "version"),
    "Apache Iceberg": ("iceberg_tables", "iceberg", "snapshot"),
}


def live_table(address: SourceAddress, policy: Policy) -> LiveTable:
    """Return the table in a folder; `delta:///FOLDER?version=3` and `iceberg:///FOLDER?snapshot=ID` name its past.

    Raises
    ------
    SourceError
        The folder is not there, or holds no table, or one of another kind.
    ParameterError
        A parameter is not known, or no integer.
    """
    address.refuse("query", "sheet", "header_row", "header", "names", "delimiter", "skip_rows", of="a lake table")
    folder = address.file_path
    if not shielded(folder.is_dir, lambda _: SourceError(f"{str(folder)!r} cannot be examined")):
        raise SourceError(f"{str(folder)!r} does not exist", "delta:///people is a folder in this one")
    kind = kind_of_folder(folder.resolve())
    named_kind = address.scheme or address.format
    known = _STATES.get(kind or "")
    if kind is None or (named_kind is not None and known is not None and named_kind != known[1]):
        raise SourceError(
            f"{str(folder)!r} is no table of {named_kind or 'a lake'}", "name the folder that has its log"
        )
    if known is None:
        raise lake_table(str(folder), kind, "is")
    module, _, parameter = known
    refuse_parameters(address, parameter)
    return _of(module, folder, address.place, _number(address, parameter))


def _of(module: str, folder: Path, named: str, state: int | None) -> LiveTable:
    made: LiveTable = import_module(f"{__package__}.{module}").lake_table_at(folder, named, state)
    return made


def _number(address: SourceAddress, parameter: str) -> int | None:
    text = address.parameters.get(parameter)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal()):
        raise ParameterError(f"{parameter} ({text}) must be a whole number", "leave it out for the table as it is now")
    return int(text)
