# SPDX-License-Identifier: Apache-2.0
"""Draws of noise, without any loss: the query that each answers, its law and its rate, and how draws compose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anonkit.documents import ParamsPart
from anonkit.errors import ParameterError
from anonkit.published.exact_losses import RATE_BITS
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE

PERMUTE_AND_FLIP, EXPONENTIAL = "permute-and-flip", "exponential"
"""Laws by which a candidate is chosen by its score."""
_LARGEST = 64 << RATE_BITS
RATES = {
    LAPLACE: (1, _LARGEST),
    PERMUTE_AND_FLIP: (1, _LARGEST),
    EXPONENTIAL: (1, _LARGEST),
    GAUSSIAN: (1 << 12, 1 << 57),
}
"""Laws, each with the least rate of its noise and the limit of its rates."""
_IN_RHO = {LAPLACE: (False,), PERMUTE_AND_FLIP: (False,), EXPONENTIAL: (False, True), GAUSSIAN: (True,)}
"""Laws whose loss is added up in epsilon (False), in rho (True), or in either."""


@dataclass(frozen=True, kw_only=True)
class Draw:
    """One draw of noise on the answer to one query, or one choice among its scores.

    Draws that can read the same row add up (sequential composition). Draws in a tree read the rows of their node: a row
    pays those of one path.

    Raises
    ------
    ParameterError
        The rate is out of the range of its law, or the loss of the law is not added up so.
    """

    name: str
    """Purpose of the draw, in words."""
    query: Any
    """Query whose answer has the noise, or whose scores are chosen by: a value that says what is counted."""
    law: str
    """Law of the noise, or of the choice."""
    rate: int
    """In units of 2**-52. P(noise) falls by exp(-rate) for each step that a number is moved, or a score is lower; of
    Gaussian noise it is the rho of a row."""
    times: int = 1
    """Number of such draws that read one row."""
    level: int | None = None
    """Level of the tree, 0 at the root; None when it is not drawn in a tree."""
    ends_path: bool = False
    """True for a draw in a leaf: a path has those of one level only, after the other draws of all levels above."""
    in_rho: bool = False
    """True where its loss is added up in rho (zero-concentrated differential privacy), and converted in sum."""
    column: str = ""
    """Column that the budget of the report names; empty: it names the draw."""

    def __post_init__(self) -> None:
        least, limit = RATES.get(self.law, (0, 0))
        if not least <= self.rate < limit:
            raise ParameterError(
                f"draw {self.name!r}: its rate is outside the range of the noise", "spend more, or divide it less"
            )
        if self.in_rho not in _IN_RHO[self.law]:
            raise ParameterError(f"draw {self.name!r}: a loss of this law is not added up so")


@dataclass(frozen=True, kw_only=True)
class Bootstrap(ParamsPart):
    """Every tree takes each row several times: so often as a secret word of row and tree says, independently."""

    trees: int
    weights: tuple[int, ...]
    """Number of the 2**word_bits words that give 0, 1, 2, ... copies."""
    word_bits: int = 32

    def __post_init__(self) -> None:
        if sum(self.weights) != 1 << self.word_bits or min(self.weights) < 0:
            raise ParameterError("the weights of a bootstrap must add up to all words")


@dataclass(frozen=True, kw_only=True)
class Composition(ParamsPart):
    """Neighbouring tables for which draws compose, and the copies of a row that they read."""

    adjacency: str
    rows_per_unit: int
    """Most rows of one unit that are used."""
    bootstrap: Bootstrap | None = None
