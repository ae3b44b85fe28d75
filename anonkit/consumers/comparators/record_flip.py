# SPDX-License-Identifier: Apache-2.0
"""Warner's model on whole records of yes/no attributes, as in DTPD (Du & Zhan, KDD 2003): kept or inverted together.

For comparison only: one known attribute of a person tells whether the record was inverted, and undoes it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from anonkit.errors import ParameterError, ReleaseFormatError
from anonkit.mechanisms.channel import FloatArray
from anonkit.mechanisms.keyed_words import keyed_words
from anonkit.mechanisms.response_matrix import ResponseMatrix


@dataclass(frozen=True, kw_only=True)
class RecordFlip:
    """Publish a record of yes/no values as it is with probability p_truth, else with every value inverted.

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
        self._coin()

    def _coin(self) -> ResponseMatrix:
        return ResponseMatrix.warner(self.p_truth)

    @property
    def epsilon(self) -> float:
        """Infinite: one known value undoes the record."""
        return math.inf

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the reader must know instead of a guarantee."""
        return ("no formal guarantee: one known value of a record tells whether it was inverted",)

    def randomize(
        self, records: NDArray[np.bool_], *, key: bytes, stream: int, first_row: int = 0
    ) -> NDArray[np.bool_]:
        """Randomize records, shape (n, n_attributes): a pure function of (key, stream, row number, record)."""
        words = keyed_words(key, stream, first_row, len(records)).reshape(-1)
        inverted = self._coin().answer(np.zeros(len(records), dtype=np.int64), words) == 1
        return np.asarray(np.logical_xor(records, inverted[:, np.newaxis]))

    def unmix(self, direct: FloatArray, inverted: FloatArray) -> FloatArray:
        """Return the unbiased count of a condition from the published counts of it and of its inverse.

        Published, a condition E occurs p·N(E) + (1 − p)·N(Ē) times on average, where Ē asks for the opposite of
        every attribute E asks about.
        """
        p = float(self._coin().response_matrix()[0, 0])
        return np.asarray((p * direct - (1 - p) * inverted) / (2 * p - 1))

    def to_params(self) -> dict[str, Any]:
        """Return the parameter, ready for JSON."""
        return {"p_truth": self.p_truth}

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Self:
        """Rebuild the mechanism from `to_params()`."""
        try:
            return cls(p_truth=float(params["p_truth"]))
        except (KeyError, TypeError) as error:
            raise ReleaseFormatError("record flip: p_truth is missing or not a number") from error
