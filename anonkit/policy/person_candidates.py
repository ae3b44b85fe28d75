# SPDX-License-Identifier: Apache-2.0
"""Columns that may identify the person of a row where no unit is declared: candidates, and their keys.

The rows of one person: how many of them are used, and how many an attacker is taken to know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from anonkit.domains.cell_values import cell_keys

SURROGATE = "surrogate"
"""Name of the column of surrogates in a release."""


@dataclass(frozen=True, kw_only=True)
class PersonRows:
    """The contribution bound of people who have several rows, since several tables were joined.

    Privacy
    -------
    With `whole_set` an attacker may know all rows of a person; without it, one of them.
    """

    whole_set: bool = True
    """k holds for the whole set of a person's rows; else for each single row. For k-anonymity alone."""
    surrogate: bool = False
    """True: rows of one person show one random number of the release. With `whole_set` alone."""
    most: int | None = None
    """Most rows of a person that are used, drawn at random among more; None: all."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A column, or several that name a person together, of which every class holds k different values at least."""

    columns: tuple[str, ...]
    key: str
    """Column of its keys in the table that a method is given; it is in no source, and is never released."""

    @property
    def name(self) -> str:
        """Name in messages and in the report."""
        return joined_name(self.columns)


def joined_name(columns: Sequence[str]) -> str:
    """Return the joint name of several columns that name a person together."""
    return ", ".join(columns)


def key_names(columns: Sequence[Sequence[str]], taken: Sequence[str]) -> list[str]:
    """Return a name for the keys of each of several candidates that no column of the table has."""
    names = []
    for at in range(len(columns)):
        name = f"candidate {at}"
        while name in taken:
            name += "_"
        names.append(name)
    return names


@dataclass(frozen=True, kw_only=True)
class WithKeys:
    """Batch function that adds the keys of candidates: a function of the batch alone, row by row."""

    candidates: tuple[Candidate, ...]

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema of the batches it makes."""
        return pa.schema([*schema, *((candidate.key, pa.string()) for candidate in self.candidates)])

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the batch with the keys."""
        keys = [joint_keys(batch, candidate.columns) for candidate in self.candidates]
        return pa.RecordBatch.from_arrays([*batch.columns, *keys], schema=self.schema(batch.schema))


def joint_keys(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.StringArray:
    """Return one key a row for the cells of some columns together; missing where one of them is.

    Two rows have one key exactly when they have one key in every column: each part comes with its length.
    """
    keys = [cell_keys(batch.column(name)) for name in columns]
    if len(keys) == 1:
        return keys[0]
    parts = [part for key in keys for part in (pc.utf8_length(key).cast(pa.string()), key)]
    return pc.binary_join_element_wise(*parts, ":", null_handling="emit_null")
