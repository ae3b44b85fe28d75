# SPDX-License-Identifier: Apache-2.0
"""A release aligned row by row with its source, so that the success of an attack can be scored.

A release hides the order of its rows, from its owner too. What the published parameters say is done to the source once
more: a recoding gives the same cells again; a randomization gives a second draw of the same distribution, which is
scored in memory and never written.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.auditing.attacks.attack_evidence import Values, codes_in
from anonkit.domains.named_parts import code_of_index
from anonkit.domains.number_bins import Categories, Grid
from anonkit.engines import open_engine
from anonkit.errors import AnonkitError
from anonkit.mechanisms.randomizers import ANSWERED_STREAM, NumberRandomizer, answered_attribute, randomizer_of
from anonkit.methods.mdav import groups_again
from anonkit.protocols import Recodes
from anonkit.published.channels.number_channels import TransformedResponse
from anonkit.published.channels.response_channel import Channel
from anonkit.published.randomized_table import FORMAT, PublishedTable
from anonkit.published.recoding import GlobalRecoding, coarser_steps, recoding_from_dict
from anonkit.published.released_codes import array_of_numbers


@dataclass(frozen=True, kw_only=True, eq=False)
class Aligned:
    """Released rows and where they come from."""

    table: pa.Table
    position: NDArray[np.int64]
    """Row of the table that belongs to each row of the source, shape (n_source_rows,); -1 where it was left out."""


def align(params: Mapping[str, Any], released: pa.Table, original: pa.Table) -> Aligned | None:
    """Do to the source what the parameters say.

    Returns
    -------
    Aligned, or None when no row of the release belongs to one person (noisy counts, synthesized rows) or nothing is
    known about how the table was made.
    """
    try:
        if "recoding" in params:
            return _recoded(params, released, original)
        if params.get("format") == FORMAT:
            return _randomized(PublishedTable.from_params(params), released, original)
    except (AnonkitError, KeyError, ValueError, pa.ArrowException):
        return None  # the source is not the one the release was made from: attack what is there
    return None


def identity(original: pa.Table) -> Aligned:
    """Return the source as if it were a release."""
    return Aligned(table=original, position=np.arange(original.num_rows))


def _recoded(params: Mapping[str, Any], released: pa.Table, original: pa.Table) -> Aligned:
    recoding = recoding_from_dict(params["recoding"])
    batch = _with_numbers(original.combine_chunks().to_batches()[0], params)
    in_groups = isinstance(recoding, GlobalRecoding) and recoding.in_groups
    recoded, unknown = (_grouped_again(params, batch) if in_groups else recoding).apply(batch)
    known = [name for name in released.column_names if name in recoded]
    cells, present = pa.table(recoded).select(known), released.select(known)
    released_rows = _in_release(cells, present)
    for step in coarser_steps(recoding)[1:] if recoding.merged else ():  # a row shows the first step that is there
        coarser = pa.table(step.apply(batch)[0]).select(known)
        at = np.where(released_rows, 0, batch.num_rows) + np.arange(batch.num_rows)
        cells = pa.concat_tables([cells, coarser]).take(pa.array(at))
        released_rows = _in_release(cells, present)
    released_rows &= ~unknown
    columns = [
        cells.column(name) if name in known else batch.column(batch.schema.get_field_index(name))
        for name in released.column_names
    ]
    table = pa.table(columns, names=released.column_names)
    position = np.full(original.num_rows, -1, dtype=np.int64)
    position[released_rows] = np.arange(int(released_rows.sum()))
    return Aligned(table=table.filter(pa.array(released_rows)), position=position)


def _grouped_again(params: Mapping[str, Any], batch: pa.RecordBatch) -> Recodes:
    """Return the groups of a release, found again in its source."""
    with closing(open_engine("local")) as engine:
        return groups_again(engine.hold(pa.Table.from_batches([batch])), params, engine)


def _with_numbers(batch: pa.RecordBatch, params: Mapping[str, Any]) -> pa.RecordBatch:
    """Return rows with cells of a grid as the numbers that a recoding compares."""
    for column in params["columns"]:
        if "place" in column:
            names = pc.dictionary_encode(batch.column(column["name"]))
            codes = [code_of_index(int(name, 16)) for name in names.dictionary.to_pylist()]
            at = batch.schema.get_field_index(column["name"])
            batch = batch.set_column(at, column["name"], pa.array(codes, pa.int64()).take(names.indices))
    return batch


def _in_release(rows: pa.Table, released: pa.Table) -> NDArray[np.bool_]:
    """Return a mask of the rows whose combination of cells the release has; the others were suppressed."""
    both = [
        Values.of(
            pa.chunked_array(
                [*rows.column(name).cast(pa.string()).chunks, *released.column(name).cast(pa.string()).chunks]
            )
        )
        for name in rows.column_names
    ]
    codes = np.zeros(rows.num_rows + released.num_rows, dtype=np.int64)
    for column in both:
        codes = np.unique(codes * len(column.values) + column.codes, return_inverse=True)[1]
    return np.isin(codes[: rows.num_rows], codes[rows.num_rows :])


def _randomized(table: PublishedTable, released: pa.Table, original: pa.Table) -> Aligned:
    key, n_rows = secrets.token_bytes(32), original.num_rows
    answered = None
    if table.asked_column is not None:
        answered = answered_attribute(key, ANSWERED_STREAM, 0, n_rows, len(table.attributes))
    n_classes = table.target.domain.size if table.target is not None else 1
    out: dict[str, pa.Array] = {}
    for number, attribute in enumerate(table.attributes):
        alone = attribute.alone(n_classes)
        blank = None if answered is None else answered != number
        if isinstance(alone.mechanism, TransformedResponse):
            numbers = original.column(attribute.name).cast(pa.float64(), safe=False).to_numpy()
            answers = NumberRandomizer(alone.mechanism).randomize(numbers, key=key, stream=number)
            out[attribute.name] = pa.array(
                answers, mask=np.isnan(answers) if blank is None else blank | np.isnan(answers)
            )
        elif isinstance(alone.mechanism, Channel) and alone.domain is not None:
            answer = _draw(original.column(attribute.name), alone.domain, alone.mechanism, key, number)
            out[attribute.name] = _decoded(answer, alone.answers() or alone.domain, blank)
    target = table.target
    if target is not None and target.mechanism is not None:
        answer = _draw(original.column(target.name), target.shown, target.mechanism, key, len(table.attributes))
        out[target.name] = _decoded(answer, target.shown, None)
    return Aligned(table=pa.table(out), position=np.arange(n_rows))


def _draw(
    column: pa.ChunkedArray, domain: Categories | Grid, channel: Channel, key: bytes, stream: int
) -> NDArray[np.int64]:
    codes = codes_in(Values.of(column), domain)
    if (codes < 0).any():
        raise ValueError("a value is outside the published domain")
    return randomizer_of(channel).randomize(codes, key=key, stream=stream).astype(np.int64)


def _decoded(codes: NDArray[np.int64], domain: Categories | Grid, blank: NDArray[np.bool_] | None) -> pa.Array:
    values = domain.decode(codes)
    if isinstance(domain, Categories):
        mask = np.array([value is None for value in values]) if blank is None else blank
        return pa.array(values, pa.string(), mask=mask)
    numbers = np.asarray(values, dtype=np.float64)
    return array_of_numbers(numbers if blank is None else np.where(blank, np.nan, numbers), domain)
