# SPDX-License-Identifier: Apache-2.0
"""Additive scores on published trees: the score of each leaf plus that of each attribute value.

The score of a class is the sum of what the leaves that a row falls into say, one a tree, and of what each of its codes
adds at the row's *region*: a node of the first tree, one of a few. The probabilities of the classes are the softmax of
the scores. Everything is computed from noisy counts that are published, so it costs no privacy loss.

In the params of a release::

    "scores": {"unit": 0.001, "leaves": [[[-310, 310], ...], ...], "regions": [1, 2],
               "attributes": [[[[12, -12], ...], ...], ...]}

`leaves[t][i]` is node i of tree t (zeros for nodes that are split), `regions` are nodes of tree 0, and
`attributes[r][j][v]` is code v of attribute j in region r; each holds whole units, one a class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.errors import ReleaseFormatError, refusing_damage
from anonkit.published.tree_model import PublishedForest

UNIT = 0.001
"""Scores are published in whole thousandths of a natural logarithm: a convention."""
_PIECE = 1 << 14


_DAMAGED = "the scores of the params lack a key or have one of the wrong kind"


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredScores(ParamsPart, damage=_DAMAGED):
    """The scores as the params have them; the layout is in the module's docstring."""

    unit: float = UNIT
    leaves: tuple[IntArray, ...]
    regions: tuple[int, ...]
    attributes: tuple[tuple[IntArray, ...], ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class AdditiveScores:
    """Scores in whole units of `UNIT`."""

    leaves: tuple[IntArray, ...]
    """For each tree, shape (n_nodes, n_classes)."""
    region_of_leaf: IntArray
    """Number of the region that each node of tree 0 lies in, shape (n_nodes,); -1 above the regions."""
    regions: tuple[int, ...]
    """The nodes of tree 0 that are regions, in order."""
    attributes: tuple[IntArray, ...]
    """For each attribute, shape (n_regions, codes, n_classes)."""

    def logarithms(self, nodes: IntArray, codes: IntArray) -> FloatArray:
        """Return the logarithm of the odds of each class, up to what all share, shape (n_rows, n_classes).

        Parameters
        ----------
        nodes : int64 array, shape (n_trees, n_rows)
            The leaf of each row, numbered within its tree.
        codes : int64 array, shape (n_attributes, n_rows)
        """
        total = sum((table[place] for table, place in zip(self.leaves, nodes, strict=True)), start=np.int64(0))
        region = self.region_of_leaf[nodes[0]]
        for table, own in zip(self.attributes, codes, strict=True):
            total = total + table[region, own]
        return np.asarray(total * UNIT, dtype=np.float64)

    def probabilities(self, nodes: IntArray, codes: IntArray) -> FloatArray:
        """Return the probability of each class, shape (n_rows, n_classes); see `logarithms`."""
        out = np.empty((codes.shape[1], self.leaves[0].shape[1]))
        for start in range(0, codes.shape[1], _PIECE):
            part = slice(start, start + _PIECE)
            out[part] = softmax(self.logarithms(nodes[:, part], codes[:, part]))
        return out

    @property
    def stored(self) -> StoredScores:
        """The scores as the params have them."""
        return StoredScores(
            leaves=self.leaves,
            regions=self.regions,
            attributes=tuple(tuple(own[at] for own in self.attributes) for at in range(len(self.regions))),
        )

    @classmethod
    def of(cls, stored: StoredScores, children: Sequence[Sequence[Sequence[int]]], codes: Sequence[int]) -> Self:
        """Return the scores that the params of a release hold.

        Parameters
        ----------
        stored : StoredScores
        children : for each tree, for each node, its children
        codes : sequence of int
            Number of codes of each attribute.

        Raises
        ------
        ReleaseFormatError
            When a table has another shape than trees and attributes ask for.
        """
        if stored.unit != UNIT:
            raise ReleaseFormatError(f"the scores are not in units of {UNIT:g}")
        leaves, regions = stored.leaves, stored.regions
        with refusing_damage(_DAMAGED):
            tables = tuple(np.array([own[at] for own in stored.attributes], dtype=np.int64) for at in range(len(codes)))
        classes = leaves[0].shape[-1] if leaves else 0
        fits = [own.shape == (len(tree), classes) for own, tree in zip(leaves, children, strict=False)]
        fits += [own.shape == (len(regions), size, classes) for own, size in zip(tables, codes, strict=True)]
        region = region_of_nodes(children[0], regions) if children else np.zeros(0, dtype=np.int64)
        covered = all(region[at] >= 0 for at, own in enumerate(children[0]) if not own) if children else False
        if len(leaves) != len(children) or not all(fits) or not covered:
            raise ReleaseFormatError("the scores of the params do not fit its trees and attributes")
        return cls(leaves=leaves, region_of_leaf=region, regions=regions, attributes=tables)


def region_of_nodes(children: Sequence[Sequence[int]], regions: Sequence[int]) -> IntArray:
    """Return the region that each node of a tree lies in, shape (n_nodes,); -1 where it lies above all regions."""
    out = np.full(len(children), -1, dtype=np.int64)
    for number, node in enumerate(regions):
        if not 0 <= node < len(children):
            raise ReleaseFormatError("a region of the scores is no node of the first tree")
        out[node] = number
    for node, own in enumerate(children):  # children come after their parents
        for child in own:
            if out[child] < 0:
                out[child] = out[node]
    return out


def scores_of(params: Mapping[str, Any], forest: PublishedForest) -> AdditiveScores | None:
    """Return the scores that the params of a release hold; None where its leaves alone predict."""
    if "scores" not in params:
        return None
    children = [[node.children for node in tree] for tree in forest.trees]
    stored = StoredScores.from_params(params["scores"])
    return AdditiveScores.of(stored, children, [attribute.codes for attribute in forest.schema.attributes])


def places_of(forest: PublishedForest, codes: NDArray[np.integer[Any]]) -> IntArray:
    """Return the leaf of each row numbered within each tree, shape (n_trees, n_rows)."""
    starts = np.cumsum([0, *(len(tree) for tree in forest.trees)])[:-1]
    return np.asarray(forest.leaves_of(np.asarray(codes)) - starts[:, np.newaxis])


def softmax(scores: FloatArray) -> FloatArray:
    """Return exp(score) over its sum along the last axis."""
    lifted = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(lifted / lifted.sum(axis=-1, keepdims=True))
