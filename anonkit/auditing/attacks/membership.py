# SPDX-License-Identifier: Apache-2.0
"""The membership attack: deciding from the best-matching released row whether a person was in the table."""

from __future__ import annotations

from typing import Any

import numpy as np

from anonkit.auditing.attacks.rates import Attack, Rate


def membership(members: np.ndarray[Any, Any], others: np.ndarray[Any, Any]) -> Attack:
    """Return the attack that calls everybody a member who is fitted at least so well.

    Parameters
    ----------
    members, others : array
        Evidence of the best-fitting row for people of the table and for people who are not in it.

    Notes
    -----
    One half of each chooses the threshold, the other half is attacked: the attack rate is the share of members that are
    recognised, the control rate that of others who are taken for members. Under pure ε-differential privacy their
    difference is at most (e^ε - 1) / (e^ε + 1).
    """
    half_m, half_o = members.size // 2, others.size // 2
    thresholds = np.unique(np.concatenate([members[:half_m], others[:half_o], [np.inf]]))
    seen = np.array(
        [(members[:half_m] >= threshold).mean() - (others[:half_o] >= threshold).mean() for threshold in thresholds]
    )
    best = thresholds[int(np.argmax(seen))] if half_m and half_o else np.inf
    return Attack(
        name="membership",
        attack=Rate(successes=float((members[half_m:] >= best).sum()), attacks=members.size - half_m),
        control=Rate(successes=float((others[half_o:] >= best).sum()), attacks=others.size - half_o),
        identity=None,
        renamed=None,
        shuffled=None,
    )
