# SPDX-License-Identifier: Apache-2.0
"""Discrete Laplace or Gaussian noise for histograms of class x attribute, and rows drawn from the noisy counts.

What is published is `anonkit.published.noisy_tables`; the draws are made here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.domains.number_bins import Categories, Grid
from anonkit.estimators.consistent_counts import consistent_counts
from anonkit.mechanisms.discrete_gaussian import gaussian_counts
from anonkit.mechanisms.discrete_laplace import UniformStream, noisy_counts
from anonkit.published.exact_losses import RATE_BITS
from anonkit.published.noisy_tables import LAPLACE, MISSING_ABOVE, NoisyTable, NoisyTables, is_faint
from anonkit.randomness import Randomness


def noisy_tables(
    target: tuple[str, Categories, IntArray, int],
    attributes: Sequence[tuple[str, Categories | Grid, IntArray, int]],
    randomness: Randomness,
    law: str = LAPLACE,
) -> NoisyTables:
    """Add noise to the true counts of histograms.

    Parameters
    ----------
    target, attributes
        Name, domain, true counts, rate of the noise in units of 2**-52.
    randomness : Randomness
    law : {"discrete-laplace", "discrete-gaussian"}

    Privacy
    -------
    Each table costs one row that comes or goes its rate, since the row changes one cell by one; the rates add up: to
    epsilon under Laplace noise, to rho under Gaussian noise.
    """
    words = UniformStream(randomness)
    noised = noisy_counts if law == LAPLACE else gaussian_counts
    # one stream for all tables in the order given: the order is part of what a seed reproduces
    name, classes, counts, rate = target
    return NoisyTables(
        target=name,
        classes=classes,
        class_counts=noised(counts, rate, words),
        class_rate=rate,
        tables=tuple(
            NoisyTable(name=at, domain=domain, counts=noised(true, own, words), rate=own, law=law)
            for at, domain, true, own in attributes
        ),
        law=law,
        missing_above=MISSING_ABOVE,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class SyntheticTable:
    """Rows as codes."""

    labels: IntArray
    """Shape (n_rows,)."""
    codes: tuple[IntArray, ...]
    """Per attribute, shape (n_rows,)."""


def rows_by_class(tables: NoisyTables, words: UniformStream) -> IntArray:
    """Return the number of rows of each class in the tables together, shape (n_classes,)."""
    return _whole(np.maximum(tables.class_sizes[0], 0), words)


def rows_of(tables: NoisyTables, numbers: IntArray, randomness: Randomness) -> SyntheticTable:
    """Return so many rows of each class, in which every table is met as nearly as whole rows allow.

    Attributes are independent within a class.

    Privacy
    -------
    Post-processing of noisy counts: no privacy loss.
    """
    words = UniformStream(randomness)
    codes: list[list[IntArray]] = [[] for _ in tables.tables]
    by_class = [consistent_counts(tables, table) for table in tables.tables]
    for label, n_rows in enumerate(numbers):
        for at, counts in enumerate(by_class):
            weights = counts[label]
            # noise may leave a class no positive count in this table; its rows are then spread evenly over its values
            weights = weights if weights.sum() > 0 else _evenly(tables, at)
            dealt = _whole(weights * (n_rows / weights.sum()), words, int(n_rows))
            # permuted per attribute: else all attributes of a class would ascend together, as if correlated
            codes[at].append(np.repeat(np.arange(dealt.size), dealt)[randomness.permutation(int(n_rows))])
    return SyntheticTable(
        labels=np.repeat(np.arange(numbers.size), numbers),
        codes=tuple(np.concatenate(parts) for parts in codes),
    )


def _evenly(tables: NoisyTables, at: int) -> FloatArray:
    table = tables.tables[at]
    weights = np.ones(table.domain.size)
    if table.domain.has_missing and is_faint([(table.counts[:, -1], table.variance)], tables.missing_above):
        weights[-1] = 0.0
    return weights


def _whole(weights: FloatArray, words: UniformStream, total: int | None = None) -> IntArray:
    """Return integers near weights with the same mean (systematic sampling), adding up to the total when given."""
    offset = float(words.fractions(1)[0]) / (1 << RATE_BITS)
    ends = np.floor(np.cumsum(weights) + offset).astype(np.int64)
    if total is not None and ends.size:
        ends = np.minimum(ends, total)
        ends[-1] = total
    return np.diff(ends, prepend=0)
