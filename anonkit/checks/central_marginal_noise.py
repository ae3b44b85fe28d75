# SPDX-License-Identifier: Apache-2.0
"""Expected effect of noise on the tables of dp-marginals, from sizes and a number of rows: an independent copy.

No row and no reading is used. `central_marginal_plan` compares the readings of a release with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Pairs = tuple[tuple[int, int], ...]
Amount = tuple[bool, float]
"""True for Gaussian noise, and the loss of a row in all tables: rho then, else epsilon."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NoiseView:
    """Columns alike, or split by classes: what noise is expected to do to them."""

    sizes: tuple[int, ...]
    classes: int
    pairs: Pairs
    rows: float
    target: bool = field(default=False)

    def weights(self, gaussian: bool) -> list[float]:
        """Return how the tables of columns share: by the power of their cells that makes their noise least."""
        return [size ** cell_power(gaussian) for size in self.sizes]

    def parts(self, edges: int, gaussian: bool) -> tuple[float, float, float]:
        """Return the shares of columns, choices and tables."""
        if edges == 0:
            return 1.0, 0.0, 0.0
        number, own = len(self.sizes), self.weights(gaussian)
        one = (0.25 * (number - 1)) ** cell_power(gaussian) * sum(own)
        two = edges * (sum(own) ** 2 - sum(each * each for each in own)) / (number * (number - 1))
        return 0.97 * one / (one + two), 0.03, 0.97 * two / (one + two)

    def stand_in(self, column: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return rows that fall like 1 / j over the values of a column."""
        falling = 1.0 / np.arange(1, self.sizes[column] + 1)
        return np.asarray(falling / falling.sum() * self.rows)

    def of_tables(self, scale: float) -> list[float]:
        """Return the expected error of the table of each pair."""
        most = 0.5 * scale * math.sqrt(self.classes)
        known = [self.stand_in(column) for column in range(len(self.sizes))]
        return [float(np.minimum(most, np.multiply.outer(known[a], known[b]) / self.rows).sum()) for a, b in self.pairs]

    def of_last(self, amount: Amount, share: float) -> float:
        """Return the expected distance of the table of a pair with the last column, for a share: the mean."""
        errors = zip(self.of_tables(mean_noise(amount[0], amount[1] * share)), self.pairs, strict=True)
        found = [error for error, (_, second) in errors if second == len(self.sizes) - 1]
        return sum(found) / len(found) / 2 / self.rows

    def of_columns(self, edges: int, amount: Amount) -> tuple[list[float], list[float]]:
        """Return the expected error of each column, and what those of both columns do to each pair."""
        gaussian, loss = amount
        shares, own = self.parts(edges, gaussian), self.weights(gaussian)
        cell = 0.8 * math.sqrt(self.classes)
        noise = [
            float(np.minimum(cell * mean_noise(gaussian, loss * shares[0] * each / sum(own)), self.stand_in(at)).sum())
            for at, each in enumerate(own)
        ]
        return noise, [min(noise[a] + noise[b], 2 * self.rows) for a, b in self.pairs]

    def by_chance(self, classes: int) -> float:
        """Return how far columns but the last are from independence of so many classes by chance alone: the mean."""
        cells = [np.sqrt(np.repeat(self.stand_in(at) / classes, classes)).sum() for at in range(len(self.sizes) - 1)]
        return sum(min(0.4 * float(cell) / self.rows, 1.0) for cell in cells) / len(cells)

    def counted(self) -> int:
        """Return how many pairs count: those with a target that splits the tables too."""
        return len(self.pairs) + (len(self.sizes) if self.target else 0)

    def taken(self, edges: int, alone: Amount, joined: Amount) -> float:
        """Return the distance that columns lose to so many pairs, where pairs depend on each other as is typical."""
        known = [self.stand_in(column) for column in range(len(self.sizes))]
        typical = [
            math.hypot(0.15, min(0.8 * float(np.sqrt(np.multiply.outer(known[a], known[b])).sum()) / self.rows**1.5, 1))
            for a, b in self.pairs
        ]
        (own, pairs), (thin, wide) = self.of_columns(0, alone), self.of_columns(edges, joined)
        lost = sum(thin) - sum(own) if self.target else 0.0
        for share, before, after in zip(typical, pairs, wide, strict=True):
            lost += math.hypot(share * self.rows, after) - math.hypot(share * self.rows, before)
        return lost / self.counted() / 2 / self.rows

    def distance(self, edges: int, amount: Amount) -> float:
        """Return the expected distance by noise alone."""
        gaussian, loss = amount
        shares = self.parts(edges, gaussian)
        noise, pairs = self.of_columns(edges, amount)
        if not self.pairs:
            return sum(noise) / len(noise) / 2 / self.rows
        number = self.counted()
        extra = sum(noise) if self.target else 0.0
        if edges:
            tables = self.of_tables(mean_noise(gaussian, loss * shares[2] / edges))
            along = 0.3 * edges / (len(self.sizes) - 1) * sum(tables) / len(tables)
            without = [math.hypot(error, along) for error in pairs]
            saved = [low - math.hypot(table, error) for low, table, error in zip(without, tables, pairs, strict=True)]
            pairs = [sum(without) - self._largest(saved, edges)]
        return (sum(pairs) + extra) / number / 2 / self.rows

    def quiet(self, edges: int, amounts: Sequence[Amount]) -> Amount:
        """Return which of the amounts is expected to be less noise; Laplace where both are alike."""
        first, *others = amounts
        return next((one for one in others if self.distance(edges, one) < self.distance(edges, first)), first)

    def least(self, edges: int, amounts: Sequence[Amount]) -> float:
        """Return the expected distance by noise alone, with whichever noise is less."""
        return self.distance(edges, self.quiet(edges, amounts))

    def spanning(self) -> int:
        """Return the pairs of a forest that joins all columns that may be joined."""
        return len(self.sizes) - len(parts_of(self.pairs, len(self.sizes)))

    def _largest(self, saved: Sequence[float], edges: int) -> float:
        """Return what a forest of so many pairs saves at most."""
        taken: list[float] = []
        part = {column: {column} for column in range(len(self.sizes))}
        for worth, (a, b) in sorted(zip(saved, self.pairs, strict=True), key=lambda one: -one[0]):
            if len(taken) == edges:
                break
            if part[a] is not part[b]:
                taken.append(worth)
                joined = part[a] | part[b]
                part.update(dict.fromkeys(joined, joined))
        return sum(taken)


def cell_power(gaussian: bool) -> float:
    """Return the power of its cells by which a table shares in what may be lost."""
    return 2 / 3 if gaussian else 1 / 2


def mean_noise(gaussian: bool, loss: float) -> float:
    """Return the mean absolute noise of a cell for which so much is lost."""
    return 1 / math.sqrt(math.pi * loss) if gaussian else 1 / loss


def parts_of(pairs: Sequence[tuple[int, int]], columns: int) -> list[set[int]]:
    """Return the parts into which some pairs join the columns."""
    parts = [{column} for column in range(columns)]
    for first, second in pairs:
        joined = [part for part in parts if first in part or second in part]
        parts = [part for part in parts if part not in joined] + [set().union(*joined)]
    return parts
