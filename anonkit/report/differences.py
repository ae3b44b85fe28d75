# SPDX-License-Identifier: Apache-2.0
"""Differences between the privacy reports of two releases, the promise first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from anonkit.documents import ReportPart
from anonkit.errors import ReleaseFormatError

_SKIPPED = ("created", "format", "anonkit_version", "disclosure_risk.class_sizes", "verification", "ledger")
"""Parts that differ between any two releases, or that say the same as others."""
_STRONGER = {"k": 1, "l_diversity": 1, "entropy_l_diversity": 1, "t_closeness": -1, "alpha_k_anonymity": -1}
_STRONGER |= {"epsilon": -1, "delta": -1}
"""Parameters of a promise, and whether more (1) or less (-1) of them protects better."""


@dataclass(frozen=True, kw_only=True)
class ReportDifference(ReportPart):
    """One figure or text that differs."""

    key: str
    """Path of the figure in `report.json`, keys joined by dots."""
    before: Any
    """None where the older report has nothing."""
    after: Any


@dataclass(frozen=True, kw_only=True)
class ReportDiff(ReportPart, keys=("promise=verdict", "differences")):
    """Two reports side by side."""

    verdict: str
    """Comparison of the promises: same, stronger, weaker, or not comparable."""
    differences: tuple[ReportDifference, ...]


def diff_reports(newer: Mapping[str, Any], older: Mapping[str, Any]) -> ReportDiff:
    """Compare two reports.

    Parameters
    ----------
    newer, older : mapping
        What `report.json` of each holds.

    Raises
    ------
    ReleaseFormatError
        One of them is no report.
    """
    try:
        verdict = _verdict(newer["guarantee"], older["guarantee"])
        after, before = dict(_leaves(_keyed(newer))), dict(_leaves(_keyed(older)))
    except (KeyError, TypeError, AttributeError):
        raise ReleaseFormatError("one of the reports is damaged", "anonkit validate tells what was changed") from None
    keys = [key for key in [*after, *(key for key in before if key not in after)] if after.get(key) != before.get(key)]
    differences = [ReportDifference(key=key, before=before.get(key), after=after.get(key)) for key in keys]
    return ReportDiff(verdict=verdict, differences=tuple(sorted(differences, key=lambda path: _rank(path.key))))


def _verdict(newer: Mapping[str, Any], older: Mapping[str, Any]) -> str:
    """Compare two promises of one kind over the same columns; others are not compared."""
    if newer["kind"] != older["kind"]:
        return f"not comparable: {older['kind']} before, {newer['kind']} now"
    new, old = newer["parameters"], older["parameters"]
    same = ("quasi_identifiers", "sensitive", "unit")
    if any(new.get(key) != old.get(key) for key in same) or newer.get("adjacency") != older.get("adjacency"):
        return "not comparable: other columns or another unit are protected"
    steps = set()
    for key, sign in _STRONGER.items():
        before, after = old.get(key), new.get(key)
        if before == after:
            continue
        if before is None or after is None:
            steps.add(1 if before is None else -1)
        else:
            steps.add(sign if float(after) > float(before) else -sign)
    if not steps:
        return "the same promise"
    return {frozenset({1}): "a stronger promise", frozenset({-1}): "a weaker promise"}.get(
        frozenset(steps), "not comparable: stronger in one parameter, weaker in another"
    )


def _keyed(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the report with its columns by name."""
    return {**report, "columns": {column["name"]: column for column in report["columns"]}}


def _leaves(value: object, key: str = "") -> Iterator[tuple[str, Any]]:
    if any(key == skipped or key.startswith(f"{skipped}.") for skipped in _SKIPPED):
        return
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(inner, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list):
        yield key, ", ".join(map(str, value))
    else:
        yield key, value


def _rank(key: str) -> int:
    order = ("guarantee.kind", "guarantee.parameters", "guarantee", "rows", "columns", "disclosure_risk", "utility")
    return next((at for at, prefix in enumerate(order) if key.startswith(prefix)), len(order))
