# SPDX-License-Identifier: Apache-2.0
"""Validation of randomized tables: the promise, every figure of the report, every cell, and the answer rates.

Nothing is imported that makes or describes a randomized table; the file format is all that is shared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from anonkit.checks.local_cells import cell_checks, count_answers
from anonkit.checks.local_params import read_answers
from anonkit.checks.local_promise import promise_checks, published_loss
from anonkit.checks.local_shuffle import shuffle_checks
from anonkit.checks.response_rates import response_rate_checks
from anonkit.promises.guarantee import Check

_SHUFFLED = ("rr", "errph", "trr", "ppnb")
"""Methods whose reports say what the secret shuffle of the rows adds."""


def local_checks(
    data: Path, params: Mapping[str, Any], report: Mapping[str, Any], *, rates: bool = True, is_promised: bool
) -> Iterator[Check]:
    """Check a randomized table against its parameters, and the report against both.

    Parameters
    ----------
    data : path
        The Parquet file or folder.
    params : mapping
        What `params.json` holds.
    report : mapping
        What `report.json` holds, or the blocks of it that `promise_checks` looks at.
    rates : bool
        Compare how often each answer was given with the mechanism too.
    is_promised : bool
        False where nothing is promised, because numbers were multiplied and shifted at random.

    Raises
    ------
    ReleaseFormatError
        The parameters contradict themselves, or a file is damaged.
    """
    table = read_answers(params)
    yield from promise_checks(table, report, is_promised=is_promised)
    if rates and ("shuffle" in report or report["method"]["name"] in _SHUFFLED):
        yield from shuffle_checks(table, report, published_loss(table).epsilon)
    counts = count_answers(data, table)
    yield from cell_checks(table, counts)
    if rates:
        yield from response_rate_checks(table, counts)
