# SPDX-License-Identifier: Apache-2.0
"""Batches of a table as randomized answers: the one place where true cells meet the noise of a release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from anonkit.domains.cell_values import codes_of_cells, labels_of_cells, numbers_of_cells
from anonkit.domains.coded_columns import Codes, IntArray, array_of
from anonkit.domains.number_bins import UNKNOWN, Categories, Grid
from anonkit.mechanisms.randomizers import (
    ANSWERED_STREAM,
    CodeRandomizer,
    NumberRandomizer,
    answered_attribute,
    randomizer_of,
)
from anonkit.published.channels.number_channels import TransformedResponse
from anonkit.published.channels.response_channel import Channel
from anonkit.published.randomized_table import Mechanism, PublishedAttribute, PublishedTable, PublishedTarget
from anonkit.published.released_codes import array_of_numbers, labelled

_LABEL_STREAM, _UNLABELLED_STREAM = 2**32 - 1, 2**32 - 3
"""Streams of the noise key that neither an attribute has, attribute i having stream i, nor the choice of attributes."""


@dataclass(frozen=True, kw_only=True)
class RandomizeBatch:
    """Batch function that randomizes rows: a pure function of the batch, its first row number and the key.

    The random words of a cell are addressed by (key, stream, row number): attribute i has stream i, and the label, the
    choice of the answered attribute and missing labels have streams of their own at the top of the range. A task that
    runs twice therefore gives the same answers, never a second, independent one that could be averaged with the first.

    Privacy
    -------
    The key is as secret as the rows: whoever has it can subtract the noise. It is kept out of the representation.
    """

    takes_codes: ClassVar[bool] = True
    """Categories may come as places in a dictionary (`anonkit.protocols.BatchMap`)."""

    table: PublishedTable
    key: bytes = field(repr=False)
    schema: pa.Schema
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Public bounds of numbers without a grid."""

    @cached_property
    def _randomizers(self) -> list[CodeRandomizer[Channel] | NumberRandomizer]:
        """Randomizers of the answers, one an attribute; made once, since a randomizer keeps its tables of words."""
        return [_randomizer(attribute.mechanism) for attribute in self.table.attributes]

    @cached_property
    def _label_randomizer(self) -> CodeRandomizer[Channel] | None:
        """Randomizer of the class; None when it is part of the other answers."""
        target = self.table.target
        return None if target is None or target.mechanism is None else randomizer_of(target.mechanism)

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the answers of the rows, in the columns of the schema."""
        answers = dict(self._answers(batch, row))
        return pa.RecordBatch.from_arrays([answers[name] for name in self.schema.names], schema=self.schema)

    def _answers(self, batch: pa.RecordBatch, row: int) -> Iterator[tuple[str, pa.Array]]:
        table, attribute_of_row = self.table, None
        if table.asked_column is not None:
            names = [attribute.name for attribute in table.attributes]
            attribute_of_row = answered_attribute(self.key, ANSWERED_STREAM, row, batch.num_rows, len(names))
            yield table.asked_column, _labelled(attribute_of_row, names)
        target = table.target
        labels = None if target is None else self._labels(batch, row, target)
        classes = None if labels is None else labels.copy()
        for stream, attribute in enumerate(table.attributes):
            rows_answered = None if attribute_of_row is None else np.flatnonzero(attribute_of_row == stream)
            randomizer = self._randomizers[stream]
            if isinstance(randomizer, NumberRandomizer):
                yield attribute.name, self._transformed(attribute, randomizer, batch, row, stream, rows_answered)
                continue
            answers = self._randomized(attribute, randomizer, batch, row, stream, labels, rows_answered)
            if attribute.joint_with_target and classes is not None:
                size = _size(attribute)
                classes[slice(None) if rows_answered is None else rows_answered] = answers // size
                answers = answers % size
            domain = attribute.answers()
            assert domain is not None  # noqa: S101 - TRR has no codes
            if rows_answered is not None:
                answers = _among_blanks(domain, answers, rows_answered, batch.num_rows)
            yield attribute.name, _shown_of(domain, answers)
        if table.target is not None and labels is not None and classes is not None:
            if self._label_randomizer is not None:
                small = labels.astype(_small(self._label_randomizer.channel))
                randomized = self._label_randomizer.randomize(small, key=self.key, stream=_LABEL_STREAM, first_row=row)
                classes = randomized.astype(np.int64)
            yield table.target.name, _shown_of(table.target.shown, classes)

    def _labels(self, batch: pa.RecordBatch, row: int, target: PublishedTarget) -> Codes:
        """Return the class of each row; one that has none is given one by chance, every class alike.

        Privacy
        -------
        Such a row is answered as a mixture of rows with a class: whatever it shows is at most as likely as under the
        class that makes it likeliest, and at least as likely as under the one that makes it unlikeliest.
        """
        labels = labels_of_cells(batch, target.name, target.domain)
        lost = labels == UNKNOWN
        if not lost.any():
            return labels
        uniform = answered_attribute(self.key, _UNLABELLED_STREAM, row, batch.num_rows, target.domain.size)
        return np.where(lost, uniform, labels)

    def _randomized(
        self,
        attribute: PublishedAttribute,
        randomizer: CodeRandomizer[Channel],
        batch: pa.RecordBatch,
        row: int,
        stream: int,
        labels: Codes | None,
        rows_answered: IntArray | None,
    ) -> Codes:
        """Return the answers of the rows that are selected for the attribute, of all when `rows_answered` is None."""
        domain = attribute.domain
        assert domain is not None  # noqa: S101 - only TRR has none, and it was handled before
        kind, cells = _small(randomizer.channel), batch.select([attribute.name])
        # a dictionary is coded faster than some of its rows are taken
        after = rows_answered is not None and pa.types.is_dictionary(cells.column(0).type)
        if rows_answered is not None and not after:
            cells = cells.take(pa.array(rows_answered))
        is_joint = attribute.joint_with_target and labels is not None
        codes = codes_of_cells(cells, attribute.name, domain, np.int64 if is_joint else kind)
        if after:
            codes = codes[rows_answered]
        if is_joint and labels is not None:
            codes = (labels[slice(None) if rows_answered is None else rows_answered] * domain.size + codes).astype(kind)
        return randomizer.randomize(codes, key=self.key, stream=stream, first_row=row, rows=rows_answered)

    def _transformed(
        self,
        attribute: PublishedAttribute,
        randomizer: NumberRandomizer,
        batch: pa.RecordBatch,
        row: int,
        stream: int,
        rows_answered: IntArray | None,
    ) -> pa.Array:
        bounds, presence = self.bounds.get(attribute.name), randomizer.response.presence
        numbers = numbers_of_cells(batch, attribute.name, bounds)
        if presence is None and bounds is not None:
            numbers = np.where(np.isnan(numbers), bounds[0], numbers)
        answers = randomizer.randomize(numbers, key=self.key, stream=stream, first_row=row)
        present = np.ones(answers.size, dtype=bool) if presence is None else ~np.isnan(answers)
        if rows_answered is not None:
            unasked = np.ones(answers.size, dtype=bool)
            unasked[rows_answered] = False
            answers[unasked], present[unasked] = np.nan, False  # no draw is kept that nobody is shown
        return array_of(answers, present)


def _randomizer(mechanism: Mechanism) -> CodeRandomizer[Channel] | NumberRandomizer:
    return NumberRandomizer(mechanism) if isinstance(mechanism, TransformedResponse) else randomizer_of(mechanism)


def _size(attribute: PublishedAttribute) -> int:
    answers = attribute.answers()
    assert answers is not None  # noqa: S101 - TRR has no codes
    return answers.size


def _small(mechanism: Channel) -> type[np.integer[Any]]:
    """Return the smallest integer type that holds every code and answer."""
    largest = max(mechanism.n_inputs, mechanism.n_outputs)
    return np.uint8 if largest <= 1 << 8 else np.uint16 if largest <= 1 << 16 else np.int32


def _shown_of(domain: Categories | Grid, answers: Codes) -> pa.Array:
    """Return answers as cells: categories by name, cells of a grid by their middles."""
    if isinstance(domain, Categories):
        if domain.are_truth_values:
            return labelled(answers.astype(np.int64), domain)
        return _labelled(answers, domain.labels())
    return array_of_numbers(domain.decode(answers), domain)


def _labelled(codes: Codes, labels: Sequence[str | None]) -> pa.Array:
    """Return codes as a dictionary array; the code after the last label is null."""
    names = [label for label in labels if label is not None]
    present = codes < len(names)
    indices = array_of((codes * present).astype(np.int32), present)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string()))


def _among_blanks(domain: Categories | Grid, answers: Codes, rows: IntArray, n_rows: int) -> Codes:
    """Return the answers of some rows, and in the others the code after the last that is shown, shape (n_rows,)."""
    blank = domain.size - domain.has_missing
    out: Codes = np.full(n_rows, blank, dtype=np.int32)
    out[rows] = answers
    return out
