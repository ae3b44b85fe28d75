# SPDX-License-Identifier: Apache-2.0
"""The target as the guide of a search: as classes, of which there are few, or as a number.

A search keeps a share of every class for every row, so that their number decides on its memory. Of many classes the
commonest are distinguished and the others guide as one; of more than a thousand, most have too few rows to learn from
and the table is refused. A number costs one figure a row, however many different ones there are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anonkit.domains.array_types import BoolArray, FloatArray, IntArray
from anonkit.domains.coded_columns import UNLABELLED, CodedColumn, commonest
from anonkit.errors import PolicyError, option
from anonkit.policy.column_declarations import Column
from anonkit.policy.target_task import Task, as_numbers, task_from_values
from anonkit.report.blocks import JsonObject

CLASSES_APART = 32
"""Classes that a search distinguishes, the rarest of more being one of them."""
MOST_CLASSES = 1000
"""Classes that may guide a search at all."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GuidingTarget:
    """The form of the target that a search learns from; nothing of it is released."""

    task: Task | None
    """None where there is no target."""
    labels: IntArray
    """Class of each row, of a number its quarter, shape (n_rows,); UNLABELLED where there is none."""
    numbers: FloatArray | None
    """The target as a number, shape (n_rows,), NaN where it is none; None where it is classes."""
    notes: tuple[str, ...] = ()
    """Notes that a release may contain."""
    owner: JsonObject | None = None
    """Exact figures of the source, for the owner alone."""

    @classmethod
    def none(cls, n_rows: int) -> GuidingTarget:
        """Return that of a table without a target."""
        return cls(task=None, labels=np.full(n_rows, UNLABELLED, dtype=np.int64), numbers=None)


def guiding_target(
    target: CodedColumn,
    declared: Column,
    task: Task | None,
    *,
    guides: bool = True,
    hidden: BoolArray | None = None,
) -> GuidingTarget:
    """Return the target of a table as a search is guided by it.

    Parameters
    ----------
    target : CodedColumn
        Shape (n_rows,).
    declared : Column
        What the policy declares of it.
    task : Task, optional
        As declared; else it is found from the values.
    guides : bool
        Whether the search looks at it at all.
    hidden : ndarray of shape (n_rows,), optional
        Rows whose labels the search must not see: they are as if they were missing, but for the task.

    Raises
    ------
    PolicyError
        It has more than a thousand classes that shall guide, or is to be a number and no cell of it is one.
    """
    found = task_from_values(declared, task, target.values, ordered=target.ordered)
    notes = () if found.reason is None else (found.reason,)
    codes = target.codes.astype(np.int64)
    if found.task is Task.REGRESSION:
        return _as_number(target, codes, notes, hidden)
    labels = codes if target.missing is None else np.where(codes == target.missing, UNLABELLED, codes)
    labels = labels if hidden is None else np.where(hidden, UNLABELLED, labels)
    there = labels != UNLABELLED
    n_classes = np.unique(labels[there]).size
    if not guides or n_classes <= CLASSES_APART:
        return GuidingTarget(task=found.task, labels=labels, numbers=None, notes=notes)
    if n_classes > MOST_CLASSES:
        raise PolicyError(
            f"the target {target.name!r} has more than {MOST_CLASSES:,} classes, most too rare to learn from",
            f"{option('task', 'regression')} if it is a number; else group its values, name another target, or take "
            f"{option('no_target', True)}",
        )
    labels = labels.copy()
    labels[there] = commonest(labels[there], CLASSES_APART)[0]
    told = f"The target {target.name!r} has more than {CLASSES_APART} classes: the rarest guided the search as one."
    return GuidingTarget(task=found.task, labels=labels, numbers=None, notes=(*notes, told))


def _as_number(target: CodedColumn, codes: IntArray, notes: tuple[str, ...], hidden: BoolArray | None) -> GuidingTarget:
    """Return a target that is a number; cells that are none guide nothing."""
    numbers = as_numbers(target.values)[codes]
    known = ~np.isnan(numbers)
    if not known.any():
        raise PolicyError(
            f"no cell of the target {target.name!r} is a number", f"{option('task', 'classification')}, or another one"
        )
    n_missing = 0 if target.missing is None else int((codes == target.missing).sum())
    n_strange = int((~known).sum()) - n_missing
    if hidden is not None:
        numbers = np.where(hidden, np.nan, numbers)
        known = known & ~hidden
    labels = np.full(codes.size, UNLABELLED, dtype=np.int64)
    if known.any():
        present = np.sort(numbers[known])
        borders = np.unique(present[[present.size // 4, present.size // 2, 3 * present.size // 4]])
        labels[known] = np.searchsorted(borders, numbers[known], side="right")
    owner: JsonObject | None = None
    if n_strange:
        note = (
            f"{n_strange:,} of {codes.size:,} cells of the target {target.name!r} are no numbers: their rows are "
            "released and guided nothing."
        )
        owner = {"cells_that_are_no_numbers": n_strange, "note": note}
    return GuidingTarget(task=Task.REGRESSION, labels=labels, numbers=numbers, notes=notes, owner=owner)
