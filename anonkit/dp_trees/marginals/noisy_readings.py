# SPDX-License-Identifier: Apache-2.0
"""A noisy reading: one number of the private table, in whole steps of a row, with discrete Laplace noise.

A rule may look at it, and at nothing else that is private, to choose what is measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from anonkit.documents import ParamsPart
from anonkit.dp_trees.marginals.dependency_tree import STEPS
from anonkit.mechanisms.accounting import LAPLACE, AccountedDraw, rate_within
from anonkit.mechanisms.discrete_laplace import UniformStream, noisy_counts

DEPENDENCE_WIDTH = 2 * STEPS + 2
"""Steps by which one row moves the reading of a dependence: 2 rows, and rounding."""


def reading_draw(purpose: str, units: int, width: int) -> AccountedDraw:
    """Return the line of the account of a reading that one row moves by so many steps.

    Parameters
    ----------
    purpose : str
    units : int
        What a row may lose by it, in units of 2**-52 of epsilon.
    width : int
    """
    return AccountedDraw(purpose=purpose, mechanism=LAPLACE, rate=rate_within(units, width), sensitivity=width)


@dataclass(frozen=True, kw_only=True)
class Reading(ParamsPart, keys=("purpose=draw.purpose", "rate=draw.rate", "steps")):
    """A noisy reading, and its line of the account."""

    draw: AccountedDraw
    steps: int
    """Value of the reading, in steps."""

    @classmethod
    def of(cls, draw: AccountedDraw, value: float, words: UniformStream) -> Self:
        """Read a number of rows, which one row moves by the sensitivity of the draw at most, less the rounding."""
        exactly = np.array([round(value * STEPS)], dtype=np.int64)
        return cls(draw=draw, steps=int(noisy_counts(exactly, draw.rate, words)[0]))

    @property
    def rows(self) -> float:
        """Value of the reading, in rows."""
        return self.steps / STEPS
