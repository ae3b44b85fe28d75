# SPDX-License-Identifier: Apache-2.0
"""The joint k: the smallest group of rows left when k-anonymous releases of the same rows are combined.

Somebody who holds two releases of one table knows of a person the class in the one and the class in the other. Whoever
knows which rows of the two belong together is left with the rows that are in both classes (intersection), or in the
class of one release and missing from the other (differencing). The joint view counts these rows in the source, where it
is known which row is which: no pair of releases can be combined into smaller groups than it says.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.documents import ReportPart, named
from anonkit.domains.cell_keys import cell_keys
from anonkit.engines.reading.settled_tables import settled, with_keys, with_unit
from anonkit.errors import AnonkitError
from anonkit.k_anonymity.recoded_rows import RowRecoding, RowRules, RowsAsked, any_missing, is_among
from anonkit.k_anonymity.stored_recoding import Recoded
from anonkit.k_anonymity.violating_classes import WithValue, violating_classes
from anonkit.ledger.packed_params import unpacked
from anonkit.ledger.standing import Entry
from anonkit.policy.declaration import Policy
from anonkit.policy.declared_cells import SettleCells, settling
from anonkit.policy.person_candidates import Candidate, joint_keys, key_names
from anonkit.protocols import Engine, Source

_UNIT = "unit"


@dataclass(frozen=True, kw_only=True)
class JointView(
    ReportPart, keys=("k", "classes", "rows_below_k=rows_below", "rows_alone=alone", "with_releases=releases")
):
    """Several releases of one table seen together.

    Privacy
    -------
    Counted on the source and covered by no promise: for the owner.
    """

    k: int
    """Rows (people, with a unit column; with candidates for the person their values) in the smallest joint class; 0
    when nothing is released."""
    classes: int
    rows_below: int = field(metadata=named("rows_below_k"))
    """Rows in joint classes smaller than the k of the newest release."""
    alone: int = field(metadata=named("rows_alone"))
    """Rows that are alone in their joint class."""
    releases: tuple[int, ...] = field(metadata=named("with_releases"))
    """Numbers of the earlier releases."""


def joint_view(
    table: Source, policy: Policy, engine: Engine, params: Mapping[str, Any], earlier: Sequence[Entry]
) -> JointView | None:
    """Count the joint classes of a table under several recodings.

    Parameters
    ----------
    table : Source
        The source of the newest release.
    policy : Policy
        Its resolved policy; with a unit column people are counted.
    params : mapping
        What `params.json` of the newest release holds.
    earlier : sequence of Entry
        Earlier k-anonymous releases of the same rows.

    Returns
    -------
    JointView, or None when an earlier recoding does not fit the table any more, or one of the releases left out rows
    of people that no recoding determines: which rows it shows is a secret of its draw.
    """
    every = [params, *(unpacked(entry.params) for entry in earlier if entry.params is not None)]
    if any("rows_of_people" in entry for entry in every):
        return None
    known = {column["name"] for entry in every for column in entry["columns"] if column["role"] == "quasi_identifier"}
    k = int(params["model"]["k"])
    try:
        table = _with_made_units(table, [policy, *(Recoded.from_params(entry).policy() for entry in every)], engine)
        joint = JointClasses(
            shown=tuple(shown_rows(table, engine, entry, known) for entry in every),
            unit=policy.unit,
            candidates=tuple(candidate.columns for candidate in policy.candidates),
        )
        rows = engine.map_batches(table, joint, joint.schema)
        sizes = engine.class_sizes(rows, joint.names, k, _UNIT if policy.unit else None)
        alone = engine.class_sizes(rows, joint.names, 2, _UNIT) if policy.unit else None
        fewest = [_fewest(rows, joint, key, k, engine) for key in joint.keys]
    except (AnonkitError, KeyError):
        return None
    return JointView(
        k=min([sizes.smallest, *fewest]),
        classes=sizes.classes,
        rows_below=sizes.rows_below_k,
        alone=dict(sizes.histogram).get(1, 0) if alone is None else alone.rows_below_k,
        releases=tuple(entry.number for entry in earlier if entry.params is not None),
    )


def _with_made_units(table: Source, policies: Sequence[Policy], engine: Engine) -> Source:
    """Return the rows with every unit that one of the releases makes of several columns."""
    for policy in policies:
        table = with_unit(table, policy, engine)
    return table


def _fewest(rows: Source, joint: JointClasses, key: str, k: int, engine: Engine) -> int:
    """Return the fewest values of a candidate in a joint class in which it has any."""
    told = engine.map_batches(rows, WithValue(key), joint.schema)
    return engine.class_sizes(told, joint.names, k, key).smallest


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedView:
    """The released view of a row: its class, or nothing where the row is not in the release."""

    recoding: RowRecoding
    types: Mapping[str, pa.DataType]
    """Released types of its quasi-identifiers."""
    needed: Sequence[str]
    """Columns whose missing cells drop their row."""
    suppressed: pa.Table
    """Classes that it leaves out."""
    clear: Mapping[str, pa.DataType]
    """Columns it shows as they are, and that another release takes for known to an attacker."""
    settle: SettleCells | None
    """Reading of cells; None where it declares none of them."""

    def of(self, batch: pa.RecordBatch) -> tuple[list[pa.Array], NDArray[np.bool_]]:
        """Return the class, and whether the row is in the release, shape (n_rows,)."""
        batch = batch if self.settle is None else self.settle(batch, 0)
        recoded, unknown = self.recoding.apply(batch)
        absent = unknown | any_missing(batch, self.needed) | is_among(recoded, self.suppressed, batch.num_rows)
        cells = [*(recoded[name] for name in self.types), *(batch.column(name) for name in self.clear)]
        return [pc.if_else(pa.array(absent), None, _plain(cell)) for cell in cells], ~absent


@dataclass(frozen=True, kw_only=True, eq=False)
class JointClasses:
    """Maps rows to what several releases show of them together; rows that are in none are left out."""

    shown: tuple[ReleasedView, ...]
    unit: str | None
    """Unit column."""
    candidates: tuple[tuple[str, ...], ...] = ()
    """Columns of each candidate for the person."""

    @property
    def keys(self) -> list[str]:
        """Columns of the keys of the candidates."""
        return [f"{_UNIT} {at}" for at in range(len(self.candidates))]

    @property
    def names(self) -> list[str]:
        """Columns of the joint class."""
        return [name for name in self.schema.names if name not in (_UNIT, *self.keys)]

    @property
    def schema(self) -> pa.Schema:
        """A column a cell of a release, one a release that marks whether it has the row, and the person of the row."""
        fields: list[tuple[str, pa.DataType]] = []
        for number, view in enumerate(self.shown):
            cells = [*view.types.values(), *view.clear.values()]
            fields += [(f"{number}.{at}", _plain_type(kind)) for at, kind in enumerate(cells)]
            fields.append((f"{number}", pa.bool_()))
        fields += [(key, pa.string()) for key in self.keys]
        return pa.schema(fields if self.unit is None else [*fields, (_UNIT, pa.string())])

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the joint class of each row."""
        arrays: list[pa.Array] = []
        present = np.zeros(batch.num_rows, dtype=bool)
        for view in self.shown:
            cells, is_in = view.of(batch)
            arrays += [*cells, pa.array(is_in)]
            present |= is_in
        arrays += [joint_keys(batch, columns) for columns in self.candidates]
        if self.unit is not None:
            keys = cell_keys(batch.column(self.unit))
            present &= keys.is_valid().to_numpy(zero_copy_only=False)
            arrays.append(keys)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema).filter(pa.array(present))


def shown_rows(table: Source, engine: Engine, params: Mapping[str, Any], known: Collection[str] = ()) -> ReleasedView:
    """Return what one release shows of the rows of a table.

    Parameters
    ----------
    table : Source
        Rows as they were read.
    params : mapping
        What `params.json` of a k-anonymous release holds.
    known : collection of str
        Columns that another release takes for known to an attacker: they are part of the class where this one shows
        them as they are.

    Raises
    ------
    AnonkitError
        The recoding does not fit the table.
    """
    method = Recoded.from_params(params, max_suppression=1.0)
    policy = method.policy().resolve(table.schema.names, target_use=method.target_use)
    settle = settling(table.schema, policy)
    keys = key_names(method.candidates, table.schema.names)
    candidates = tuple(
        Candidate(columns=columns, key=key) for columns, key in zip(method.candidates, keys, strict=True)
    )
    policy = replace(policy, candidates=candidates)
    table = settled(with_keys(table, candidates, engine), policy, engine)
    needed = RowRules.of(policy).needed
    asked = RowsAsked(needed=needed, rules=method.rules(policy))
    recoding = method.as_released(table, policy, engine, asked)
    clear = [
        column["name"]
        for column in params["columns"]
        if column["name"] in known and column["role"] in ("target", "sensitive", "insensitive")
    ]
    return ReleasedView(
        recoding=recoding,
        types=recoding.types(table.schema),
        needed=needed,
        suppressed=violating_classes(method, table, policy, engine, recoding, asked).classes,
        clear={name: table.schema.field(name).type for name in clear},
        settle=settle,
    )


def _plain(array: pa.Array) -> pa.Array:
    """Return categories as strings, whose equality does not depend on the batch."""
    return array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
