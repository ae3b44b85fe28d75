# SPDX-License-Identifier: Apache-2.0
"""Disclosure by single answers: the breach coefficient of Zhang & Tang, a guess, and the width of an interval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.domains.coded_columns import FloatArray
from anonkit.published.channels.number_channels import TransformedResponse
from anonkit.published.channels.response_channel import Channel
from anonkit.published.randomized_table import FORMAT, PublishedTable

WIDTHS = {"breach_width_99_9": 0.999, "breach_width_99": 0.99, "breach_width": 0.95, "breach_width_50": 0.5}
"""Confidence of each width: the four of the paper's table 2."""
_LOOKED_AT = 400
"""Answers of a column over which widths are averaged."""
_STEPS = 1_001
_REACH = 5.0
"""Standard deviations on either side of the mean that an attacker thinks of."""


def breaches_of(params: Mapping[str, Any], released: pa.Table, source: pa.Table) -> dict[str, float]:
    """Return `breach`, `guess` and the four `WIDTHS` of a randomized release, each the mean over its attributes.

    `breach` is the coefficient of Zhang & Tang (2007, section 6.1), p_0² / (p_0 + p_j): the share of true answers times
    the chance that a true answer is recognized as one. `guess` is the chance that the likeliest value is the true one
    when all values were equally likely before, p_0 + p_j. Both are of categories; widths are of numbers.

    Parameters
    ----------
    params : mapping
        What `params.json` of the release holds; of another kind of release there is nothing to return.
    released, source : Table
        Rows as published, and as they are.
    """
    if params.get("format") != FORMAT:
        return {}
    found: dict[str, list[float]] = {"breach": [], "guess": [], **{name: [] for name in WIDTHS}}
    for attribute in PublishedTable.from_params(params).attributes:
        mechanism = attribute.mechanism
        if isinstance(mechanism, TransformedResponse):
            shown, true = (np.asarray(t.column(attribute.name).cast(pa.float64())) for t in (released, source))
            for name, width in breach_widths(mechanism, shown, true).items():
                found[name].append(width)
        elif isinstance(mechanism, Channel) and not attribute.joint_with_target:
            coefficient = breach_coefficient(mechanism.response_matrix())
            if coefficient is not None:
                found["breach"].append(coefficient)
                found["guess"].append(float(mechanism.response_matrix().max(axis=0).mean()))
    return {name: float(np.mean(values)) for name, values in found.items() if values}


def breach_coefficient(matrix: FloatArray) -> float | None:
    """Return p_0² / (p_0 + p_j) of a response matrix, shape (m, m); None of one whose answers are no values."""
    if matrix.shape[0] != matrix.shape[1]:
        return None
    blind = np.array([np.delete(column, at).min() for at, column in enumerate(matrix.T)])
    kept = np.maximum(np.diag(matrix) - blind, 0.0)
    return float(np.mean(kept**2 / np.diag(matrix)))


def breach_widths(response: TransformedResponse, shown: FloatArray, true: FloatArray) -> dict[str, float]:
    """Return the width of the four intervals of a number for whoever sees its answer, in deviations of its column.

    The attacker takes the column for normal, knows its mean and standard deviation and how answers are made, and cuts
    equal shares of the posterior off either side. Without the answer the widths are 6.58, 5.15, 3.92 and 1.35, which is
    what the paper states of TRR (table 2).

    Parameters
    ----------
    response : TransformedResponse
        How answers are made.
    shown : array, shape (n,)
        Published numbers.
    true : array, shape (m,)
        Numbers as they are.
    """
    shown, true = shown[~np.isnan(shown)], true[~np.isnan(true)]
    if response.bounds is not None:
        true = np.clip(true, *response.bounds)
    z = np.linspace(-_REACH, _REACH, _STEPS)
    means, variances = response.answer_moments(true.mean() + true.std() * z, np.zeros(_STEPS))
    answers = shown[:: max(shown.size // _LOOKED_AT, 1), np.newaxis]
    away = (answers - means) ** 2 / np.maximum(variances, 1e-300)
    if response.offset.shape == "uniform" and response.multiplier.variance == 0:
        logs = np.where(away <= 3.0, 0.0, -1e9)
    else:
        logs = -away / 2 - np.log(np.maximum(variances, 1e-300)) / 2
    logs = logs - z**2 / 2
    posterior = np.cumsum(np.exp(logs - logs.max(axis=1, keepdims=True)), axis=1)
    posterior /= posterior[:, -1:]
    out = {}
    for name, confidence in WIDTHS.items():
        low, high = ((posterior < end).sum(axis=1) for end in ((1 - confidence) / 2, (1 + confidence) / 2))
        out[name] = float((high - low).mean() * (z[1] - z[0]))
    return out
