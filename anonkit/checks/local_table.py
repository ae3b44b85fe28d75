# SPDX-License-Identifier: Apache-2.0
"""Validation of randomized tables: the promise, every figure of the report, every cell, and the answer rates.

Nothing is imported that makes or describes a randomized table; the file format is all that is shared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from anonkit.checks.file_checks import FileChecks
from anonkit.checks.local_cells import cell_checks, count_answers
from anonkit.checks.local_params import read_answers
from anonkit.checks.local_promise import promise_checks, published_loss
from anonkit.checks.local_shuffle import shuffle_checks
from anonkit.checks.response_rates import response_rate_checks
from anonkit.promises.guarantee import Check

_SHUFFLED = ("rr", "errph", "trr", "ppnb")
"""Methods whose reports state what the secret shuffle of the rows adds."""


def local_checks(
    data: Path, params: Mapping[str, Any], report: Mapping[str, Any], *, is_promised: bool
) -> Iterator[Check]:
    """Check the draft of a randomized table against its parameters, and what is to be reported against both.

    Parameters
    ----------
    data : path
        The Parquet file or folder.
    params : mapping
        What `params.json` holds.
    report : mapping
        What `report.json` holds, or the blocks of it that `promise_checks` looks at.
    is_promised : bool
        False where nothing is promised, because numbers were multiplied and shifted at random.

    Raises
    ------
    ReleaseFormatError
        The parameters contradict themselves, or a file is damaged.
    """
    table = read_answers(params)
    yield from promise_checks(table, report, is_promised=is_promised)
    yield from cell_checks(table, count_answers(data, table))


def local_file_checks(
    data: Path, params: Mapping[str, Any], report: Mapping[str, Any], *, is_promised: bool
) -> FileChecks:
    """Check the files of a randomized table: as its draft was, its shuffle block, and its answer rates.

    Parameters are those of `local_checks`, with the whole report.
    """
    table = read_answers(params)
    promised = list(promise_checks(table, report, is_promised=is_promised))
    later: list[Check] = []
    if "shuffle" in report or report["method"]["name"] in _SHUFFLED:
        later += shuffle_checks(table, report, published_loss(table).epsilon)
    counts = count_answers(data, table)
    cells = list(cell_checks(table, counts))
    return FileChecks(made=[*promised, *cells], later=[*later, *response_rate_checks(table, counts)])
