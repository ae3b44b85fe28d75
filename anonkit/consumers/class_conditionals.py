# SPDX-License-Identifier: Apache-2.0
"""Prediction of the target that splits all tables of dp-marginals, from these tables themselves.

The mixture is fitted to all pairs of columns at once, and what separates the classes is a small part of them: its
posterior blurs it. The tables by class hold it as it was measured: naive Bayes of the columns, and what each measured
pair says of the class beyond its two columns (Friedman, Geiger, Goldszmidt: *Bayesian network classifiers*, 1997), each
drawn in by its noise, their sum by what columns have in common.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from anonkit.domains.array_types import FloatArray, IntArray
from anonkit.estimators.evidence_weight import weight_of_tables
from anonkit.published.count_evidence import by_linear_shrinkage, normal, shares_of
from anonkit.published.marginal_tables import OneWayTable, PairTable
from anonkit.published.product_mixtures import ProductMixtures

_NEVER = 1e-9
_FEWEST_ROWS = 0.5
"""Rows of a class, as far as its share is concerned: noise may leave it none."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassConditionals:
    """Evidence of columns and pairs for each class, in natural logarithms; a last row of zeros is for unknown cells."""

    classes: FloatArray
    """Logarithm of the share of each class, shape (n_classes,)."""
    columns: Mapping[str, FloatArray]
    """For each column shape (values + 1, n_classes)."""
    pairs: Mapping[tuple[str, str], FloatArray]
    """For each measured pair, beyond its columns, shape (values + 1, values + 1, n_classes)."""

    @classmethod
    def of(cls, mixtures: ProductMixtures, tables: Sequence[OneWayTable], pairs: Sequence[PairTable]) -> Self | None:
        """Return what the tables say of the target that splits them; None where the mixture is to be read.

        Parameters
        ----------
        mixtures : ProductMixtures
        tables, pairs
            Noisy tables of columns and of pairs.

        Notes
        -----
        Where more than half of all pairs were measured they close circles, and what they say is no sum any more: the
        mixture was fitted to all of them together.
        """
        n_columns = len(mixtures.names)
        if not mixtures.anchored or 4 * len(pairs) > n_columns * (n_columns - 1):
            return None
        rows = np.maximum(mixtures.class_rows, _FEWEST_ROWS)
        classes = np.asarray(rows / rows.sum())
        domains = mixtures.schema.domains
        within = {}
        for table in tables:
            moved = table.counts + ((rows - table.counts.sum(axis=1)) / table.counts.shape[1])[:, np.newaxis]
            found = shares_of(moved.T[np.newaxis], math.sqrt(table.variance / 2), domains[table.name]).of_class[0].T
            positive = np.maximum(found, _NEVER)
            within[table.name] = positive / positive.sum(axis=1, keepdims=True)
        weight = weight_of_tables(list(within.values()), classes)
        groups = {table.name: table.groups for table in tables}
        return cls(
            classes=np.log(classes),
            columns={name: np.pad(weight * np.log(own).T, ((0, 1), (0, 0))) for name, own in within.items()},
            pairs={
                pair.names: np.pad(weight * _beyond(pair, within, groups, classes), ((0, 1), (0, 1), (0, 0)))
                for pair in pairs
            },
        )

    def probabilities(self, codes: Mapping[str, IntArray], n_rows: int) -> FloatArray:
        """Return the share of each class, shape (n_rows, n_classes).

        Parameters
        ----------
        codes : mapping of str to int array
            Of the columns that there are; the size of its domain for a cell outside it.
        n_rows : int
        """
        total = np.tile(self.classes, (n_rows, 1))
        for name, own in codes.items():
            total += self.columns[name][own]
        for (first, second), beyond in self.pairs.items():
            if first in codes and second in codes:
                total += beyond[codes[first], codes[second]]
        shares = np.exp(total - total.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _beyond(
    pair: PairTable, within: Mapping[str, FloatArray], groups: Mapping[str, IntArray], classes: FloatArray
) -> FloatArray:
    """Return what a pair of values says of each class beyond both, shape (values, values, n_classes).

    Drawn towards independence within the class, as far as the noisy counts say that pairs are not.
    """
    (first, second), n_classes = pair.names, classes.size
    one, other = (_grouped(within[name], groups[name]) for name in pair.names)
    apart = one[:, :, np.newaxis] * other[:, np.newaxis, :]
    cells = apart.reshape(n_classes, -1)
    prior = normal(cells.T[np.newaxis], (classes @ cells)[np.newaxis])
    counts = pair.counts.reshape(n_classes, -1).T[np.newaxis].astype(np.float64)
    found = by_linear_shrinkage(counts, math.sqrt(pair.variance / 2), prior)
    ratio = np.log(np.maximum(found.of_class[0], _NEVER) / np.maximum(prior.of_class[0], _NEVER))
    by_group = ratio.reshape(one.shape[1], other.shape[1], n_classes)
    return np.asarray(by_group[groups[first]][:, groups[second]])


def _grouped(shares: FloatArray, groups: IntArray) -> FloatArray:
    """Return the sums over the values of each group, shape (n_classes, groups)."""
    return np.stack([np.bincount(groups, weights=own) for own in shares])
