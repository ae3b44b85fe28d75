# SPDX-License-Identifier: Apache-2.0
"""Additive log-odds scores from two sources, tree leaves and per-region attribute histograms, each weighted.

**Evidence of the leaves** beyond the attributes: noisy class counts against those of independence. If attributes were
independent within a class, the shares of the attributes' values in the box of a leaf would give the rows of each class
in it. Where the leaf's own noisy counts differ, the attributes that the tree was split by interact; their histograms do
not contain this difference. It is shrunk towards 0: how far follows from the noise and from how much larger than the
noise the differences of all leaves are. A tree whose splits found nothing therefore leaves the naive Bayes classifier
of the histograms as it is.

**Noise of the histograms** is discrete Laplace, or discrete Gaussian where `histogram_rule` chooses it.

**Optimism** of scores computed on the same noisy counts they were fitted to: a cell the noise has raised counts for its
class and is met more often, both at once. On true rows only one of the two happens. The difference is a covariance
(Efron 2004, "The estimation of prediction error"), and more noise of the same law shows it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anonkit.budget_rules.tree_rule import Rule
from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray
from anonkit.domains.number_bins import Categories, Grid
from anonkit.dp_trees.additive_model.weighting import FEATURE_UNIT, LARGEST_WEIGHT, Bounds, Features, NoisyStep
from anonkit.dp_trees.microdata import AgreedCounts, LeafProductModel, cells_of
from anonkit.mechanisms.exact_samplers import UniformStream, gaussian_counts, noisy_counts
from anonkit.published.count_evidence import (
    UNIT,
    AdditiveScores,
    Shares,
    places_of,
    region_of_nodes,
    shares_of,
    shares_unasked,
    softmax,
)
from anonkit.published.exact_losses import RATE_BITS
from anonkit.published.noisy_tables import GAUSSIAN
from anonkit.published.statements.noise_statement import Draw
from anonkit.published.tree_model import Node, PublishedForest
from anonkit.randomness import Randomness

_SPREADS = (0.02, 0.1, 0.3, 1.0, 3.0)
"""Prior standard deviations of a share of a class in a leaf, relative to the implied share; weighed by likelihood."""
_LOWEST_SHARE = 0.03
_TINY = 1e-9


def evidence_of_leaves(
    forest: PublishedForest,
    regions: Sequence[int],
    counts: Sequence[FloatArray],
    shares: Sequence[Shares],
    scale: float,
) -> tuple[FloatArray, ...]:
    """Return the evidence of each leaf beyond that of the attributes, 0 on average over classes, 0 at other nodes.

    Parameters
    ----------
    forest : PublishedForest
    regions : sequence of int
        Nodes of the first tree whose rows have histograms of their own.
    counts : for each tree the noisy class counts of its leaves, shape (n_nodes, n_classes)
    shares : for each attribute how the rows of each region and class are divided over its codes
    scale : float
        Scale of the noise of a count of a leaf, in rows.

    Returns
    -------
    tuple of float arrays, shapes (n_nodes, n_classes)
        In natural logarithms, divided by the number of trees.

    Privacy
    -------
    Made of published noisy counts alone: no privacy loss.
    """
    cells, out = cells_of(forest), []
    for number, (tree, own) in enumerate(zip(forest.trees, counts, strict=True)):
        ends = np.flatnonzero([node.is_leaf for node in tree])
        region = np.zeros(ends.size, dtype=np.int64)
        if number == 0:
            region = region_of_nodes([node.children for node in tree], regions)[ends]
        allowed = [codes[cells.tree == number] for codes in cells.allowed]
        implied = implied_shares(shares, allowed, region, len(regions), own.shape[1])
        totals = np.zeros((len(regions), own.shape[1]))
        np.add.at(totals, region, own[ends])
        found = shrunk_shares(own[ends], implied, (np.maximum(totals, scale) + 1)[region], scale)
        ratios = np.log(found / implied) / len(forest.trees)
        evidence = np.zeros(own.shape)
        evidence[ends] = ratios - ratios.mean(axis=1, keepdims=True)
        out.append(evidence)
    return tuple(out)


def implied_shares(
    shares: Sequence[Shares], allowed: Sequence[BoolArray], region: IntArray, regions: int, classes: int
) -> FloatArray:
    """Return the shares of the leaves in the rows of each region and class if attributes were independent.

    Parameters
    ----------
    shares : for each attribute how the rows of each region and class are divided over its codes
    allowed : for each attribute the codes that lead to each leaf, shape (n_leaves, codes)
    region : IntArray
        Of each leaf, shape (n_leaves,).
    regions, classes : int

    Returns
    -------
    FloatArray
        Shape (n_leaves, n_classes); over the leaves of a region a class sums to 1.
    """
    out = np.ones((region.size, classes))
    for one, codes in zip(shares, allowed, strict=True):
        out = out * np.maximum((codes[:, :, np.newaxis] * one.of_class[region]).sum(axis=1), _TINY)
    totals = np.zeros((regions, classes))
    np.add.at(totals, region, out)
    return np.asarray(out / totals[region])


def shrunk_shares(counts: FloatArray, implied: FloatArray, rows: FloatArray, scale: float) -> FloatArray:
    """Return the shares of each class's rows by leaf, drawn from the noisy ones towards the implied ones.

    Parameters
    ----------
    counts : float array, shape (n_leaves, n_classes)
        Noisy.
    implied : float array, shape (n_leaves, n_classes)
        As by `implied_shares`.
    rows : float array, shape (n_leaves, n_classes)
        Rows of the class in the leaf's region, at least 1.
    scale : float
        Scale of the noise of a count, in rows.
    """
    found = counts / rows - implied
    noise = (2.0 * scale * scale + rows * implied * (1 - implied)) / rows**2
    beliefs = (np.array(_SPREADS)[:, np.newaxis, np.newaxis] * implied) ** 2
    variances = beliefs + noise + 1e-15
    likelihood = -0.5 * (np.log(variances) + found * found / variances).sum(axis=(1, 2))
    weights = np.exp(likelihood - likelihood.max())
    factor = ((weights / weights.sum())[:, np.newaxis, np.newaxis] * beliefs / variances).sum(axis=0)
    return np.asarray(np.maximum(implied + factor * found, _LOWEST_SHARE * implied))


WEIGHT_DEVIATION = 0.6
"""Prior standard deviation of the weights around the public rule's."""
_LARGEST_INTERCEPT = 2.0
_CALIBRATION_ROWS, _CALIBRATION_STEPS, _CALIBRATED = 3000, 30, 1e-3


@dataclass(frozen=True, kw_only=True, eq=False)
class _Lookups:
    """Integer evidence and scores of cells and leaves, made once for all pieces of a table."""

    attributes: tuple[IntArray, ...]
    """Evidence, as in `Combination`."""
    leaves: tuple[IntArray, ...]
    attribute_scores: tuple[IntArray, ...]
    """Scores at the weights so far."""
    leaf_scores: tuple[IntArray, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Combination:
    """Evidence in natural logarithms, and the weights so far.

    Features, in this order: one an attribute, the trees together, then the intercepts (one for two classes, else one a
    class).
    """

    forest: PublishedForest
    regions: tuple[int, ...]
    region_of_node: IntArray
    base: FloatArray
    """Scores of the classes in a region before any feature, shape (n_regions, n_classes)."""
    attributes: tuple[FloatArray, ...]
    """Evidence of each code, 0 on average over a region's rows, shape (n_regions, codes, n_classes)."""
    leaves: tuple[FloatArray, ...]
    """Evidence of each leaf beyond the attributes', shape (n_nodes, n_classes), divided by the number of trees."""
    weights: FloatArray
    ranges: FloatArray
    """Typical range of each feature but the intercepts, from what is published."""

    @classmethod
    def of(
        cls,
        rule: Rule,
        forest: PublishedForest,
        regions: tuple[int, ...],
        counts: AgreedCounts,
        scale: float,
        count_scale: float,
    ) -> Combination:
        """Turn noisy counts into evidence.

        Parameters
        ----------
        rule : Rule
        forest : PublishedForest
        regions : tuple of int
        counts : AgreedCounts
        scale, count_scale : float
            Scale of the noise of histograms and of leaves' class counts, in rows.
        """
        classes = forest.schema.n_classes
        everywhere = _class_shares(counts.leaves, count_scale)
        children = [node.children for node in forest.trees[0]]
        inside = region_of_nodes(children, regions)
        region_shares = _node_shares(forest.trees[0], counts.leaves[0], everywhere, count_scale)[list(regions)]
        shares = [
            _shares(counts.histograms[at], attribute.domain, scale)
            for at, attribute in enumerate(forest.schema.attributes)
        ]
        evidence = [(one.log_ratios(), one.of_all) for one in shares]
        middles = [(of_all[:, :, np.newaxis] * ratios).sum(axis=1) for ratios, of_all in evidence]
        centred = tuple(ratios - middle[:, np.newaxis] for (ratios, _), middle in zip(evidence, middles, strict=True))
        leaves = evidence_of_leaves(forest, regions, counts.leaves, shares, count_scale)
        rows = _summed(forest.trees[0], counts.leaves[0])[list(regions)].sum(axis=1)
        rows = np.maximum(rows, 0.0) + 1
        typical = [
            _range((rows / rows.sum())[:, np.newaxis] * of_all, ratios, everywhere) for ratios, of_all in evidence
        ]
        ranges = [
            _range(_leaf_weights(own), attribute, everywhere)
            for own, attribute in zip(counts.leaves, leaves, strict=True)
        ]
        intercepts = 1 if classes == 2 else classes
        own = np.full(len(centred), rule.attribute_weight)
        return cls(
            forest=forest,
            regions=regions,
            region_of_node=inside,
            base=np.log(region_shares) + rule.attribute_weight * sum(middles, start=np.float64(0)),
            attributes=centred,
            leaves=leaves,
            weights=np.concatenate([own, [rule.tree_weight], np.zeros(intercepts)]),
            ranges=np.array([*typical, sum(ranges)]),
        )

    @property
    def size(self) -> int:
        """Number of features."""
        return len(self.attributes) + 1 + (1 if self._classes == 2 else self._classes)

    @property
    def bounds(self) -> Bounds:
        """Bounds of what a row adds to the sums of a Newton step."""
        return Bounds.of(self.ranges)

    @property
    def _classes(self) -> int:
        return int(self.base.shape[1])

    def _intercept(self) -> FloatArray:
        """Return the terms of the intercepts, shape (n_classes,)."""
        own = self.weights[len(self.attributes) + 1 :]
        return np.array([-0.5, 0.5]) * own[0] if self._classes == 2 else own

    def tables(self) -> tuple[list[FloatArray], list[FloatArray]]:
        """Return the scores of leaves and of attribute values at the weights so far."""
        of_trees = self.weights[len(self.attributes)]
        leaves = [of_trees * scores_ for scores_ in self.leaves]
        base = np.where(self.region_of_node[:, np.newaxis] >= 0, self.base[self.region_of_node], 0.0)
        leaves[0] = leaves[0] + base + self._intercept()
        return leaves, [weight * scores_ for weight, scores_ in zip(self.weights, self.attributes, strict=False)]

    def scores(self) -> AdditiveScores:
        """Return the scores as they are published; nodes that are split have none."""
        leaves, attributes = self.tables()
        ends = [np.array([node.is_leaf for node in tree])[:, np.newaxis] for tree in self.forest.trees]
        return AdditiveScores(
            leaves=tuple(_units(np.where(end, table, 0.0)) for end, table in zip(ends, leaves, strict=True)),
            region_of_leaf=self.region_of_node,
            regions=self.regions,
            attributes=tuple(_units(table) for table in attributes),
        )

    @cached_property
    def _lookups(self) -> _Lookups:
        leaf_scores, attribute_scores = (tuple(map(_steps, tables)) for tables in self.tables())
        return _Lookups(
            attributes=tuple(map(_steps, self.attributes)),
            leaves=tuple(map(_steps, self.leaves)),
            attribute_scores=attribute_scores,
            leaf_scores=leaf_scores,
        )

    def features(self, places: IntArray, codes: NDArray[np.integer]) -> Features:
        """Return the features of rows, in integer units: from lookups alone, so that each depends on its row alone."""
        lookups = self._lookups
        region = self.region_of_node[places[0]]
        values = [table[region, own].T for table, own in zip(lookups.attributes, codes, strict=True)]
        values.append(sum(table[place].T for table, place in zip(lookups.leaves, places, strict=True)))
        scores = sum(table[place] for table, place in zip(lookups.leaf_scores, places, strict=True))
        scores = scores + sum(table[region, own] for table, own in zip(lookups.attribute_scores, codes, strict=True))
        intercepts = np.array([[-0.5, 0.5]]) if self._classes == 2 else np.eye(self._classes)
        fixed = np.repeat(_steps(intercepts)[:, :, np.newaxis], codes.shape[1], axis=2)
        return Features(values=np.concatenate([np.stack(values), fixed]), scores=np.asarray(scores).T)

    def calibration_features(self, places: IntArray, codes: NDArray[np.integer]) -> Features:
        """Return the sum of all evidence as one feature, then the intercepts."""
        whole = self.features(places, codes)
        fixed = _steps(self.base + self._intercept())[self.region_of_node[places[0]]].T
        intercepts = whole.values[len(self.attributes) + 1 :]
        return Features(values=np.concatenate([(whole.scores - fixed)[np.newaxis], intercepts]), scores=whole.scores)

    def sloped(self, slope: float, intercepts: FloatArray) -> Combination:
        """Return the combination with all evidence times a slope, and intercepts changed by so much."""
        learned = len(self.attributes) + 1
        weights = np.concatenate([self.weights[:learned] * slope, self.weights[learned:] + intercepts])
        return replace(self, weights=weights)

    def reweighted(self, step: NoisyStep) -> Combination:
        """Return the combination after a step; no evidence counts against what it says, or much more than it says."""
        learned = len(self.attributes) + 1
        deviations = np.full(self.size, WEIGHT_DEVIATION)
        deviations[learned:] = 1.0
        weights = np.clip(self.weights + step.change(deviations), -_LARGEST_INTERCEPT, _LARGEST_INTERCEPT)
        weights[:learned] = np.clip(weights[:learned], 0.0, LARGEST_WEIGHT)
        return replace(self, weights=weights)

    def calibrated(
        self, world: LeafProductModel, randomness: Randomness, optimism: FloatArray | None = None, overlap: float = 0.0
    ) -> Combination:
        """Return the combination with intercepts that predict each class as often as the world has it.

        Shrinkage and weights below 1 cut more from the evidence for one class than for another; rows drawn from the
        unshrunk noisy counts show by how much.

        Parameters
        ----------
        world : LeafProductModel
        randomness : Randomness
        optimism : array, shape (n_classes, n_classes), optional
            What rows of each class (row) score too much for each class (column): the counts know their own noise.
        overlap : float
            In [0, 1): how much of what attributes say they say in common. Rows of the world have independent ones:
            scores of true rows are spread the more about the mean of their class.
        """
        rows = world.draw(_CALIBRATION_ROWS, UniformStream(randomness))
        if not rows.labels.size:
            return self
        scores = self._logarithms(rows.codes)
        scores = scores if optimism is None else scores - optimism[rows.labels]
        scores = _spread(scores, rows.labels, 1 / np.sqrt(1 - overlap))
        shares = np.bincount(rows.labels, minlength=self._classes) / rows.labels.size + 1e-6
        moved = np.zeros(self._classes)
        for _ in range(_CALIBRATION_STEPS):
            change = np.log(shares / softmax(scores + moved).mean(axis=0))
            moved += change
            if np.abs(change).max() < _CALIBRATED:
                break
        moved = np.clip(moved - moved.mean(), -_LARGEST_INTERCEPT / 2, _LARGEST_INTERCEPT / 2)
        weights = self.weights.copy()
        weights[len(self.attributes) + 1 :] += moved[1] - moved[0] if self._classes == 2 else moved
        return replace(self, weights=weights)

    def _logarithms(self, codes: IntArray) -> FloatArray:
        return self.scores().logarithms(places_of(self.forest, codes), codes)


def _spread(scores: FloatArray, labels: IntArray, factor: float) -> FloatArray:
    """Return scores at so many times their distance from the mean of their class."""
    sizes = np.bincount(labels)[:, np.newaxis]
    sums = np.stack([np.bincount(labels, weights=column) for column in scores.T], axis=1)
    middles = (sums / np.maximum(sizes, 1))[labels]
    return np.asarray(middles + factor * (scores - middles))


def _shares(
    counts: FloatArray,
    domain: Categories | Grid,
    scale: float,
) -> Shares:
    """Return the shares of an attribute's codes among the rows of each region and class, and of all classes.

    Even shares where the attribute was not measured: it does not separate the classes then.
    """
    regions = len(counts)
    if not counts.shape[1]:
        return shares_unasked(regions, domain.size, counts.shape[2])
    whole = counts.sum(axis=0, keepdims=True)
    shares = shares_of(whole, scale * np.sqrt(regions), domain)
    if regions > 1:
        prior = Shares(
            of_class=np.repeat(shares.of_class, regions, axis=0), of_all=np.repeat(shares.of_all, regions, axis=0)
        )
        shares = shares_of(counts, scale, domain, prior)
    return shares


def _class_shares(leaves: Sequence[FloatArray], scale: float) -> FloatArray:
    """Return the shares of the classes in the whole table, each with the noise as a pseudo-count."""
    counts = sum((leaf_counts.sum(axis=0) for leaf_counts in leaves), start=np.float64(0))
    rows = np.maximum(counts, scale) + 1
    return np.asarray(rows / rows.sum())


def _summed(tree: Sequence[Node], own: FloatArray) -> FloatArray:
    """Return the sum of the values of the leaves below each node."""
    out = own.copy()
    for number in range(len(tree) - 1, -1, -1):  # children come after their parents
        for child in tree[number].children:
            out[number] += out[child]
    return out


def _leaf_weights(counts: FloatArray) -> FloatArray:
    rows = np.maximum(counts.sum(axis=1), 0.0)
    return np.asarray(rows / max(float(rows.sum()), 1.0))


def _node_shares(tree: Sequence[Node], own: FloatArray, everywhere: FloatArray, scale: float) -> FloatArray:
    """Return class shares of every node, each drawn towards its parent by the noise, shape (n_nodes, n_classes)."""
    counts, classes = _summed(tree, own), own.shape[1]
    leaves = _summed(tree, np.array([[float(node.is_leaf)] for node in tree]))[:, 0]
    shares = np.tile(everywhere, (len(tree), 1))
    for number, node in enumerate(tree):
        for child in node.children:
            pseudo = (scale * np.sqrt(leaves[child]) + 0.5) * classes / len(node.children)
            rows = np.maximum(counts[child], 0.0) + pseudo * shares[number]
            shares[child] = rows / rows.sum()
    return shares


def _range(weights: FloatArray, ratios: FloatArray, everywhere: FloatArray) -> float:
    """Return the mean absolute evidence, summed over the classes: about the range between them."""
    gaps = np.abs(ratios - (ratios * everywhere).sum(axis=-1, keepdims=True)).sum(axis=-1)
    return float((weights * gaps).sum() * 2 / ratios.shape[-1])


def _units(table: FloatArray) -> IntArray:
    return np.asarray(np.rint(table / UNIT), dtype=np.int64)


def _steps(table: FloatArray) -> IntArray:
    return np.asarray(np.rint(table * FEATURE_UNIT), dtype=np.int64)


_ONE = 1 << RATE_BITS


@dataclass(frozen=True, kw_only=True)
class HistogramNoise:
    """Independent noise of one law for every cell of the histograms."""

    draw: Draw

    @property
    def scale(self) -> float:
        """Scale of the Laplace noise of the same variance, in rows: what is made of the counts reads their variance."""
        if self.draw.law == GAUSSIAN:
            return math.sqrt(_ONE / self.draw.rate) / 2  # 2 scale**2 = sigma**2 = 1 / (2 rho)
        return float(_ONE) / self.draw.rate

    def added(self, counts: IntArray, words: UniformStream) -> IntArray:
        """Return counts with noise, same shape."""
        noised = gaussian_counts if self.draw.law == GAUSSIAN else noisy_counts
        return noised(counts, self.draw.rate, words)


_PAIRS = 8
"""Perturbations, each added and taken away; the intercepts no longer change with more."""


def optimism_of(
    described: Callable[[Sequence[IntArray]], tuple[LeafProductModel, Combination]],
    histograms: Sequence[IntArray],
    law: HistogramNoise,
    words: UniformStream,
) -> FloatArray:
    """Return by how much rows drawn from noisy histograms score better than true rows, on average.

    Parameters
    ----------
    described : callable
        Histograms to the world they describe and the evidence made of them; one region.
    histograms : sequence of int64 arrays, shapes (1, codes, n_classes)
    law : HistogramNoise
        Their noise.
    words : UniformStream

    Returns
    -------
    FloatArray
        What the score of each class has too much on rows of each class, shape (n_classes, n_classes), in nats.

    Privacy
    -------
    Made of published noisy counts and fresh noise: no privacy loss.
    """
    classes = histograms[0].shape[2]
    covariance = np.zeros((classes, classes))
    for _ in range(_PAIRS):
        noise = [law.added(np.zeros_like(table), words) for table in histograms]
        (high, more), (low, less) = (
            described([table + sign * variance for table, variance in zip(histograms, noise, strict=True)])
            for sign in (1, -1)
        )
        parts = zip(high.shares, low.shares, more.tables()[1], less.tables()[1], strict=True)
        for shares, shares_low, scores, scores_low in parts:
            # an antithetic pair: half of each difference is what noise of this law moves, their product its covariance
            covariance += (shares - shares_low)[0].T @ (scores - scores_low)[0] / (4 * _PAIRS)
    return covariance
