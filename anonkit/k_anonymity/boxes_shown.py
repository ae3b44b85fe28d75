# SPDX-License-Identifier: Apache-2.0
"""The report's words on the columns that a division into boxes shows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anonkit.published.recoding import LocalRecoding
from anonkit.report.blocks import ColumnFacts


def box_facts(names: Sequence[str], recoding: LocalRecoding) -> dict[str, ColumnFacts]:
    """Return the share of the cuts that are on each column, and why the others are dropped."""
    cuts = np.bincount([node.axis for node in recoding.nodes if node is not None], minlength=len(recoding.axes))
    reason = (
        "no division by it was kept: others kept more of the target or the detail, or it showed no more than chance"
    )
    facts: dict[str, ColumnFacts] = {name: {"reason": reason} for name in names}
    for axis, n_cuts in zip(recoding.axes, cuts, strict=True):
        share = float(n_cuts / max(cuts.sum(), 1))
        facts[axis.name] = {
            "importance": share,
            "reason": f"the rows were divided in two {cuts.sum():,} times, {n_cuts:,} of them by this column"
            + ("" if recoding.narrowed is None else "; boxes show what their rows have of it"),
        }
    return facts
