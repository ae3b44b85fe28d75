# SPDX-License-Identifier: Apache-2.0
"""A file of the population: its people read as a policy declares their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.bundle.given_tables import arrow_table
from anonkit.bundle.private_files import PrivateFolder
from anonkit.checks.population_counts import PopulationCells
from anonkit.checks.population_labels import needed_columns
from anonkit.engines.engine_choice import Local
from anonkit.engines.reading.settled_tables import settled
from anonkit.engines.snapshots.addresses import source_at
from anonkit.engines.snapshots.dispatch import Snapshot
from anonkit.engines.snapshots.whole_tables import whole_table
from anonkit.errors import PolicyError, SourceError, did_you_mean
from anonkit.k_anonymity.recoded_sample import has_classes
from anonkit.k_anonymity.stored_recoding import Recoded
from anonkit.policy.declaration import Policy
from anonkit.protocols import COUNT, Engine, Source


def settled_population(
    file: object, policy: Policy, names: Sequence[str], engine: Engine, private: PrivateFolder
) -> Source:
    """Return some columns of a population file, their cells settled as the policy declares them.

    Parameters
    ----------
    file : path, address or table
        A row is a person.
    names : sequence of str
        Quasi-identifiers; a place is made of its coordinates.

    Raises
    ------
    PolicyError
        It lacks a column.
    SourceError
        It cannot be read.
    """
    own = replace(policy, columns={name: policy.column(name) for name in names}, candidates=())
    scanned = Snapshot(source=source_at(file), private=private).scan(engine, own)
    places = [policy.column(name).place for name in names]
    needed = [
        each for name, place in zip(names, places, strict=True) for each in ([name] if place is None else place.columns)
    ]
    for name in needed:
        if name not in scanned.schema.names:
            raise PolicyError(
                f"column {name!r} is not in the population file", did_you_mean(name, scanned.schema.names)
            )
    return settled(scanned, own, engine)


def refuse_other_kind(name: str) -> SourceError:
    """Return the refusal of a column that holds numbers in one table and strings in the other."""
    return SourceError(
        f"column {name!r} is one of numbers or dates in one file, and of texts in the other",
        "declare its type in the policy",
    )


def people_of(
    file: object, policy: Policy, types: Mapping[str, bool], engine: Engine, private: PrivateFolder
) -> PopulationCells:
    """Return the people of a population file by their cells.

    Parameters
    ----------
    types : mapping
        By column that is needed: whether it holds numbers or dates in the table that is released.

    Raises
    ------
    PolicyError, SourceError
        As `settled_population`; or a column is one of numbers in one of them and of strings in the other.
    """
    table = settled_population(file, policy, list(types), engine, private)
    for name, ordered in types.items():
        kind = table.schema.field(name).type
        if has_classes(kind) is ordered and not pa.types.is_null(kind):
            raise refuse_other_kind(name)
    (counted,) = engine.count_sets(table, [tuple(types)])
    people = np.asarray(counted.column(COUNT).to_numpy(), np.int64)
    return PopulationCells(cells=counted.select(list(types)), people=people)


@dataclass(frozen=True, kw_only=True)
class PopulationFile:
    """A file of the population that a release, or a table, is validated against."""

    file: object
    """A path, an address or a table."""

    def as_declared(self, params: Mapping[str, Any]) -> PopulationCells:
        """Return its people as the params of a release declare its columns.

        Raises
        ------
        UncheckedError
            Small groups were merged: see `anonkit.checks.population_labels.needed_columns`.
        PolicyError, SourceError, ReleaseFormatError
            It lacks a column or cannot be read; or the params are damaged.
        """
        kinds = {column["name"]: str(column["type"]) for column in params["columns"]}
        types = {name: _is_ordered_name(kinds[name]) for name in needed_columns(params["recoding"])}
        policy = Recoded.from_params(params).policy()
        with closing(PrivateFolder()) as private, Local().opened() as engine:
            return people_of(self.file, policy, types, engine, private)

    def as_it_is(self) -> str | Path | pa.Table:
        """Return what is opened like the plain table that is validated."""
        if isinstance(self.file, str):
            return whole_table(self.file)
        return self.file if isinstance(self.file, Path) else arrow_table(self.file)


def _is_ordered_name(kind: str) -> bool:
    """Return from the name of an Arrow type whether its values are numbers, dates or times."""
    return kind.startswith(("int", "uint", "float", "double", "halffloat", "decimal", "date", "time"))
