# SPDX-License-Identifier: Apache-2.0
"""Counts of a tree's nodes from rows whose values were randomized one by one: weights by inverse response matrices.

The attributes of a row are answered independently, so that the number of rows with a combination of true values is
estimated without bias by the sum over the rows of the product of one score an attribute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray
from anonkit.domains.number_bins import Categories, Grid


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
