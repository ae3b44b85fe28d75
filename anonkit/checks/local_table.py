# SPDX-License-Identifier: Apache-2.0
"""Validation of randomized tables: the promise, every figure of the report, every cell, and the answer rates.

Nothing is imported that makes or describes a randomized table; the file format is all that is shared.

Test whether the answers of a randomized table can come from the mechanism that its parameters state.

Blind answers alone give every value a least share, whatever the truth was. The likeliest true shares are fitted behind
the stated response matrix; when even they do not explain the observed counts, the table was not randomized as stated:
too few blind answers, or none at all. The test is strict, so that a sound release fails once in a million.

Numbers that were multiplied and shifted have a spread that their noise alone gives them, and one that public bounds do
not let them exceed: a centre, a scale or bounds that do not belong to the answers are seen there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from anonkit.checks.local_cells import AnswerCounts, ColumnCount, cell_checks, count_answers
from anonkit.checks.local_matrices import BlindAndNear, BlindAndSets, FloatArray, ResponseWords
from anonkit.checks.local_params import PublishedAnswers, RandomizedColumn, Transformation, read_answers
from anonkit.checks.local_promise import promise_checks, published_loss
from anonkit.checks.local_shuffle import shuffle_checks
from anonkit.checks.promise_checkers import FileChecks
from anonkit.checks.written_files import own_methods
from anonkit.promises.guarantee import Check

LEVEL = 1e-6
"""Probability that a sound release fails any of these checks, at most: a convention."""
_ROUNDS = 2000
_LOOKED_EVERY = 16
"""Steps of the fit at most, and after how many a p-value is looked at: they bound the time."""
_PLAIN = 0.01
"""P-value from which on better shares need not be sought: they only raise it. Far above `LEVEL`, by convention."""
_FEWEST = 50
"""Answers below which the approximation of the test does not hold, by convention; such a column is not judged."""
_STANDARD_ERRORS = 10.0
"""By so many the spread of transformed numbers may leave what their noise allows: a convention, for heavy tails."""


def response_rate_checks(table: PublishedAnswers, counts: AnswerCounts) -> Iterator[Check]:
    """Compare the answers of every column with its mechanism.

    Parameters
    ----------
    table : PublishedAnswers
        Content of the params.
    counts : AnswerCounts
        What the data file holds.

    Yields
    ------
    Check
        `response_rates:COLUMN`; observed is the p-value, required the level divided by the number of tests.
        `noise_spread:COLUMN` for a transformed number; observed are the standard errors by which its spread is outside
        what its noise allows.
    """
    tests = list(_tests(table, counts))
    level = LEVEL / max(len(tests), 1)
    for name, answers, words in tests:
        if answers.sum() >= _FEWEST:
            p_value = consistency(answers, words)
            yield Check(name=f"response_rates:{name}", passed=p_value >= level, observed=p_value, required=level)
    for attribute in table.attributes:
        if attribute.transformation is not None and attribute.name in counts.columns:
            yield from _spread_check(attribute, attribute.transformation, counts.columns[attribute.name])


def _tests(table: PublishedAnswers, counts: AnswerCounts) -> Iterator[tuple[str, FloatArray, ResponseWords]]:
    """Yield the name, the answers and the response matrix of every test."""
    for at, column in enumerate(table.columns):
        if column.words is None or column.name not in counts.columns:
            continue
        words = column.words
        if column.joint and isinstance(words, BlindAndNear | BlindAndSets):
            if table.target is not None and table.target.name in counts.columns:
                counted = counts.classes[at].astype(np.float64)
                yield f"{table.target.name} with {column.name}", counted, words.of_classes(table.n_classes)
            words = words.of_values(table.n_classes)
        yield column.name, counts.columns[column.name].answers.astype(np.float64), words
    if table.asked_column is not None and table.asked_column not in counts.absent:
        yield table.asked_column, counts.answering.astype(np.float64), _even(len(table.attributes))


def _even(size: int) -> BlindAndNear:
    """Return the matrix of a choice that does not look at the truth: 64-bit words, even to one in 2**32."""
    share, left = divmod(1 << 64, size)
    places = np.zeros(1, dtype=np.int64)
    return BlindAndNear(
        word_bits=64, blind=(share + left, *[share] * (size - 1)), starts=places, stops=places, more=(0,)
    )


def consistency(counts: FloatArray, words: ResponseWords) -> float:
    """Return the p-value of answer counts under a response matrix and the true shares that suit them best.

    A likelihood-ratio test with one degree of freedom less than there are answers, which is more than the fit leaves:
    the p-value is never too small. The fit ends early where it can only confirm what is plain: the p-value is then a
    lower bound of at least 1 %.
    """
    total, seen, p_value = counts.sum(), counts > 0, 0.0
    for shares in _likelier_and_likelier(counts, words):
        expected = total * words.forward(shares)
        with np.errstate(divide="ignore"):
            statistic = 2 * float((counts[seen] * np.log(counts[seen] / expected[seen])).sum())
        p_value = chi_square_tail(max(statistic, 0.0), max(words.n_answers - 1, 1))
        if p_value >= _PLAIN:
            break
    return p_value


def chi_square_tail(statistic: float, degrees: int) -> float:
    """Return the probability that a chi-square variable is larger, by its finite series: whoever checks needs no scipy.

    Parameters
    ----------
    statistic : float
        0 or more.
    degrees : int
        Degrees of freedom, 1 or more.

    References
    ----------
    Abramowitz, Stegun: Handbook of Mathematical Functions, 26.4.4 and 26.4.5.
    """
    half, is_odd = statistic / 2, degrees % 2
    if half == 0:
        return 1.0
    tail = math.erfc(math.sqrt(half)) if is_odd else 0.0
    powers = np.arange(degrees // 2) + is_odd / 2
    if powers.size:
        log_factorials = math.lgamma(powers[0] + 1) + np.cumsum(np.log([1.0, *powers[1:]]))
        tail += float(np.exp(powers * math.log(half) - half - log_factorials).sum())
    return min(tail, 1.0)


def _likelier_and_likelier(counts: FloatArray, words: ResponseWords) -> Iterator[FloatArray]:
    """Fit true shares by expectation maximization; yield those on the way, each likelier than the one before."""
    shares = np.full(words.n_codes, 1 / words.n_codes)
    total = counts.sum()
    for number in range(_ROUNDS):
        answers = words.forward(shares)
        ratio = np.divide(counts, answers, out=np.zeros_like(counts), where=answers > 0)
        fitted: FloatArray = shares * words.backward(ratio) / total
        settled, shares = np.abs(fitted - shares).max() < 1e-9, fitted
        if settled:
            break
        if number % _LOOKED_EVERY == 0:
            yield shares
    yield shares


def _spread_check(answer: RandomizedColumn, how: Transformation, counted: ColumnCount) -> Iterator[Check]:
    """Compare the mean square distance from the centre with what the noise allows.

    With y − centre = a x' + scale · b and |x'| at most the scale, the mean square is at least scale² Var(b), and
    at most scale² (E[a]² + Var(a) + Var(b)) where bounds are public. A missing value shows as one at the centre.
    """
    n, _, squares = counted.moments
    if how.is_unperturbed or n < _FEWEST:
        return
    unit = how.scale**2
    least = how.offset[1]
    most = math.inf if how.bounds is None else how.multiplier[0] ** 2 + how.multiplier[1] + least
    mean = squares / n / unit if unit else math.inf
    # a normal number with mean m and variance v has squares of variance 4 m² v + 2 v²; m and v at their largest
    centre, spread = how.multiplier[0] ** 2, how.multiplier[1] + least
    above = math.sqrt((4 * centre * spread + 2 * spread**2) / n)
    below = math.sqrt(2 * least**2 / n)
    outside = max((least - mean) / below if below else 0.0, (mean - most) / above if above else 0.0, 0.0)
    yield Check(
        name=f"noise_spread:{answer.name}",
        passed=outside <= _STANDARD_ERRORS,
        observed=outside if math.isfinite(outside) else "inf",
        required=_STANDARD_ERRORS,
    )


def local_checks(
    data: Path, params: Mapping[str, Any], report: Mapping[str, Any], *, is_promised: bool
) -> Iterator[Check]:
    """Check the draft of a randomized table against its parameters, and what is to be reported against both.

    Parameters
    ----------
    data : path
        The Parquet file or folder.
    params : mapping
        What `params.json` holds.
    report : mapping
        What `report.json` holds, or the blocks of it that `promise_checks` looks at.
    is_promised : bool
        False where nothing is promised, because numbers were multiplied and shifted at random.

    Raises
    ------
    ReleaseFormatError
        The parameters contradict themselves, or a file is damaged.
    """
    table = read_answers(params)
    yield from promise_checks(table, report, is_promised=is_promised)
    yield from cell_checks(table, count_answers(data, table))


def local_file_checks(
    data: Path, params: Mapping[str, Any], report: Mapping[str, Any], *, is_promised: bool
) -> FileChecks:
    """Check the files of a randomized table: as its draft was, its shuffle block, and its answer rates.

    Parameters are those of `local_checks`, with the whole report.
    """
    table = read_answers(params)
    promised = list(promise_checks(table, report, is_promised=is_promised))
    later: list[Check] = []
    if "shuffle" in report or report["method"]["name"] in own_methods():  # all of ours state what a shuffle adds
        later += shuffle_checks(table, report, published_loss(table).epsilon)
    counts = count_answers(data, table)
    cells = list(cell_checks(table, counts))
    return FileChecks(made=[*promised, *cells], later=[*later, *response_rate_checks(table, counts)])
