# SPDX-License-Identifier: Apache-2.0
"""Randomized tables read anew: the loss their published integers have, and whether every cell is a possible answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.data_files import iter_batches, read_schema
from anonkit.errors import ReleaseFormatError
from anonkit.guarantee import Check
from anonkit.local_dp import LocalDP
from anonkit.mechanisms.domains import Categories, Grid
from anonkit.mechanisms.published import PublishedAttribute, PublishedTable
from anonkit.mechanisms.transformed_response import TransformedResponse

_BATCH_ROWS = 1 << 18


@dataclass(frozen=True, kw_only=True)
class PublishedLoss:
    """The privacy loss that a table's published parameters have."""

    epsilon: float
    attributes: Mapping[str, float]


def published_loss(table: PublishedTable) -> PublishedLoss:
    """Return the loss of each answer and of a row, from the integers of the mechanisms."""
    return PublishedLoss(epsilon=table.record_epsilon, attributes=table.losses)


def randomized_checks(data: Path, params: Mapping[str, Any], guarantee: Mapping[str, Any]) -> Iterator[Check]:
    """Check a randomized table against its parameters, and those against the promise.

    Parameters
    ----------
    data : path
        The Parquet file.
    params : mapping
        What `params.json` holds.
    guarantee : mapping
        The `guarantee` block of the report.

    Raises
    ------
    ReleaseFormatError
        The parameters contradict themselves or the report is damaged.
    """
    table = PublishedTable.from_params(params)
    if guarantee["kind"] == LocalDP.kind:
        try:
            promise = LocalDP.from_dict(guarantee)
        except (KeyError, TypeError, ValueError):
            raise ReleaseFormatError("the guarantee of the report is damaged") from None
        yield from promise.verify(published_loss(table))
    strangers = _strangers(data, table)
    for name, count in strangers.items():
        yield Check(name=f"domain:{name}", passed=count == 0, observed=count, required=0)


def _strangers(data: Path, table: PublishedTable) -> dict[str, int | None]:
    """Count the cells of each column that its mechanism cannot have published; None for a column that is not there."""
    wanted: dict[str, PublishedAttribute | Categories] = {each.name: each for each in table.attributes}
    if table.target is not None:
        wanted[table.target.name] = table.target.domain
    if table.asked_column is not None:
        wanted[table.asked_column] = Categories(values=tuple(each.name for each in table.attributes))
    try:
        present = read_schema(data).names
        there = [name for name in wanted if name in present]
        counts: dict[str, int | None] = {name: 0 if name in there else None for name in wanted}
        for batch in iter_batches(data, there, batch_rows=_BATCH_ROWS):
            for name in there:
                counts[name] = (counts[name] or 0) + _impossible(
                    batch.column(name), wanted[name], table.asked_column is not None
                )
    except (pa.ArrowException, OSError):
        raise ReleaseFormatError(f"{str(data)!r} is not a readable Parquet file") from None
    return counts


def _impossible(cells: pa.Array, wanted: PublishedAttribute | Categories, may_be_blank: bool) -> int:
    if isinstance(wanted, PublishedAttribute):
        domain = wanted.answers()
        if not isinstance(domain, Categories):
            return _impossible_numbers(cells, wanted, domain, may_be_blank)
        may_be_blank = may_be_blank or domain.has_missing
    else:
        domain, may_be_blank = wanted, wanted.has_missing
    allowed = pa.array(domain.values, pa.string())
    if isinstance(cells, pa.DictionaryArray):
        known = np.asarray(pc.is_in(cells.dictionary.cast(pa.string()), value_set=allowed))
        indices = cells.indices
        if indices.null_count == 0 and known.all() and indices.to_numpy().max(initial=0) < len(known):
            return 0
        places = np.asarray(pc.fill_null(cells.indices, len(known)))
        held = np.bincount(places, minlength=len(known) + 1)  # cells of each entry, null ones last
        return int(held[:-1] @ ~known) + (0 if may_be_blank else int(held[-1]))
    found = np.asarray(pc.is_in(cells.cast(pa.string()), value_set=allowed))
    absent = np.asarray(cells.is_null())
    return int((~found & ~(absent & may_be_blank)).sum())


def _impossible_numbers(cells: pa.Array, attribute: PublishedAttribute, domain: Grid | None, may_be_blank: bool) -> int:
    numbers = np.asarray(pc.fill_null(cells.cast(pa.float64()), np.nan).to_numpy(zero_copy_only=False))
    absent = np.isnan(numbers)
    if domain is not None:
        places = (np.where(absent, domain.lower, numbers) - domain.lower) / domain.width - 0.5
        off = np.abs(places - np.round(places)) > 1e-6
        off |= (np.round(places) < 0) | (np.round(places) > domain.cells - 1)
        may_be_blank = may_be_blank or domain.has_missing
    else:
        mechanism = attribute.mechanism
        assert isinstance(mechanism, TransformedResponse)  # noqa: S101 - only TRR has no domain
        steps = numbers / mechanism.step
        off = np.isinf(steps) | (steps != np.rint(steps))
        may_be_blank = may_be_blank or mechanism.presence is not None
    return int(np.where(absent, not may_be_blank, off).sum())
