# SPDX-License-Identifier: Apache-2.0
"""Outlook on the next batch: the share of its rows that an owner must expect in groups that are too small."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from anonkit.checks.disclosure import Disclosure
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.protocols import Draft


def expected_suppression(draft: Draft, counted: Disclosure | None, classes: KAnonymity | None) -> dict[str, Any]:
    """Return the suppression that a batch of the same kind and size would need; empty without a recoding.

    Empty where several tables were joined: groups of single rows do not determine what becomes of whole sets.

    Privacy
    -------
    A function of the released class sizes and of the suppressed rows, which the report states: it adds nothing to them.
    """
    if counted is None or classes is None or classes.rows_known or "recoding" not in draft.params:
        return {}
    if classes.averaged:  # rows of a batch go to the nearest group that is large enough
        return {}
    suppressed = draft.rows.get("suppressed")
    share = expected_small_share(counted.sizes, classes.k, suppressed if isinstance(suppressed, int) else 0)
    return {
        "next_batch": {
            "expected_share_in_groups_too_small": round(share, 4),
            "share_that_may_be_left_out": draft.rows.get("suppression_limit", 0.0),
        }
    }


def expected_small_share(sizes: Sequence[tuple[int, int]], k: int, suppressed: int) -> float:
    """Return the expected share of rows (people) in groups below k when every group is drawn again.

    A group of n rows has Poisson(n) rows in a batch of the same kind and size. Its rows count while they are fewer than
    k: E[X; X < k] = n P(X <= k - 2). Rows that were left out are taken to be in groups that stay too small.

    Parameters
    ----------
    sizes : sequence of (size, number of groups of this size)
        Sizes are 1 or more.
    k : int
        2 or more.
    suppressed : int
        Rows that were left out, 0 or more.

    Returns
    -------
    float
        In [0, 1]; 0 for an empty table.
    """
    rows = suppressed + sum(size * number for size, number in sizes)
    small = suppressed + sum(number * size * _at_most(k - 2, size) for size, number in sizes)
    return small / rows if rows else 0.0


def _at_most(most: int, mean: int) -> float:
    """Return P(X <= most) for X of the Poisson law."""
    return math.fsum(math.exp(x * math.log(mean) - mean - math.lgamma(x + 1)) for x in range(most + 1))
