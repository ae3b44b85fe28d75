# SPDX-License-Identifier: Apache-2.0
"""Risk against a population: matched classes, individual risk, log-linear models, and population uniques.

Every estimate here assumes that the sample was drawn simply at random, or with known weights. None is a promise.

**Matched classes** need a file of the population: k-map, journalist, marketer and presence.

**Individual risk** by the weights of a sample: the expected share of the right match (Benedetti and Franconi 1998).

**Log-linear models** of sample uniques: how many are population uniques, and how many would be matched rightly (Skinner
and Holmes 1998; Skinner and Shlomo 2008).

**Population uniques** from a sample's class sizes: Zayatz, Pitman, slide negative binomial, and Dankar's rule. Every
function takes the class sizes of a sample with its fraction, and returns the share of the population's rows that are
alone in their class of the population, in [0, 1]. None: the model has no solution for this table. At a fraction of 1
the sample is the population, and every model returns its share of unique rows.

References
----------
R. Benedetti and L. Franconi (1998). Statistical and technological solutions for controlled data dissemination.
C. J. Skinner and D. J. Holmes (1998). Estimating the re-identification risk per record in microdata. J. Official
Statistics 14(4), 361-372.
C. Skinner and N. Shlomo (2008). Assessing identification risk in survey microdata using log-linear models. JASA
103(483), 989-1001.
L. Zayatz (1991). Estimation of the percent of unique population elements on a microdata file using the sample.
N. Hoshino (2001). Applying Pitman's sampling formula to microdata disclosure risk assessment. J. Official Statistics
17(4), 499-520.
G. Chen and S. Keller-McNulty (1998). Estimation of identification disclosure risk in microdata. J. Official Statistics
14(1), 79-95.
P. J. Haas and L. Stokes (1998). Estimating the number of classes in a finite population. JASA 93(444), 1475-1487.
F. K. Dankar, K. El Emam, A. Neisa and T. Roffey (2012). Estimating the re-identification risk of clinical data sets.
BMC Medical Informatics and Decision Making 12:66.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray


def matched_classes(sample: NDArray[np.int64], people: NDArray[np.int64]) -> dict[str, Any]:
    """Return the match of a table's classes with those of a population.

    Parameters
    ----------
    sample : int64 array, shape (n_classes,)
        Rows, or people, of each class of the table, f, at least 1.
    people : int64 array, shape (n_classes,)
        People of the population who share the class, F; 0 where it lacks the class.

    Returns
    -------
    dict
        `unmatched_classes`, and of the others `k_map`, the smallest F; `journalist`: `max`, 1 / k_map, and `mean`, the
        larger of classes over people and of the marketer's share; `marketer`, the sum of f / F over the rows;
        `delta_presence`: the largest f / F, and its mean over the rows. Shares are at most 1: above that the
        population lacks somebody. `k_map` alone, and None, where no class is met.
    """
    met = people > 0
    small, large = sample[met].astype(np.float64), people[met].astype(np.float64)
    unmatched = int(people.size - np.count_nonzero(met))
    if not small.size:
        return {"unmatched_classes": unmatched, "k_map": None}
    n, present = float(small.sum()), np.minimum(small / large, 1.0)
    marketer = float(present.sum() / n)
    return {
        "unmatched_classes": unmatched,
        "k_map": int(large.min()),
        "journalist": {"max": float(1 / large.min()), "mean": max(float(small.size / large.sum()), marketer)},
        "marketer": marketer,
        "delta_presence": {"max": float(present.max()), "mean": float((small @ present) / n)},
    }


_LARGE = 20  # rows from which on the terms of the series fall fast enough, whatever the fraction
_CLOSE = 0.2
_TERMS = 60


def individual_risk(rows: NDArray[np.int64], people: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return E[1/F | f] of each class: the expected risk that a person of it is found in the population.

    Parameters
    ----------
    rows : int64 array, shape (n_classes,)
        Rows of each class in the sample, f, at least 1.
    people : float64 array, shape (n_classes,)
        Estimated people of each class in the population: the sum of the weights of its rows, at least `rows`.

    Returns
    -------
    float64 array, shape (n_classes,)
        In (0, 1]. With p = rows / people, and F given f negative binomial, it is
        p^f / f * 2F1(f, f; f + 1; 1 - p). The sum over all rows of a table is the expected number of people found.

    Raises
    ------
    ValueError
        A class has no row, or fewer people than rows.

    Notes
    -----
    Euler's transformation makes this p / f * 2F1(1, 1; f + 1; 1 - p), which overflows for no f: scipy evaluates it for
    small classes, and its series for large ones, whose terms fall like 1 / binomial(f + k, k). Classes of one
    and of two rows have closed forms.
    """
    f, population = np.asarray(rows, np.float64), np.asarray(people, np.float64)
    if (f < 1).any() or not (population >= f).all():
        raise ValueError("a class has at least one row, and at least as many people as rows")
    p, q = f / population, (population - f) / population
    with np.errstate(divide="ignore", invalid="ignore"):
        odds, logarithm = p / q, -np.log(p)
        one, two = odds * logarithm, odds - odds**2 * logarithm
    # close to q = 0 the closed forms cancel out, and the series of any class converges at once
    closed, large = (f <= 2) & (q > _CLOSE), (f >= _LARGE) | (q <= _CLOSE)
    risk = np.where(f == 1, one, two)
    risk[large] = p[large] / f[large] * _series(f[large], q[large])
    rest = ~(closed | large)
    if rest.any():
        from scipy.special import hyp2f1

        risk[rest] = p[rest] / f[rest] * hyp2f1(1.0, 1.0, f[rest] + 1, q[rest])
    return np.asarray(risk, np.float64)


def _series(f: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 2F1(1, 1; f + 1; q), term by term."""
    total, term = np.ones_like(f), np.ones_like(f)
    for k in range(1, _TERMS):
        term = term * (k * q / (f + k))
        total += term
    return total


def household_risk(risk: NDArray[np.float64], household: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return for each person the risk that anybody of their household is found, 1 - prod(1 - risk).

    Parameters
    ----------
    risk : float64 array, shape (n_people,)
        Risk of each person, in [0, 1].
    household : int64 array, shape (n_people,)
        Number of each person's household, at least 0.

    Returns
    -------
    float64 array, shape (n_people,)
        In [0, 1]; the same for all of a household.
    """
    with np.errstate(divide="ignore"):
        unfound = np.bincount(household, weights=np.log1p(-np.asarray(risk, np.float64)))
    return -np.expm1(unfound[household])


MOST_CELLS = 4_000_000
"""Cells of the full table above which the model of all pairs is not fitted."""
_MOST_ROUNDS = 60
_CLOSE_ENOUGH = 1e-4  # rows by which a margin may be off


def sample_unique_risk(expected: NDArray[np.float64], fraction: float) -> tuple[float, float]:
    """Return tau 1 and tau 2 of sample uniques.

    Parameters
    ----------
    expected : float64 array, shape (n_uniques,)
        Rows that a model expects in the cell of each sample unique, above 0.
    fraction : float
        Sampling fraction, in (0, 1].

    Returns
    -------
    tau1 : float
        Expected number of sample uniques that are population uniques: sum of exp(-v), v = expected (1 - f) / f.
    tau2 : float
        Expected number of right matches of sample uniques: sum of (1 - exp(-v)) / v.

    Notes
    -----
    Sample counts are Poisson with the expected mean, those of the population Poisson with the mean over the fraction.
    """
    v = np.asarray(expected, np.float64) * ((1 - fraction) / fraction)
    right = np.ones_like(v)
    np.divide(-np.expm1(-v), v, out=right, where=v > 0)
    return float(np.exp(-v).sum()), float(right.sum())


def main_effects(columns: Sequence[NDArray[np.int64]], at: Sequence[NDArray[np.integer[Any]]]) -> NDArray[np.float64]:
    """Return the rows that independent columns would have in some cells, shape (n_cells,).

    Parameters
    ----------
    columns : sequence of int64 arrays, shape (n_rows,)
        Codes of each column, at least 0; at least one column and one row.
    at : sequence of int arrays, shape (n_cells,)
        The cells, as codes of each column that its rows have.
    """
    n_rows = columns[0].size
    expected = np.full(at[0].size, float(n_rows))
    for codes, cells in zip(columns, at, strict=True):
        expected *= (np.bincount(codes) / n_rows)[cells]
    return expected


def all_pairs(
    columns: Sequence[NDArray[np.int64]], at: Sequence[NDArray[np.integer[Any]]]
) -> NDArray[np.float64] | None:
    """Return the rows that the model with all interactions of two columns has in some cells, shape (n_cells,).

    Fitted by iterative proportional fitting of the full table; None where that has more than `MOST_CELLS` cells. One or
    two columns fit exactly.

    Parameters
    ----------
    columns, at
        As for `main_effects`.
    """
    shape = tuple(int(codes.max()) + 1 for codes in columns)
    if math.prod(shape) > MOST_CELLS:
        return None
    axes = range(len(shape))
    margins = []
    for pair in combinations(axes, min(2, len(shape))):
        others = tuple(axis for axis in axes if axis not in pair)
        sizes = [shape[axis] for axis in pair]
        cells = np.ravel_multi_index([columns[axis] for axis in pair], sizes)
        margin_shape = [shape[axis] if axis in pair else 1 for axis in axes]
        margins.append(
            (others, np.bincount(cells, minlength=math.prod(sizes)).reshape(margin_shape).astype(np.float64))
        )
    fitted = np.full(shape, columns[0].size / math.prod(shape))
    for _ in range(_MOST_ROUNDS):
        worst = 0.0
        for others, wanted in margins:
            reached = fitted.sum(axis=others, keepdims=True)
            worst = max(worst, float(np.abs(reached - wanted).max()))
            fitted *= np.divide(wanted, reached, out=np.zeros_like(wanted), where=reached > 0)
        if worst < _CLOSE_ENOUGH:
            break
    return np.asarray(fitted[tuple(at)], np.float64)


_LARGEST_RATIO = 1e8  # above it the difference of two log-gammas loses too many digits
_SMALLEST_FRACTION_OF_ZAYATZ_AND_SNB = 0.1


@dataclass(frozen=True, kw_only=True, eq=False)
class SampleClasses:
    """Number of classes of each size in a sample, and the sampling fraction.

    Parameters
    ----------
    sizes, counts : int64 array, shape (n_sizes,)
        Sizes, ascending and at least 1, and the number of classes of each, at least 1.
    fraction : float
        Rows of the sample over rows of the population, in (0, 1].
    """

    sizes: NDArray[np.int64]
    counts: NDArray[np.int64]
    fraction: float

    @classmethod
    def of(cls, histogram: Iterable[tuple[int, int]], fraction: float) -> SampleClasses:
        """Return the classes of a histogram of (size, number of classes).

        Raises
        ------
        ValueError
            A size is below 1, a number below 0, no class is left, or the fraction is not in (0, 1].
        """
        found = {int(size): int(count) for size, count in sorted(histogram) if count}
        if not found or min(found) < 1 or min(found.values()) < 1:
            raise ValueError("classes have at least one row, and there is at least one class")
        if not 0 < fraction <= 1:
            raise ValueError("a sampling fraction is above 0 and at most 1")
        return cls(
            sizes=np.array(list(found), np.int64), counts=np.array(list(found.values()), np.int64), fraction=fraction
        )

    @cached_property
    def rows(self) -> int:
        """Rows of the sample."""
        return int(self.sizes @ self.counts)

    @cached_property
    def classes(self) -> int:
        """Classes of the sample."""
        return int(self.counts.sum())

    @property
    def population(self) -> int:
        """Rows of the population, rounded."""
        return round(self.rows / self.fraction)

    def of_size(self, size: int) -> int:
        """Return the number of classes of one size."""
        return int(self.counts[self.sizes == size].sum())

    @property
    def share_of_uniques(self) -> float:
        """Share of the sample's rows that are alone in their class."""
        return self.of_size(1) / self.rows

    @property
    def is_decided(self) -> bool:
        """True where no model is needed: the sample is the population, every row is alone, or there is one class."""
        return self.fraction == 1 or self.of_size(1) == self.rows or self.classes == 1


def zayatz(sample: SampleClasses) -> float:
    """Return the share of population uniques by Zayatz: sample uniques, corrected by hypergeometric probabilities.

    0 where no row of the sample is alone. 1 where all are: nothing in the sample speaks against it.
    """
    ones = sample.of_size(1)
    if sample.is_decided or not ones:
        return sample.share_of_uniques
    probabilities = _sampled_once(sample)
    share = probabilities[0] * ones / float(probabilities @ sample.counts)
    return min(1.0, float(ones * share / sample.rows))  # a population of n / fraction rows: the fraction cancels out


def _sampled_once(sample: SampleClasses) -> NDArray[np.float64]:
    """Return the probability that just one row is drawn from a class, for population classes of each sample size.

    It is hypergeometric: size n / N times the product of (N - n - j) / (N - 1 - j) over j < size - 1.
    """
    population, rows = sample.population, sample.rows
    j = np.arange(int(sample.sizes[-1]) - 1, dtype=np.float64)
    others = np.maximum(population - rows - j, 0) / np.maximum(population - 1 - j, 1)
    with np.errstate(divide="ignore"):
        missed = np.exp(np.append(0.0, np.cumsum(np.log(others))))
    probabilities: NDArray[np.float64] = sample.sizes * (rows / population) * missed[sample.sizes - 1]
    return probabilities


@dataclass(frozen=True, kw_only=True)
class PitmanModel:
    """Pitman's sampling formula, fitted to a sample."""

    theta: float
    """Above -alpha."""
    alpha: float
    """In [0, 1)."""

    def share(self, population: int) -> float:
        """Return the share of a population of so many rows that is unique in it."""
        uniques = (
            math.lgamma(self.theta + 1) - math.lgamma(self.theta + self.alpha) + (self.alpha - 1) * math.log(population)
        )
        return min(1.0, math.exp(uniques))


def pitman(sample: SampleClasses) -> float | None:
    """Return the share of population uniques by Pitman's model; None where it cannot be fitted."""
    if sample.is_decided:
        return sample.share_of_uniques
    model = fit_pitman(sample)
    return None if model is None else model.share(sample.population)


def fit_pitman(sample: SampleClasses) -> PitmanModel | None:
    """Return the most likely model with 0 <= alpha < 1 and theta > -alpha; None where the search finds none.

    A table of one class, or of unique rows alone, has no most likely model: the likelihood grows without end.
    """
    from scipy.optimize import minimize, minimize_scalar

    if sample.of_size(1) == sample.rows or sample.classes == 1:
        return None
    likelihood = _PitmanLikelihood(sample)
    widest = 2 * math.log(sample.rows) + 3  # with one pair among unique rows theta is near rows^2 / 2

    def best(alpha: float) -> tuple[float, float]:
        found = minimize_scalar(
            lambda log_sum: likelihood.negative((alpha, log_sum)), bounds=(-25.0, widest), method="bounded"
        )
        return float(found.fun), float(found.x)

    grid = [(*best(alpha), alpha) for alpha in (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97)]
    _, log_sum, alpha = min(grid)
    polished = minimize(
        likelihood.negative,
        (alpha, log_sum),
        method="Nelder-Mead",
        bounds=[(0.0, 1 - 1e-9), (-25.0, widest)],
        options={"xatol": 1e-10, "fatol": 1e-10, "maxiter": 2000, "initial_simplex": _simplex(alpha, log_sum)},
    )
    alpha, log_sum = map(float, polished.x)
    if not math.isfinite(polished.fun) or log_sum >= widest - 1e-6 or alpha > 1 - 1e-6:
        return None
    return PitmanModel(theta=math.exp(log_sum) - alpha, alpha=alpha)


def _simplex(alpha: float, log_sum: float) -> list[tuple[float, float]]:
    return [(alpha, log_sum), (min(alpha + 0.02, 0.99), log_sum), (alpha, log_sum - 0.1)]


class _PitmanLikelihood:
    """The logarithm of Pitman's likelihood, in closed form."""

    def __init__(self, sample: SampleClasses) -> None:
        self._sample = sample
        self._inner = np.arange(1, sample.classes, dtype=np.float64)

    def negative(self, point: Sequence[float]) -> float:
        """Return minus the likelihood at (alpha, log(theta + alpha))."""
        from scipy.special import gammaln

        (alpha, log_sum), sample = map(float, point), self._sample
        theta = math.exp(log_sum) - alpha
        # with theta = x alpha the opened classes are alpha (x + 1), alpha (x + 2), ...
        if alpha and theta / alpha < _LARGEST_RATIO:
            opened = (sample.classes - 1) * math.log(alpha) + _rising(theta / alpha, sample.classes)
        else:
            opened = float(np.log(theta + self._inner * alpha).sum())
        grown = float(sample.counts @ (gammaln(sample.sizes - alpha) - gammaln(1 - alpha)))
        return _rising(theta, sample.rows) - opened - grown


def _rising(start: float, number: int) -> float:
    """Return the sum of log(start + i) for i from 1 to number - 1; start is above -1."""
    if start < _LARGEST_RATIO:
        return math.lgamma(start + number) - math.lgamma(start + 1)
    return float(np.log(start + np.arange(1.0, number)).sum())


@dataclass(frozen=True, kw_only=True)
class SlideNegativeBinomial:
    """Class sizes less one follow a negative binomial distribution: the model, fitted to a sample."""

    classes: float
    """Classes of the population."""
    alpha: float
    """Above 0."""
    beta: float
    """In (0, 1)."""

    @property
    def uniques(self) -> float:
        """Population classes of one row."""
        return self.classes * math.pow(self.beta, self.alpha)

    def expected(self, fraction: float) -> tuple[float, float]:
        """Return the expected classes of one and of two rows in a sample of this fraction."""
        left = 1 - (1 - fraction) * (1 - self.beta)
        missed = 1 - left
        scale = self.classes * fraction * (self.beta / left) ** self.alpha
        ones = scale * (1 + self.alpha * missed / left)
        twos = scale * fraction * self.alpha * (1 - self.beta) / 2 * (2 - (1 - self.alpha) * missed) / left**2
        return ones, twos


def slide_negative_binomial(sample: SampleClasses) -> float | None:
    """Return the share of population uniques by the slide negative binomial model (SNB); None where it has no solution.

    It has none, for instance, where the sample has no class of two rows.
    """
    if sample.is_decided or not sample.of_size(1):
        return sample.share_of_uniques
    model = fit_slide_negative_binomial(sample)
    return None if model is None else min(1.0, model.uniques / sample.population)


def fit_slide_negative_binomial(sample: SampleClasses) -> SlideNegativeBinomial | None:
    """Return the model that expects as many classes of one and of two rows as the sample has; None: there is none.

    Notes
    -----
    The number of population classes is Shlosser's. For a given beta the ratio of both equations is quadratic in alpha
    with one positive root, so one unknown is left. The expected number of pairs is f^2 / 2 times the second derivative
    of the generating function of sizes, which the implementations of others have otherwise.
    """
    from scipy.optimize import brentq
    from scipy.special import expit

    ones, twos, fraction = sample.of_size(1), sample.of_size(2), sample.fraction
    if not ones or not twos or fraction == 1:
        return None
    classes = shlosser(sample)

    def model(logit: float) -> SlideNegativeBinomial:
        beta = float(expit(logit))
        missed = (1 - fraction) * (1 - beta)
        ratio = 2 * twos * (1 - missed) / (ones * fraction * (1 - beta))
        middle = 2 - missed - ratio * missed
        alpha = 2 * ratio * (1 - missed) / (middle + math.sqrt(middle**2 + 4 * missed * ratio * (1 - missed)))
        return SlideNegativeBinomial(classes=classes, alpha=alpha, beta=beta)

    def surplus(logit: float) -> float:
        return math.log(max(model(logit).expected(fraction)[0], 1e-300)) - math.log(ones)

    grid = np.linspace(-25, 25, 201)
    values = [surplus(float(at)) for at in grid]
    roots = [
        float(brentq(surplus, float(low), float(high), xtol=1e-13))
        for low, high, before, after in zip(grid[:-1], grid[1:], values[:-1], values[1:], strict=True)
        if before * after < 0
    ]
    return model(roots[-1]) if roots else None


def shlosser(sample: SampleClasses) -> float:
    """Return Shlosser's estimate of the number of classes in the population, at least that of the sample."""
    fraction, sizes, counts = sample.fraction, sample.sizes.astype(np.float64), sample.counts
    missed = 1 - fraction
    if not missed or not sample.of_size(1):
        return float(sample.classes)
    first = float(counts @ (sizes * fraction**2 * (1 - fraction**2) ** (sizes - 1)))
    second = float(counts @ (np.exp(sizes * math.log1p(-(fraction**2))) - missed**sizes))
    third = float(counts @ missed**sizes)
    fourth = float(counts @ (sizes * fraction * missed ** (sizes - 1)))
    return sample.classes + sample.of_size(1) * first / second * (third / fourth) ** 2


def by_rule(sample: SampleClasses) -> float:
    """Return the estimate that Dankar's rule takes.

    Up to a fraction of 0.1 it is Pitman's, or Zayatz' where that cannot be fitted. Above it is the smaller one of
    Zayatz' and the slide negative binomial's, or Zayatz' where that has no solution.
    """
    estimate = zayatz(sample)
    if sample.fraction <= _SMALLEST_FRACTION_OF_ZAYATZ_AND_SNB:
        fitted = pitman(sample)
        return estimate if fitted is None else fitted
    other = slide_negative_binomial(sample)
    return estimate if other is None else min(estimate, other)
