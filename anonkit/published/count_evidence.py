# SPDX-License-Identifier: Apache-2.0
"""Evidence of noisy counts for classes: shrunken log-odds of values, and the additive scores of a forest.

All of this is post-processing of noisy counts: it costs no privacy loss and may be as clever as one likes. Each share
is moved towards the share of all classes together, with the weight that a normal prior of its difference would give;
those of a region towards those of the whole table, with a prior as wide as the noisy counts of all regions together say
that regions differ. What the classes differ by over the cells of a number is smoothed: a Gaussian process over the
cells, observed with the noise of the counts. Several processes are candidates, independent cells among them, and each
is weighed by how likely it makes the counts.

The score of a class is the sum of what the leaves that a row falls into say, one a tree, and of what each of its codes
adds at the row's *region*: a node of the first tree, one of a few. The probabilities of the classes are the softmax of
the scores.

In the params of a release::

    "scores": {"unit": 0.001, "leaves": [[[-310, 310], ...], ...], "regions": [1, 2],
               "attributes": [[[[12, -12], ...], ...], ...]}

`leaves[t][i]` is node i of tree t (zeros for nodes that are split), `regions` are nodes of tree 0, and
`attributes[r][j][v]` is code v of attribute j in region r; each holds whole units, one a class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.domains.number_bins import Categories, Grid
from anonkit.errors import ReleaseFormatError, refusing_damage
from anonkit.published.tree_model import PublishedForest

# Reaches and spreads are conventions. Spreads learned from the counts, and a wider prior for categories, were tried and
# brought little (docs/methods/details/dp_forest.md). `python recipes/benchmarks/left_out_tables.py` measures the rule.
_ROUGH_REACHES = (0.1, 0.4, 1.5)
"""Parts of the range over which a difference that may jump keeps to about 1/e of itself."""
_SMOOTH_REACHES = (0.1, 0.3)
"""The same of a difference that has no jumps."""


def smoothed_differences(
    found: FloatArray, noise: FloatArray, unit: FloatArray, spreads: Sequence[float]
) -> FloatArray:
    """Return the posterior means of differences that were found with noise.

    Parameters
    ----------
    found, noise, unit : float arrays, shape (groups, cells, n_classes)
        Differences between a class's shares and what is believed without these counts, the variances of their noise,
        and the shares that are believed: a difference is relative to them. Cells are in the order of the number.
    spreads : sequence of float
        Prior standard deviations of a relative difference, each as likely beforehand.

    Returns
    -------
    FloatArray
        Shape (groups, cells, n_classes): the mean over spreads and processes, weighed by likelihood.
    """
    deviation = np.sqrt(noise).transpose(0, 2, 1)
    observed = found.transpose(0, 2, 1) / deviation
    size = unit.transpose(0, 2, 1) / deviation
    means, likelihoods = [], []
    for kernel in _kernels(found.shape[1]):
        # one decomposition of the process, in units of the noise, serves all spreads
        values, vectors = np.linalg.eigh(size[..., :, np.newaxis] * kernel * size[..., np.newaxis, :])
        values = np.maximum(values, 0.0)
        turned = (observed[..., np.newaxis, :] @ vectors)[..., 0, :]
        for spread in spreads:
            variance = 1 + spread * spread * values
            likelihoods.append(-0.5 * float((np.log(variance) + turned * turned / variance).sum()))
            means.append((vectors @ (turned * (1 - 1 / variance))[..., np.newaxis])[..., 0])
    weights = np.exp(np.array(likelihoods) - max(likelihoods))
    mean = np.tensordot(weights / weights.sum(), np.array(means), axes=1) * deviation
    return np.asarray(mean.transpose(0, 2, 1))


@lru_cache(maxsize=16)
def _kernels(cells: int) -> tuple[FloatArray, ...]:
    """Return the correlations of cells under each process, shape (cells, cells)."""
    places = (np.arange(cells) + 0.5) / cells
    apart = np.abs(places[:, np.newaxis] - places)
    return (
        np.eye(cells),
        *(np.exp(-apart / reach) for reach in _ROUGH_REACHES),
        *(np.exp(-0.5 * (apart / reach) ** 2) for reach in _SMOOTH_REACHES),
    )


CATEGORY_SPREADS = (0.3, 0.6, 1.0)
"""Prior standard deviations of a log ratio against no difference between classes, for categories.

Each is weighed by how likely it makes the noisy counts: of many rare categories the noise would say much, they little.
"""
NUMBER_SPREADS = (1.0,)
"""The same for the cells of a number, whose neighbours know of each other."""
REGION_SPREADS = (0.02, 0.1, 0.4, 0.8)
"""The same against the whole table's: each is weighed by how likely it makes the noisy counts of all regions."""
LARGEST_LOG_RATIO = 4.0
"""Most that one value says of a class, in natural logarithms: a convention."""
_LOWEST_SHARE = 0.03
"""Least share of a value within a class, in its share in all: a convention."""
_TINY = 1e-12
_MOST_SMOOTHED = 64
"""Cells that are smoothed at once: the work grows with their third power."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Shares:
    """Shares of parts among the rows of each class, and among all rows, for several groups of rows at once."""

    of_class: FloatArray
    """Shape (groups, parts, n_classes), sums to 1 over the parts."""
    of_all: FloatArray
    """Shape (groups, parts), sums to 1 over the parts."""

    def log_ratios(self) -> FloatArray:
        """Return ln of share in the class over share in all, within LARGEST_LOG_RATIO either way."""
        ratio = np.log(np.maximum(self.of_class, 1e-9) / np.maximum(self.of_all, 1e-9)[:, :, np.newaxis])
        return np.asarray(np.clip(ratio, -LARGEST_LOG_RATIO, LARGEST_LOG_RATIO))

    def part(self, start: int, end: int) -> Shares:
        """Return the division of some of the parts."""
        return normal(self.of_class[:, start:end], self.of_all[:, start:end])


def shares_unasked(groups: int, parts: int, classes: int) -> Shares:
    """Return the shares of an attribute that was not measured: even over its parts, in each class."""
    return normal(np.ones((groups, parts, classes)), np.ones((groups, parts)))


def normal(of_class: FloatArray, of_all: FloatArray) -> Shares:
    """Return shares that sum to 1."""
    own, every = of_class + _TINY, of_all + _TINY
    return Shares(of_class=own / own.sum(axis=1, keepdims=True), of_all=every / every.sum(axis=1, keepdims=True))


def by_linear_shrinkage(counts: FloatArray, scale: float, prior: Shares | None) -> Shares:
    """Move each class's share towards the prior by the ratio of its variance to that of the prior."""
    of_all = _of_all(counts, scale, None if prior is None else prior.of_all)
    centre, found, noise = _differences(counts, scale, of_all, prior)
    spreads = CATEGORY_SPREADS if prior is None else REGION_SPREADS
    return _moved(centre, _factor(found, centre * (1 - centre), noise, spreads) * found, of_all)


def by_smoothing(counts: FloatArray, scale: float, prior: Shares | None) -> Shares:
    """Move the shares of each class towards the prior; cells are in the order of a number, and neighbours are alike."""
    of_all = _halved(counts, scale, None if prior is None else prior.of_all)
    centre, found, noise = _differences(counts, scale, of_all, prior)
    spreads = NUMBER_SPREADS if prior is None else REGION_SPREADS
    return _moved(centre, smoothed_differences(found, noise, centre, spreads), of_all)


def _of_all(counts: FloatArray, scale: float, prior: FloatArray | None) -> FloatArray:
    """Return the division of all rows over the parts, shape (groups, parts), drawn towards the prior by the noise."""
    _, parts, n_classes = counts.shape
    total = np.maximum(counts.sum(axis=2), 0.0)
    pseudo = scale * np.sqrt(2.0 * n_classes) + 1
    every = np.full(total.shape, 1.0 / parts) if prior is None else prior
    return np.asarray((total + pseudo * every) / (total.sum(axis=1, keepdims=True) + pseudo))


def _differences(
    counts: FloatArray, scale: float, of_all: FloatArray, prior: Shares | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the belief without these counts, their difference from it, and its variance."""
    _, parts, n_classes = counts.shape
    variance = 2.0 * scale * scale
    centre = np.repeat(of_all[:, :, np.newaxis], n_classes, axis=2)
    if prior is not None:
        centre = centre * prior.of_class / np.maximum(prior.of_all, _TINY)[:, :, np.newaxis]
        centre = centre / np.maximum(centre.sum(axis=1, keepdims=True), _TINY)
    rows = np.maximum(counts.sum(axis=1, keepdims=True), np.sqrt(variance * parts) + 1)
    noise = (variance + rows * centre * (1 - centre)) / rows**2
    return centre, counts / rows - centre, noise


def _moved(centre: FloatArray, change: FloatArray, of_all: FloatArray) -> Shares:
    """Return the shares of the classes after a change, none of them far below what was believed without it."""
    own = np.maximum(centre + change, centre * _LOWEST_SHARE)
    return Shares(of_class=own / np.maximum(own.sum(axis=1, keepdims=True), 1e-300), of_all=of_all)


def _factor(found: FloatArray, unit: FloatArray, noise: FloatArray, spreads: Sequence[float]) -> FloatArray:
    """Return the shrinkage factor of each difference: the mean over priors, each weighed by its likelihood."""
    beliefs = (np.array(spreads)[:, np.newaxis, np.newaxis, np.newaxis] * unit) ** 2 + 1e-15
    variances = beliefs + noise
    likelihood = -0.5 * (np.log(variances) + found * found / variances).sum(axis=(1, 2, 3))
    weights = np.exp(likelihood - likelihood.max())[:, np.newaxis, np.newaxis, np.newaxis]
    return np.asarray((weights * beliefs / variances).sum(axis=0) / weights.sum())


def shares_of(
    counts: FloatArray,
    scale: float,
    domain: Categories | Grid,
    prior: Shares | None = None,
) -> Shares:
    """Return the shares of an attribute's codes from noisy counts.

    Parameters
    ----------
    counts : float array, shape (groups, codes, n_classes)
        With noise of this scale in each.
    scale : float
        Scale of the noise, in rows.
    domain : Categories or Grid
        The cells of a grid are smoothed; missing is parted from them first.
    prior : Shares, optional
        What is believed without these counts; without it that classes do not differ.
    """
    if not isinstance(domain, Grid):
        shares = by_linear_shrinkage(counts, scale, prior)
        return normal(shares.of_class, shares.of_all)
    cells = domain.cells
    inner = _ordered(counts[:, :cells], scale, None if prior is None else prior.part(0, cells))
    if not domain.has_missing:
        return inner
    outer_prior = None
    if prior is not None:
        own = np.stack([prior.of_class[:, :cells].sum(axis=1), prior.of_class[:, cells]], axis=1)
        outer_prior = normal(own, np.stack([prior.of_all[:, :cells].sum(axis=1), prior.of_all[:, cells]], axis=1))
    both = np.stack([counts[:, :cells].sum(axis=1), counts[:, cells]], axis=1)
    outer = by_linear_shrinkage(both, scale * np.sqrt(cells), outer_prior)
    return normal(
        np.concatenate([inner.of_class * outer.of_class[:, :1], outer.of_class[:, 1:]], axis=1),
        np.concatenate([inner.of_all * outer.of_all[:, :1], outer.of_all[:, 1:]], axis=1),
    )


def _ordered(counts: FloatArray, scale: float, prior: Shares | None) -> Shares:
    """Return the shares of cells in the order of a number: very many in runs, and each run in its cells."""
    groups, cells, n_classes = counts.shape
    if cells <= _MOST_SMOOTHED:
        shares = by_smoothing(counts, scale, prior)
        return normal(shares.of_class, shares.of_all)
    width = -(-cells // _MOST_SMOOTHED)
    runs = -(-cells // width)
    more = runs * width - cells
    padded = np.pad(counts, ((0, 0), (0, more), (0, 0))).reshape(groups, runs, width, n_classes)
    outer_prior = inner_prior = None
    if prior is not None:
        own = np.pad(prior.of_class, ((0, 0), (0, more), (0, 0))).reshape(padded.shape)
        every = np.pad(prior.of_all, ((0, 0), (0, more))).reshape(padded.shape[:3])
        outer_prior = normal(own.sum(axis=2), every.sum(axis=2))
        inner_prior = normal(own.reshape(-1, width, n_classes), every.reshape(-1, width))
    outer = by_smoothing(padded.sum(axis=2), scale * np.sqrt(width), outer_prior)
    inner = by_smoothing(padded.reshape(-1, width, n_classes), scale, inner_prior)
    of_class = outer.of_class[:, :, np.newaxis] * inner.of_class.reshape(padded.shape)
    of_all = outer.of_all[:, :, np.newaxis] * inner.of_all.reshape(padded.shape[:3])
    return normal(of_class.reshape(groups, -1, n_classes)[:, :cells], of_all.reshape(groups, -1)[:, :cells])


def _halved(counts: FloatArray, scale: float, prior: FloatArray | None) -> FloatArray:
    """Return the division of all rows over cells, shape (groups, cells): in two, and each half again."""
    groups, cells, n_classes = counts.shape
    levels = (cells - 1).bit_length()
    more = (1 << levels) - cells
    padded = np.pad(counts, ((0, 0), (0, more), (0, 0)))
    believed = None if prior is None else np.pad(prior, ((0, 0), (0, more)))
    of_all = np.ones((groups, 1))
    for level in range(1, levels + 1):
        width = 1 << (levels - level)
        halves = padded.reshape(groups << (level - 1), 2, width, n_classes).sum(axis=2)
        known = None
        if believed is not None:
            known = believed.reshape(groups << (level - 1), 2, width).sum(axis=2) + _TINY
            known = known / known.sum(axis=1, keepdims=True)
        shares = _of_all(halves, scale * np.sqrt(width), known)
        of_all = (of_all[:, :, np.newaxis] * shares.reshape(groups, -1, 2)).reshape(groups, -1)
    return of_all[:, :cells]


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
