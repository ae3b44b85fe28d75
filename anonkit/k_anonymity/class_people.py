# SPDX-License-Identifier: Apache-2.0
"""Classes that break the model, from counts that the engine makes where the rows are: by rows, or by people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.domains.coded_columns import CodedColumn, combine
from anonkit.k_anonymity.privacy_model import AnonymityModel, diversity_requirements
from anonkit.k_anonymity.recoded_rows import is_among
from anonkit.k_anonymity.search.class_values import CountedPeople, at_most
from anonkit.k_anonymity.search.equivalence import Partition, suppressed_rows
from anonkit.policy.declaration import Policy
from anonkit.protocols import Engine, Source

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]


def undiverse_classes(
    model: AnonymityModel, recoded: Source, policy: Policy, engine: Engine, names: Sequence[str]
) -> pa.Table:
    """Return the classes of a recoded table that are too small or not diverse enough, with their rows.

    Parameters
    ----------
    recoded : Source
        Released quasi-identifiers, sensitive columns, and the keys of the unit where people are counted.
    names : sequence of str
        The released quasi-identifiers.
    """
    gone = engine.small_classes(recoded, names, model.k, policy.unit)
    if not model.diversity.asked() or not names:
        return gone
    while True:  # t-closeness compares with what is left, and who is left is known only where the rows are
        found = [_undiverse(model, recoded, policy, engine, names, name, gone) for name in policy.sensitive]
        merged = _together([gone, *found], names)
        if merged.num_rows == gone.num_rows:
            return gone
        gone = merged
        if policy.unit is None and len(policy.sensitive) == 1:
            return gone


def _undiverse(
    model: AnonymityModel,
    recoded: Source,
    policy: Policy,
    engine: Engine,
    names: Sequence[str],
    sensitive: str,
    gone: pa.Table,
) -> pa.Table:
    """Return the classes, of those that are left, that are not diverse enough in one attribute, with their rows."""
    keys = [*names, *([] if sensitive in names else [sensitive])]
    (cells,) = engine.count_sets(recoded, [tuple(keys)])
    people = None if policy.unit is None else engine.count_people(recoded, keys, policy.unit).column("count")
    left = ~_among(cells, gone)
    codes = [_codes(cells, name).codes for name in names]
    classes, n_classes = combine(codes, cells.num_rows)
    partition = Partition(classes, n_classes, cells.column("count").to_numpy()).at(left)
    column = _codes(cells, sensitive)
    counted = None
    if policy.unit is not None and people is not None:
        counted = _counted(recoded, policy, engine, names, column, cells, gone, people.to_numpy()).at(left)
    asked = diversity_requirements(
        model.diversity,
        [replace(column, codes=column.codes[left])],
        policy.missing_is_value,
        counted=None if counted is None else [counted],
    )
    bad = np.zeros(cells.num_rows, dtype=bool)
    bad[left] = suppressed_rows(partition, asked)
    broken = cells.filter(pa.array(bad)).group_by(list(names), use_threads=False).aggregate([("count", "sum")])
    broken = broken.rename_columns([*names, "count"])
    return broken.select(gone.column_names).cast(gone.schema)


def _counted(
    recoded: Source,
    policy: Policy,
    engine: Engine,
    names: Sequence[str],
    column: CodedColumn,
    cells: pa.Table,
    gone: pa.Table,
    people: IntArray,
) -> CountedPeople:
    """Count the people of every cell, of its class, and of every value in what is left."""
    unit = policy.unit or ""
    everybody = engine.count_people(recoded, names, unit)
    left = engine.map_batches(recoded, Left(gone), recoded.schema) if gone.num_rows else recoded
    valued, valued_left = recoded, left
    if column.missing is not None and column.name not in policy.missing_is_value:
        valued, valued_left = (engine.map_batches(one, Valued(column.name), one.schema) for one in (recoded, left))
    with_value = engine.count_people(valued, names, unit)
    (rows_of,) = engine.count_sets(left, [(column.name,)])
    people_of = engine.count_people(left, [column.name], unit)
    told = at_most(rows_of.column("count").to_numpy(), people_of.column("count").to_numpy())
    everywhere = np.zeros(column.size, dtype=np.int64)
    place = {value: at for at, value in enumerate(column.values)}
    everywhere[[place[value] for value in rows_of.column(column.name).to_pylist()]] = told
    return CountedPeople(
        people,
        _of_classes(cells, with_value, names),
        _of_classes(cells, everybody, names),
        everywhere,
        int(at_most(np.asarray(valued_left.n_rows), _only(engine.count_people(valued_left, (), unit)))),
    )


def _only(counted: pa.Table) -> IntArray:
    """Return the count of a table of one class, or of none."""
    return np.asarray(sum(counted.column("count").to_pylist()), dtype=np.int64)


def _of_classes(cells: pa.Table, counted: pa.Table, names: Sequence[str]) -> IntArray:
    """Return the count of the class of every cell; 0 where the class is not counted."""
    mine, theirs = _paired(cells, counted, names)
    out = np.zeros(int(max(mine.max(initial=0), theirs.max(initial=0))) + 1, dtype=np.int64)
    out[theirs] = counted.column("count").to_numpy()
    return out[mine]


def _paired(cells: pa.Table, others: pa.Table, names: Sequence[str]) -> tuple[IntArray, IntArray]:
    """Return one code for each combination of the named columns that either table has."""
    both = pa.concat_tables([cells.select(list(names)), others.select(list(names))])
    code, _ = combine([_codes(both, name).codes for name in names], both.num_rows)
    return code[: cells.num_rows], code[cells.num_rows :]


def _among(cells: pa.Table, gone: pa.Table) -> BoolArray:
    if gone.num_rows == 0:
        return np.zeros(cells.num_rows, dtype=bool)
    names = [name for name in gone.column_names if name != "count"]
    return is_among({name: cells.column(name).combine_chunks() for name in names}, gone, cells.num_rows)


def _together(tables: Sequence[pa.Table], names: Sequence[str]) -> pa.Table:
    """Return the classes of several tables, each once."""
    joined = pa.concat_tables(tables)
    if joined.num_rows == tables[0].num_rows:
        return tables[0]
    merged = joined.group_by(list(names), use_threads=False).aggregate([("count", "max")])
    return merged.rename_columns([*names, "count"]).select(tables[0].column_names).cast(tables[0].schema)


def _codes(cells: pa.Table, name: str) -> CodedColumn:
    """Return a column of counted cells as codes that ascend with the value, missing last."""
    array = cells.column(name).combine_chunks()
    values = array.unique().drop_null()
    values = values.take(pc.sort_indices(values))
    codes = pc.fill_null(pc.index_in(array, value_set=values), len(values)).to_numpy(zero_copy_only=False)
    ordered = not (pa.types.is_string(array.type) or pa.types.is_boolean(array.type))
    listed = [*values.to_pylist(), *([None] if array.null_count else [])]
    return CodedColumn(name=name, codes=codes.astype(np.int32), values=listed, ordered=ordered)


@dataclass(frozen=True)
class Valued:
    """Leaves out rows without a value in a column."""

    name: str

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the rows with one."""
        return batch.filter(batch.column(self.name).is_valid())


@dataclass(frozen=True, eq=False)
class Left:
    """Leaves out the rows of some classes."""

    gone: pa.Table

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the rows of the others."""
        columns = {name: batch.column(name) for name in self.gone.column_names if name != "count"}
        return batch.filter(pa.array(~is_among(columns, self.gone, batch.num_rows)))
