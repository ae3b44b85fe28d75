# SPDX-License-Identifier: Apache-2.0
"""Validation of a release by a noise statement, of whatever method: its account, its noise, its table, its report.

The method is not called, and its package need not be installed. Loss, words and lines are worked out from the statement
in the params, by tables that no method shares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from anonkit.checks.stated_account import account_checks
from anonkit.checks.stated_noise import noise_checks
from anonkit.checks.stated_params import read_statement
from anonkit.checks.stated_report import report_checks
from anonkit.checks.stated_rows import row_checks
from anonkit.errors import refusing_damage
from anonkit.promises.guarantee import Check

_DAMAGED = "the params or the report lack a key or have one of the wrong kind"


def stated_checks(data: Path, params: Mapping[str, Any], guarantee: Mapping[str, Any]) -> Iterator[Check]:
    """Check a release by a noise statement, but for its report: account against promise, its noise, its table.

    Parameters
    ----------
    data : path
        The Parquet file or folder.
    params : mapping
        What `params.json` holds.
    guarantee : mapping
        The `guarantee` block of the report.

    Raises
    ------
    ReleaseFormatError
        The params are damaged, or have a query or a law of noise that cannot be checked.
    """
    with refusing_damage(_DAMAGED):
        release = read_statement(params)
        sound = True
        for check in account_checks(release, params, guarantee):
            sound = sound and check.passed
            yield check
        if sound:  # else the noise is not that of the account
            yield from noise_checks(release)
        yield from row_checks(data, release, params)


def stated_report_checks(params: Mapping[str, Any], report: Mapping[str, Any]) -> Iterator[Check]:
    """Compare the report of a release by a noise statement with its params; errors are those of `stated_checks`."""
    with refusing_damage(_DAMAGED):
        yield from report_checks(read_statement(params), params, report)
