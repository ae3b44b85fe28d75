# SPDX-License-Identifier: Apache-2.0
"""The quasi-identifiers of a table, coded and checked against the policy, before a search for a recoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import UNLABELLED, CodedColumn
from anonkit.errors import GuaranteeError, PolicyError
from anonkit.k_anonymity.found_detail import cut_parts, pool_rare
from anonkit.k_anonymity.privacy_model import AnonymityModel, diversity_requirements
from anonkit.k_anonymity.search.equivalence import AtLeastK, Requirement
from anonkit.k_anonymity.unit_keys import nobody_notes, unit_codes
from anonkit.policy.declaration import Column, Missing, Policy
from anonkit.policy.declared_cells import refuse_outside
from anonkit.protocols import Engine, Source

_MANY_CLASSES = 20
"""Numeric targets with more distinct values guide the search by their quartile."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Prepared:
    """The quasi-identifiers of a table, coded and checked, with all that is asked of them."""

    columns: list[CodedColumn]
    """Quasi-identifiers over the rows that stay."""
    labels: NDArray[np.int64]
    """Target of each row; UNLABELLED where it is missing."""
    n_labels: int
    units: NDArray[np.int64] | None
    requirements: list[Requirement]
    rows: NDArray[np.bool_]
    """Rows of the source that stay, shape (n_source_rows,): those without a missing value that says drop."""
    n_nobody: int
    """Rows that are left out because they have no unit."""
    notes: tuple[str, ...]

    @property
    def left_out(self) -> dict[str, int]:
        """Rows that are left out before anything is searched, for the report's `rows` block."""
        dropped = int((~self.rows).sum()) - self.n_nobody
        return {"dropped_missing": dropped, **({"dropped_without_unit": self.n_nobody} if self.n_nobody else {})}

    @property
    def n_rows(self) -> int:
        """Rows that stay."""
        return int(self.labels.size)


def prepare(
    source: Source,
    policy: Policy,
    engine: Engine,
    model: AnonymityModel,
    *,
    pool: bool,
    cut: bool,
    bins: int | None = None,
) -> Prepared:
    """Code the quasi-identifiers of a table and turn the model into requirements.

    Parameters
    ----------
    pool : bool
        Merge categories that fewer than k rows hold, where the policy neither lists them nor gives a tree.
    cut : bool
        Merge the values of ordered columns without a declared ladder into parts between cuts that may be published.
    bins : int, optional
        Merge them further, into about so many bins of equal width.

    Raises
    ------
    PolicyError
        A quasi-identifier has missing values where the policy allows none, or cells outside its declared domain.
    GuaranteeError
        There are fewer than k rows (people): k cannot be reached.
    """
    names = policy.quasi_identifiers
    if not names:
        raise PolicyError("no column is a quasi-identifier", "k-anonymity protects the columns an attacker may know")
    coded = engine.encode(source, names)
    rows = np.ones(coded[0].codes.size, dtype=bool)
    for column in coded:
        _check_domain(column, policy.column(column.name))
        if column.missing is None:
            continue
        missing = column.codes == column.missing
        treatment = policy.missing_of(column.name)
        if treatment is Missing.ERROR:
            raise PolicyError(
                f"column {column.name!r} has {int(missing.sum())} missing values", 'missing = "category" or "drop"'
            )
        if treatment is Missing.DROP:
            rows &= ~missing
    whose = unit_codes(source, engine, policy)
    n_nobody = 0
    if whose is not None:
        n_nobody = int((rows & whose[1]).sum())
        rows &= ~whose[1]
    if not rows.all():
        coded = [take_rows(column, rows) for column in coded]
    units = None if whose is None else whose[0][rows]
    _check_reachable(model.k, int(rows.sum()), units)
    labels, n_labels, notes = _labels(source, engine, policy, rows)
    if pool:
        coded = [pool_rare(c, model.k, units) if _may_pool(policy.column(c.name)) else c for c in coded]
    if cut:
        coded = [_cut(c, policy.column(c.name), model.k, units, bins) for c in coded]
    return Prepared(
        columns=coded,
        labels=labels,
        n_labels=n_labels,
        units=units,
        requirements=requirements(source, policy, engine, model, rows, units),
        rows=rows,
        n_nobody=n_nobody,
        notes=(*_blank_notes(coded), *nobody_notes(policy, n_nobody), *notes),
    )


def requirements(
    source: Source,
    policy: Policy,
    engine: Engine,
    model: AnonymityModel,
    rows: NDArray[np.bool_],
    units: NDArray[np.int64] | None,
) -> list[Requirement]:
    """Return what every equivalence class must meet, k first."""
    out: list[Requirement] = [AtLeastK(model.k, units)]
    asked = model.diversity
    if not asked.asked():
        return out
    sensitive = [replace(column, codes=column.codes[rows]) for column in engine.encode(source, policy.sensitive)]
    return [*out, *diversity_requirements(asked, sensitive, policy.missing_is_value, units=units)]


def take_rows(column: CodedColumn, rows: NDArray[np.bool_]) -> CodedColumn:
    """Return a column over some rows, its values renumbered to those that still occur."""
    codes = column.codes[rows]
    used = np.bincount(codes, minlength=column.size) > 0
    number = (np.cumsum(used) - 1).astype(np.int32)
    values = [value for value, keep in zip(column.values, used, strict=True) if keep]
    return CodedColumn(name=column.name, codes=number[codes], values=values, ordered=column.ordered)


def _may_pool(column: Column) -> bool:
    return column.generalize and column.categories is None and column.tree is None


def _cut(
    column: CodedColumn, declared: Column, k: int, units: NDArray[np.int64] | None, bins: int | None
) -> CodedColumn:
    if declared.ladder is not None or not declared.generalize:
        return column
    return cut_parts(column, k, units, bins=bins, bounds=declared.bounds)


def _check_domain(column: CodedColumn, declared: Column) -> None:
    outside: NDArray[np.bool_] | None = None
    if declared.domain_values is not None:
        domain = set(declared.domain_values)
        outside = np.array([value is not None and value not in domain for value in column.values], dtype=bool)
    elif declared.bounds is not None:
        low, high = declared.bounds
        if not column.ordered and column.size - (column.missing is not None):
            raise PolicyError(
                f"column {column.name!r} has bounds but its cells are not numbers", "declare categories instead"
            )
        outside = np.array([value is not None and not low <= value <= high for value in column.values], dtype=np.bool_)  # type: ignore[operator]
    if declared.ladder is not None and not column.ordered:
        raise PolicyError(
            f"column {column.name!r} has a ladder of bin widths but its cells are not numbers", "use tree"
        )
    if outside is not None and outside.any():
        refuse_outside(declared, int(outside[column.codes].sum()))


def _check_reachable(k: int, n_rows: int, units: NDArray[np.int64] | None) -> None:
    people = n_rows if units is None else len(np.unique(units))
    if people < k:
        who = "rows" if units is None else "people"
        raise GuaranteeError(f"k ({k}) cannot be reached: the table has {people} {who}", f"k is at most {people} here")


def _labels(
    source: Source, engine: Engine, policy: Policy, rows: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], int, tuple[str, ...]]:
    """Return the target as classes; rows without one guide nothing."""
    if policy.target is None:
        return np.full(int(rows.sum()), UNLABELLED, dtype=np.int64), 0, ()
    column = engine.encode(source, [policy.target])[0]
    codes = column.codes[rows].astype(np.int64)
    labels = np.where(codes == column.missing, UNLABELLED, codes) if column.missing is not None else codes
    if not column.ordered or len(np.unique(labels[labels >= 0])) <= _MANY_CLASSES:
        return labels, column.size - (column.missing is not None), ()
    present = np.sort(labels[labels >= 0])
    borders = np.unique(present[[present.size // 4, present.size // 2, 3 * present.size // 4]])
    binned = np.searchsorted(borders, labels, side="right")
    note = f"The target {policy.target!r} is numeric: its quartiles guided the choice of detail."
    return np.where(labels >= 0, binned, UNLABELLED), int(borders.size) + 1, (note,)


def _blank_notes(columns: Sequence[CodedColumn]) -> tuple[str, ...]:
    padded = [c.name for c in columns if any(isinstance(value, str) and value != value.strip() for value in c.values)]
    return tuple(
        f"Column {name!r} has cells that begin or end with blanks; ' a' and 'a' are different values."
        for name in padded
    )
