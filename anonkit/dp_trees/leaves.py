# SPDX-License-Identifier: Apache-2.0
"""Leaf outputs: noisy class counts, or the label alone by private selection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from anonkit.domains.array_types import IntArray
from anonkit.mechanisms.accounting import LAPLACE, PERMUTE_AND_FLIP, AccountedDraw, rate_within
from anonkit.mechanisms.discrete_laplace import UniformStream, noisy_counts
from anonkit.mechanisms.private_selection import permute_and_flip
from anonkit.published.tree_attributes import TreeSchema
from anonkit.published.tree_model import LeafContent

Histograms = Callable[[IntArray, IntArray], Iterable[tuple[int, IntArray, IntArray]]]
"""Nodes and attributes of shape (n, m) to (attribute, positions among the nodes, counts (n, codes, classes))."""


LEAF_COUNTS = "class counts of a leaf"
"""Purpose of the draws of a leaf's class counts, with their level behind it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Leaves:
    """The leaves of one level with their exact counts, which must be noised before any other use."""

    level: int
    units: int
    """Privacy loss of a row in the leaf, allowed for its draws."""
    schema: TreeSchema
    nodes: IntArray
    totals: IntArray
    """Class counts, shape (n_leaves, n_classes)."""
    histograms: Histograms
    """Asks for class counts by attribute value: one pass over the rows."""


class Leaf(Protocol):
    """A way to fill leaves, with the draws it plans."""

    name: ClassVar[str]

    def draws(self, level: int, units: int, schema: TreeSchema) -> tuple[AccountedDraw, ...]:
        """Return what is drawn in a leaf of this level when it may cost `units`, each with `ends_path`."""
        ...

    def fill(self, leaves: Leaves, words: UniformStream) -> Sequence[LeafContent]:
        """Draw the contents, at the rates of `draws`."""
        ...


@dataclass(frozen=True, kw_only=True)
class NoisyClassCounts:
    """Class counts with discrete Laplace noise; a row is in one count, so each count gets all of the units."""

    name: ClassVar[str] = "counts"

    def draws(self, level: int, units: int, schema: TreeSchema) -> tuple[AccountedDraw, ...]:
        """Return the one line."""
        rate = rate_within(units, 1)
        purpose = f"{LEAF_COUNTS} at level {level}"
        return (
            AccountedDraw(purpose=purpose, mechanism=LAPLACE, rate=rate, sensitivity=1, level=level, ends_path=True),
        )

    def fill(self, leaves: Leaves, words: UniformStream) -> Sequence[LeafContent]:
        """Noise the counts."""
        rate = self.draws(leaves.level, leaves.units, leaves.schema)[0].rate
        return [LeafContent(counts=tuple(row)) for row in noisy_counts(leaves.totals, rate, words).tolist()]


@dataclass(frozen=True, kw_only=True)
class LabelOnly:
    """The label alone, by permute-and-flip on the class counts (eDPRF): a row that comes adds 1 to one of them."""

    name: ClassVar[str] = "label"
    slack: int = 1
    """Divides the rate: 2 is what papers spend that do not use that counts only rise when a row comes."""

    def draws(self, level: int, units: int, schema: TreeSchema) -> tuple[AccountedDraw, ...]:
        """Return the one line."""
        rate = rate_within(units, self.slack)
        purpose = f"label of a leaf at level {level}"
        return (
            AccountedDraw(
                purpose=purpose, mechanism=PERMUTE_AND_FLIP, rate=rate, sensitivity=1, level=level, ends_path=True
            ),
        )

    def fill(self, leaves: Leaves, words: UniformStream) -> Sequence[LeafContent]:
        """Choose the labels."""
        rate = self.draws(leaves.level, leaves.units, leaves.schema)[0].rate
        return [LeafContent(label=label) for label in permute_and_flip(leaves.totals, rate, words).tolist()]


LEAVES: dict[str, type[NoisyClassCounts] | type[LabelOnly]] = {
    leaf.name: leaf for leaf in (NoisyClassCounts, LabelOnly)
}
