# SPDX-License-Identifier: Apache-2.0
"""Raw risk: what an attacker could do with the source table as it is, counted on its own quasi-identifiers."""

from __future__ import annotations

from typing import Any

from anonkit.checks.disclosure import Disclosure
from anonkit.policy.declaration import Policy
from anonkit.protocols import Engine, Source


def source_risk(table: Source, engine: Engine, policy: Policy, threshold: float) -> dict[str, Any]:
    """Return the disclosure risk of a source in the terms of the report's `disclosure_risk`.

    Parameters
    ----------
    table : Source
        With settled cells: units are the keys by which people are distinguished.
    policy : Policy
        With a role for every column; with a unit column people are counted.
    threshold : float
        Risk above which a record counts as at risk, in (0, 1).

    Returns
    -------
    dict
        `quasi_identifiers`, `rows`, `classes`, `k`, `uniques`, `counted`, and `prosecutor`, `journalist`, `marketer`
        as the report has them; empty where no column is a quasi-identifier.

    Privacy
    -------
    Counted on the source and covered by no promise: for the owner.
    """
    names, unit = list(policy.quasi_identifiers), policy.unit
    if not names:
        return {}
    sizes = engine.class_sizes(table, names, 2, unit)
    counted = Disclosure(
        rows=sizes.rows,
        classes=sizes.classes,
        k=sizes.smallest,
        people=sizes.smallest if unit is not None else None,
        class_sizes=sizes.histogram,
        people_sizes=None if unit is None else sizes.histogram,
    )
    figures = counted.to_dict(threshold)
    return {
        "quasi_identifiers": names,
        "rows": table.n_rows,
        "k": sizes.smallest,
        **{key: figures[key] for key in ("classes", "uniques", "counted", "prosecutor", "journalist", "marketer")},
    }
