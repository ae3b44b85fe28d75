# SPDX-License-Identifier: Apache-2.0
"""Assignment of rows to trees as a function of a secret key and the row number, and its effect on the budget.

The key is drawn for one release and never written. Since every row draws its words by itself, the law of the other
rows' trees does not move when one row is left out; a slice by position or a deal of fixed size would move it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import ClassVar, Protocol

import numpy as np

from anonkit.budget_rules.model_queries import TABLE
from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import IntArray
from anonkit.mechanisms.accounting import Accounting, units_of
from anonkit.mechanisms.answered_attributes import answered_attribute
from anonkit.published.noisy_tables import LAPLACE
from anonkit.published.statements.draws import Bootstrap, Draw
from anonkit.randomness import keyed_words

_TREE_STREAM = 2**32 - 1
_WORD_BITS = 32


class TreeRows(Protocol):
    """Assignment of the rows of a table to the trees of a forest."""

    kind: ClassVar[str]

    @property
    def trees(self) -> int:
        """Number of trees."""
        ...

    def path_units(self, epsilon: Fraction) -> int:
        """Return the budget of a path of one tree under which a row loses at most epsilon."""
        ...

    @property
    def times(self) -> int:
        """Number of trees that hold a row, where it is fixed; 1 for a bootstrap, which counts its copies."""
        ...

    @property
    def bootstrap(self) -> Bootstrap | None:
        """The law of the copies of a row, where rows are copied."""
        ...

    def groups(self, key: bytes, first_row: int, n_rows: int) -> Iterator[tuple[IntArray, IntArray | None]]:
        """Yield, for one pass over some rows, the tree of each row and how often it takes the row (None: once)."""
        ...


@dataclass(frozen=True, kw_only=True)
class Disjoint(ParamsPart, keys=("kind", "trees")):
    """Every row is in one tree, drawn uniformly: each tree may spend the whole epsilon (parallel composition)."""

    kind: ClassVar[str] = "disjoint"
    times: ClassVar[int] = 1
    bootstrap: ClassVar[None] = None
    trees: int

    def path_units(self, epsilon: Fraction) -> int:
        """Return all of it."""
        return units_of(epsilon)

    def groups(self, key: bytes, first_row: int, n_rows: int) -> Iterator[tuple[IntArray, None]]:
        """Yield one group: each row with its tree."""
        if self.trees == 1:
            yield np.zeros(n_rows, dtype=np.int64), None
        else:
            # independent for each row: dealing by position or in fixed sizes would move other rows when one is
            # left out, and parallel composition would not hold
            yield answered_attribute(key, _TREE_STREAM, first_row, n_rows, self.trees), None


@dataclass(frozen=True, kw_only=True)
class Shared(ParamsPart, keys=("kind", "trees")):
    """Every tree sees every row: each may spend epsilon divided by the number of trees (sequential composition)."""

    kind: ClassVar[str] = "shared"
    bootstrap: ClassVar[None] = None
    trees: int

    @property
    def times(self) -> int:
        """All trees."""
        return self.trees

    def path_units(self, epsilon: Fraction) -> int:
        """Return the share of one tree."""
        return units_of(epsilon) // self.trees

    def groups(self, key: bytes, first_row: int, n_rows: int) -> Iterator[tuple[IntArray, None]]:
        """Yield all rows, once a tree."""
        for tree in range(self.trees):
            yield np.full(n_rows, tree, dtype=np.int64), None


@dataclass(frozen=True, kw_only=True)
class PoissonBootstrap(ParamsPart, keys=("kind", "trees")):
    """Every tree takes each row a Poisson(1) number of times, by 32-bit words: the bootstrap that can be accounted for.

    A bootstrap of fixed size moves when one row is left out; independent numbers of copies do not. A path that loses
    e a copy costs about exp(e) - 1 a tree, not e: copies add up.
    """

    kind: ClassVar[str] = "bootstrap"
    times: ClassVar[int] = 1
    trees: int

    @property
    def bootstrap(self) -> Bootstrap:
        """The law of the copies, in words of 32 bits."""
        return Bootstrap(trees=self.trees, weights=_poisson_weights(), word_bits=_WORD_BITS)

    def path_units(self, epsilon: Fraction) -> int:
        """Return the largest loss of one copy for which all copies in all trees lose at most epsilon."""
        units = units_of(Fraction(math.log1p(float(epsilon) / self.trees)))  # exp(e) - 1 a tree: Poisson untruncated
        # the float above is only a start; the exact loss decides
        while self._loss(units) > epsilon:
            units -= 1 + (units >> 40)
        return units

    def _loss(self, units: int) -> Fraction:
        line = Draw(name="path", query=TABLE, law=LAPLACE, rate=units)
        return Accounting(draws=(line,), bootstrap=self.bootstrap).row_loss

    def groups(self, key: bytes, first_row: int, n_rows: int) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield all rows with their copies, once a tree."""
        # inversion of the distribution function on integers: exactly the published law
        limits = np.cumsum(_poisson_weights())
        for tree in range(self.trees):
            words = keyed_words(key, tree, first_row, n_rows).reshape(-1)
            copies = np.searchsorted(limits, words.astype(np.int64), side="right")
            yield np.full(n_rows, tree, dtype=np.int64), copies.astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class PublishedBootstrap(PoissonBootstrap):
    """The Poisson bootstrap with the papers' budget, epsilon / trees a copy: a row then loses more than epsilon."""

    kind: ClassVar[str] = "published-bootstrap"

    def path_units(self, epsilon: Fraction) -> int:
        """Return the share of one tree, as if a row were in it once."""
        return units_of(epsilon) // self.trees


@cache
def _poisson_weights() -> tuple[int, ...]:
    """Return the numbers of 2**32 words that give 0, 1, 2, ... copies: Poisson(1), the remainder given to 0."""
    weights = [math.floor((1 << _WORD_BITS) * math.exp(-1) / math.factorial(copies)) for copies in range(13)]
    weights = [weight for weight in weights if weight]
    weights[0] += (1 << _WORD_BITS) - sum(weights)
    return tuple(weights)


ROWS: dict[str, type[Disjoint] | type[Shared] | type[PoissonBootstrap]] = {
    each.kind: each for each in (Disjoint, Shared, PoissonBootstrap, PublishedBootstrap)
}
