# SPDX-License-Identifier: Apache-2.0
"""Validation of randomized tables: the promise, every figure of the report, every cell, and the answer rates.

Nothing is imported that makes or describes a randomized table; the file format is all that is shared. Cells are counted
in one pass: answers by column, and cells outside a mechanism's output.

Answer rates show whether the answers can come from the mechanism that the parameters state. Blind answers alone give
every value a least share, whatever the truth was. The likeliest true shares are fitted behind the stated response
matrix; when even they do not explain the observed counts, the table was not randomized as stated: too few blind
answers, or none at all. The test is strict, so that a sound release fails once in a million.

Numbers that were multiplied and shifted have a spread that their noise alone gives them, and one that public bounds do
not let them exceed: a centre, a scale or bounds that do not belong to the answers are seen there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.bundle.data_files import each_part, iter_batches, parts_of, read_schema
from anonkit.checks.central_params import are_of_type
from anonkit.checks.file_integrity import own_methods
from anonkit.checks.local_matrices import BlindAndNear, BlindAndSets, FloatArray, ResponseWords
from anonkit.checks.local_params import (
    BoundedCells,
    ListedCategories,
    PublishedAnswers,
    RandomizedColumn,
    Transformation,
    read_answers,
)
from anonkit.checks.local_promise import promise_checks, published_loss, shuffle_checks
from anonkit.checks.number_cells import is_as_written
from anonkit.checks.promise_checkers import FileChecks
from anonkit.errors import ReleaseFormatError
from anonkit.promises.guarantee import Check

_BATCH_ROWS = 1 << 17
_SMALL_DOMAIN = 1 << 15
"""Letters of all categories up to which Parquet keeps their order; it gives up dictionaries that are large."""

IntArray = NDArray[np.int64]


@dataclass(kw_only=True)
class ColumnCount:
    """The counts of one column."""

    answers: IntArray
    """Rows with each answer, shape (n_answers,); empty for a transformed number."""
    impossible: int = 0
    """Cells that the mechanism cannot have published."""
    in_order: bool = True
    """False when the data file lists the categories in another order than the params."""
    moments: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    """Of a transformed number: how many are shown, and sums of their distance from the centre and of its square."""

    def add(self, other: ColumnCount) -> None:
        """Add what another file holds."""
        self.answers += other.answers
        self.impossible += other.impossible
        self.in_order &= other.in_order
        self.moments = [one + more for one, more in zip(self.moments, other.moments, strict=True)]


@dataclass(kw_only=True)
class AnswerCounts:
    """The counts of a randomized table."""

    columns: dict[str, ColumnCount]
    """Columns that are there."""
    absent: tuple[str, ...]
    """Columns of the params that are not."""
    answering: IntArray
    """Rows that answer each attribute, shape (n_attributes,); empty when every row answers all."""
    impossible_attributes: int = 0
    """Rows whose cell in the column of answered attributes names no attribute."""
    unasked: int = 0
    """Cells that show something although their row answers another attribute."""
    classes: IntArray
    """Classes shown by the rows that answer each attribute, shape (n_attributes, n_classes); empty unless hidden."""

    def add(self, other: AnswerCounts) -> None:
        """Add what another file of the same table holds."""
        for name, column in self.columns.items():
            column.add(other.columns[name])
        self.answering += other.answering
        self.impossible_attributes += other.impossible_attributes
        self.unasked += other.unasked
        self.classes += other.classes


def count_answers(data: Path, table: PublishedAnswers) -> AnswerCounts:
    """Count the cells of a randomized table, file by file.

    Parameters
    ----------
    data : path
        The Parquet file or folder.
    table : PublishedAnswers
        Content of its params.

    Raises
    ------
    ReleaseFormatError
        The file cannot be read, or a column is of another type than anonkit writes.
    """
    try:
        present = frozenset(read_schema(data).names)
        first, *others = each_part(partial(_count_part, table=table, present=present), parts_of(data))
    except (pa.ArrowException, OSError):
        raise ReleaseFormatError(f"{str(data)!r} is not a readable Parquet file") from None
    for counts in others:
        first.add(counts)
    return first


def _count_part(part: Path, table: PublishedAnswers, present: frozenset[str]) -> AnswerCounts:
    """Count the cells of one file, of the columns that the first file has; see `count_answers`."""
    try:
        column_names = [column.name for column in table.columns]
        there = [column for column in table.columns if column.name in present]
        names = [column.name for column in there]
        asked_column = table.asked_column
        counts = AnswerCounts(
            columns={column.name: ColumnCount(answers=np.zeros(_size(column), dtype=np.int64)) for column in there},
            absent=tuple(
                name for name in [*column_names, *([asked_column] if asked_column else [])] if name not in present
            ),
            answering=np.zeros(0 if asked_column is None else len(table.attributes), dtype=np.int64),
            classes=np.zeros((len(table.attributes), table.n_classes) if table.joint else (0, 0), dtype=np.int64),
        )
        more = [asked_column] if asked_column is not None and asked_column in present else []
        for batch in iter_batches(part, [*names, *more], batch_rows=_BATCH_ROWS):
            _count_batch(batch, table, there, counts, bool(more))
    except (pa.ArrowException, OSError):
        raise ReleaseFormatError(f"{str(part)!r} is not a readable Parquet file") from None
    return counts


def cell_checks(table: PublishedAnswers, counts: AnswerCounts) -> Iterator[Check]:
    """Check that every cell is a possible answer, and that a row shows no more than it may.

    Yields
    ------
    Check
        `domain:COLUMN`, cells that are no possible answer (None for a column that is not there);
        `category_order:COLUMN` where the data file keeps an order of categories; `one_answer_per_row` where a row
        answers one attribute.
    """
    for column in table.columns:
        counted = counts.columns.get(column.name)
        impossible = None if counted is None else counted.impossible
        yield Check(name=f"domain:{column.name}", passed=impossible == 0, observed=impossible, required=0)
        if counted is not None and not counted.in_order:
            yield Check(name=f"category_order:{column.name}", passed=False, observed="another", required="as published")
    if table.asked_column is not None:
        name = table.asked_column
        strange = None if name in counts.absent else counts.impossible_attributes
        yield Check(name=f"domain:{name}", passed=strange == 0, observed=strange, required=0)
        yield Check(name="one_answer_per_row", passed=counts.unasked == 0, observed=counts.unasked, required=0)


def _size(answer: RandomizedColumn) -> int:
    answers = answer.answers
    return 0 if answers is None else answers.size


def _count_batch(
    batch: pa.RecordBatch,
    table: PublishedAnswers,
    there: list[RandomizedColumn],
    counts: AnswerCounts,
    has_answered: bool,
) -> None:
    answered: IntArray | None = None
    if table.asked_column is not None and has_answered:
        known = ListedCategories(values=tuple(attribute.name for attribute in table.attributes), has_missing=False)
        answered = _codes(batch.column(table.asked_column), known)
        counts.impossible_attributes += int((answered < 0).sum())
        counts.answering += np.bincount(answered[answered >= 0], minlength=counts.answering.size)
    for at, attribute in enumerate(there):
        cells, counted = batch.column(at), counts.columns[attribute.name]
        counted.in_order &= _in_order(cells, attribute.answers)
        if answered is not None and attribute is not table.target:
            shown = len(cells) - cells.null_count
            cells = cells.take(pa.array(np.flatnonzero(answered == table.attributes.index(attribute))))
            counts.unasked += shown - (len(cells) - cells.null_count)
        if attribute.transformation is not None:
            _count_numbers(cells, attribute, counted)
        elif isinstance(cells, pa.DictionaryArray) and _are_listed(attribute.answers):
            _count_entries(cells, attribute.answers, counted)
        else:
            codes = _codes(cells, attribute.answers)
            counted.impossible += int((codes < 0).sum())
            counted.answers += np.bincount(codes[codes >= 0], minlength=counted.answers.size)
    if table.joint and answered is not None and table.target is not None and table.target.name in counts.columns:
        classes = _codes(
            batch.column([attribute.name for attribute in there].index(table.target.name)), table.target.domain
        )
        both = (answered >= 0) & (classes >= 0)
        pairs = np.bincount(answered[both] * table.n_classes + classes[both], minlength=counts.classes.size)
        counts.classes += pairs.reshape(counts.classes.shape)


def _in_order(cells: pa.Array, domain: ListedCategories | BoundedCells | None) -> bool:
    """Return True if the data file lists the categories as the params do, as far as it keeps their order."""
    if not isinstance(domain, ListedCategories) or not isinstance(cells, pa.DictionaryArray) or len(cells) == 0:
        return True
    if sum(map(len, domain.values)) > _SMALL_DOMAIN:
        return True
    listed = _entry_codes(cells, domain)[:-1]
    return bool((np.diff(listed[listed >= 0]) > 0).all())  # categories that no row shows may be left out


def _count_entries(cells: pa.DictionaryArray, domain: ListedCategories, counted: ColumnCount) -> None:
    """Count a dictionary column by its entries, not by its rows."""
    entries = _entry_codes(cells, domain)
    places = np.asarray(pc.fill_null(cells.indices, len(entries) - 1))
    counts = np.bincount(places, minlength=len(entries))
    known = entries >= 0
    counted.impossible += int(counts[~known].sum())
    np.add.at(counted.answers, entries[known], counts[known])


def _entry_codes(cells: pa.DictionaryArray, domain: ListedCategories) -> IntArray:
    """Return the code of each entry of a dictionary, and last that of missing; -1 for what is no answer."""
    known = {value: code for code, value in enumerate(domain.values)}
    codes = [known.get(value, -1) for value in cells.dictionary.cast(pa.string()).to_pylist()]
    return np.array([*codes, len(domain.values) if domain.has_missing else -1], dtype=np.int64)


def _are_listed(domain: ListedCategories | BoundedCells | None) -> TypeGuard[ListedCategories]:
    """Return True if answers are categories that a file lists once, which those of booleans are not."""
    return isinstance(domain, ListedCategories) and not domain.truth_values


def _codes(cells: pa.Array, domain: ListedCategories | BoundedCells | None) -> IntArray:
    """Return the code of every cell; -1 for what is no answer."""
    if isinstance(domain, ListedCategories):
        if not are_of_type(cells, truth_values=domain.truth_values):
            return np.full(len(cells), -1, dtype=np.int64)
        encoded = cells if isinstance(cells, pa.DictionaryArray) else cells.cast(pa.string()).dictionary_encode()
        entries = _entry_codes(encoded, domain)
        return np.asarray(entries[np.asarray(pc.fill_null(encoded.indices, len(entries) - 1))])
    assert domain is not None  # noqa: S101 - only transformed numbers have none, and they are counted otherwise
    if domain.multiples is not None and not is_as_written(cells.type, domain.multiples):
        return np.full(len(cells), -1, dtype=np.int64)
    return domain.codes(_numbers(cells))


def _numbers(cells: pa.Array) -> NDArray[np.float64]:
    return np.asarray(pc.fill_null(cells.cast(pa.float64()), np.nan).to_numpy(zero_copy_only=False))


def _count_numbers(cells: pa.Array, answer: RandomizedColumn, counted: ColumnCount) -> None:
    how: Any = answer.transformation
    numbers = _numbers(cells)
    n_absent = int(np.isnan(numbers).sum())
    steps = numbers if how.is_unperturbed else numbers / how.step
    with np.errstate(invalid="ignore"):  # what is missing or infinite is no multiple: its difference is no number
        off = ~(steps - (steps if how.is_unperturbed else np.rint(steps)) == 0)
    n_off = int(off.sum())
    may_be_absent = how.is_unperturbed or how.presence is not None
    counted.impossible += n_off - (n_absent if may_be_absent else 0)
    away = numbers - how.centre
    away[off] = 0
    n_numbers = numbers.size - n_off
    with np.errstate(over="ignore"):
        for at, value in enumerate((n_numbers, away.sum(), (away * away).sum())):
            counted.moments[at] += float(value)


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
