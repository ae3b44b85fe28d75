# SPDX-License-Identifier: Apache-2.0
"""The privacy report: one document, as JSON for machines and as one HTML page for the person who signs.

Everything in it is public. What is computed from the source and not covered by the promise belongs in the owner
report, which carries its own banner and is never beside the release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from anonkit.errors import on_command_line
from anonkit.promises.guarantee import Check, Guarantee

FORMAT = "anonkit-report/2"
SECURE = "secure"
"""Word of a report for randomness that nobody can draw again; every other word is of a seed."""
OWNER_FORMAT = "anonkit-owner-report/1"
OWNER_BANNER = "DO NOT PUBLISH: computed from the source table, not covered by the promise of the release."


def build_report(
    *,
    version: str,
    method: Mapping[str, Any],
    promise: Guarantee,
    columns: Sequence[Mapping[str, Any]],
    rows: Mapping[str, Any],
    checks: Sequence[Check],
    randomness: str,
    disclosure_risk: Mapping[str, Any],
    details: Mapping[str, Any],
    dataset: str | None,
    source_name: str | None = None,
    recipients: Sequence[str] = (),
    domains_declared_by: str | None,
    notes: Sequence[str],
) -> dict[str, Any]:
    """Return `report.json` as a document; every key of the contract is present.

    Parameters
    ----------
    source_name : str, optional
        What the source's file or table is called. The key is absent where the dataset has a name.
    recipients : sequence of str
        Whom the table is meant for, as declared; the key is absent where nobody is.
    details : mapping
        Blocks the method adds or fills: `budget`, `utility`, `search`.
    """
    document: dict[str, Any] = {
        "format": FORMAT,
        "anonkit_version": version,
        "created": datetime.now(UTC).replace(microsecond=0).isoformat(),
        "dataset": dataset,
        **({"source_name": source_name} if source_name and not dataset else {}),
        **({"recipients": list(recipients)} if recipients else {}),
        "method": dict(method),
        "guarantee": promise.to_dict(),
        "budget": {"epsilon": None, "delta": None, "per_level": [], "per_attribute": []},
        "columns": [dict(column) for column in columns],
        "rows": dict(rows),
        "disclosure_risk": dict(disclosure_risk),
        "utility": {},
        "verification": {"checks": [check.to_dict() for check in checks]},
        "randomness": randomness,
        "domains_declared_by": domains_declared_by,
        "notes": [on_command_line(note) for note in notes],  # a file is read by people who type commands
    }
    for block, value in details.items():
        document[block] = {**document.get(block, {}), **value} if isinstance(value, Mapping) else value
    return document


def title_of(report: Mapping[str, Any]) -> str:
    """Return what a release is called where people read of it: its dataset, else the file or table it was made from."""
    return str(report["dataset"] or report.get("source_name") or "unnamed table")


def is_seeded(report: Mapping[str, Any]) -> bool:
    """Return True if the randomness of a release can be reproduced, so that it is for tests and not for release."""
    return bool(report["randomness"] != SECURE)


def build_owner_report(version: str, measures: Mapping[str, Any]) -> dict[str, Any]:
    """Return the owner report as a document, banner first."""
    return {"format": OWNER_FORMAT, "banner": OWNER_BANNER, "anonkit_version": version, **measures}
