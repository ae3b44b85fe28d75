# SPDX-License-Identifier: Apache-2.0
"""Log-odds of each class given an attribute value, from noisy counts, shrunk where the noise dominates.

All of this is post-processing of noisy counts: it costs no privacy loss and may be as clever as one likes. Each share
is drawn towards the share of all classes together, with the weight that a normal prior of its difference would give;
those of a region towards those of the whole table, with a prior as wide as the noisy counts of all regions together say
that regions differ. The cells of a number are halved again and again, so that neighbouring cells share what they know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anonkit.domains.array_types import FloatArray
from anonkit.domains.attribute_domains import Categories, Grid

ROOT_SPREADS = (1.0,)
"""Prior standard deviation of a log ratio against no difference between classes."""
REGION_SPREADS = (0.02, 0.1, 0.4, 0.8)
"""The same against the whole table's: each is weighed by how likely it makes the noisy counts of all regions."""
LARGEST_LOG_RATIO = 4.0
_LOWEST_SHARE = 0.03
_TINY = 1e-12
_FEWEST_CELLS = 4
"""Cells that are not halved: so few are divided at once."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Shares:
    """How the rows of each class, and of all together, are divided over parts, for several groups of rows at once."""

    of_class: FloatArray
    """Shape (groups, parts, n_classes), sums to 1 over the parts."""
    of_all: FloatArray
    """Shape (groups, parts), sums to 1 over the parts."""

    def log_ratios(self) -> FloatArray:
        """Return ln of share in the class over share in all, within LARGEST_LOG_RATIO either way."""
        ratio = np.log(np.maximum(self.of_class, 1e-9) / np.maximum(self.of_all, 1e-9)[:, :, np.newaxis])
        return np.asarray(np.clip(ratio, -LARGEST_LOG_RATIO, LARGEST_LOG_RATIO))

    def part(self, start: int, end: int) -> Shares:
        """Return how some of the parts are divided."""
        return normal(self.of_class[:, start:end], self.of_all[:, start:end])

    def merged(self, width: int) -> Shares:
        """Return the shares of runs of so many parts."""
        groups, parts, classes = self.of_class.shape
        own = self.of_class.reshape(groups, parts // width, width, classes).sum(axis=2)
        return normal(own, self.of_all.reshape(groups, parts // width, width).sum(axis=2))

    def divided(self) -> Shares:
        """Return how each pair of neighbours shares what it has, one group a pair."""
        groups, parts, classes = self.of_class.shape
        own = self.of_class.reshape(groups * parts // 2, 2, classes)
        return normal(own, self.of_all.reshape(groups * parts // 2, 2))


def normal(of_class: FloatArray, of_all: FloatArray) -> Shares:
    """Return shares that sum to 1."""
    own, every = of_class + _TINY, of_all + _TINY
    return Shares(of_class=own / own.sum(axis=1, keepdims=True), of_all=every / every.sum(axis=1, keepdims=True))


def by_linear_shrinkage(counts: FloatArray, scale: float, classes: FloatArray, prior: Shares | None) -> Shares:
    """Move each class's share towards the prior by the ratio of its variance to that of the prior."""
    _, parts, n_classes = counts.shape
    variance = 2.0 * scale * scale
    deviation = np.sqrt(variance)
    total = np.maximum(counts.sum(axis=2), 0.0)
    pseudo = deviation * np.sqrt(n_classes) + 1
    every = np.full(total.shape, 1.0 / parts) if prior is None else prior.of_all
    of_all = (total + pseudo * every) / (total.sum(axis=1, keepdims=True) + pseudo)
    centre = np.repeat(of_all[:, :, np.newaxis], n_classes, axis=2)
    if prior is not None:
        centre = centre * prior.of_class / np.maximum(every, _TINY)[:, :, np.newaxis]
        centre = centre / np.maximum(centre.sum(axis=1, keepdims=True), _TINY)
    rows = np.maximum(counts.sum(axis=1, keepdims=True), deviation * np.sqrt(parts) + 1)
    noise = (variance + rows * centre * (1 - centre)) / rows**2
    found = counts / rows - centre
    own = (
        centre + _factor(found, centre * (1 - centre), noise, ROOT_SPREADS if prior is None else REGION_SPREADS) * found
    )
    own = np.maximum(own, centre * _LOWEST_SHARE)
    return Shares(of_class=own / np.maximum(own.sum(axis=1, keepdims=True), 1e-300), of_all=of_all)


def _factor(found: FloatArray, unit: FloatArray, noise: FloatArray, spreads: Sequence[float]) -> FloatArray:
    """Return which part of each difference is believed: the mean over priors, each weighed by its likelihood."""
    beliefs = (np.array(spreads)[:, np.newaxis, np.newaxis, np.newaxis] * unit) ** 2 + 1e-15
    variances = beliefs + noise
    likelihood = -0.5 * (np.log(variances) + found * found / variances).sum(axis=(1, 2, 3))
    weights = np.exp(likelihood - likelihood.max())[:, np.newaxis, np.newaxis, np.newaxis]
    return np.asarray((weights * beliefs / variances).sum(axis=0) / weights.sum())


def shares_of(
    counts: FloatArray,
    scale: float,
    classes: FloatArray,
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
    classes : float array, shape (groups, n_classes)
        Shares of the classes.
    domain : Categories or Grid
        The cells of a grid are halved again and again; missing is parted from them first.
    prior : Shares, optional
        What is believed without these counts; without it that classes do not differ.
    """
    if not isinstance(domain, Grid) or domain.cells <= _FEWEST_CELLS:
        shares = by_linear_shrinkage(counts, scale, classes, prior)
        return normal(shares.of_class, shares.of_all)
    cells = domain.cells
    inner = _halved(counts[:, :cells], scale, classes, None if prior is None else prior.part(0, cells))
    if not domain.has_missing:
        return inner
    outer_prior = None
    if prior is not None:
        own = np.stack([prior.of_class[:, :cells].sum(axis=1), prior.of_class[:, cells]], axis=1)
        outer_prior = normal(own, np.stack([prior.of_all[:, :cells].sum(axis=1), prior.of_all[:, cells]], axis=1))
    both = np.stack([counts[:, :cells].sum(axis=1), counts[:, cells]], axis=1)
    outer = by_linear_shrinkage(both, scale * np.sqrt(cells), classes, outer_prior)
    return normal(
        np.concatenate([inner.of_class * outer.of_class[:, :1], outer.of_class[:, 1:]], axis=1),
        np.concatenate([inner.of_all * outer.of_all[:, :1], outer.of_all[:, 1:]], axis=1),
    )


def _halved(counts: FloatArray, scale: float, classes: FloatArray, prior: Shares | None) -> Shares:
    """Divide the cells in two, and each half again, down to single cells."""
    groups, cells, n_classes = counts.shape
    levels = (cells - 1).bit_length()
    more = (1 << levels) - cells
    padded = np.pad(counts, ((0, 0), (0, more), (0, 0)))
    if prior is not None:
        own = np.pad(prior.of_class, ((0, 0), (0, more), (0, 0)))
        prior = Shares(of_class=own, of_all=np.pad(prior.of_all, ((0, 0), (0, more))))
    of_class, of_all = np.ones((groups, 1, n_classes)), np.ones((groups, 1))
    for level in range(1, levels + 1):
        width = 1 << (levels - level)
        halves = padded.reshape(groups << (level - 1), 2, width, n_classes).sum(axis=2)
        inside = classes[:, np.newaxis] * of_class / np.maximum(of_all, _TINY)[:, :, np.newaxis]
        inside = (inside / np.maximum(inside.sum(axis=2, keepdims=True), _TINY)).reshape(-1, n_classes)
        known = None if prior is None else prior.merged(width).divided()
        shares = by_linear_shrinkage(halves, scale * np.sqrt(width), inside, known)
        of_class = (of_class[:, :, np.newaxis] * shares.of_class.reshape(groups, -1, 2, n_classes)).reshape(
            groups, -1, n_classes
        )
        of_all = (of_all[:, :, np.newaxis] * shares.of_all.reshape(groups, -1, 2)).reshape(groups, -1)
    return normal(of_class[:, :cells], of_all[:, :cells])
