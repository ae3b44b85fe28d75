# SPDX-License-Identifier: Apache-2.0
"""Validation of the tables and the mixture of dp-marginals: what follows from noisy tables is worked out again.

Which pairs were chosen is chance, and their tables are noisy; everything else must follow from them, exactly or within
a stated distance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.budget_rules.marginal_rule import MISSING_DEVIATIONS, RARE_DEVIATIONS, forest_of
from anonkit.checks import central_marginal_plan as plan
from anonkit.checks.account_lines import gaussian_variance
from anonkit.checks.central_marginal_plan import shown_in_mixtures
from anonkit.checks.central_params import (
    PublicColumn,
    PublicFacts,
    has_gaussian_tables,
    integers,
    is_of_format,
)
from anonkit.checks.central_triples import expected_of_triple, measured_triple, wrong_triple
from anonkit.errors import ReleaseFormatError
from anonkit.promises.guarantee import Check

_WEIGHTS, _SHARES = 1 << 20, 1 << 16
"""Sums of published weights and shares: part of the format."""
_FALSE_ALARM = 1e-9
"""Probability that a sound release fails one comparison: a convention."""
_MISFIT = 0.03
"""Largest total variation of a mixture and a column, beyond what its noise makes: a convention."""

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


def split_facts(params: Mapping[str, Any], facts: PublicFacts) -> PublicFacts:
    """Return the facts with the columns that have tables as attributes, and with what splits them as the target."""
    return plan.split_facts(facts, anchored=params["anchored"] is True)


def marginal_checks(params: Mapping[str, Any], facts: PublicFacts) -> Iterator[Check]:
    """Check that tables, pairs and mixture are such as the draws of the account leave.

    Parameters
    ----------
    params : mapping
    facts : PublicFacts
        Read from the params.
    """
    expected = plan.expected_measurements(facts, params)
    if not is_of_format(params, facts.family, gaussian=expected.is_gaussian):
        raise ReleaseFormatError("the params of the tables are of another format")
    same = params["anchored"] is expected.anchored
    yield Check(name="anchor", passed=same, observed=str(params["anchored"]), required=str(expected.anchored))
    split = plan.split_facts(facts, anchored=expected.anchored)
    wrong = _wrong_tables(params, split)
    yield Check(name="tables", passed=wrong == 0, observed=wrong, required=0)
    if wrong or not same:  # what follows would be compared with something else
        return
    wrong = _wrong_groups(params, split)
    yield Check(name="groups", passed=wrong == 0, observed=wrong, required=0)
    wrong = _wrong_pairs(params, split, expected)
    yield Check(name="pairs", passed=wrong == 0, observed=wrong, required=0)
    triple = wrong_triple(params, expected.triples, [one.name for one in facts.attributes], facts.n_classes)
    if expected.triples is not None or triple:
        yield Check(name="triple", passed=triple == 0, observed=triple, required=0)
    wrong += triple
    odd = _wrong_mixtures(params, split)
    if not wrong and not odd:  # else tables that count missing may be of any shape
        odd = shown_in_mixtures(params, split, gaussian=has_gaussian_tables(params))
    yield Check(name="mixtures", passed=odd == 0, observed=odd, required=0)
    if wrong or odd:
        return
    wrong = _wrong_rows(params)
    yield Check(name="rows_of_tables", passed=wrong == 0, observed=wrong, required=0)
    for column, distance, most in _distances(params, split):
        yield Check(name=f"mixture_fits:{column.name}", passed=distance <= most, observed=distance, required=most)
    yield from _triple_fits(params, split, anchored=expected.anchored)


def _rates(params: Mapping[str, Any], beginning: str) -> list[int]:
    return [line["rate"] for line in params["accounting"] if str(line["purpose"]).startswith(beginning)]


def _wrong_tables(params: Mapping[str, Any], split: PublicFacts) -> int:
    """Count tables of columns, and the number of rows, that no line of the account speaks of."""
    counted = _rates(params, "number of rows")
    stated = integers([params["rows"]["rate"]]) if "rows" in params else []
    wrong = int(stated != counted)
    rates = _rates(params, "class x " if split.has_target else "rows by ")
    tables = params["tables"]
    wrong += int(rates != [table["rate"] for table in tables])
    for reading in params["readings"]:
        wrong += int(_rates(params, str(reading["purpose"])) != integers([reading["rate"]]))
    wrong += int([table["name"] for table in tables] != [column.name for column in split.attributes])
    for column, table in zip(split.attributes, tables, strict=False):
        sizes = [len(integers(row)) for row in table["counts"]]
        wrong += int(sizes != [column.domain.size] * split.n_classes)
    return wrong


def _wrong_groups(params: Mapping[str, Any], split: PublicFacts) -> int:
    """Count columns whose rare values are not those whose noisy counts are within the noise."""
    wrong = 0
    for table, column in zip(params["tables"], split.attributes, strict=False):
        counts = np.array(table["counts"], dtype=np.float64).sum(axis=0)
        least = np.full(counts.size, RARE_DEVIATIONS)
        if column.domain.has_missing and "missing_above" in params:
            least[-1] = MISSING_DEVIATIONS
        loud = counts >= least * math.sqrt(_variance(params, table["rate"]) * split.n_classes)
        expected = np.where(loud, np.cumsum(loud) - 1, loud.sum())
        if (~loud).sum() < 2 or not params["pairs"]:
            expected = np.arange(loud.size)
        wrong += int(integers(table["groups"]) != expected.tolist())
    return wrong


def _wrong_pairs(params: Mapping[str, Any], split: PublicFacts, expected: plan.ExpectedTables) -> int:
    """Count what is wrong with the pairs: their number, the tree, shapes, rates."""
    names = [column.name for column in split.attributes]
    groups = [max(table["groups"]) + 1 for table in params["tables"]]
    numbers = [plan.number_of_pair(names, table["names"]) for table in params["pairs"]]
    tree = [pair for pair, table in zip(numbers, params["pairs"], strict=True) if table["in_tree"] is True]
    wrong = int(len(tree) != expected.edges) + int(len(numbers) != expected.edges + expected.further)
    wrong += len(numbers) - len(set(numbers)) + len(set(numbers) - set(expected.candidates))
    wrong += int(expected.tied and all(second != len(names) - 1 for _, second in tree))
    wrong += int(len(forest_of(tree, len(names))) != expected.edges)  # a circle joins fewer
    for (first, second), table in zip(numbers, params["pairs"], strict=True):
        beginning = "table of a pair of the tree" if table["in_tree"] is True else "table of a further pair"
        wrong += int(_rates(params, beginning) != [table["rate"]]) + int(not isinstance(table["in_tree"], bool))
        shape = [[len(integers(row)) for row in cells] for cells in table["counts"]]
        wrong += int(shape != [[groups[second]] * groups[first]] * split.n_classes)
    return wrong


def _wrong_mixtures(params: Mapping[str, Any], split: PublicFacts) -> int:
    """Count mixtures whose units do not add up, or do not fit the columns."""
    ends = np.cumsum([column.domain.size for column in split.attributes])
    wrong = int(len(params["mixtures"]) != split.n_classes)
    for own in params["mixtures"]:
        weights, (rows,) = integers(own["weights"]), integers([own["rows"]])
        components = [integers(component) for component in own["shares"]]
        whole = rows >= 0 and bool(weights) and min(weights) > 0 and sum(weights) == _WEIGHTS
        whole = whole and len(components) == len(weights)
        whole = whole and all(len(component) == ends[-1] and min(component) >= 0 for component in components)
        if whole:
            sums = np.diff(np.cumsum(np.array(components), axis=1)[:, ends - 1], axis=1, prepend=0)
            whole = bool((sums == _SHARES).all())
        wrong += int(not whole)
    return wrong


def _triple_fits(params: Mapping[str, Any], split: PublicFacts, *, anchored: bool) -> Iterator[Check]:
    """Check that the mixture is as near to the table of a triple as its noise allows."""
    measured = measured_triple(params, anchored=anchored)
    if measured is None:
        return
    counts, rate = measured
    rows = max(sum(own["rows"] for own in params["mixtures"]), 1)
    distance = float(np.abs(counts - expected_of_triple(params, split, anchored=anchored)).sum()) / 2 / rows
    most = _MISFIT + 2 * _largest_noise(params, rate, counts.size) / rows
    yield Check(name="mixture_fits_triple", passed=distance <= most, observed=distance, required=most)


def _wrong_rows(params: Mapping[str, Any]) -> int:
    """Count classes whose rows are not what all noisy tables together say."""
    sums, weights = [], []
    for table in (*params["tables"], *params["pairs"]):
        counts = np.array(table["counts"], dtype=np.float64)
        sums.append(counts.reshape(len(counts), -1).sum(axis=1))
        weights.append(1 / (_variance(params, table["rate"]) * counts[0].size))
    measured = measured_triple(params, anchored=params["anchored"] is True)
    if measured is not None:
        counts, rate = measured
        sums.append(counts.sum(axis=1))
        weights.append(1 / (_variance(params, rate) * counts[0].size))
    sizes = np.maximum(np.array(weights) @ np.stack(sums) / sum(weights), 0.0)
    stated = np.array([own["rows"] for own in params["mixtures"]])
    return int((np.abs(stated - sizes) > 0.5 + 1e-6).sum())


def _distances(params: Mapping[str, Any], split: PublicFacts) -> Iterator[tuple[PublicColumn, float, float]]:
    """Yield the distance of the mixture from each column's own noisy table, and the largest allowed.

    The distance is of total variation over classes and values, in shares of all rows; the noise of the table adds half
    the sum of its absolute values at most, whose tail is bounded by Chernoff.
    """
    rows = sum(own["rows"] for own in params["mixtures"])
    for column, table, (expected, _) in zip(
        split.attributes, params["tables"], expected_values(params, split, 1 << 62), strict=True
    ):
        counts = np.array(table["counts"], dtype=np.float64)
        distance = float(np.abs(counts - expected).sum()) / 2
        noise = _largest_noise(params, table["rate"], counts.size)
        yield column, distance / max(rows, 1), (_MISFIT * rows + 2 * noise) / max(rows, 1)


def _largest_noise(params: Mapping[str, Any], rate: int, cells: int) -> float:
    """Return the bound that half the L1 norm of the noise of so many cells exceeds once in a billion tables at most."""
    loss = rate / 2**52
    if has_gaussian_tables(params):
        # E exp(t |x|) is at most 2 exp(t**2 / (4 loss)): the law is no wider than the continuous one; at the best t
        return math.sqrt(cells * (cells * math.log(2) - math.log(_FALSE_ALARM)) / (4 * loss))
    # E exp(loss |x| / 2) of one cell, for the discrete Laplace law of that rate
    decay, tilted = math.exp(-loss), math.exp(-loss / 2)
    moment = (1 - decay) / (1 + decay) * (1 + 2 * tilted / (1 - tilted))
    return (cells * math.log(moment) - math.log(_FALSE_ALARM)) / loss


def expected_values(
    params: Mapping[str, Any], split: PublicFacts, piece_rows: int
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield the rows that the mixture expects by class and value of each column, and how far rounding may be off.

    The rows of components are rounded systematically: what has been dealt to the first of them is off by less than one
    row, so a value is off by less than the sum of the changes of its share from one component to the next, and by less
    than the sum of its shares. In each component, and piece of it, the values are rounded with a random offset of its
    own: independent errors of mean 0 within a range of one row, for which Hoeffding's inequality holds.

    Parameters
    ----------
    params, split
        The mixtures, and the columns they are of.
    piece_rows : int
        Rows that a release draws together.
    """
    sizes = [column.domain.size for column in split.attributes]
    mixtures = [
        (own["rows"], np.array(own["weights"]) / _WEIGHTS, np.array(own["shares"]) / _SHARES)
        for own in params["mixtures"]
    ]
    pieces = sum(rows for rows, _, _ in mixtures) // piece_rows + 1
    for first, size in zip(np.cumsum([0, *sizes[:-1]]), sizes, strict=True):
        expected, allowed = np.zeros((len(mixtures), size)), np.zeros((len(mixtures), size))
        for at, (rows, weights, shares) in enumerate(mixtures):
            own = shares[:, first : first + size]
            expected[at] = rows * weights @ own
            steps = np.abs(np.diff(own, axis=0, append=0.0)).sum(axis=0)
            rounded = ((own > 0) & (own < 1)).sum(axis=0) + pieces
            chance = math.log(2 * len(mixtures) * sum(sizes) / _FALSE_ALARM)
            chosen = np.minimum(steps, own.sum(axis=0)) + np.sqrt(rounded * chance / 2)
            allowed[at] = np.where(own.max(axis=0) > 0, chosen, 0.0)  # what has no share is never dealt
        yield expected, allowed


def _variance(params: Mapping[str, Any], rate: int) -> float:
    if has_gaussian_tables(params):
        return gaussian_variance(rate)
    loss = rate / 2**52
    return 2 * math.exp(-loss) / math.expm1(-loss) ** 2
