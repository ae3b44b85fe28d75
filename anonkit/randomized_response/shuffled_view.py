# SPDX-License-Identifier: Apache-2.0
"""The central guarantee of a randomized table to those who see only its shuffled file."""

from __future__ import annotations

from typing import Any

from anonkit.mechanisms.shuffle_amplification import (
    MOST_LOSS,
    ResponseRatios,
    RowAnswers,
    default_delta,
    uniform_shares,
)
from anonkit.policy.declaration import Policy
from anonkit.promises.pure_local_dp import FEWEST_SHUFFLED, SHUFFLE_ASSUMPTION, SHUFFLE_BOUND, shuffle_obstacle
from anonkit.published.channels.response_channel import Channel
from anonkit.published.randomized_table import PublishedTable


def shuffled_view(table: PublishedTable, policy: Policy, n_rows: int, delta: float | None) -> dict[str, Any]:
    """Return the `shuffle` block of the report: a central (epsilon, delta), or why there is none.

    It says nothing that the local promise does not allow: it follows from the published mechanisms and the number of
    rows, which is public.

    Parameters
    ----------
    table : PublishedTable
        The mechanisms.
    policy : Policy
        Resolved roles; with a unit column people may have several rows.
    n_rows : int
        Rows of the release.
    delta : float, optional
        In (0, 1); by default 1e-6, or 1 / (100 n) if that is smaller.
    """
    reason = _obstacle(table, policy)
    if reason is not None:
        return {"applies": False, "reason": reason}
    target_delta = default_delta(n_rows) if delta is None else delta
    epsilon = table.record_epsilon
    if n_rows >= FEWEST_SHUFFLED and epsilon <= MOST_LOSS:
        row = _row_answers(table)
        amplified = row.amplified(target_delta, n_rows)
        if amplified < row.epsilon:  # else the local promise to its last digit, which sums of logarithms do not have
            epsilon = amplified
    return {
        "applies": True,
        "epsilon": epsilon,
        "delta": target_delta if epsilon < table.record_epsilon else 0,
        "rows": n_rows,
        "adjacency": "replace one record",
        "assumption": SHUFFLE_ASSUMPTION,
        "bound": SHUFFLE_BOUND,
    }


def _obstacle(table: PublishedTable, policy: Policy) -> str | None:
    """Return the reason why the order of the rows hides nobody; None when it does."""
    mechanisms = {attribute.name: attribute.mechanism for attribute in table.attributes}
    if table.target is not None and table.target.mechanism is not None:
        mechanisms[table.target.name] = table.target.mechanism
    bare = [
        name for name, mechanism in mechanisms.items() if not isinstance(mechanism, Channel) or mechanism.ratio is None
    ]
    if bare or policy.unit is not None or not mechanisms:
        return shuffle_obstacle(bare, policy.unit)
    return None


def _row_answers(table: PublishedTable) -> RowAnswers:
    """Return the design of a row's answers: all attributes and the label independently, or one attribute."""
    channels = [_answers(attribute.mechanism) for attribute in table.attributes]
    label = [] if table.target is None or table.target.mechanism is None else [_answers(table.target.mechanism)]
    if table.asked_column is None:
        return RowAnswers.every([*channels, *label])
    answer = RowAnswers.one_of(channels, uniform_shares(len(channels)))
    return answer.compose(RowAnswers.every(label)) if label else answer


def _answers(mechanism: object) -> ResponseRatios:
    assert isinstance(mechanism, Channel)  # noqa: S101 - `_obstacle` came first
    assert mechanism.ratio is not None  # noqa: S101
    return ResponseRatios(ratio=mechanism.ratio, blanket=mechanism.blanket)
