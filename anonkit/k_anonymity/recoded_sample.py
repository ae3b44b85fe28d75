# SPDX-License-Identifier: Apache-2.0
"""Rows of a source as their release shows them, those that were left out among them, for the owner's measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.domains.arrow_values import is_ordered
from anonkit.domains.cell_keys import cell_keys
from anonkit.k_anonymity.recoded_rows import BoolArray, RowRules, any_missing, are_nobodys, is_among
from anonkit.policy.declaration import Policy
from anonkit.protocols import Recodes
from anonkit.published.recoding import Recoding, recoding_from_dict


@dataclass(frozen=True, kw_only=True, eq=False)
class RecodedSample:
    """Rows of a source, recoded, whether or not they were released."""

    table: pa.Table
    """Their released quasi-identifiers, one row a row of the source."""
    released: BoolArray
    """Rows of the release, shape (n_rows,)."""
    placed: BoolArray
    """Rows that the recoding has a place for, shape (n_rows,)."""


def as_published(recoding: Mapping[str, Any]) -> Recoding:
    """Return the recoding of `params.json`, for a table of which nothing else is known."""
    return recoding_from_dict(recoding)


def released_names(recoding: Mapping[str, Any]) -> list[str]:
    """Return the quasi-identifiers that a recoding, in its form in `params.json`, shows."""
    return [column["name"] for column in recoding["columns" if recoding["kind"] == "global" else "axes"]]


def recoded_sample(
    rows: pa.Table, policy: Policy, applied: Recodes, classes: pa.Table, shown: Sequence[str]
) -> RecodedSample:
    """Recode rows of a source, and find which of them were released.

    Equivalence classes are released whole or not at all, so a row was released where its class is in the release.

    Parameters
    ----------
    rows : Table
        Quasi-identifiers of the source, and the unit column where the policy has one.
    applied : Recodes
        The recoding as it was applied, columns that turned out to have one value among its own: rows may have been
        left out for another value in them.
    classes : Table
        The equivalence classes of the release, one row each, in the columns of the recoding.
    shown : sequence of str
        The columns that consumers see.

    Privacy
    -------
    Discloses which rows were suppressed: for the owner's measures alone.
    """
    batch = pa.RecordBatch.from_arrays(
        [rows.column(name).combine_chunks() for name in rows.column_names], names=rows.column_names
    )
    recoded, unknown = applied.apply(batch)
    placed = ~(unknown | any_missing(batch, RowRules.of(policy).needed))
    released = placed & ~are_nobodys(batch, policy.unit)
    if names := [name for name in classes.column_names if name in recoded]:
        kinds = [_plain(recoded[name].type) for name in names]
        known = pa.table({name: classes.column(name).cast(kind) for name, kind in zip(names, kinds, strict=True)})
        released &= is_among(recoded, known, batch.num_rows)
    return RecodedSample(table=pa.table({name: recoded[name] for name in shown}), released=released, placed=placed)


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def people_of(rows: pa.Table, unit: str | None) -> NDArray[np.int64] | None:
    """Return the number of the person of each row, shape (n_rows,); rows of nobody are apart. None without a unit."""
    if unit is None:
        return None
    keys = pc.dictionary_encode(cell_keys(rows.column(unit).combine_chunks()))
    codes = pc.fill_null(keys.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.where(codes < 0, len(keys.dictionary) + np.arange(codes.size), codes)


def has_classes(kind: pa.DataType) -> bool:
    """Return True if a column has classes by its type alone: strings or truth values."""
    return not is_ordered(_plain(kind))


def is_categorical(column: pa.ChunkedArray, most: int) -> bool:
    """Return True if a column has classes: strings or truth values, or at most so many numbers or dates."""
    return has_classes(column.type) or pc.count_distinct(column).as_py() <= most
