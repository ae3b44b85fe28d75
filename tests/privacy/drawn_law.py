"""The exact law of a release of drawn rows with one column, by enumeration: which level is shown, and how many rows.

Written from the page of the method and from nothing of its code: scores in fractions, every set of heads of the private
choice, every number of coins of a class. A table is the rows of each (value, class of the target); the class is None
where there is no target. `None` is also the level at which the column is not shown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product

Cell = tuple[str, str | None]
Rows = Mapping[Cell, int]
Outcome = tuple[int | None, int]
"""Level that is chosen, and rows that are shown of the class that a row belongs to."""
STEP = 1024
ONE = 2**52


class DrawnLaw:
    """The exact law of a release of one column, for a table of few kinds of rows."""

    def __init__(
        self, groups: Mapping[str, str], *, has_target: bool, epsilon: float, k: int, sampled: int, faster: int = 1
    ) -> None:
        self.groups, self.has_target = groups, has_target
        self.levels: tuple[int | None, ...] = (None, 0, 1) if has_target else (0, 1)
        self.k, self.beta = k, Fraction(sampled, 2**32)
        self.needed = math.ceil(k / self.beta)
        width = (2 if has_target else 1) * STEP
        self.rate = faster * (math.floor(Fraction(epsilon) * ONE / 4) // width)

    def _shown(self, value: str, level: int | None) -> str:
        return "" if level is None else value if level == 0 else self.groups[value]

    def _classes(self, rows: Rows, level: int | None) -> dict[tuple[str, str | None], int]:
        found: dict[tuple[str, str | None], int] = {}
        for (value, label), n_rows in rows.items():
            key = self._shown(value, level), label
            found[key] = found.get(key, 0) + n_rows
        return found

    def score(self, rows: Rows, level: int | None) -> int:
        """Return the score of a level, in steps."""
        classes = self._classes(rows, level)
        counted = {key: max(0, n_rows - self.needed) for key, n_rows in classes.items()}
        if not self.has_target:
            parts = len(self.groups) if level == 0 else len(set(self.groups.values()))
            return sum(counted.values()) * math.floor(math.log(parts) / math.log(len(self.groups)) * STEP)
        tables: dict[str | None, dict[str | None, int]] = {}
        for (shown, label), n_rows in classes.items():
            own, rest = tables.setdefault(shown, {}), tables.setdefault(None, {})
            own[label] = counted[shown, label]
            rest[label] = rest.get(label, 0) + n_rows - counted[shown, label]
        squares = [
            Fraction(sum(n_rows**2 for n_rows in table.values()), max(sum(table.values()), 1))
            for table in tables.values()
        ]
        return sum(math.floor(square * STEP) for square in squares)

    def choice(self, rows: Rows) -> dict[int | None, float]:
        """Return the chance of each level: one of those whose coin falls heads, all sets of heads added up."""
        scores = [self.score(rows, level) for level in self.levels]
        heads = [math.exp(-self.rate * (max(scores) - score) / ONE) for score in scores]
        law = dict.fromkeys(self.levels, 0.0)
        for fallen in product((True, False), repeat=len(heads)):
            chance = math.prod(head if is_head else 1 - head for head, is_head in zip(heads, fallen, strict=True))
            among = [level for level, is_head in zip(self.levels, fallen, strict=True) if is_head]
            for level in among:
                law[level] += chance / len(among)
        return law

    def shown(self, n_rows: int) -> list[float]:
        """Return the chances of 0, 1, … rows of a class: fewer than k that are drawn are none that are shown."""
        beta = float(self.beta)
        drawn = [math.comb(n_rows, j) * beta**j * (1 - beta) ** (n_rows - j) for j in range(n_rows + 1)]
        return [sum(drawn[: self.k]), *(0.0 if j < self.k else drawn[j] for j in range(1, n_rows + 1))]

    def outcomes(self, rows: Rows, cell: Cell) -> dict[Outcome, float]:
        """Return the law of the level, and of the rows shown of the class of a cell. All other classes are by coins of
        their own, which a row of this one does not change.
        """
        law = {}
        for level, chance in self.choice(rows).items():
            n_rows = self._classes(rows, level).get((self._shown(cell[0], level), cell[1]), 0)
            law.update({(level, j): chance * found for j, found in enumerate(self.shown(n_rows))})
        return law


def one_more(rows: Rows, cell: Cell) -> dict[Cell, int]:
    """Return a table with one row more."""
    return {**rows, cell: rows.get(cell, 0) + 1}


def excess(left: Mapping[Outcome, float], right: Mapping[Outcome, float], epsilon: float) -> float:
    """Return by how much the likeliest set of outcomes exceeds e^epsilon: the delta that these two tables need."""
    return sum(max(chance - math.exp(epsilon) * right.get(outcome, 0.0), 0.0) for outcome, chance in left.items())


def least_epsilon(left: Mapping[Outcome, float], right: Mapping[Outcome, float], delta: float) -> float:
    """Return the epsilon that two tables need at a delta, to a millionth."""
    low, high = 0.0, 64.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if excess(left, right, middle) > delta else (low, middle)
    return low


def groups_of(values: Sequence[str], joined: Sequence[Sequence[str]]) -> dict[str, str]:
    """Return the group of each value: those that are together in `joined` are one."""
    return {value: next((" or ".join(names) for names in joined if value in names), value) for value in values}
