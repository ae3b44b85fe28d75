# SPDX-License-Identifier: Apache-2.0
"""Losses of several releases added up, for one kind of neighbours at a time.

An epsilon bounds what a release discloses of the difference between two neighbouring tables. Two of them add up where
both compare the same two tables (sequential composition), and otherwise only after one was converted:

- a replaced record is one that goes and one that comes: twice the loss of an added or removed one, and under a delta
  group privacy of two;
- all rows of a person, of whom a release has used `cap` at most: group privacy of so many rows. The cap has to be that
  of the release itself, and only for rows that come or go: between tables with a replaced row their number is the same.

No other disclosure of a release has a bound: of a person's rows where only single rows are protected, or of a
record more where the number of records is published.

Source: group privacy as in Dwork and Roth, "The algorithmic foundations of differential privacy", 2014, theorem 2.2;
under a delta Vadhan, "The complexity of differential privacy", 2017, lemma 2.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from anonkit.documents import ReportPart
from anonkit.promises.guarantee import ADD_OR_REMOVE, CHANGES, REPLACE, Neighbours
from anonkit.promises.noise_promises import loss_words

_HAIR = 1 + 1e-12
"""Factor on group privacy: more than a few floating-point operations can lose."""
NO_BOUND = math.inf


@dataclass(frozen=True, kw_only=True)
class BookedLoss:
    """The privacy loss of one release, and its neighbours."""

    epsilon: float
    """In [0, inf]."""
    delta: float = 0.0
    neighbours: Neighbours | None = None
    """None: unknown, of a release of an older ledger or of a promise that does not say it."""
    people: str | None = None
    """Unit column, whether the promise is about people or not."""
    cap: int | None = None
    """Most rows of one person that were used; None: none was enforced."""

    def of(self, kind: Neighbours) -> tuple[float, float]:
        """Return the loss between two tables of a kind: epsilon, infinite where it has no bound, and delta."""
        if self.neighbours is None or math.isinf(self.epsilon):
            return NO_BOUND, 0.0
        rows = self._rows(kind)
        if rows is None:
            return NO_BOUND, 0.0
        return of_group(self.epsilon, self.delta, rows)

    def _rows(self, kind: Neighbours) -> int | None:
        """Return of how many neighbours of its own a neighbour of this kind is made; None: of no certain number."""
        mine = self.neighbours
        assert mine is not None  # noqa: S101 - checked before
        if mine == kind:
            return 1
        if mine.adjacency == REPLACE:
            return None
        sides = 2 if kind.adjacency == REPLACE else 1
        if mine.unit == kind.unit:
            return sides
        has_cap = mine.unit is None and self.cap is not None and self.people == kind.unit
        return sides * self.cap if has_cap and self.cap is not None else None


def of_group(epsilon: float, delta: float, size: int) -> tuple[float, float]:
    """Return the loss of so many changes at once, each of epsilon and delta; without bound where delta reaches 1."""
    if size == 1:
        return epsilon, delta
    grown = _up(Fraction(repr(epsilon)) * size)
    if not delta:
        return grown, 0.0
    if grown > 700:  # exp would not be a number any more
        return NO_BOUND, 0.0
    spread = delta * (sum(math.exp(epsilon * at) for at in range(size))) * _HAIR
    return (grown, spread) if spread < 1 else (NO_BOUND, 0.0)


@dataclass(frozen=True, kw_only=True)
class Total(ReportPart, keys=("**known", "epsilon", "delta")):
    """The composed loss of several releases, of one kind of neighbours."""

    neighbours: Neighbours | None
    """None: of unknown neighbours, the sum of bare numbers."""
    epsilon: float
    """Infinite where some release has no bound for these neighbours."""
    delta: float

    @property
    def is_bounded(self) -> bool:
        """False where some release has no bound."""
        return not math.isinf(self.epsilon)

    @property
    def words(self) -> str:
        """Of the neighbours, for people."""
        return "unknown neighbours" if self.neighbours is None else self.neighbours.in_short

    @property
    def known(self) -> dict[str, str | None]:
        """The neighbours for JSON; `unit` is null for one row."""
        return {"neighbours": "unknown", "unit": None} if self.neighbours is None else neighbours_json(self.neighbours)


def neighbours_json(kind: Neighbours) -> dict[str, str | None]:
    """Return neighbours for JSON; `unit` is null for one row."""
    return {"neighbours": CHANGES[kind.adjacency], "unit": kind.unit}


def totals_words(together: Sequence[Total]) -> str:
    """Return totals for people: `epsilon 3 for one row replaced; no bound for one row added or removed`."""
    parts = []
    for one in together:
        delta = f" and delta {loss_words(one.delta)}" if one.delta else ""
        loss = f"epsilon {loss_words(one.epsilon)}{delta}" if one.is_bounded else "no bound"
        parts.append(f"{loss} {'of' if one.neighbours is None else 'for'} {one.words}")
    return "; ".join(parts)


def neighbours_named(adjacency: str, unit: str | None) -> Neighbours | None:
    """Return the neighbours that words name; None for words that name none."""
    named = {words: kind for kind, words in CHANGES.items()}
    return Neighbours(adjacency=named[adjacency], unit=unit) if adjacency in named else None


def neighbours_of_budget(adjacency: str | None, unit: str | None) -> Neighbours | None:
    """Return the neighbours that a budget names, the unit a column or "none"; None where it names none."""
    return None if adjacency is None else neighbours_named(adjacency, None if unit == "none" else unit)


def adjacency_words(kind: Neighbours) -> str:
    """Return the form in which a ledger stores the adjacency of neighbours."""
    return CHANGES[kind.adjacency]


def total_of(losses: Iterable[BookedLoss], kind: Neighbours) -> Total:
    """Return the composed loss of releases between two tables of a kind."""
    each = [loss.of(kind) for loss in losses]
    epsilon = total(epsilon for epsilon, _ in each)
    if math.isinf(epsilon):
        return Total(neighbours=kind, epsilon=NO_BOUND, delta=0.0)
    return Total(neighbours=kind, epsilon=epsilon, delta=total(delta for _, delta in each))


def totals(losses: Sequence[BookedLoss]) -> list[Total]:
    """Return the totals for every kind of neighbours that some release states, and that of the unknown ones."""
    kinds = dict.fromkeys(loss.neighbours for loss in losses if loss.neighbours is not None)
    found = [total_of(losses, kind) for kind in kinds]
    unknown = [loss for loss in losses if loss.neighbours is None]
    if unknown:
        numbers = {"epsilon": total(loss.epsilon for loss in unknown), "delta": total(loss.delta for loss in unknown)}
        found.append(Total(neighbours=None, **numbers))
    return found


def usual_neighbours(losses: Sequence[BookedLoss], people: Iterable[str | None]) -> Neighbours:
    """Return the neighbours of a budget that names none when it is set.

    One person where any release had a unit, else one row; replaced where any release compares replaced records, as
    those of randomized rows do.

    Parameters
    ----------
    losses : sequence of BookedLoss
        Of every release with a loss, the newest last.
    people : iterable of str or None
        Columns of the unit of every release, the newest last.
    """
    units = [unit for unit in people if unit is not None]
    is_replaced = any(loss.neighbours is not None and loss.neighbours.adjacency == REPLACE for loss in losses)
    return Neighbours(adjacency=REPLACE if is_replaced else ADD_OR_REMOVE, unit=units[-1] if units else None)


def total(losses: Iterable[float | None]) -> float:
    """Add losses as their decimal strings say them, so that ten times 0.1 is 1, and round up; None adds nothing."""
    counted = [loss for loss in losses if loss is not None]
    if any(map(math.isinf, counted)):
        return math.inf
    return _up(sum((Fraction(repr(loss)) for loss in counted), Fraction(0)))


def _up(exact: Fraction) -> float:
    near = float(exact)
    return near if Fraction(repr(near)) >= exact else math.nextafter(near, math.inf)
