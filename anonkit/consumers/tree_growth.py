# SPDX-License-Identifier: Apache-2.0
"""Growth of a decision tree on rows whose values are known through noise alone: ID3 on estimated counts.

Values that were randomized one by one are counted by weights, the inverses of their response matrices. The attributes
of a row are answered independently, so that the number of rows with a combination of true values is estimated without
bias by the sum over the rows of the product of one score an attribute.

Numbers with additive noise are put back into cells first: iterative reconstruction of their distribution (Agrawal &
Srikant, SIGMOD 2000).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray
from anonkit.domains.number_bins import Categories, Grid
from anonkit.errors import ParameterError
from anonkit.estimators.consistent_counts import expectation_maximization
from anonkit.published.channels.number_channels import TransformedResponse


@dataclass(frozen=True, kw_only=True, eq=False)
class ValueTest:
    """A yes/no question about one attribute."""

    attribute: int
    """Position of the attribute."""
    values: BoolArray
    """Codes of its domain that pass, shape (n_values,)."""


def value_tests(domains: Sequence[Categories | Grid]) -> list[ValueTest]:
    """Return the tests a tree chooses among: each category against the rest, each cut between two cells of a grid.

    A missing number is beyond every cell, so that the last cut is missing against present.
    """
    tests = []
    for attribute, domain in enumerate(domains):
        codes = np.arange(domain.size)
        if isinstance(domain, Grid):
            tests += [ValueTest(attribute=attribute, values=codes >= cut) for cut in codes[1:]]
        else:
            passing = codes[1:] if domain.size == 2 else codes  # of two categories one test is enough
            tests += [ValueTest(attribute=attribute, values=codes == code) for code in passing]
    return tests


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """Published answers of all rows, with scores whose mean under each true value is known."""

    codes: Sequence[IntArray]
    """Of each attribute the answers of the rows, shape (n_rows,)."""
    scores: Sequence[FloatArray]
    """Of each attribute, shape (n_answers, n_values): the mean of column v is 1 where the truth is v, else 0."""
    labels: FloatArray
    """Scores of the rows' published classes, shape (n_rows, n_classes); each row adds up to 1."""
    tests: Sequence[ValueTest]


@dataclass(frozen=True, kw_only=True, eq=False)
class EstimatedNodeCounts:
    """Estimated counts at a node: a path of tests is a set of allowed values for each attribute on it."""

    answers: Answers
    allowed: Mapping[int, BoolArray] = field(default_factory=dict)
    """Values that the path allows, by attribute; those of other attributes are all allowed."""

    def _factor(self, without: int | None = None) -> FloatArray:
        """Return the product of the scores along the path, one attribute left out, shape (n_rows,)."""
        product = np.ones(len(self.answers.labels))
        for attribute, values in self.allowed.items():
            if attribute != without:
                product *= self.answers.scores[attribute][:, values].sum(axis=1)[self.answers.codes[attribute]]
        return product

    @cached_property
    def counts(self) -> FloatArray:
        """Unbiased estimates per class, shape (n_classes,)."""
        return np.asarray(self._factor() @ self.answers.labels)

    def sides(self) -> tuple[FloatArray, FloatArray]:
        """Return the counts of the rows that pass each test, and of those that fail it, shape (n_tests, n_classes)."""
        tables = [self._by_value(attribute) for attribute in range(len(self.answers.codes))]
        n_classes = self.answers.labels.shape[1]
        yes = [tables[test.attribute][test.values].sum(axis=0) for test in self.answers.tests]
        no = [tables[test.attribute][~test.values].sum(axis=0) for test in self.answers.tests]
        return np.reshape(yes, (-1, n_classes)), np.reshape(no, (-1, n_classes))

    def _by_value(self, attribute: int) -> FloatArray:
        """Return the counts of an attribute's true values among the rows of the node, shape (n_values, n_classes)."""
        scores, codes = self.answers.scores[attribute], self.answers.codes[attribute]
        weights = self.answers.labels * self._factor(attribute)[:, np.newaxis]
        by_answer = [np.bincount(codes, weights[:, at], minlength=len(scores)) for at in range(weights.shape[1])]
        table = scores.T @ np.stack(by_answer, axis=1)
        table[~self.allowed.get(attribute, np.ones(len(table), dtype=bool))] = 0.0
        return np.asarray(table)

    def below(self, test: int, passed: bool) -> EstimatedNodeCounts:
        """Return the counts of the rows on one side of a test."""
        chosen = self.answers.tests[test]
        values = chosen.values if passed else ~chosen.values
        before = self.allowed.get(chosen.attribute, np.ones_like(values))
        return EstimatedNodeCounts(answers=self.answers, allowed={**self.allowed, chosen.attribute: values & before})


_REACH = 4
"""Standard deviations of the noise beyond the grid that have cells of their own; one draw in 16,000 is farther out."""


def corrected_cells(noisy: FloatArray, groups: IntArray, noise: TransformedResponse, grid: Grid) -> IntArray:
    """Deal the noisy numbers of each group, in order, to the cells of its reconstructed distribution.

    Parameters
    ----------
    noisy : array, shape (n,)
        Published numbers, none missing.
    groups : array of int, shape (n,)
        Rows that have a distribution in common: a class, or all.
    noise : TransformedResponse
    grid : Grid
        Cells of the true values.

    Returns
    -------
    array of int, shape (n,)
    """
    out = np.empty(len(noisy), dtype=np.int64)
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        shares = number_shares(noisy[rows], noise, grid)
        ends = np.rint(np.cumsum(shares) * len(rows))
        out[rows[np.argsort(noisy[rows], kind="stable")]] = np.searchsorted(ends, np.arange(len(rows)), side="right")
    return np.minimum(out, grid.cells - 1)


def number_shares(noisy: FloatArray, noise: TransformedResponse, grid: Grid) -> FloatArray:
    """Estimate the distribution of the true numbers over a grid by iterative Bayesian reconstruction.

    The paper adds noise of one deviation to every number. A multiplier makes the deviation grow with the distance from
    the centre; the likelihood of an answer is then that of a normal with the moments of each cell's middle.

    Parameters
    ----------
    noisy : array, shape (n,)
        Published numbers.
    noise : TransformedResponse
    grid : Grid
        Cells of the true values.

    Returns
    -------
    array, shape (grid.cells,)
        Shares, adding up to 1.

    Raises
    ------
    ParameterError
        The answer to a number is neither normal nor uniform.
    """
    multiplied = noise.multiplier.variance > 0
    if multiplied and "uniform" in (noise.multiplier.shape, noise.offset.shape):
        raise ParameterError("numbers that are multiplied must have normal noise", "a constant multiplier")
    middles = grid.midpoints()
    means, variances = noise.answer_moments(middles, np.zeros_like(middles))
    deviations = np.sqrt(variances)
    ends = (means - _REACH * deviations).min(), (means + _REACH * deviations).max()
    margin = int(np.ceil(max(grid.lower - ends[0], ends[1] - grid.upper, 0.0) / grid.width))
    wide = grid.widened(2 * margin + 1)
    counts = np.bincount(wide.encode(noisy), minlength=wide.cells).astype(np.float64)
    if not deviations.all():
        return np.asarray(counts / max(counts.sum(), 1.0))
    away = (wide.edges() - means[:, np.newaxis]) / deviations[:, np.newaxis]
    below = _distribution(noise.offset.shape)(away)
    below[:, 0], below[:, -1] = 0.0, 1.0  # what falls outside is counted in the outermost cells
    matrix = np.diff(below, axis=1)
    start = np.full(grid.cells, 1 / grid.cells)
    return expectation_maximization(counts, lambda x: x @ matrix, lambda r: r @ matrix.T, start, tolerance=1e-3)


def _distribution(shape: Literal["normal", "uniform"]) -> Callable[[FloatArray], FloatArray]:
    """Return the distribution function of the noise in units of its standard deviation."""
    from scipy.special import ndtr

    half = np.sqrt(3.0)
    return ndtr if shape == "normal" else lambda z: np.clip((z + half) / (2 * half), 0.0, 1.0)


class NodeCounts(Protocol):
    """Estimated counts of the rows that reach a node, and of those that pass each test there."""

    @property
    def counts(self) -> FloatArray:
        """Unbiased estimates per class, shape (n_classes,); they may be negative."""

    def sides(self) -> tuple[FloatArray, FloatArray]:
        """Return the counts of the rows that pass each test, and of those that fail it, shape (n_tests, n_classes)."""

    def below(self, test: int, passed: bool) -> NodeCounts:
        """Return the counts of the rows on one side of a test."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GrownNode:
    """A node of a grown tree: a leaf when it has no test."""

    counts: FloatArray
    """Estimated rows per class, not negative, shape (n_classes,)."""
    test: int | None = None
    """Number of the test that splits its rows."""
    no: GrownNode | None = None
    yes: GrownNode | None = None


@dataclass(frozen=True, kw_only=True)
class StoppingRule:
    """When to stop."""

    max_depth: int = 6
    min_rows: float = 20.0
    """A node estimated to hold fewer rows is a leaf."""


def grow(node: NodeCounts, rule: StoppingRule, depth: int = 0) -> GrownNode:
    """Grow a tree by information gain; negative estimates count as 0.

    Parameters
    ----------
    node : NodeCounts
        Counts at the root.
    rule : StoppingRule
    depth : int
        Tests above the root.
    """
    counts = np.maximum(node.counts, 0.0)
    if depth >= rule.max_depth or counts.sum() < rule.min_rows or np.count_nonzero(counts) < 2:
        return GrownNode(counts=counts)
    test = _best(node, counts)
    if test is None:
        return GrownNode(counts=counts)
    no, yes = (grow(node.below(test, passed), rule, depth + 1) for passed in (False, True))
    return GrownNode(counts=counts, test=test, no=no, yes=yes)


def _best(node: NodeCounts, counts: FloatArray) -> int | None:
    """Return the test with the largest information gain above 0."""
    yes, no = (np.maximum(side, 0.0) for side in node.sides())
    rows = yes.sum(axis=1) + no.sum(axis=1)
    after = yes.sum(axis=1) * _entropy(yes) + no.sum(axis=1) * _entropy(no)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where(rows > 0, _entropy(counts[np.newaxis]) - after / rows, -np.inf)
    gain[np.minimum(yes.sum(axis=1), no.sum(axis=1)) <= 0] = -np.inf
    best = int(np.argmax(gain)) if gain.size else -1
    return best if gain.size and gain[best] > 0 else None


def _entropy(counts: FloatArray) -> FloatArray:
    """Return the entropy of each row of class counts, in bits."""
    shares = counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1e-300)
    return np.asarray(-(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=-1))


def leaf_shares(root: GrownNode, n_rows: int, passes: Callable[[int, IntArray], BoolArray]) -> FloatArray:
    """Return the share of each class in the leaf that each true row falls into, shape (n_rows, n_classes).

    Parameters
    ----------
    root : GrownNode
    n_rows : int
    passes : callable
        From the number of a test and the positions of some rows to the rows that pass it.
    """
    out = np.empty((n_rows, len(root.counts)))
    even = np.full(len(root.counts), 1 / len(root.counts))
    waiting = [(root, np.arange(n_rows), even)]
    while waiting:
        node, rows, above = waiting.pop()
        size = node.counts.sum()
        shares = node.counts / size if size > 0 else above  # an empty leaf answers as its parent
        if node.test is None or node.no is None or node.yes is None:
            out[rows] = shares
            continue
        passed = passes(node.test, rows)
        waiting += [(node.no, rows[~passed], shares), (node.yes, rows[passed], shares)]
    return out
