# SPDX-License-Identifier: Apache-2.0
"""What all k-anonymous methods share: the model asked for, the prepared columns, and the draft of a recoded table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.axes import pool_rare
from anonkit.errors import GuaranteeError, ParameterError, PolicyError
from anonkit.guarantee import Diversity, KAnonymity
from anonkit.mechanisms.coding import UNLABELLED, CodedColumn
from anonkit.mechanisms.equivalence import (
    AlphaK,
    AtLeastK,
    DistinctL,
    EntropyL,
    RecursiveCL,
    Requirement,
    TCloseness,
    check_k,
)
from anonkit.parameters import check_number, parameter
from anonkit.policy import Column, Missing, Policy, Role
from anonkit.protocols import Draft, Engine, Source
from anonkit.recoding import Grouping, KeptAxis, Recoding

_MANY_CLASSES = 20
"""Numeric targets with more distinct values guide the search by their quartile."""


@dataclass(frozen=True, kw_only=True)
class AnonymityModel:
    """k-anonymity and what may be asked on top of it; the parameters shared by the k-anonymous methods."""

    k: int = parameter(
        default=10, range="[2, inf)", help="smallest equivalence class allowed, in rows (people with a unit column)"
    )
    l: float | None = parameter(  # noqa: E741 - the field's own letter
        default=None,
        range="[1, inf)",
        help="distinct l-diversity: different values of each sensitive attribute in every class",
    )
    entropy_l: float | None = parameter(
        default=None,
        range="[1, inf)",
        help="entropy l-diversity: exp(entropy) of each sensitive attribute in every class",
    )
    recursive: str | None = parameter(
        default=None, range="C,L", help="recursive (c, l)-diversity, such as 3,2: commonest < c x (l-th and rarer)"
    )
    t: float | None = parameter(
        default=None, range="[0, 1]", help="t-closeness: earth mover's distance of every class from the whole release"
    )
    alpha: float | None = parameter(
        default=None, range="(0, 1]", help="(alpha, k)-anonymity: largest share of one sensitive value in any class"
    )

    def __post_init__(self) -> None:
        check_k(self.k)
        for name, value in (("l", self.l), ("entropy_l", self.entropy_l)):
            if value is not None:
                check_number(name, value, 1, np.inf, open_high=True)
        if self.t is not None:
            check_number("t", self.t, 0, 1)
        if self.alpha is not None:
            check_number("alpha", self.alpha, 0, 1, open_low=True)
        self.diversity  # noqa: B018 - parses `recursive`

    @property
    def diversity(self) -> Diversity:
        """What is asked of the sensitive values."""
        return Diversity(
            l=self.l, entropy_l=self.entropy_l, recursive=_recursive(self.recursive), t=self.t, alpha=self.alpha
        )

    def promise(self, policy: Policy, assumptions: Sequence[str]) -> KAnonymity:
        """Return the promise of a release under this model.

        Raises
        ------
        PolicyError
            Diversity is asked and no column is sensitive.
        """
        if self.diversity.asked() and policy.columns and not policy.sensitive:
            asked = ", ".join(self.diversity.asked())
            raise PolicyError(f"{asked}: no column is sensitive", "--sensitive NAME; the target may be sensitive too")
        return KAnonymity(
            k=self.k,
            quasi_identifiers=policy.quasi_identifiers,
            sensitive=policy.sensitive,
            diversity=self.diversity,
            unit=policy.unit,
            assumptions=tuple(assumptions),
        )


def _recursive(text: str | None) -> tuple[float, int] | None:
    if text is None:
        return None
    try:
        c, l = text.split(",")  # noqa: E741
        pair = float(c), int(l)
    except ValueError:
        raise ParameterError(f"recursive ({text}) must be C,L", "for instance 3,2") from None
    if not pair[0] > 0 or pair[1] < 2:
        raise ParameterError(f"recursive ({text}) must have c in (0, inf) and l in [2, inf)")
    return pair


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
    notes: tuple[str, ...]

    @property
    def n_rows(self) -> int:
        """Rows that stay."""
        return int(self.labels.size)


def prepare(source: Source, policy: Policy, engine: Engine, model: AnonymityModel, *, pool: bool) -> Prepared:
    """Code the quasi-identifiers of a table and turn the model into requirements.

    Parameters
    ----------
    pool : bool
        Merge categories that fewer than k rows hold, where the policy neither lists them nor gives a tree.

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
    if not rows.all():
        coded = [take_rows(column, rows) for column in coded]
    units = _codes(source, engine, policy.unit, rows)
    _check_reachable(model.k, int(rows.sum()), units)
    labels, n_labels, notes = _labels(source, engine, policy, rows)
    if pool:
        coded = [pool_rare(c, model.k, units) if _may_pool(policy.column(c.name)) else c for c in coded]
    return Prepared(
        columns=coded,
        labels=labels,
        n_labels=n_labels,
        units=units,
        requirements=requirements(source, policy, engine, model, rows, units),
        rows=rows,
        notes=(*_blank_notes(coded), *notes),
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
    return [*out, *diversity_requirements(asked, sensitive)]


def diversity_requirements(asked: Diversity, sensitive: Sequence[CodedColumn]) -> list[Requirement]:
    """Return what the sensitive values of every equivalence class must meet."""
    out: list[Requirement] = []
    for column in sensitive:
        values = column.codes.astype(np.int64)
        if asked.l is not None:
            out.append(DistinctL(values, asked.l))
        if asked.entropy_l is not None:
            out.append(EntropyL(values, asked.entropy_l))
        if asked.recursive is not None:
            out.append(RecursiveCL(values, *asked.recursive))
        if asked.t is not None:
            out.append(TCloseness(values, asked.t, column.ordered))
        if asked.alpha is not None:
            out.append(AlphaK(values, asked.alpha))
    return out


def take_rows(column: CodedColumn, rows: NDArray[np.bool_]) -> CodedColumn:
    """Return a column over some rows, its values renumbered to those that still occur."""
    codes = column.codes[rows]
    used = np.bincount(codes, minlength=column.size) > 0
    number = (np.cumsum(used) - 1).astype(np.int32)
    values = [value for value, keep in zip(column.values, used, strict=True) if keep]
    return CodedColumn(name=column.name, codes=number[codes], values=values, ordered=column.ordered)


def _may_pool(column: Column) -> bool:
    return column.generalize and column.categories is None and column.tree is None


def _check_domain(column: CodedColumn, declared: Column) -> None:
    outside: NDArray[np.bool_] | None = None
    rule = ""
    if declared.categories is not None or declared.tree is not None:
        domain = set(declared.categories or (path[0] for path in declared.tree or ()))
        outside = np.array([value is not None and value not in domain for value in column.values], dtype=bool)
        rule = "categories" if declared.categories is not None else "tree"
    elif declared.bounds is not None:
        low, high = declared.bounds
        if not column.ordered:
            raise PolicyError(
                f"column {column.name!r} has bounds but its cells are not numbers", "declare categories instead"
            )
        outside = np.array([value is not None and not low <= value <= high for value in column.values], dtype=np.bool_)  # type: ignore[operator]
        rule = "bounds"
    if declared.ladder is not None and not column.ordered:
        raise PolicyError(
            f"column {column.name!r} has a ladder of bin widths but its cells are not numbers", "use tree"
        )
    if outside is not None and outside.any():
        count = int(outside[column.codes].sum())
        raise PolicyError(
            f"column {column.name!r} has {count} cells outside its declared {rule}", "correct the policy or the table"
        )


def _check_reachable(k: int, n_rows: int, units: NDArray[np.int64] | None) -> None:
    people = n_rows if units is None else len(np.unique(units))
    if people < k:
        who = "rows" if units is None else "people"
        raise GuaranteeError(f"k ({k}) cannot be reached: the table has {people} {who}", f"k is at most {people} here")


def _codes(source: Source, engine: Engine, name: str | None, rows: NDArray[np.bool_]) -> NDArray[np.int64] | None:
    if name is None:
        return None
    column = engine.encode(source, [name])[0]
    if column.missing is not None:
        count = int((column.codes[rows] == column.missing).sum())
        if count:
            raise PolicyError(f"unit column {name!r} is missing in {count} rows", "every row must belong to a person")
    return column.codes[rows].astype(np.int64)


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


# --- from a recoding to a draft ------------------------------------------------------------------------------


def draft_recoded(
    source: Source,
    policy: Policy,
    engine: Engine,
    recoding: Recoding,
    kept: NDArray[np.bool_],
    *,
    params: Mapping[str, Any],
    columns: Sequence[Mapping[str, Any]],
    rows: Mapping[str, Any],
    details: Mapping[str, Any],
    owner: Mapping[str, Any],
    notes: Sequence[str],
) -> Draft:
    """Return the draft of a table whose quasi-identifiers are recoded and whose other columns stay.

    Parameters
    ----------
    kept : ndarray of shape (n_source_rows,)
        Rows that are released.
    """
    schema = released_schema(source.schema, policy, recoding)
    data = engine.map_batches(source, partial(_recode_batch, recoding=recoding, kept=kept, schema=schema), schema)
    return Draft(data=data, params=params, columns=columns, rows=rows, details=details, owner=owner, notes=notes)


def released_schema(schema: pa.Schema, policy: Policy, recoding: Recoding) -> pa.Schema:
    """Return names and types of what is released, the unit column among them.

    Raises
    ------
    GuaranteeError
        Nothing would be.
    """
    types = recoding.types(schema)
    names = [name for name in policy.columns if name in types or _passes(policy.column(name))]
    if not any(name != policy.unit for name in names):
        raise GuaranteeError(
            "no column can be released: every quasi-identifier would have to be dropped, and there is nothing else",
            "allow more suppression, or ask for a smaller k",
        )
    return pa.schema([(name, types.get(name, schema.field(name).type)) for name in names])


def _passes(column: Column) -> bool:
    return column.role in (Role.TARGET, Role.SENSITIVE, Role.INSENSITIVE, Role.UNIT)


def _recode_batch(
    batch: pa.RecordBatch, row: int, *, recoding: Recoding, kept: NDArray[np.bool_], schema: pa.Schema
) -> pa.RecordBatch:
    keep = kept[row : row + batch.num_rows]
    batch = batch.filter(pa.array(keep))
    recoded, _ = recoding.apply(batch)
    arrays = [recoded[name] if name in recoded else batch.column(name) for name in schema.names]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def anonymity_params(
    policy: Policy, schema: pa.Schema, model: AnonymityModel, recoding: Recoding, max_suppression: float
) -> dict[str, Any]:
    """Return the part of `params.json` that lets `anonkit apply` recode the next batch the same way."""
    return {
        "target": policy.target,
        "unit": policy.unit,
        "missing_values": list(policy.missing_values),
        "model": {
            "k": model.k,
            **{name: getattr(model, name) for name in ("l", "entropy_l", "recursive", "t", "alpha")},
        },
        "max_suppression": max_suppression,
        "columns": [
            {
                "name": name,
                "role": str(column.role),
                "sensitive": column.is_sensitive,
                "type": str(schema.field(name).type),
                "missing": str(policy.missing_of(name)),
            }
            for name, column in policy.columns.items()
        ],
        "recoding": recoding.to_dict(),
    }


def column_entry(policy: Policy, name: str, action: str, **more: Any) -> dict[str, Any]:
    """Return one entry of the report's `columns` block."""
    column = policy.column(name)
    return {"name": name, "role": str(column.role), "sensitive": column.is_sensitive, "action": action, **more}


def other_columns(policy: Policy) -> list[dict[str, Any]]:
    """Return the entries of the columns that are no quasi-identifiers."""
    out = []
    for name, column in policy.columns.items():
        if column.role in (Role.IDENTIFIER, Role.UNIT):
            out.append(column_entry(policy, name, "dropped", reason="identifiers are never released"))
        elif column.role is not Role.QUASI_IDENTIFIER:
            out.append(column_entry(policy, name, "kept", reason=f"declared {column.role}"))
    return out


def describe_recoded(column: KeptAxis | Grouping) -> dict[str, Any]:
    """Return how one column was recoded, for the report."""
    if isinstance(column, KeptAxis):
        return {"detail": "full"}
    values = list(dict.fromkeys(column.labels))
    return {"detail": "generalized", "released_values": len(values), "values": values}
