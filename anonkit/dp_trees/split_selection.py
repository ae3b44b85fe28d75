# SPDX-License-Identifier: Apache-2.0
"""Split selection at a node: from noisy counts, or by private selection among scores; each draw has its cost.

A selection first says what it will draw for given units (`draws`, planned and charged before any data is read),
and later draws at those very rates (`choose`).

Split scores: integer scores of proven sensitivity, and float measures for counts that already carry noise.

A score maps the class counts of the children, shape (..., children, classes), to whole steps of a public grid. Its
sensitivity is the width of the range in which one row that comes can move the scores of all candidate splits: what a
private choice pays per step (see `anonkit.mechanisms.exact_samplers`). A row is in one child only, so the range of
one child is the range of the sum. The tests recompute every width by brute force.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from anonkit.budget_rules.model_queries import TABLE, SplitScore
from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.mechanisms.accounting import (
    STEPS,
    draw_units,
    entropy_steps,
    rate_within,
    sensitivity_of,
    steepest_entropy,
)
from anonkit.mechanisms.exact_samplers import UniformStream, exponential_mechanism, noisy_counts, permute_and_flip
from anonkit.published.noisy_tables import LAPLACE
from anonkit.published.statements.noise_statement import EXPONENTIAL, PERMUTE_AND_FLIP, Draw
from anonkit.published.tree_model import Attribute, Split

LARGEST_TABLE = 1 << 28
"""Most rows for which an entropy is scored exactly, unless fewer are declared; see `ENTROPY`."""
_EXACT_SQUARE = (1 << 31) - 1
"""Counts up to this have squares of 64 bits."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """A split score with its sensitivity."""

    name: str
    of: Callable[[IntArray, int], IntArray]
    """Class counts of the children, shape (..., children, classes), and the rows of the width, to steps, shape (...).

    Any table is taken: the width holds for those of more rows, too.
    """

    def query(self, classes: int, max_rows: int) -> SplitScore:
        """Return the query of a choice by this score: its sensitivity is the width of the changes that one row makes.

        Parameters
        ----------
        classes : int
        max_rows : int
            Rows up to which the score is exact.
        """
        return SplitScore(score=self.name, classes=classes, most_rows=max_rows)


def _max_class(children: IntArray, max_rows: int) -> IntArray:
    return np.asarray(children.max(axis=-1).sum(axis=-1), dtype=np.int64)


def _gini(children: IntArray, max_rows: int) -> IntArray:
    """Return -sum of rows * Gini, each child rounded towards 0: rounding down keeps both monotony and width exactly."""
    rows = children.sum(axis=-1)
    if int(rows.max(initial=0)) > _EXACT_SQUARE:  # Python's integers have no largest one
        children, rows = children.astype(object), rows.astype(object)
    impure = rows * rows - (children * children).sum(axis=-1)
    divisor = np.maximum(rows, 1)
    quotient, rest = impure // divisor, impure % divisor
    steps = quotient * STEPS + rest * STEPS // divisor
    return np.asarray(-steps.sum(axis=-1), dtype=np.int64)


def _x_log_x(x: FloatArray) -> FloatArray:
    return np.asarray(x * np.log2(np.maximum(x, 1.0)))


def _entropy(children: IntArray, max_rows: int) -> IntArray:
    """Return -n entropy with f(x) = x log2 x for up to N rows, and a straight line beyond, in whole steps.

    A row that comes adds f(n + 1) - f(n) - (f(c + 1) - f(c)) to a child of n rows, c of its class. f is convex and
    c <= n, so that is at least 0; f rises, so it is at most the steepest slope of f, that of the line, whatever n is.
    """
    rows = children.sum(axis=-1)
    exact = np.minimum(children, max_rows).astype(np.float64)
    within = _x_log_x(np.minimum(rows, max_rows).astype(np.float64)) - _x_log_x(exact).sum(axis=-1)
    beyond = np.maximum(rows - max_rows, 0) - np.maximum(children - max_rows, 0).sum(axis=-1)
    slope = math.ceil(steepest_entropy(max_rows) * STEPS)
    # each child is rounded by itself and the steps are added as integers: the float error of a child that nobody comes
    # to is the same on neighbouring tables, so that any number of children and rows keeps the width
    return np.asarray(-np.rint(within * STEPS).astype(np.int64).sum(axis=-1) - slope * beyond.sum(axis=-1))


def _mean_entropy(children: IntArray, max_rows: int) -> IntArray:
    rows = np.maximum(children.sum(axis=(-1, -2)), 1)
    lowest = -entropy_steps(children.shape[-1])
    return np.asarray(
        np.clip(-np.rint(_n_entropy_of(children.astype(np.float64)) / rows * STEPS), lowest, 0), dtype=np.int64
    )


MAX_CLASS = Score(name="max-class", of=_max_class)
"""Rows of the commonest class, summed over the children. A row that comes adds 0 or 1."""
GINI = Score(name="gini", of=_gini)
"""-n Gini, summed over the children. A row that comes lowers it, by less than 2."""
ENTROPY = Score(name="entropy", of=_entropy)
"""-n entropy in bits, summed over the children: n times the information gain, up to what all splits share.

Its sensitivity grows with the rows it is exact for; a child of more (a larger table, or the copies of a bootstrap) is
scored along a straight line, so that the width holds for any table."""
INFORMATION_GAIN = Score(name="information-gain", of=_mean_entropy)
"""Information gain in bits, not weighted by rows, up to what all splits share. Only its range [0, log2 m] bounds it."""

SCORES = {score.name: score for score in (GINI, MAX_CLASS, ENTROPY, INFORMATION_GAIN)}


def noisy_information_gain(children: FloatArray) -> FloatArray:
    """Return the information gain in bits, n-weighted, from noisy counts; negative counts count as 0.

    Parameters
    ----------
    children : float array, shape (n, splits, children, classes)

    Returns
    -------
    float array, shape (n, splits)
    """
    counts = np.maximum(children, 0.0)
    together = counts.sum(axis=2, keepdims=True)
    return np.asarray(_n_entropy_of(together) - _n_entropy_of(counts))


def noisy_gain_ratio(children: FloatArray) -> FloatArray:
    """Return the gain ratio of C4.5 from noisy counts only, since its sensitivity is unbounded."""
    counts = np.maximum(children, 0.0)
    rows = counts.sum(axis=-1)
    total = rows.sum(axis=-1)
    split = _x_log_x(total) - _x_log_x(rows).sum(axis=-1)
    gain = noisy_information_gain(children)
    return np.asarray(np.where(split > 1e-9, gain / np.maximum(split, 1e-9), 0.0))


def _n_entropy_of(counts: FloatArray) -> FloatArray:
    rows = counts.sum(axis=-1)
    return np.asarray((_x_log_x(rows) - _x_log_x(counts).sum(axis=-1)).sum(axis=-1))


def sulq_information(children: FloatArray) -> FloatArray:
    """Return the sum of N_jc log2(N_jc / N_j), N_j being noisy counts of their own, the last along the classes' axis.

    Friedman & Schuster 2010, algorithm 1, after Blum et al. 2005. Terms of counts that are not positive are left out.
    """
    counts, totals = children[..., :-1], children[..., -1:]
    usable = (counts > 0) & (totals > 0)
    ratio = np.where(usable, counts, 1.0) / np.where(usable, np.broadcast_to(totals, counts.shape), 1.0)
    return np.asarray(np.where(usable, counts * np.log2(ratio), 0.0).sum(axis=(-1, -2)))


_STEPS = 1 << 16
"""Steps of a measure in [0, 1] that splits are drawn by."""

CHOOSE = {PERMUTE_AND_FLIP: permute_and_flip, EXPONENTIAL: exponential_mechanism}


@dataclass(frozen=True, kw_only=True)
class Tables:
    """The candidates of the nodes of one level: for each attribute the nodes it is a candidate of, and their counts."""

    attributes: Sequence[Attribute]
    nodes: int
    """Number of nodes that choose."""
    counts: Sequence[tuple[int, IntArray, IntArray]]
    """(attribute, nodes of shape (n,), class counts of shape (n, codes, classes))."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Public facts that determine the privacy loss of a split selection."""

    candidates: int
    """Most attributes a node chooses among."""
    fewest_numbers: int
    """Fewest of them that are cut at different points."""
    numbers: int
    """Most of them that are."""
    n_classes: int
    reused: int = 0
    """Attributes that a path may be split by again and again: numbers, and values against the rest."""
    max_rows: int
    """Rows up to which an entropy is exact; no bound on the table."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Chosen:
    """The split chosen at each node."""

    attribute: IntArray
    split: IntArray
    """Number of the split of that attribute."""
    rows: IntArray | None = None
    """Noisy rows of the children, shape (nodes, children), 0 where there is no child; None where none were counted."""


class SplitSelection(Protocol):
    """A way to select splits, with the draws it plans."""

    @property
    def slack(self) -> int:
        """Divisor of the rate of its draws: a paper charges so many times their loss."""
        ...

    def draws(self, level: int, units: int, terms: Terms) -> tuple[Draw, ...]:
        """Return the draws of a path at this level that cost `units` at most."""
        ...

    def choose(self, tables: Tables, units: int, terms: Terms, words: UniformStream) -> Chosen:
        """Choose one split a node."""
        ...


@dataclass(frozen=True, kw_only=True)
class JointSelection:
    """One private choice among all splits of all candidate attributes (DT-Diff's idea): one draw a node.

    With multiway splits only, every attribute is one candidate: the choice of an attribute.
    """

    score: Score = GINI
    mechanism: str = PERMUTE_AND_FLIP
    slack: int = 1
    """Divides the rate: 2 is what papers spend that do not use that a score is monotone."""

    def draws(self, level: int, units: int, terms: Terms) -> tuple[Draw, ...]:
        """Return the one draw."""
        query = self.score.query(terms.n_classes, terms.max_rows)
        rate = rate_within(units, sensitivity_of(query) * self.slack)
        return (Draw(name=f"split at level {level}", law=self.mechanism, rate=rate, query=query, level=level),)

    def choose(self, tables: Tables, units: int, terms: Terms, words: UniformStream) -> Chosen:
        """Score all splits and choose."""
        columns = np.cumsum([0, *(attribute.n_splits for attribute in tables.attributes)])
        scores = np.zeros((tables.nodes, columns[-1]), dtype=np.int64)
        allowed = np.zeros(scores.shape, dtype=bool)
        for at, nodes, counts in tables.counts:
            place = slice(columns[at], columns[at + 1])
            scores[nodes, place] = self.score.of(tables.attributes[at].children(counts), terms.max_rows)
            allowed[nodes, place] = True
        rate = self.draws(0, units, terms)[0].rate
        best = CHOOSE[self.mechanism](scores, rate, words, allowed)
        attribute = np.searchsorted(columns, best, side="right") - 1
        return Chosen(attribute=attribute, split=best - columns[attribute])


@dataclass(frozen=True, kw_only=True)
class CutThenAttribute:
    """A private choice of the cut of every number, then one of the attribute (Friedman & Schuster 2010; DiffPRFs).

    The papers draw a point of an interval between values of rows; on a public grid, whose cells have one width, the
    intervals are the cells, and the same law is a choice among the cuts. Of an attribute that is split by one value
    against the rest every value is a candidate of the second choice.
    """

    score: Score = GINI
    mechanism: str = EXPONENTIAL
    slack: int = 1
    """Divides the rate: 2 is what papers spend that do not use that a score is monotone."""

    def draws(self, level: int, units: int, terms: Terms) -> tuple[Draw, ...]:
        """Return the dearest of the lines for all numbers of numbers that a node may have among its candidates."""
        possible = range(terms.fewest_numbers, terms.numbers + 1)
        options = [self._line(level, units, terms, numbers) for numbers in possible]
        return (max(options, key=draw_units),)

    def _line(self, level: int, units: int, terms: Terms, numbers: int) -> Draw:
        query = self.score.query(terms.n_classes, terms.max_rows)
        return Draw(
            name=f"cuts and attribute at level {level}",
            law=self.mechanism,
            rate=rate_within(units // (numbers + 1), sensitivity_of(query) * self.slack),
            query=query,
            times=numbers + 1,
            level=level,
        )

    def choose(self, tables: Tables, units: int, terms: Terms, words: UniformStream) -> Chosen:
        """Choose cuts, then attributes; nodes with the same number of numbers share a rate."""
        cut_first = [attribute.split is Split.CUT for attribute in tables.attributes]
        # one value against the rest: all values are candidates of the one draw, beside the other attributes
        widths = [attribute.n_splits if attribute.split is Split.ONE_VS_REST else 1 for attribute in tables.attributes]
        columns = np.cumsum([0, *widths])
        numbers = np.zeros(tables.nodes, dtype=np.int64)
        for at, nodes, _ in tables.counts:
            numbers[nodes] += cut_first[at]
        scores = np.zeros((tables.nodes, columns[-1]), dtype=np.int64)
        allowed = np.zeros(scores.shape, dtype=bool)
        cuts = np.zeros((tables.nodes, len(tables.attributes)), dtype=np.int64)
        best = np.zeros(tables.nodes, dtype=np.int64)
        for number in np.unique(numbers):
            rate = self._line(0, units, terms, int(number)).rate
            among = numbers == number
            for at, nodes, counts in tables.counts:
                here = among[nodes]
                if not here.any():
                    continue
                of_splits = self.score.of(tables.attributes[at].children(counts[here]), terms.max_rows)
                if cut_first[at]:
                    cut = CHOOSE[self.mechanism](of_splits, rate, words)
                    cuts[nodes[here], at] = cut
                    of_splits = of_splits[np.arange(len(of_splits)), cut, np.newaxis]
                place = slice(columns[at], columns[at + 1])
                scores[nodes[here], place] = of_splits
                allowed[nodes[here], place] = True
            best[among] = CHOOSE[self.mechanism](scores[among], rate, words, allowed[among])
        attribute = np.searchsorted(columns, best, side="right") - 1
        return Chosen(attribute=attribute, split=best - columns[attribute] + cuts[np.arange(tables.nodes), attribute])


@dataclass(frozen=True, kw_only=True)
class NoisyCounts:
    """Noise on the count tables of all candidate attributes, then whatever measure of what is noisy (SuLQ, PINQ, C4.5).

    A row is in the table of every attribute, so the units are divided by their number.

    Privacy
    -------
    What is measured, and every choice by it, is a function of noisy counts and costs nothing. With `undivided` each
    table gets all of the units, as Shang et al. 2019 do, and the line of the account states what that comes to: as
    often the units as there are tables.
    """

    slack: ClassVar[int] = 1
    measure: Callable[[FloatArray], FloatArray]
    """Noisy class counts of the children, shape (n, splits, children, classes), to how good the splits are."""
    separate_totals: bool = False
    """True: the total of every code is a query of its own, as in SuLQ, after the classes' counts."""
    undivided: bool = False
    """True: the table of every attribute gets all of the units."""
    exponential: bool = False
    """True: splits are drawn by the exponential mechanism on the measure, which is cut to [0, 1]; else the best."""

    def draws(self, level: int, units: int, terms: Terms) -> tuple[Draw, ...]:
        """Return one line for the tables of all candidates."""
        times = terms.candidates * (2 if self.separate_totals else 1)
        if self.undivided and not terms.reused:
            # attributes with one child a code are used up: no path has more of them left
            times = max(1, terms.candidates - level)
        return (
            Draw(
                name=f"class counts by attribute value at level {level}",
                query=TABLE,
                law=LAPLACE,
                rate=rate_within(units if self.undivided else units // times, 1),
                times=times,
                level=level,
            ),
        )

    def choose(self, tables: Tables, units: int, terms: Terms, words: UniformStream) -> Chosen:
        """Noise the tables and choose by the measure: the best split, the first of equals, or one drawn."""
        rate = self.draws(0, units, terms)[0].rate
        columns = np.cumsum([0, *(attribute.n_splits for attribute in tables.attributes)])
        scores = np.full((tables.nodes, columns[-1]), -np.inf)
        rows: list[tuple[int, IntArray, IntArray]] = []
        for at, nodes, counts in tables.counts:
            if self.separate_totals:
                counts = np.concatenate([counts, counts.sum(axis=2, keepdims=True)], axis=2)
            children = tables.attributes[at].children(noisy_counts(counts, rate, words))
            scores[nodes, columns[at] : columns[at + 1]] = self.measure(children.astype(np.float64))
            rows.append((at, nodes, children.sum(axis=-1)))
        best = self._sampled_splits(scores, units, words) if self.exponential else scores.argmax(axis=1)
        attribute = np.searchsorted(columns, best, side="right") - 1
        split = best - columns[attribute]
        # totals that are queries of their own are among the counts of classes: no number of rows is read off them
        found = None if self.separate_totals else _rows_of_children(attribute, split, rows)
        return Chosen(attribute=attribute, split=split, rows=found)

    def _sampled_splits(self, scores: FloatArray, units: int, words: UniformStream) -> IntArray:
        """Draw splits with probability proportional to exp(epsilon q / 2), q in [0, 1] from noisy counts."""
        allowed = np.isfinite(scores)
        steps = np.rint(np.clip(np.where(allowed, scores, 0.0), 0.0, 1.0) * _STEPS).astype(np.int64)
        return exponential_mechanism(steps, max(1, units // (2 * _STEPS)), words, allowed)


def _rows_of_children(
    attribute: IntArray, split: IntArray, counted: Sequence[tuple[int, IntArray, IntArray]]
) -> IntArray:
    """Return the noisy rows of the children of the chosen splits, shape (nodes, children); 0 where there is none."""
    out = np.zeros((attribute.size, max(rows.shape[2] for _, _, rows in counted)), dtype=np.int64)
    for at, nodes, rows in counted:
        here = attribute[nodes] == at
        out[nodes[here], : rows.shape[2]] = rows[here, split[nodes[here]]]
    return out
