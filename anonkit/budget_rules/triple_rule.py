# SPDX-License-Identifier: Apache-2.0
"""The public rule of triples: which are candidates, in which cells, what chance makes of them, and what is paid.

A target may depend on three columns together and on no two of them (a parity). Where pairs were read to gain little, a
reading shows whether any pair speaks of the target; where none does, one triple is chosen privately, or none. All of it
follows from epsilon, from the number of rows (public, or counted with noise) and from the sizes of the domains.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

Triple = tuple[int, int, int]
"""Three columns by number, the lowest first."""
# Shares and margins are conventions: no experiment is on record that compared others. With them no triple was chosen in
# 600 releases of labels that nothing explains (docs/methods/details/dp_marginals.md, "Measured").
LITTLE_GAIN = 0.01
"""Gain of a forest of pairs, as it was read, from which on no triple is looked for."""
MOST_TRIPLES = 5_000
"""Candidates at most: the columns of fewest values make them."""
MOST_ROW_LOOKS = 1 << 30
"""Candidates times rows at most."""
MOST_COUNTS = 1 << 22
"""Counts of all candidates at most."""
GROUPS = (4, 2)
"""Groups of a column at most: quarters, or halves where quarters have too few rows."""
READING_SHARE = 0.02
"""Share of epsilon for the reading at most."""
READING_SCALES = 200
"""Scales of its noise that the rows are, where epsilon allows."""
LEAST_READING_SCALES = 100
"""Scales below which the reading is too inaccurate to be taken."""
CHOICE_SHARE = 0.03
"""Share of epsilon for the choice at most."""
ENOUGH_MARGIN = 0.04
"""Part of the rows that a triple must exceed chance by for the noise of the choice, where epsilon allows."""
MOST_LEAST = 0.2
"""Part of the rows that it may have to reach in all; where it would be more, no triple is looked for."""
LITTLE = 0.05
"""Part of the rows up to which what is read of the best pair is little: half is all there is of two even classes."""
_MEAN, _DEVIATION = 0.4, 0.3
"""Half of a mean absolute deviation of chance, and of the standard deviation of it, for two even classes."""
_BEYOND = 2.0
"""Standard deviations beyond the largest of all candidates that are expected of chance."""
_ROUNDING = 1 + 1e-9
"""Factor of the rows: no rounding decides if epsilon times rows is exactly as much as is needed."""
_FALSE_HEADS = 4.0
"""Logarithm of the chance, inverse, that noise of the choice alone takes any candidate."""


@dataclass(frozen=True, kw_only=True)
class TripleRule:
    """Candidates, cells and prices."""

    values: tuple[int, ...]
    """Values of each column without missing."""
    classes: int
    """Classes of the target, missing included."""
    rows: float
    """Number of rows, public or noisy; at least 1."""
    epsilon: float
    """Most privacy loss of a row in all."""

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """The columns of candidates: those of fewest values, as many as make few enough triples."""
        order = sorted((at for at, own in enumerate(self.values) if own > 1), key=lambda at: (self.values[at], at))
        number = max((one for one in range(len(order) + 1) if self._is_small(math.comb(one, 3))), default=0)
        return tuple(sorted(order[:number]))

    def _is_small(self, triples: int) -> bool:
        counts = triples * max(GROUPS) ** 3 * self.classes
        return triples <= MOST_TRIPLES and triples * self.rows <= MOST_ROW_LOOKS and counts <= MOST_COUNTS

    @property
    def triples(self) -> Iterator[Triple]:
        """The candidates."""
        return combinations(self.columns, 3)

    @property
    def number(self) -> int:
        """Number of candidates."""
        return math.comb(len(self.columns), 3)

    @cached_property
    def most_groups(self) -> int:
        """Groups of a column at most; 0 where no triple is looked for."""
        if self.number == 0 or self.reading_noise * LEAST_READING_SCALES > self.rows * _ROUNDING:
            return 0
        for most in GROUPS:
            widest = sorted(min(self.values[at], most) for at in self.columns)[-3:]
            if self.least(math.prod(widest)) <= MOST_LEAST * self.rows:
                return most
        return 0

    def group_number(self, column: int) -> int:
        """Return the number of groups of a column."""
        return min(self.values[column], self.most_groups)

    def cells(self, columns: tuple[int, ...]) -> int:
        """Return the cells of some columns together."""
        return math.prod(self.group_number(at) for at in columns)

    @property
    def reading_share(self) -> float:
        """Share of epsilon for the reading of the best pair."""
        return min(READING_SHARE, READING_SCALES / (self.epsilon * self.rows))

    @property
    def reading_noise(self) -> float:
        """Scale of its noise, in rows."""
        return 1 / (self.reading_share * self.epsilon)

    @property
    def _margin_for_all(self) -> float:
        """Margin in rows that noise of the choice needs, were all of epsilon spent on it: scores move by a row each."""
        return 2 * (math.log(self.number) + _FALSE_HEADS) / self.epsilon

    @property
    def choice_share(self) -> float:
        """Share of epsilon for the choice."""
        return min(CHOICE_SHARE, self._margin_for_all / (ENOUGH_MARGIN * self.rows))

    def is_little(self, reading: float) -> bool:
        """Return True if the best pair was read to speak so little of the target that a triple is looked for."""
        return reading <= LITTLE * self.rows

    def chance(self, cells: int) -> float:
        """Return an approximate bound on the score by chance of so many cells without any relation, in rows."""
        return _MEAN * math.sqrt((self.classes - 1) * cells * self.rows)

    def least(self, cells: int) -> float:
        """Return the score from which on a triple of so many cells is preferred to none, in rows."""
        largest = _BEYOND + math.sqrt(2 * math.log(self.number))
        spread = _DEVIATION * math.sqrt((self.classes - 1) * self.rows)
        return self.chance(cells) + largest * spread + self._margin_for_all / self.choice_share
