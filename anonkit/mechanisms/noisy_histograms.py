# SPDX-License-Identifier: Apache-2.0
"""Noisy histograms, and what is read off them: rows, categories that enough rows have, and bounds of numbers.

What is published is `anonkit.published.noisy_tables`; the draws are made here. Histograms of class x attribute have
discrete Laplace or Gaussian noise, and rows are drawn from the noisy counts.

*Categories* are found by noisy counts above a threshold (stability-based histograms: Korolova, Kenthapadi, Mishra,
Ntoulas, WWW 2009; Bun, Nissim, Stemmer, ITCS 2016). Only values that occur get noise; a value that only one unit has is
published if its noise is large, and the probability of that is delta.

*Bounds* are found by noisy counts of public cells, which need no delta: first the powers of two, with either sign, then
equal cells between the outermost two that exceed the noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.domains.number_bins import Categories, Grid
from anonkit.estimators.consistent_counts import consistent_counts
from anonkit.mechanisms.exact_samplers import UniformStream, gaussian_counts, noisy_counts
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


THRESHOLDED = "thresholded-laplace"
"""Name of the mechanism of categories in an account."""
LOWEST_POWER, HIGHEST_POWER = -20, 40
"""Cells of sizes reach from 2**-20 to 2**41; smaller numbers are 0, larger ones are in the last cell."""
FINER_CELLS = 64
_FALSE_ALARM = 0.05
"""Chance that some empty cell exceeds the threshold."""
_FEW = 5
"""Cells that are no numbers, in units of the noise of their count: up to so many, a column is one of numbers."""
_ONE = 1 << RATE_BITS
_DIGITS = 40


def delta_of_threshold(threshold: int, rate: int, rows: int, *, replaced: bool) -> Fraction:
    """Return the probability that a value which only one unit has is published; rounded up.

    The unit has m rows. If n of them hold one value, it passes with probability q**(threshold - n) / (1 + q), q =
    exp(-rate), and m rows can hold values of n rows each at most m / n times: the sum over its values is at most the
    largest m / n times that. Where rows are replaced, values that go and values that come count.

    Parameters
    ----------
    threshold : int
        Above `rows`.
    rate : int
        In units of 2**-52.
    rows : int
        Most rows of a unit, m.
    replaced : bool
    """
    with localcontext() as context:
        context.prec = _DIGITS
        context.rounding = ROUND_CEILING
        loss = Decimal(rate) / _ONE
        scale = (1 + (-loss).exp()).ln()
        logs = [(Decimal(rows) / n).ln() - loss * (threshold - n) - scale for n in range(1, rows + 1)]
        chance = (max(logs) + Decimal(10) ** -30).exp() * (2 if replaced else 1)
        return Fraction(chance * (1 + Decimal(10) ** -30))


def threshold_within(delta: Fraction, rate: int, rows: int, *, replaced: bool) -> int:
    """Return the least threshold that keeps a delta. Parameters are those of `delta_of_threshold`."""
    low, high = rows, rows + 1
    while delta_of_threshold(high, rate, rows, replaced=replaced) > delta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if delta_of_threshold(middle, rate, rows, replaced=replaced) <= delta:
            high = middle
        else:
            low = middle
    return high


def common_values(counts: IntArray, rate: int, threshold: int, words: UniformStream) -> IntArray:
    """Return the positions of the values whose noisy count reaches a threshold.

    Parameters
    ----------
    counts : int64 array, shape (n_values,)
        Rows of each value that occurs; values without rows are left out, and in an order that does not depend on the
        rows.
    rate, threshold : int
    words : UniformStream

    Privacy
    -------
    Let tables differ in one unit of m rows that come or go (or are replaced). Values that both tables have move by m
    (2 m) together, which costs that many times the rate; all others are published with probability
    `delta_of_threshold`.
    """
    present = np.flatnonzero(counts > 0)
    return present[noisy_counts(counts[present], rate, words) >= threshold]


def sizes_of(numbers: NDArray[np.float64]) -> IntArray:
    """Return the cell of each number: by sign and power of two, from the most negative to the largest."""
    _, exponents = np.frexp(np.abs(numbers))
    powers = np.clip(exponents - 1, LOWEST_POWER - 1, HIGHEST_POWER) - (LOWEST_POWER - 1)  # 0 means nearly 0
    powers = np.where(numbers == 0, 0, powers)
    return np.asarray(np.where(numbers < 0, -powers, powers) + (HIGHEST_POWER - LOWEST_POWER + 1), dtype=np.int64)


N_SIZES = 2 * (HIGHEST_POWER - LOWEST_POWER + 1) + 1


def ends_of_size(cell: int) -> tuple[float, float]:
    """Return the least and the largest number of a cell of `sizes_of`."""
    power = cell - (HIGHEST_POWER - LOWEST_POWER + 1)
    if power == 0:
        return 0.0, 0.0
    near, far = (2.0 ** (abs(power) + LOWEST_POWER - 1 + step) for step in (0, 1))
    return (near, far) if power > 0 else (-far, -near)


def standing_out(noisy: IntArray, rate: int) -> tuple[int, int] | None:
    """Return the first and the last of the cells that exceed the noise; None when none does. Post-processing."""
    least = math.log(noisy.size / (2 * _FALSE_ALARM)) * _ONE / rate
    found = np.flatnonzero(noisy > least)
    return (int(found[0]), int(found[-1])) if found.size else None


def found_bounds(
    numbers: NDArray[np.float64], rows: IntArray, rates: tuple[int, int], words: UniformStream
) -> tuple[float, float] | None:
    """Return bounds within which most of the numbers lie; None where nothing exceeds the noise.

    Parameters
    ----------
    numbers : array, shape (n_values,)
        Different finite numbers.
    rows : int64 array, shape (n_values,)
        Rows of each.
    rates : (int, int)
        Of the noise of sizes, and of that of the finer cells, in units of 2**-52.
    words : UniformStream

    Privacy
    -------
    A row is in one public cell of each of two tables; the cells of the second follow from the noise of the first. It
    loses both rates. The second is drawn whatever the first gave.
    """
    coarse = np.bincount(sizes_of(numbers), weights=rows, minlength=N_SIZES).astype(np.int64)
    sizes = standing_out(noisy_counts(coarse, rates[0], words), rates[0])
    low, high = (0.0, 0.0) if sizes is None else (ends_of_size(sizes[0])[0], ends_of_size(sizes[1])[1])
    if not low < high:
        low, high = low - 1.0, high + 1.0
    places = np.floor((np.clip(numbers, low, high) - low) / (high - low) * FINER_CELLS)
    cells = np.minimum(places, FINER_CELLS - 1).astype(np.int64)
    finer = np.bincount(cells, weights=rows, minlength=FINER_CELLS).astype(np.int64)
    within = standing_out(noisy_counts(finer, rates[1], words), rates[1])
    if sizes is None:
        return None
    if within is None:
        return low, high
    edges = np.linspace(low, high, FINER_CELLS + 1)
    return float(edges[within[0]]), float(edges[within[1] + 1])


def is_numeric(texts: int, rate: int, words: UniformStream) -> bool:
    """Return True if a column of strings holds numbers: by a noisy count whether few cells are something else.

    Privacy
    -------
    A row is in the count once, or not: it loses the rate.
    """
    return bool(int(noisy_counts(np.array([texts]), rate, words)[0]) * rate < _FEW * _ONE)
