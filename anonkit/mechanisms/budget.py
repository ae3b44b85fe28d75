# SPDX-License-Identifier: Apache-2.0
"""Accounting of the privacy loss budget inside one release: every draw is charged before it is made.

Charges on the same rows add up; charges on groups of disjoint rows count once, at the group that pays most. All
amounts are whole units of 2**-40, so that shares add up to the claim exactly and not up to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from anonkit.errors import BudgetError, ParameterError

UNIT_BITS = 40
"""Amounts are in units of 2**-40 of epsilon."""

IntArray = NDArray[np.int64]


def units_of(epsilon: float) -> int:
    """Return epsilon in whole units, rounded down.

    Raises
    ------
    ParameterError
        When epsilon is not in (0, 1024).
    """
    if isinstance(epsilon, bool) or not math.isfinite(epsilon) or not 0 < epsilon < 1024:
        raise ParameterError(f"epsilon ({epsilon}) must be in (0, 1024)", "0.1 to 2 is usual for a whole release")
    units = math.floor(Fraction(epsilon) * (1 << UNIT_BITS))
    if units < 1:
        raise ParameterError(f"epsilon ({epsilon}) must be at least 2**-{UNIT_BITS}")
    return units


def epsilon_of(units: int) -> Fraction:
    """Return an amount of units as the exact epsilon it stands for."""
    return Fraction(units, 1 << UNIT_BITS)


def shares(units: int, weights: Sequence[float | Fraction]) -> list[int]:
    """Divide units in proportion to public weights; the parts are whole and add up to `units` exactly.

    Parts are rounded down and the last part of positive weight takes what is left over.

    Raises
    ------
    ParameterError
        When a weight is negative, or all are 0.
    """
    exact = [Fraction(weight) for weight in weights]
    total = sum(exact, Fraction(0))
    if any(weight < 0 for weight in exact) or total == 0:
        raise ParameterError("weights of a budget must be at least 0 and not all 0")
    parts = [math.floor(units * weight / total) for weight in exact]
    last = max(position for position, weight in enumerate(exact) if weight > 0)
    parts[last] += units - sum(parts)
    return parts


@dataclass(frozen=True, kw_only=True)
class Charge:
    """One line of the account."""

    purpose: str
    """What was drawn."""
    units: int
    """What it cost the row that paid most."""

    @property
    def epsilon(self) -> float:
        """The amount as epsilon."""
        return float(epsilon_of(self.units))


class BudgetAccount:
    """What one release may spend on any row, and what it has spent.

    Parameters
    ----------
    limit : int
        Units that may be spent in all.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._charges: dict[str, int] = {}

    @property
    def spent(self) -> int:
        """Units spent so far on the rows that paid most."""
        return sum(self._charges.values())

    @property
    def left(self) -> int:
        """Units that may still be spent."""
        return self.limit - self.spent

    @property
    def charges(self) -> tuple[Charge, ...]:
        """The account so far, one line per purpose in order of first use; the lines add up to `spent`."""
        return tuple(Charge(purpose=purpose, units=units) for purpose, units in self._charges.items())

    def charge(self, purpose: str, units: int) -> Fraction:
        """Charge a draw that sees every row, and return the epsilon it may use.

        Raises
        ------
        BudgetError
            When less than `units` is left. Nothing is charged then.
        """
        if units < 1:
            raise ParameterError(f"a draw must be charged at least one unit (2**-{UNIT_BITS} of epsilon)")
        if units > self.left:
            raise _overspent(purpose, units, self.left)
        self._charges[purpose] = self._charges.get(purpose, 0) + units
        return epsilon_of(units)

    def partition(self, groups: int) -> PartitionedBudget:
        """Open an account for disjoint groups of rows, each of which may spend what is left here.

        Every row must be in exactly one group, and which one must not depend on the other rows, except through
        what has been charged.
        """
        return PartitionedBudget(self, groups)

    def settle(self, partition: PartitionedBudget) -> None:
        """Take over what the most expensive path of a partition spent (parallel composition).

        Raises
        ------
        BudgetError
            When that is more than is left.
        """
        path = partition.most_expensive_path()
        total = sum(units for _, units in path)
        if total > self.left:
            raise _overspent("a partition of the rows", total, self.left)
        for purpose, units in path:
            self._charges[purpose] = self._charges.get(purpose, 0) + units


class PartitionedBudget:
    """Accounts of disjoint groups of rows, kept as arrays: one entry a group, one column a purpose.

    A group can be divided further with `branch`; a path is a group with all the groups it was divided from. Made by
    `BudgetAccount.partition`.
    """

    def __init__(self, account: BudgetAccount, groups: int) -> None:
        self._limit = account.left
        self._purposes: list[str] = []
        self._open = np.zeros((groups, 0), dtype=np.int64)
        self._closed: NDArray[np.int64] = np.zeros((0, 0), dtype=np.int64)

    @property
    def groups(self) -> int:
        """Number of groups that are still open."""
        return len(self._open)

    def spent(self) -> IntArray:
        """Return what each open path has spent, shape (groups,)."""
        return np.asarray(self._open.sum(axis=1))

    def left(self) -> IntArray:
        """Return what each open path may still spend, shape (groups,)."""
        return self._limit - self.spent()

    def charge(self, purpose: str, units: int | IntArray) -> None:
        """Charge a draw in every open group, the same amount or one each (0 where nothing is drawn).

        Raises
        ------
        BudgetError
            When a path has less left. Nothing is charged then.
        """
        amounts = np.broadcast_to(np.asarray(units, dtype=np.int64), (self.groups,))
        if bool((amounts < 0).any()):
            raise ParameterError("a charge must be at least 0")
        short = amounts > self.left()
        if bool(short.any()):
            at = int(np.argmax(short))
            raise _overspent(purpose, int(amounts[at]), int(self.left()[at]))
        if purpose not in self._purposes:
            self._purposes.append(purpose)
            self._open = np.column_stack([self._open, np.zeros(self.groups, dtype=np.int64)])
        self._open[:, self._purposes.index(purpose)] += amounts

    def branch(self, parents: IntArray, ended: NDArray[np.bool_] | None = None) -> None:
        """Divide groups: open group g of the result continues the path of open group `parents[g]`.

        Groups that are nobody's parent are closed; `ended` may name more that are kept on record as closed.
        """
        gone = np.ones(self.groups, dtype=bool)
        gone[parents] = False
        if ended is not None:
            gone |= ended
        self._close(gone)
        self._open = self._open[parents]

    def _close(self, which: NDArray[np.bool_]) -> None:
        closing = self._open[which]
        kept = np.zeros((len(self._closed) + len(closing), len(self._purposes)), dtype=np.int64)
        kept[: len(self._closed), : self._closed.shape[1]] = self._closed
        kept[len(self._closed) :] = closing
        self._closed = kept[[int(kept.sum(axis=1).argmax())]] if len(kept) else kept

    def most_expensive_path(self) -> list[tuple[str, int]]:
        """Return what the path that spent most spent on each purpose, closed paths included."""
        self._close(np.ones(self.groups, dtype=bool))
        self._open = self._open[:0]
        if not len(self._closed):
            return []
        return [(purpose, int(units)) for purpose, units in zip(self._purposes, self._closed[0], strict=True) if units]


def _overspent(purpose: str, units: int, left: int) -> BudgetError:
    return BudgetError(
        f"{purpose} would cost epsilon {float(epsilon_of(units)):.3g} but only {float(epsilon_of(left)):.3g} is left",
        "a bug in the method: its plan spends more than its claim; nothing was released",
    )
