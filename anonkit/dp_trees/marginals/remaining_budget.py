# SPDX-License-Identifier: Apache-2.0
"""Remaining budget of tables and choices: in epsilon, or where there is a delta in rho, whichever gives less noise.

Numbers and readings are paid in epsilon. What they leave is spent in one of two currencies: all of it in epsilon, with
Laplace noise and no delta, or all of it in the rho that epsilon and delta are worth together, with Gaussian noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from anonkit.budget_rules.model_queries import TABLE, ModelQuery
from anonkit.budget_rules.spike_rule import Amount
from anonkit.mechanisms.accounting import rate_within
from anonkit.mechanisms.concentrated_loss import changed_squared, rho_units_within
from anonkit.mechanisms.query_sensitivity import sensitivity_of
from anonkit.promises.guarantee import ADD_OR_REMOVE, REPLACE, changed_rows
from anonkit.published.exact_losses import RATE_BITS
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE
from anonkit.published.statements.draws import EXPONENTIAL, Draw

_ONE = 1 << RATE_BITS


@dataclass(frozen=True, kw_only=True)
class RemainingBudget:
    """Remaining epsilon of a row, and the unspent delta."""

    units: int
    """Remaining loss of a row, in units of 2**-52 of epsilon."""
    delta: Fraction = Fraction(0)
    """Of the unit of privacy; 0: Laplace noise alone."""
    rows_per_unit: int = 1
    adjacency: str = ADD_OR_REMOVE

    def after(self, units: int) -> RemainingBudget:
        """Return the budget that is left after so many units of a row."""
        return replace(self, units=self.units - units)

    @property
    def rho_units(self) -> int:
        """The rho of the unit of privacy that what is left comes to, in units of 2**-52."""
        changed = changed_rows(self.rows_per_unit, self.adjacency)
        return rho_units_within(Fraction(self.units * changed, _ONE), self.delta)

    @property
    def amounts(self) -> tuple[Amount, ...]:
        """Budget of the tables in each currency there is; epsilon first."""
        pure = Amount(law=LAPLACE, loss=self.units / _ONE)
        if not self.delta:
            return (pure,)
        return pure, Amount(law=GAUSSIAN, loss=self.rho_units / self.squared / _ONE)

    def whole(self, law: str) -> int:
        """Return the budget that the stages share: units of epsilon of a row, or of rho of the unit of privacy."""
        return self.units if law == LAPLACE else self.rho_units

    def table(self, law: str, purpose: str, units: int, times: int = 1) -> Draw:
        """Return the draw of the noise of so many tables, for a part of `whole`."""
        if law == LAPLACE:
            rate = rate_within(units // times, 1)
            return Draw(name=purpose, query=TABLE, law=LAPLACE, rate=rate, times=times)
        rate = units // self.squared // times
        return Draw(name=purpose, query=TABLE, law=GAUSSIAN, rate=rate, times=times, in_rho=True)

    def choice(self, purpose: str, units: int, query: ModelQuery, times: int) -> Draw:
        """Return the draw of so many choices by the exponential mechanism, for a part of the rho.

        Notes
        -----
        A choice with loss e in epsilon costs e**2 / 8. Where m rows are changed its range is m times as wide: m**2.
        """
        changed = changed_rows(self.rows_per_unit, self.adjacency)
        a_choice = units // changed**2 // times
        rate = math.isqrt(8 * a_choice * _ONE) // sensitivity_of(query)
        return Draw(name=purpose, query=query, law=EXPONENTIAL, rate=rate, times=times, in_rho=True)

    @property
    def row_rho_units(self) -> int:
        """The rho of a row that what is left comes to, in units of 2**-52; 0 without a delta."""
        return self.rho_units // self.squared if self.delta else 0

    @property
    def squared(self) -> int:
        """Ratio of the rho of a unit of privacy to that of a row, in one table."""
        return changed_squared(self.rows_per_unit, replaced=self.adjacency == REPLACE)
