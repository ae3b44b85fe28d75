# SPDX-License-Identifier: Apache-2.0
"""Privacy accounting under (epsilon, delta): Gaussian draws in rho, other draws in epsilon, one claim for both.

Draws of Gaussian noise add up in rho (`anonkit.mechanisms.concentrated_loss`), choices by the exponential mechanism
with them where a method says so, and their sum is converted once, at the delta that is theirs. Draws with a bound of
their own (other choices, Laplace noise) add up in epsilon. Both parts together are basic composition: the epsilons add
up, and so do the deltas (Dwork and Roth 2014, theorem 3.16).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from anonkit.documents import ParamsPart
from anonkit.domains.found_domains import LINE_KEYS, FindingLine
from anonkit.errors import ParameterError
from anonkit.mechanisms.accounting import EXPONENTIAL, AccountedDraw, rounded_up, shares
from anonkit.mechanisms.concentrated_loss import changed_squared, rho_units_within
from anonkit.mechanisms.discrete_gaussian import LEAST_RATE, RATE_LIMIT
from anonkit.promises.neighbouring_tables import ADD_OR_REMOVE, REPLACE, changed_rows
from anonkit.published.exact_losses import RATE_BITS
from anonkit.published.noisy_tables import GAUSSIAN

_ONE = 1 << RATE_BITS


@dataclass(frozen=True, kw_only=True)
class GaussianDraw(ParamsPart, keys=(*LINE_KEYS, "rho")):
    """Discrete Gaussian noise on a table in which every row is in one cell: the line of an account."""

    mechanism: ClassVar[str] = GAUSSIAN
    rate_unit: ClassVar[str] = f"2**-{RATE_BITS}"
    sensitivity: ClassVar[int] = 1
    level: ClassVar[None] = None
    ends_path: ClassVar[bool] = False
    purpose: str
    """Purpose of the draw, in words."""
    rate: int
    """rho of one row, in units of 2**-52."""
    times: int = 1
    """Number of such tables that hold a row."""

    def __post_init__(self) -> None:
        if not LEAST_RATE <= self.rate < RATE_LIMIT:
            raise ParameterError(
                f"{self.purpose}: noise of {self.rate / _ONE:.3g} rho is outside its range",
                "spend more, or divide it less",
            )

    @property
    def rho_units(self) -> int:
        """Loss rho of a row, in units of 2**-52."""
        return self.rate * self.times

    @property
    def rho(self) -> float:
        """The same as rho, rounded up to a float."""
        return rounded_up(Fraction(self.rho_units, _ONE))


@dataclass(frozen=True, kw_only=True)
class ConcentratedChoice(ParamsPart, keys=(*LINE_KEYS, "rho")):
    """Choices by the exponential mechanism that are paid in rho: the line of an account.

    Privacy
    -------
    The losses of all outcomes of a choice lie within epsilon of each other, epsilon being rate times sensitivity, so
    that it is epsilon**2 / 8 of zCDP (docs/proofs/central.md; Cesar and Rogers, ALT 2021). Permute-and-flip has no such
    range: it would cost epsilon**2 / 2.
    """

    mechanism: ClassVar[str] = EXPONENTIAL
    rate_unit: ClassVar[str] = f"2**-{RATE_BITS}"
    level: ClassVar[None] = None
    ends_path: ClassVar[bool] = False
    purpose: str
    """Purpose of the choice, in words."""
    rate: int
    """In units of 2**-52 per step of the score."""
    sensitivity: int
    """Width of the range in which one row moves the scores, in steps."""
    times: int = 1
    """Number of such choices that a row is in."""

    def __post_init__(self) -> None:
        if not 1 <= self.rate < 64 * _ONE:
            raise ParameterError(
                f"{self.purpose}: a choice of {self.rate} units a step is outside its range",
                "spend more, or divide it less",
            )

    @property
    def exact_rho(self) -> Fraction:
        """Loss rho of a row, exactly."""
        return self.times * Fraction(self.rate * self.sensitivity, _ONE) ** 2 / 8

    @property
    def rho(self) -> float:
        """The same, rounded up to a float."""
        return rounded_up(self.exact_rho)


@dataclass(frozen=True, kw_only=True)
class ApproximateAccounting:
    """Everything that a release draws from the data under (epsilon, delta), one line a kind of draw."""

    epsilon: float
    """Claimed, for the unit of privacy."""
    delta: float
    """Claimed, for the unit of privacy."""
    draws: tuple[AccountedDraw | GaussianDraw | ConcentratedChoice, ...]
    found: tuple[FindingLine, ...] = ()
    """Draws that looked for domains."""
    rows_per_unit: int = 1
    adjacency: str = ADD_OR_REMOVE

    @property
    def rho(self) -> Fraction:
        """Loss rho of the unit of privacy for all Gaussian draws, and all choices paid in rho."""
        units = sum(draw.rho_units for draw in self.draws if isinstance(draw, GaussianDraw))
        tables = Fraction(units * changed_squared(self.rows_per_unit, replaced=self.adjacency == REPLACE), _ONE)
        choices = sum((draw.exact_rho for draw in self.draws if isinstance(draw, ConcentratedChoice)), Fraction(0))
        return tables + choices * changed_rows(self.rows_per_unit, self.adjacency) ** 2

    def to_params(self) -> dict[str, Any]:
        """Return `accounting` and `composition` of the params."""
        return {
            "accounting": [line.to_params() for line in (*self.found, *self.draws)],
            "composition": {
                "adjacency": self.adjacency,
                "rows_per_unit": self.rows_per_unit,
                "bootstrap": None,
            },
        }


def row_rho_units(epsilon: Fraction, delta: float | Fraction, rows_per_unit: int, adjacency: str) -> int:
    """Return how much rho one row may cost in all its Gaussian tables, in units of 2**-52.

    Parameters
    ----------
    epsilon : Fraction
        For the unit of privacy, in (0, 40].
    delta : float or Fraction
        In (0, 0.01].
    rows_per_unit : int
    adjacency : str
    """
    units = rho_units_within(epsilon, Fraction(delta))
    return units // changed_squared(rows_per_unit, replaced=adjacency == REPLACE)


def gaussian_draws(purposes: Sequence[str], weights: Sequence[Fraction], units: int) -> tuple[GaussianDraw, ...]:
    """Divide rho over tables in proportion to public weights."""
    return tuple(
        GaussianDraw(purpose=purpose, rate=rate) for purpose, rate in zip(purposes, shares(units, weights), strict=True)
    )
