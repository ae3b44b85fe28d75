# SPDX-License-Identifier: Apache-2.0
"""The law of the noise of the histograms by class under a delta, written independently, and its loss in rho.

A row is in the histogram of every measured attribute. As many Laplace histograms as the rule plans have, for a loss e,
a variance of 2 (asked / e)**2 in each cell; n Gaussian ones have n / (2 rho). These are drawn where more of them than
were planned have no more noise, and twice so many are measured then, or all attributes if those are fewer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from anonkit.checks.central_params import PublicFacts, changed_rows, changed_squared
from anonkit.checks.finding_lines import finding_epsilon, finding_lines
from anonkit.checks.gaussian_lines import rho_within

_LEAST_RHO = 2.0**-40
"""Of one histogram: Gaussian noise is not drawn any wider."""


def gaussian_histograms(facts: PublicFacts, params: Mapping[str, Any], loss: float, asked: int) -> tuple[int, float]:
    """Return the number of histograms with Gaussian noise, and the rho of a row for all of them; 0 for Laplace.

    Parameters
    ----------
    facts : PublicFacts
    params : mapping
        Its lines show whether domains were searched.
    loss : float
        What a row may lose in all histograms.
    asked : int
        Attributes that the rule asks for without a delta.
    """
    if not histograms_may_be_gaussian(facts, params):
        return 0, 0.0
    found, rho = _as_quiet(facts, params, loss, asked)
    return (min(2 * found, len(facts.attributes)), rho) if found > asked else (0, 0.0)


def histograms_may_be_gaussian(facts: PublicFacts, params: Mapping[str, Any]) -> bool:
    """Return whether Gaussian noise would be less, were all of epsilon spent on all attributes: else delta is kept.

    A release with a delta says which noise it has drawn; of one without it, and of an earlier one, none is expected.
    """
    if "noise" not in params.get("rule", {}):  # of earlier versions, which spent a delta on domains alone
        return False
    epsilon = float(Fraction(facts.number("epsilon")) / changed_rows(facts) - finding_epsilon(params))
    attributes = len(facts.attributes)
    return bool(facts.delta) and _as_quiet(facts, params, epsilon, max(attributes, 1))[0] > attributes


def _as_quiet(facts: PublicFacts, params: Mapping[str, Any], loss: float, asked: int) -> tuple[int, float]:
    """Return how many Gaussian histograms are as quiet as so many of Laplace noise, and the rho of a row for all."""
    delta = facts.delta / 2 if finding_lines(params) else facts.delta
    rho = rho_within(loss * changed_rows(facts), delta) / changed_squared(facts)
    found = math.floor(4 * asked**2 * rho / loss**2)
    return (found if rho >= _LEAST_RHO * 2 * found else 0), rho
