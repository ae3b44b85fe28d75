# SPDX-License-Identifier: Apache-2.0
"""Classes of the next batch that break the model, merged at coarser steps of the published recoding.

The rule is public. The rows of a class that breaks the privacy model show the next coarser step of the recoding
(`anonkit.published.recoding.coarser_steps`), and so on until the class they show keeps the model. What breaks it at
the last step takes along the smallest class that it may be joined with, then the two smallest, the four smallest, and
so on. What cannot be merged is left out.

Privacy
-------
Every class that is shown meets the model, counted with all rows that show it, whatever this module does: the draft is
counted anew. Who merges with whom depends on the published recoding and on the sizes of classes (on which of them break
the model), and on nothing else about rows. A row that shows a coarser step discloses that its own class broke the model
here or went along, as suppressing it would have disclosed: whoever knows the rule is left with the rows of the shown
class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.domains.coded_columns import BoolArray, IntArray, combine
from anonkit.k_anonymity.privacy_model import AnonymityModel, candidate_requirements
from anonkit.k_anonymity.recoded_rows import RecodeRows, ReleasableRows, is_among
from anonkit.k_anonymity.search.equivalence import AtLeastK, Partition, Requirement
from anonkit.k_anonymity.search.greedy_selection import n_suppressed
from anonkit.k_anonymity.sensitive_rules import SensitiveValueMap
from anonkit.k_anonymity.violating_classes import coded_cells, diversity_requirements
from anonkit.policy.declaration import Policy
from anonkit.protocols import COUNT, Engine, Source, is_too_large
from anonkit.published.recoding import (
    GlobalRecoding,
    Grouping,
    LocalRecoding,
    Recoding,
    UnchangedAxis,
    coarser_steps,
    with_levels,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class MergedRecoding:
    """A recoding and its coarser steps, with the classes of one table that show them."""

    steps: tuple[Recoding, ...]
    moved: Mapping[int, pa.Table]
    """Classes that show a coarser step, by its number: the groups (box) of each. Not published as such."""
    n_moved: int = 0
    """Rows of these classes."""

    def apply(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], BoolArray]:
        """Return the released quasi-identifier columns, and which rows have a value that is not covered."""
        shown, unknown = self.steps[0].apply(batch)
        if not self.moved:
            return shown, unknown
        finest, _ = FinestClasses(self.steps[0]).apply(batch)
        for number, classes in self.moved.items():
            moving = is_among(finest, classes, batch.num_rows)
            if moving.any():
                coarser, _ = self.steps[number].apply(batch.filter(pa.array(moving)))
                shown = {name: _replaced(cells, moving, coarser[name]) for name, cells in shown.items()}
        return shown, unknown

    def types(self, schema: pa.Schema) -> dict[str, pa.DataType]:
        """Return the type of every released quasi-identifier."""
        return self.steps[0].types(schema)

    @property
    def published(self) -> Recoding:
        """The recoding for `params.json`: with its levels, where rows may show them."""
        return with_levels(self.steps[0]) if self.moved else self.steps[0]


def _replaced(cells: pa.Array, moving: BoolArray, coarser: pa.Array) -> pa.Array:
    """Return cells with those that move replaced, in order."""
    at = np.arange(len(cells))
    at[moving] = len(cells) + np.arange(len(coarser))
    return pa.chunked_array([cells, coarser]).combine_chunks().take(pa.array(at))


@dataclass(frozen=True, eq=False)
class FinestClasses:
    """The classes of the finest step as columns that identify them: the labels, or the number of the box."""

    recoding: Recoding

    def apply(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], BoolArray]:
        """Return the columns, and which rows have a value that is not covered."""
        if isinstance(self.recoding, GlobalRecoding):
            return self.recoding.apply(batch)
        leaves, unknown = self.recoding.leaves_of(batch)
        return {self.recoding.axes[0].name: pa.array(leaves)}, unknown

    def types(self, schema: pa.Schema) -> dict[str, pa.DataType]:
        """Return the type of every column; that of a box has the name of the first axis."""
        if isinstance(self.recoding, GlobalRecoding):
            return self.recoding.types(schema)
        return {axis.name: pa.int64() for axis in self.recoding.axes[:1]}

    def labels(self, classes: pa.Table, step: Recoding) -> list[list[Any]]:
        """Return the labels of each class at a step, one list a column."""
        if isinstance(self.recoding, GlobalRecoding) and isinstance(step, GlobalRecoding):
            pairs = zip(self.recoding.columns, step.columns, strict=True)
            return [_coarser(classes.column(finest.name).to_pylist(), finest, coarse) for finest, coarse in pairs]
        boxes, parents = _boxes(step), self._parents()
        shown = []
        for leaf in classes.column(0).to_pylist():
            while leaf not in boxes:
                leaf = parents[leaf]
            shown.append(boxes[leaf])
        return [list(column) for column in zip(*shown, strict=True)]

    def _parents(self) -> dict[int, int]:
        """Return the parent of every node of the tree of boxes but the root."""
        nodes = self.recoding.nodes if isinstance(self.recoding, LocalRecoding) else ()
        return {child: number for number, node in enumerate(nodes) if node is not None for child in node.children}


def _boxes(recoding: Recoding) -> dict[int, tuple[str | None, ...]]:
    return recoding.boxes() if isinstance(recoding, LocalRecoding) else {}


def _coarser(cells: list[Any], finest: UnchangedAxis | Grouping, coarse: UnchangedAxis | Grouping) -> list[Any]:
    """Return the labels of a coarser step for those of the finest; cells of a column that is kept are what they are."""
    if isinstance(finest, UnchangedAxis) or isinstance(coarse, UnchangedAxis):
        return cells
    label_of = dict(zip(finest.labels, coarse.labels, strict=True))
    return [label_of[cell] for cell in cells]


def merged_recoding(
    model: AnonymityModel,
    source: Source,
    policy: Policy,
    engine: Engine,
    recoding: Recoding,
    releasable: ReleasableRows,
) -> MergedRecoding:
    """Merge the classes of a table that break the model; where no row is saved by that, nothing is merged.

    Parameters
    ----------
    releasable : ReleasableRows
        Which rows may be released, and the requirements on their sensitive values.

    Notes
    -----
    One pass counts the classes, with the values of sensitive columns where they matter, and with the unit where people
    are counted. A table with a unit, or candidates for it, and more rows than fit into memory is not merged.
    """
    steps = coarser_steps(recoding)
    plain = MergedRecoding(steps=steps, moved={})
    finest = FinestClasses(recoding)
    types = finest.types(source.schema)
    people = [*([] if policy.unit is None else [policy.unit]), *(candidate.key for candidate in policy.candidates)]
    if not types or (people and is_too_large(source, engine)):
        return plain
    rules = [rule for rule in releasable.rules if rule.bounds_something]
    sensitive = [rule.name for rule in rules]
    extra = [name for name in dict.fromkeys((*sensitive, *people)) if name not in types]
    kinds = {**types, **({} if policy.unit is None else {policy.unit: pa.string()})}
    schema = pa.schema([(name, kinds.get(name) or source.schema.field(name).type) for name in (*types, *extra)])
    function = RecodeRows(recoding=finest, schema=schema, needed=releasable.needed, unit=policy.unit)
    read = SensitiveValueMap.of(rules, schema)
    recoded = engine.map_batches(engine.map_batches(source, function, schema), read, read.schema, same_rows=True)
    (cells,) = engine.count_sets(recoded, [tuple(schema.names)])
    if cells.num_rows == 0:
        return plain
    units = None if policy.unit is None else coded_cells(cells, policy.unit).codes.astype(np.int64)
    requirements = [
        AtLeastK(model.k, units),
        *diversity_requirements(rules, [coded_cells(cells, name) for name in sensitive], units=units),
        *candidate_requirements(model.k, [coded_cells(cells, candidate.key) for candidate in policy.candidates]),
    ]
    entry_class, n_classes = combine([coded_cells(cells, name).codes for name in types], cells.num_rows)
    first = np.zeros(n_classes, dtype=np.int64)
    first[entry_class[::-1]] = np.arange(cells.num_rows)[::-1]
    classes = cells.select(list(types)).take(pa.array(first))
    climb = _Climb(
        labels=_label_codes([finest.labels(classes, step) for step in steps]),
        entry_class=entry_class,
        weights=cells.column(COUNT).to_numpy(),
        requirements=requirements,
    )
    before, step = climb.left_out(np.zeros(n_classes, dtype=np.int64)), climb.merged()
    if climb.left_out(step) >= before:
        return plain
    numbers = np.unique(step[step > 0]).tolist()
    return MergedRecoding(
        steps=steps,
        moved={at: classes.filter(pa.array(step == at)) for at in numbers},
        n_moved=int(climb.weights[(step > 0)[entry_class]].sum()),
    )


def _label_codes(labels: Sequence[Sequence[Sequence[Any]]]) -> IntArray:
    """Return the labels of every class at every step as codes, shape (n_steps, n_classes, n_columns)."""
    n_columns = len(labels[0])
    columns = []
    for at in range(n_columns):
        code_of: dict[Any, int] = {}
        columns.append([[code_of.setdefault(label, len(code_of)) for label in step[at]] for step in labels])
    return np.moveaxis(np.array(columns, dtype=np.int64), 0, -1)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Climb:
    """The classes of a table on their way up the steps."""

    labels: IntArray
    """Label of each class at each step, shape (n_steps, n_classes, n_columns)."""
    entry_class: IntArray
    """Class of each entry: the rows of a class with one sensitive value (and unit), shape (n_entries,)."""
    weights: IntArray
    """Rows of each entry."""
    requirements: Sequence[Requirement]

    @property
    def last(self) -> int:
        """Number of the last step."""
        return len(self.labels) - 1

    def shown(self, step: IntArray) -> tuple[IntArray, int]:
        """Return the labels of each class at its step, as dense numbers, and the number of distinct ones."""
        chosen = self.labels[step, np.arange(step.size)]
        return combine([chosen[:, at] for at in range(chosen.shape[1])], step.size)

    def partition(self, step: IntArray) -> Partition:
        """Return the entries by what they show."""
        shown, n_shown = self.shown(step)
        return Partition(shown[self.entry_class], n_shown, self.weights)

    def left_out(self, step: IntArray) -> int:
        """Count the rows that would be left out."""
        partition = self.partition(step)
        return n_suppressed(partition, self.requirements)

    def merged(self) -> IntArray:
        """Return the step of each class, shape (n_classes,), by the rule of this module."""
        step = np.zeros(self.labels.shape[1], dtype=np.int64)
        n_taken = 1
        while True:
            shown, _ = self.shown(step)
            partition = self.partition(step)
            broken = self._broken(partition)
            below = broken[shown] & (step < self.last)
            if below.any():
                step[below] += 1
                continue
            taken = self._taken_along(step, shown, partition.sizes(), broken, n_taken)
            if not taken.any():
                return step
            step[taken] = self.last
            n_taken *= 2

    def _broken(self, partition: Partition) -> BoolArray:
        """Return a mask of the shown classes that break a requirement."""
        everything = np.ones(partition.classes.size, dtype=bool)
        broken = np.zeros(partition.n_classes, dtype=bool)
        for requirement in self.requirements:
            broken |= requirement.violated(partition, everything)
        return broken

    def _taken_along(
        self, step: IntArray, shown: IntArray, rows: IntArray, broken: BoolArray, n_taken: int
    ) -> BoolArray:
        """Mark the classes of the smallest that are shown and may join what breaks the model at the last step."""
        taken = np.zeros(step.size, dtype=bool)
        for number in np.flatnonzero(broken).tolist():
            example = np.flatnonzero(shown == number)[0]
            joins = (self.labels[self.last] == self.labels[self.last, example]).all(axis=1)
            inside = np.setdiff1d(shown[joins & (step < self.last)], shown[~joins | (step == self.last)])
            chosen = inside[np.argsort(rows[inside], kind="stable")][:n_taken]
            taken |= np.isin(shown, chosen)
        return taken
