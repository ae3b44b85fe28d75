# SPDX-License-Identifier: Apache-2.0
"""Consistent counts from noisy histograms: none negative, and one size of each class for all attributes.

Distributions behind randomized answers: projection, expectation maximization, class × value tables, intervals.

Everything here is post-processing of what was published and costs no privacy.

Maximum-likelihood distribution behind randomized answers by Newton's method, in tens of steps (EM: thousands).

The log-likelihood of the answers is concave in the shares. Its maximum on the simplex is approached from inside, along
the maxima of log-likelihood + μ Σ ln(share) for falling μ (Boyd & Vandenberghe, Convex Optimization, 2004, §11).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from anonkit.domains.coded_columns import FloatArray
from anonkit.errors import ParameterError
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.channels.response_channel import Channel, TruthOrBlind
from anonkit.published.noisy_tables import NoisyTable, NoisyTables, is_faint
from anonkit.published.one_thread import one_thread

LARGEST = 400
"""Shares estimated together at most: a step solves that many linear equations."""

_BARRIERS = tuple(10.0**-power for power in range(6))
_MOST_STEPS = 40  # at each barrier; about five are taken
_CLOSE = 0.01  # share of what the barrier costs that the Newton decrement may leave
_LEAST = 1e-300


@one_thread()
def likeliest_shares(counts: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return the maximum-likelihood shares behind the answer counts.

    Parameters
    ----------
    counts : array, shape (n_answers,)
        Not negative; a sum of 0 gives equal shares.
    matrix : array, shape (n_shares, n_answers)
        Probability of each answer under each true value.

    Returns
    -------
    array, shape (n_shares,)
        Positive, adding up to 1; the log-likelihood of all answers is within `n_shares` / 100,000 of the highest.
    """
    size = len(matrix)
    shares = np.full(size, 1 / size)
    given = counts > 0
    seen, answers = counts[given], matrix[:, given]
    if size == 1 or not given.any():
        return shares
    for barrier in _BARRIERS:
        for _ in range(_MOST_STEPS):
            shares, decrement = _newton_step(shares, seen, answers, barrier)
            if decrement < _CLOSE * barrier * size:
                break
    return np.asarray(shares / shares.sum())


def _newton_step(shares: FloatArray, seen: FloatArray, answers: FloatArray, barrier: float) -> tuple[FloatArray, float]:
    """Return better shares with the same sum, and the Newton decrement: twice what a whole step promises to gain."""
    expected = shares @ answers
    slope = answers @ (seen / expected) + barrier / shares
    curvature = (answers * (seen / expected**2)) @ answers.T
    curvature[np.diag_indices(len(shares))] += barrier / shares**2
    solved = np.linalg.solve(curvature, np.stack([slope, np.ones_like(slope)], axis=1))
    step = solved[:, 0] - solved[:, 0].sum() / solved[:, 1].sum() * solved[:, 1]
    decrement = float(slope @ step)
    falling = step < 0
    length = min(1.0, 0.99 * float(np.min(-shares[falling] / step[falling]))) if falling.any() else 1.0
    before = _objective(shares, seen, answers, barrier)
    while length > 1e-9:
        ahead = shares + length * step
        if _objective(ahead, seen, answers, barrier) >= before + 0.1 * length * decrement:
            return ahead, decrement
        length /= 2
    return shares, 0.0  # rounding leaves nothing to gain


def _objective(shares: FloatArray, seen: FloatArray, answers: FloatArray, barrier: float) -> float:
    expected = np.maximum(shares @ answers, _LEAST)
    return float(seen @ np.log(expected) + barrier * np.log(np.maximum(shares, _LEAST)).sum())


_DENSE_INPUTS = 4096


def project_to_simplex(values: FloatArray) -> FloatArray:
    """Return the nearest point (Euclidean) with entries in [0, 1] that add up to 1; acts on the last axis.

    Duchi et al., ICML 2008: subtract one threshold from all entries and cut at 0.
    """
    descending = -np.sort(-values, axis=-1)
    excess = np.cumsum(descending, axis=-1) - 1
    sizes = np.arange(1, values.shape[-1] + 1)
    last = (descending - excess / sizes > 0).sum(axis=-1, keepdims=True) - 1
    threshold = np.take_along_axis(excess, last, axis=-1) / (last + 1)
    return np.asarray(np.maximum(values - threshold, 0))


def smooth(shares: FloatArray, cells: int) -> FloatArray:
    """Average each of the first `cells` entries of the last axis with its neighbours, weights 1, 2, 1; sums are kept.

    The smoothing step of Li et al., SIGMOD 2020; a code for missing after the cells is left alone.
    """
    out = shares.copy()
    inner = shares[..., :cells]
    padded = np.concatenate([inner[..., :1], inner, inner[..., -1:]], axis=-1)
    out[..., :cells] = (padded[..., :-2] + 2 * inner + padded[..., 2:]) / 4
    return out


def expectation_maximization(
    counts: FloatArray,
    forward: Callable[[FloatArray], FloatArray],
    backward: Callable[[FloatArray], FloatArray],
    start: FloatArray,
    *,
    smoothing: Callable[[FloatArray], FloatArray] | None = None,
    tolerance: float = 1e-7,
    max_steps: int = 5000,
) -> FloatArray:
    """Return the maximum-likelihood shares behind the answer counts (iterative Bayesian update).

    Agrawal & Aggarwal, PODS 2001; with a smoothing step after each update the EMS of Li et al., SIGMOD 2020.

    Parameters
    ----------
    counts : array
        Counts of the answers, not negative, in the shape `forward` returns.
    forward, backward : callable
        The response matrix and its transpose, acting on arrays of shares and of answers.
    start : array
        First guess, positive, adding up to 1, in the shape of the true shares.
    smoothing : callable, optional
        Applied to the shares after each update.
    tolerance : float
        Stop when the shares move by less than this in total.
    max_steps : int
        Stop anyway after so many updates.
    """
    observed = counts / max(counts.sum(), 1.0)
    shares = start
    for _ in range(max_steps):
        expected = forward(shares)
        # answers nobody can give have expected share 0 and count 0
        pull = np.divide(observed, expected, out=np.zeros_like(expected), where=expected > 0)
        updated = shares * backward(pull)
        if smoothing is not None:
            updated = smoothing(updated)
        total = updated.sum()
        if total <= 0:
            return shares
        updated = updated / total
        moved = float(np.abs(updated - shares).sum())
        shares = updated
        if moved < tolerance:
            break
    return shares


@dataclass(frozen=True, kw_only=True, eq=False)
class TableEstimate:
    """Estimated counts of class × value, and the share of each value within its class."""

    counts: FloatArray
    """Unbiased counts, shape (n_classes, n_values); single entries may be negative."""
    shares: FloatArray
    """Counts divided by their class's sum, shape (n_classes, n_values); may leave [0, 1]."""
    errors: FloatArray
    """Standard errors of the shares, rows and noise both random, shape (n_classes, n_values)."""
    rarest: FloatArray
    """The most that one more answer could add to each share, shape (n_classes, n_values)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Dependence:
    """Distance of class and value of one attribute from independence: unbiased estimates, as shares of all rows."""

    excess: FloatArray
    """Share of class and value less the product of both shares, shape (n_classes, n_values)."""
    excess_variance: FloatArray
    values: FloatArray
    """Share of each value, shape (n_values,)."""
    values_variance: FloatArray


class TableChannel(ABC):
    """A channel from a table of true class × true value to a table of answers."""

    n_classes: int
    n_values: int

    @abstractmethod
    def forward(self, shares: FloatArray) -> FloatArray:
        """Return the shares of the answers from the shares of class × value."""

    @abstractmethod
    def backward(self, answers: FloatArray) -> FloatArray:
        """Return the mean of a function of the answers for each class and value."""

    @abstractmethod
    def estimate(self, counts: FloatArray) -> TableEstimate:
        """Invert by moments, with standard errors."""

    @abstractmethod
    def deviations(self, counts: FloatArray, shares: FloatArray) -> FloatArray:
        """Return the standard errors of estimated counts less given shares of their class's size.

        Parameters
        ----------
        counts : array
            Answer counts.
        shares : array, shape (n_classes, n_values)
        """

    @abstractmethod
    def dependence(self, counts: FloatArray, classes: FloatArray) -> Dependence:
        """Estimate by moments how far class and value are from independent, with the variance of each estimate.

        Parameters
        ----------
        counts : array
            Answer counts, one at least.
        classes : array, shape (n_classes,)
            Share of each class.
        """

    @abstractmethod
    def maximum_likelihood(self, counts: FloatArray) -> FloatArray:
        """Return the maximum-likelihood shares of class × value, shape (n_classes, n_values), adding up to 1."""

    def likeliest(
        self, counts: FloatArray, smoothing: Callable[[FloatArray], FloatArray] | None = None, tolerance: float = 1e-7
    ) -> FloatArray:
        """Return the likeliest shares, by Newton's method or expectation maximization; smoothed by `smoothing`."""
        size = self.n_classes * self.n_values
        if smoothing is None and size <= LARGEST:
            basis = np.eye(size).reshape(size, self.n_classes, self.n_values)
            matrix = np.stack([self.forward(vector).reshape(-1) for vector in basis])
            return likeliest_shares(counts.reshape(-1), matrix).reshape(self.n_classes, self.n_values)
        start = np.full((self.n_classes, self.n_values), 1 / size)
        return expectation_maximization(
            counts, self.forward, self.backward, start, smoothing=smoothing, tolerance=tolerance
        )


class SeparateAnswers(TableChannel):
    """Class and value were randomized independently; answer counts have shape (class answers, value answers)."""

    def __init__(self, label: Channel, value: Channel) -> None:
        self.label = label
        self.value = value
        self.n_classes, self.n_values = label.n_inputs, value.n_inputs

    def forward(self, shares: FloatArray) -> FloatArray:
        """Mix the values, then the classes."""
        return np.asarray(self.label.forward(self.value.forward(shares).T).T)

    def backward(self, answers: FloatArray) -> FloatArray:
        """Apply the transposes of both."""
        return np.asarray(self.label.backward(self.value.backward(answers).T).T)

    def estimate(self, counts: FloatArray) -> TableEstimate:
        """Invert both; the error of a share is that of a ratio of two linear functions of the answers."""
        table = self.value.unmix(self.label.unmix(counts.T).T)
        size = table.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = table / size
            errors = self.deviations(counts, shares) / np.abs(size)
            rarest = np.outer(self.label.largest_scores, self.value.largest_scores) / np.abs(size)
        return TableEstimate(counts=table, shares=shares, errors=errors, rarest=rarest)

    def deviations(self, counts: FloatArray, shares: FloatArray) -> FloatArray:
        """Apply the squared coefficients of both inverses."""
        squares = self.label.unmix_squares(counts.T).T
        spread = (
            self.value.unmix_squares(squares)
            - 2 * shares * self.value.unmix(squares)
            + shares**2 * squares.sum(axis=1, keepdims=True)
        )
        return np.asarray(np.sqrt(np.maximum(spread, 0)))

    def dependence(self, counts: FloatArray, classes: FloatArray) -> Dependence:
        """Weigh answers about the class by how far each is from the class's share, then invert the values."""
        n = counts.sum()
        scores = self.label.scores(np.eye(self.n_classes)) - classes
        excess, values = self.value.unmix(scores.T @ counts) / n, self.value.unmix(counts.sum(axis=0)) / n
        squares = self.value.unmix_squares((scores**2).T @ counts) / n
        return Dependence(
            excess=excess,
            excess_variance=np.maximum(squares - excess**2, 0) / n,
            values=values,
            values_variance=np.maximum(self.value.unmix_squares(counts.sum(axis=0)) / n - values**2, 0) / n,
        )

    def maximum_likelihood(self, counts: FloatArray) -> FloatArray:
        """Solve class by class in closed form when labels are clear, else by expectation maximization."""
        label, value = self.label, self.value
        clear = isinstance(label, RandomizedResponse) and label.truth_probability == 1
        if clear and isinstance(value, RandomizedResponse):
            sizes = counts.sum(axis=1, keepdims=True) / max(counts.sum(), 1.0)
            return np.asarray(sizes * np.stack([value.maximum_likelihood(row) for row in counts]))
        return self.likeliest(counts)


class JointAnswers(TableChannel):
    """Class and value were randomized together as one code `class * n_values + value`; counts have shape (answers,)."""

    def __init__(self, joint: TruthOrBlind, n_classes: int) -> None:
        if joint.n_inputs % n_classes:
            raise ParameterError("the joint channel does not divide into the classes of the target")
        self.joint = joint
        self.n_classes, self.n_values = n_classes, joint.n_inputs // n_classes

    def forward(self, shares: FloatArray) -> FloatArray:
        """Mix class and value together."""
        return self.joint.forward(shares.reshape(-1))

    def backward(self, answers: FloatArray) -> FloatArray:
        """Apply the transpose."""
        return self.joint.backward(answers).reshape(self.n_classes, self.n_values)

    def estimate(self, counts: FloatArray) -> TableEstimate:
        """Invert the joint matrix; needs the whole inverse in memory."""
        if self.joint.n_inputs > _DENSE_INPUTS:
            raise ParameterError(
                f"a joint domain of {self.joint.n_inputs} codes is too large to invert", "merge rare categories"
            )
        table = self.joint.unmix(counts).reshape(self.n_classes, self.n_values)
        size = table.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = table / size
            errors = self.deviations(counts, shares) / np.abs(size)
            rarest = self.joint.largest_scores.reshape(table.shape) / np.abs(size)
        return TableEstimate(counts=table, shares=shares, errors=errors, rarest=rarest)

    def deviations(self, counts: FloatArray, shares: FloatArray) -> FloatArray:
        """Apply the squared coefficients of the whole inverse."""
        weights = self.joint.scores(np.eye(self.joint.n_inputs)).reshape(-1, self.n_classes, self.n_values)
        influence = weights - shares * weights.sum(axis=2, keepdims=True)
        return np.asarray(np.sqrt(np.einsum("y,ycv->cv", counts, influence**2)))

    def dependence(self, counts: FloatArray, classes: FloatArray) -> Dependence:
        """Invert class and value together; every answer adds a known number to each estimate."""
        n = counts.sum()
        weights = self.joint.scores(np.eye(self.joint.n_inputs)).reshape(-1, self.n_classes, self.n_values)
        of_values = weights.sum(axis=1)
        influence = weights - classes[:, np.newaxis] * of_values[:, np.newaxis]
        excess, values = np.einsum("y,ycv->cv", counts, influence) / n, counts @ of_values / n
        return Dependence(
            excess=excess,
            excess_variance=np.maximum(np.einsum("y,ycv->cv", counts, influence**2) / n - excess**2, 0) / n,
            values=values,
            values_variance=np.maximum(counts @ of_values**2 / n - values**2, 0) / n,
        )

    def maximum_likelihood(self, counts: FloatArray) -> FloatArray:
        """Solve in closed form for randomized response, else by expectation maximization."""
        if isinstance(self.joint, RandomizedResponse):
            return self.joint.maximum_likelihood(counts).reshape(self.n_classes, self.n_values)
        return self.likeliest(counts)


def normal_quantile(level: float) -> float:
    """Return z such that a normal value lies within z standard errors with probability `level`.

    Raises
    ------
    ParameterError
        When the level is not in (0, 1).
    """
    if not 0 < level < 1:
        raise ParameterError(f"level ({level}) must be in (0, 1)", "0.95 is usual")
    return NormalDist().inv_cdf((1 + level) / 2)


def interval(
    estimate: FloatArray,
    error: FloatArray,
    level: float,
    *,
    rarest: FloatArray | float = 0.0,
    lowest: float = -np.inf,
    highest: float = np.inf,
) -> tuple[FloatArray, FloatArray]:
    """Return the confidence interval of an unbiased estimate, cut to what is possible: a normal one, widened above.

    Parameters
    ----------
    estimate, error : array
        Unbiased estimates and their standard errors.
    level : float
        Confidence, in (0, 1).
    rarest : array or float
        The most that one more answer could add to each estimate. Answers too rare to be seen add nothing to the
        error, yet a share of them may be there: with a count of one answer the upper end is that of Wilson's interval
        for a Poisson count (1927), where a normal interval would be a point at 0.
    lowest, highest : float
        What is possible.
    """
    z = normal_quantile(level)
    unseen = z * rarest / 2
    upper = estimate + z * unseen + z * np.sqrt(error**2 + unseen**2)
    return np.clip(estimate - z * error, lowest, highest), np.clip(upper, lowest, highest)


def consistent_counts(tables: NoisyTables, table: NoisyTable) -> FloatArray:
    """Return counts that are not negative and have the class sizes as sums, nearest to the noisy ones.

    A count of missing that does not exceed its noise is 0, where the release states so.

    Parameters
    ----------
    tables : NoisyTables
        All histograms of the release: together they say how large the classes are.
    table : NoisyTable
        The table whose counts are returned.

    Returns
    -------
    array, shape (n_classes, domain size)
        A class without rows has none.

    Privacy
    -------
    Post-processing of noisy counts: no privacy loss.
    """
    faint = table.domain.has_missing and is_faint([(table.counts[:, -1], table.variance)], tables.missing_above)
    counts = table.counts[:, :-1] if faint else table.counts
    sizes = np.maximum(tables.class_sizes[0], 0)[:, np.newaxis]
    shares = np.divide(counts, sizes, out=np.zeros(counts.shape), where=sizes > 0)
    return np.pad(sizes * project_to_simplex(shares), ((0, 0), (0, int(faint))))
