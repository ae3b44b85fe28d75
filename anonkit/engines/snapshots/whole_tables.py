# SPDX-License-Identifier: Apache-2.0
"""Whole tables in memory, for commands that check or score a plain table and open files by themselves otherwise."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Unpack

from anonkit.engines.engine_choice import Local
from anonkit.engines.snapshots.addresses import ReadAs, address_of, source_at
from anonkit.engines.snapshots.dispatch import is_read_in_place, refuse_pipes, refuse_text_without_header, snapshot
from anonkit.policy.declaration import Policy

if TYPE_CHECKING:
    import pyarrow as pa


def whole_table(source: str, **how: Unpack[ReadAs]) -> str | pa.Table:
    """Return a table in memory where it comes from an address, a pipe or a format that is copied; else its path.

    Parameters
    ----------
    source : str
        A path, a pattern, `-`, or an address.
    **how
        `query`, `sheet`, `format`, `header_row`, `header`, `names`, `decimal`, `delimiter` and
        `skip_rows`, as for `anonkit.release`.

    Raises
    ------
    SourceError, ParameterError, MissingDependencyError
        As `Snapshot.scan`.
    ChoiceError
        The first line looks like a record, and no option declares whether it is.
    """
    refuse_pipes(address_of(source))
    if is_read_in_place(address_of(source)) and all(value is None for value in how.values()):
        refuse_text_without_header(source)
        return source
    import pyarrow as pa

    with closing(Local().open()) as engine, snapshot(source_at(source, **how)) as stays:
        opened = stays.scan(engine, Policy())
        return pa.Table.from_batches(opened.batches(), schema=opened.schema)
