# SPDX-License-Identifier: Apache-2.0
"""Draws of a published account for domains and spikes: their lines, and the delta of thresholds of categories.

A value that only the m rows of one unit have is published if its noisy count reaches the threshold T. Of n such rows
the noise, discrete Laplace with q = exp(-rate), has to reach T - n: a chance of q**(T - n) / (1 + q). The values of one
unit share its m rows, so that all of them together have at most max over n of m / n times that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from anonkit.checks.central_params import THRESHOLDED, integers
from anonkit.errors import ReleaseFormatError

SPIKES = "spikes of "
"""Beginning of the purpose of a histogram of candidates."""
_PURPOSES = ("kind of ", "sizes of ", "bounds of ", "categories of ", SPIKES)
_ROUNDING = 1e-9
"""Relative error of a float here, on the safe side."""


def finding_lines(params: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the lines that looked for domains, or for spikes."""
    return [line for line in params["accounting"] if str(line["purpose"]).startswith(_PURPOSES)]


def looked_for_domains(params: Mapping[str, Any]) -> bool:
    """Return True if a line looked for a domain, which takes half of delta; none that looks for spikes does."""
    return any(not str(line["purpose"]).startswith(SPIKES) for line in finding_lines(params))


def model_lines(params: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return all other lines."""
    return [line for line in params["accounting"] if not str(line["purpose"]).startswith(_PURPOSES)]


def finding_epsilon(params: Mapping[str, Any]) -> Fraction:
    """Return what looking for domains and spikes cost one row in epsilon."""
    rates = integers([line["rate"] for line in finding_lines(params)])
    return sum((Fraction(rate, 1 << 52) for rate in rates), Fraction(0))


def finding_delta(params: Mapping[str, Any], rows: int, *, replaced: bool) -> float:
    """Return the delta of all thresholds together, rounded up.

    Parameters
    ----------
    params : mapping
    rows : int
        Most rows of a unit.
    replaced : bool
        True where a unit's rows are replaced: those that go and those that come may be published.

    Raises
    ------
    ReleaseFormatError
        A threshold is none, or states another delta than it has.
    """
    total = 0.0
    for line in finding_lines(params):
        if line["mechanism"] != THRESHOLDED:
            continue
        (threshold, rate) = integers([line["threshold"], line["rate"]])
        if threshold <= rows or rate < 1:
            raise ReleaseFormatError("a threshold of the account would tell what one unit alone has")
        loss = rate / 2**52
        each = max(math.log(rows / n) - loss * (threshold - n) for n in range(1, rows + 1))
        delta = math.exp(each) / (1 + math.exp(-loss)) * (2 if replaced else 1) * (1 + _ROUNDING)
        if not math.isclose(delta, float(line["delta"]), rel_tol=1e-6):
            raise ReleaseFormatError("a line of the account states another delta than its threshold has")
        total += delta
    return total
