# SPDX-License-Identifier: Apache-2.0
"""The cells of a randomized table, counted in one pass: answers by column, and cells outside a mechanism's output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.bundle.data_files import iter_batches, parts_of, read_schema
from anonkit.bundle.part_workers import each_part
from anonkit.checks.central_params import are_of_type
from anonkit.checks.local_params import BoundedCells, ListedCategories, PublishedAnswers, RandomizedColumn
from anonkit.checks.number_cells import is_as_written
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
