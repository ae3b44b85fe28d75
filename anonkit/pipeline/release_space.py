# SPDX-License-Identifier: Apache-2.0
"""Disk space that a release under noise needs, looked for before anything is drawn.

How much is wanted follows from what is public alone, since a refusal is an output: where the number of rows is private,
it is one number for every table.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from anonkit.bundle.reserved_space import MEGABYTE, ReservedSpace
from anonkit.pipeline.release_output import Output
from anonkit.policy.declaration import Policy
from anonkit.promises.guarantee import Guarantee
from anonkit.promises.neighbouring_tables import REPLACE, Neighbours
from anonkit.protocols import Method

ROWS_UNKNOWN = 64 * MEGABYTE
"""Bytes wanted where the number of rows is private: two million cells and more, with report, page and parameters."""
_SIDECARS = 16 * MEGABYTE
_CELL = 8
"""Bytes of a cell at most: a number has as many before it is packed, and a text is the number of a value in a list."""


def release_space(output: Output, ledger: Path | None) -> ReservedSpace:
    """Return the disks on which a release is drafted, written, booked and described to its owner.

    Parameters
    ----------
    output : Output
    ledger : Path, optional
        File of the ledger; None: there is none, or it is on a server.
    """
    folders = [] if (drafts := drafted_in()) is None else [drafts]
    if output.place is not None and output.place.store is None:
        folders.append(output.place.folder)
    if output.owner_report is not None:
        folders.append(output.owner_report)
    if ledger is not None:
        folders.append(ledger.parent)
    return ReservedSpace(folders)


def drafted_in() -> Path | None:
    """Return the folder of temporary files; None where none can be written to, which a private folder refuses."""
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:
        return None


def bytes_wanted(method: Method, promise: Guarantee, policy: Policy, n_rows: Callable[[], int]) -> int:
    """Return the bytes that the files of a release may have, of which each disk should have as many free.

    Parameters
    ----------
    method : Method
    promise : Guarantee
    policy : Policy
        With a role for every column.
    n_rows : callable
        Counts the rows of the source; called where their number is public.
    """
    loss = promise.loss()
    stated = int(getattr(method, "n_rows", 0) or 0)
    is_public = (
        loss is not None
        and loss.neighbours == Neighbours(adjacency=REPLACE)
        and promise.shows_rows
        and policy.unit is None
    )
    if not stated and not is_public:
        return ROWS_UNKNOWN
    columns = sum(column.is_released for column in policy.columns.values())
    return _SIDECARS + _CELL * columns * (stated or n_rows())
