# SPDX-License-Identifier: Apache-2.0
"""Amounts of privacy loss under one law of noise, and how much noise a cell of a table gets for them."""

from __future__ import annotations

import math
from dataclasses import dataclass

LAPLACE, GAUSSIAN = "discrete-laplace", "discrete-gaussian"
"""Laws of noise: what is lost under the first is epsilon, under the second rho."""


@dataclass(frozen=True, kw_only=True)
class Amount:
    """Privacy loss of a row allowed for all tables together, under one law of noise."""

    law: str
    """Discrete Laplace or discrete Gaussian."""
    loss: float
    """epsilon, or rho."""

    def noise(self, share: float) -> float:
        """Return the mean absolute noise of a cell of a table with a share of the loss."""
        lost = self.loss * share
        return 1 / lost if self.law == LAPLACE else 1 / math.sqrt(math.pi * lost)
