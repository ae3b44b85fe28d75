# SPDX-License-Identifier: Apache-2.0
"""Contribution bounds: the rows of each person that enter a release, in numbers that k people share.

Where k is required of whole sets of rows, a set discloses how many rows its person has. Whoever is alone with 57 visits
would have to go, whatever the visits show. So rows are left out first: people whose number of rows fewer than k have
come down to the next lower number that somebody has, and people with the fewest rows take along those of the next
number when they are too few themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.domains.cell_values import cell_keys
from anonkit.domains.coded_columns import IntArray
from anonkit.domains.rows_of_people import SelectRows, sampled_rows
from anonkit.errors import GuaranteeError
from anonkit.k_anonymity.recoded_draft import limits_rows
from anonkit.k_anonymity.recoded_rows import RowRules, any_missing
from anonkit.policy.declaration import Policy
from anonkit.protocols import Draft, Engine, Source, is_too_large
from anonkit.randomness import Randomness, keyed_words
from anonkit.report.blocks import JsonObject

_WORD_BITS = 64


def level_numbers(rows: IntArray, k: int, most: int | None) -> IntArray:
    """Return the number of rows of each person that stay, so that k people share every number, shape (n_people,).

    Parameters
    ----------
    rows : int array, shape (n_people,)
        Rows of each person, 1 or more.
    k : int
        People that share a number; with fewer people in all they come to share one.
    most : int, optional
        No person keeps more.
    """
    capped = rows if most is None else np.minimum(rows, most)
    numbers, at, people = np.unique(capped, return_inverse=True, return_counts=True)
    shown = np.arange(numbers.size)
    for level in range(numbers.size - 1, 0, -1):
        if people[level] < k:
            people[level - 1] += people[level]
            people[level] = 0
            shown[shown == level] = level - 1
    level = 0
    while level + 1 < numbers.size and people[0] < k:
        level += 1
        people[0] += people[level]
        shown[shown == level] = 0
    return np.asarray(numbers[shown][at], dtype=np.int64)


@dataclass(frozen=True)
class KeysOfUsable:
    """Batch function that returns whose each row is; missing where the row is left out anyway."""

    unit: str
    needed: Sequence[str]
    """Columns whose missing cells drop their row."""

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the key of each row's unit."""
        keys = cell_keys(batch.column(self.unit))
        dropped = any_missing(batch, self.needed)
        return pa.RecordBatch.from_arrays([pc.if_else(pa.array(~dropped), keys, None)], names=[self.unit])


@dataclass(frozen=True, kw_only=True, eq=False)
class LevelledRows:
    """A table with the rows of each person that enter the release, and how many were left out."""

    table: Source
    n_rows: int
    """Rows of the table as it was."""
    n_left_out: int

    def with_contribution_note(self, draft: Draft) -> Draft:
        """Return a draft of this table whose report counts the rows that were left out before."""
        rows: JsonObject = {**draft.rows, "in": self.n_rows, "beyond_rows_per_person": self.n_left_out}
        return replace(draft, rows=rows)


def bounded_contributions(
    source: Source, policy: Policy, engine: Engine, k: int, randomness: Randomness
) -> LevelledRows:
    """Suppress the rows of people beyond their contribution bound; all stay where the policy limits nothing.

    Rows that are left out for another reason (a missing cell, no unit) count for nobody.

    Raises
    ------
    GuaranteeError
        The whole set of a person's rows counts, and the table is too large to stay in memory while it is counted.

    Privacy
    -------
    Which rows of a person stay is drawn with the release's secret generator: neither their order nor their cells
    decide. How many stay depends on how many rows others have, as the classes of k-anonymity do.
    """
    bound, unit = policy.person_rows, policy.unit
    if bound is None or unit is None or not limits_rows(policy):
        return LevelledRows(table=source, n_rows=source.n_rows, n_left_out=0)
    if bound.whole_set and is_too_large(source, engine):
        raise GuaranteeError(
            "whole sets of rows are counted on as many rows as the engine may hold, the table has more",
            "let it hold more rows, or whole_person = false: then one row of a person is taken to be known",
        )
    keys = KeysOfUsable(unit=unit, needed=RowRules.of(policy).needed)
    whose = engine.map_batches(source, keys, pa.schema([(unit, pa.string())]), same_rows=True)
    column = engine.encode(whose, [unit])[0]
    people = column.codes.astype(np.int64)
    somebodys = np.ones(people.size, dtype=bool) if column.missing is None else people != column.missing
    n_people = column.size - (column.missing is not None)
    rows = np.bincount(people[somebodys], minlength=n_people)
    most = level_numbers(rows, k if bound.whole_set else 1, bound.most) if n_people else rows
    words = keyed_words(randomness.key("rows of people"), 0, 0, people.size, word_bits=_WORD_BITS).reshape(-1)
    keep = np.ones(people.size, dtype=bool)
    keep[somebodys] = sampled_rows(people[somebodys], most, words[somebodys].astype(np.uint64, copy=False))
    if keep.all():
        return LevelledRows(table=source, n_rows=people.size, n_left_out=0)
    bounded = engine.map_batches(source, SelectRows.of(keep), source.schema)
    return LevelledRows(table=bounded, n_rows=people.size, n_left_out=int((~keep).sum()))
