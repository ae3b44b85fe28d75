# SPDX-License-Identifier: Apache-2.0
"""A release as a notebook shows it: promise, checks, columns and the first released rows, as a piece of HTML.

Colours are those of the notebook: text and lines take the colour of the text around them, and what is bad is written
on its own ground, so that the piece is legible in light and dark notebooks, and as plain tables where styles are taken
away. Everything that came with the table is untrusted text; the template escapes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anonkit.errors import ReleaseFormatError
from anonkit.report.document import is_seeded, title_of
from anonkit.report.first_facts import verdict
from anonkit.report.page_templates import fragment
from anonkit.report.promise_words import words_of
from anonkit.report.tabulation import column_row
from anonkit.report.wording import check_words, date_text, gathered, number, required_words

_FEW_COLUMNS = 12
"""Columns up to which their list is unfolded."""
_LONGEST_CELL = 40
"""Letters of a cell that are shown."""


@dataclass(frozen=True, kw_only=True)
class FirstRows:
    """The first rows of a released table."""

    names: Sequence[str]
    """Of the columns that are shown."""
    rows: Sequence[Sequence[object]]
    """Released cells; None is missing."""
    n_columns: int
    """Number of columns of the table."""


def release_fragment(report: Mapping[str, Any], first: FirstRows | None) -> str:
    """Return the view of a release in a notebook.

    Parameters
    ----------
    report : mapping
        What `report.json` holds.
    first : FirstRows, optional
        None where the rows cannot be read.

    Returns
    -------
    str
        HTML without scripts and without references to anything outside.

    Raises
    ------
    ReleaseFormatError
        The report lacks a block, or a block is not what it should be.

    Privacy
    -------
    It shows the public report and released rows, and nothing of the owner's measures.
    """
    return _filled(lambda: {**_claim(report), **_findings(report), "first": _shown(first)})


def dry_run_fragment(report: Mapping[str, Any]) -> str:
    """Return what a notebook shows of a dry run: the claim, which was stated before the table was read.

    Raises
    ------
    ReleaseFormatError
        As for `release_fragment`.

    Privacy
    -------
    No figure of the table is in it.
    """
    return _filled(lambda: {**_claim(report), "dry_run": True})


def _filled(view: Callable[[], dict[str, Any]]) -> str:
    from jinja2 import UndefinedError

    try:
        return fragment("notebook", {"dry_run": False, **view()})
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, UndefinedError) as error:
        raise ReleaseFormatError(
            "the report is not one of anonkit", "anonkit validate tells what was changed"
        ) from error


def _claim(report: Mapping[str, Any]) -> dict[str, Any]:
    promise = report["guarantee"]
    preset = report["method"].get("preset")
    return {
        "title": title_of(report),
        "headline": words_of(promise).headline(promise),
        "conditional": bool(promise["parameters"].get("domains_from_data")),
        "statement": promise["statement"],
        "method": f"{report['method']['name']}, preset {preset}" if preset else report["method"]["name"],
        "version": report["anonkit_version"],
        "limits": promise["not_protected"],
        "seeded": is_seeded(report),
    }


def _findings(report: Mapping[str, Any]) -> dict[str, Any]:
    checks = report["verification"]["checks"]
    columns = [column_row(column) for column in report["columns"]]
    return {
        "created": date_text(report["created"]),
        "figures": words_of(report["guarantee"]).figures(report),
        "verdict": verdict(report),
        "checks": [
            {
                "text": check_words(check["name"])[0],
                "observed": number(check["observed"]),
                "required": required_words(check),
                "passed": check["passed"],
            }
            for check in sorted(gathered(checks), key=lambda check: bool(check["passed"]))
        ],
        "n_checks": len(checks),
        "broken": any(not check["passed"] for check in checks),
        "columns": columns,
        "few_columns": len(columns) <= _FEW_COLUMNS,
    }


def _shown(first: FirstRows | None) -> dict[str, Any] | None:
    if first is None:
        return None
    return {
        "names": first.names,
        "rows": [[_cell(cell) for cell in row] for row in first.rows],
        "more": first.n_columns - len(first.names),
    }


def _cell(value: object) -> str | None:
    """Return a released cell as text of bounded length; None where it is missing."""
    if value is None:
        return None
    text = f"{len(value)} bytes" if isinstance(value, bytes) else str(value)
    return text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 1]}…"
