# SPDX-License-Identifier: Apache-2.0
"""Warner's model on whole boolean records, as in DTPD (Du & Zhan, KDD 2003): kept or inverted as one.

For comparison only, and published by no method: one known attribute of a person reveals whether the record was
inverted, and undoes it. Records are flipped by ``papers.comparators.flipped_records``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import FloatArray
from anonkit.errors import ParameterError
from anonkit.published.channels.response_channel import ResponseMatrix


@dataclass(frozen=True, kw_only=True)
class RecordFlip(ParamsPart):
    """Publish a record of boolean values as it is with probability p_truth, else with every value inverted.

    Privacy
    -------
    ε is infinite as soon as a record has two attributes: two records that are neither equal nor opposite never give
    the same answer, and whoever knows one value of a person learns all.
    """

    mechanism: ClassVar[str] = "record-flip"

    p_truth: float
    """Probability that the record is kept, in (0, 1], not 0.5."""

    def __post_init__(self) -> None:
        if self.p_truth == 0.5:
            raise ParameterError("p_truth (0.5) must not be 0.5: nothing could be reconstructed")
        ResponseMatrix.warner(self.p_truth)  # refuses what is no probability

    @property
    def coin(self) -> ResponseMatrix:
        """Warner's model of one answer: kept or inverted."""
        return ResponseMatrix.warner(self.p_truth)

    @property
    def epsilon(self) -> float:
        """Infinite: one known value undoes the record."""
        return math.inf

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Conditions that the reader must know, in place of a guarantee."""
        return ("no formal guarantee: one known value of a record tells whether it was inverted",)

    def unmix(self, direct: FloatArray, inverted: FloatArray) -> FloatArray:
        """Return the unbiased count of a condition from the published counts of it and of its inverse.

        Published, a condition E occurs p·N(E) + (1 − p)·N(Ē) times on average, where Ē asks for the opposite of
        every attribute E asks about.
        """
        p = float(self.coin.response_matrix()[0, 0])
        return np.asarray((p * direct - (1 - p) * inverted) / (2 * p - 1))
