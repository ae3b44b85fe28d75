# SPDX-License-Identifier: Apache-2.0
"""Suppression: rows left out by class of the target, the share of the next batch, and columns left out.

Rows and people that a release leaves out are counted by class of the target, for the owner alone. Of the next batch the
owner must expect a share in groups that are too small; it follows from the released class sizes. Where another
k-anonymous method drops columns, a small search counts those that `mondrian` would show, for the owner alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.checks.disclosure import Disclosure
from anonkit.errors import GuaranteeError
from anonkit.k_anonymity.numbers_in_groups import GroupedRecoding
from anonkit.k_anonymity.preparing import prepare
from anonkit.k_anonymity.recoded_rows import count_usable_rows, is_categorical, released_names
from anonkit.k_anonymity.recoding_method import RecodingMethod
from anonkit.k_anonymity.sensitive_rules import settled_rules
from anonkit.k_anonymity.violating_classes import WithValue
from anonkit.policy.declaration import Policy
from anonkit.policy.target_task import as_numbers
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.protocols import COUNT, Draft, Engine, Method, Source, no_progress
from anonkit.randomness import Randomness
from anonkit.report.blocks import JsonObject, ReportColumn
from anonkit.utility.class_utility import CLASSES

LISTED = 50
"""Classes that are listed, at most: those that lost most come first."""
TIMES, EXCESS, CHANCE = 1.5, 10, 0.001  # conventions; `RULE` has them in words
RULE = (
    f"a class stands out when its share left out is at least {TIMES} times that of all classes together, at least "
    f"{EXCESS} more of it are left out than at that share, and fewer than 1 in {round(1 / CHANCE):,} tables whose "
    "target had nothing to do with it would show as much (Chernoff's bound, over all classes)"
)
_Value: TypeAlias = Any
"""Class of the target, as the engine returns it; None where it is missing."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CountedTable:
    """A table and the engine that counts it."""

    engine: Engine
    rows: Source
    counted: Callable[[], pa.Table] | None = None
    """Gives the rows of every class of the target, where they are counted already."""

    def by_class(self, target: str) -> pa.Table:
        """Return the rows of every class of the target."""
        return self.engine.count_sets(self.rows, [(target,)])[0] if self.counted is None else self.counted()


def by_quarter(engine: Engine, source: Source, files: Engine, released: Source, target: str) -> tuple[Source, Source]:
    """Return source and release with the quarters of a numeric target in its place, as classes."""
    quarter = Quarter.of(target, engine.count_sets(source, [(target,)])[0])
    return (
        engine.map_batches(source, quarter, quarter.schema(source.schema)),
        files.map_batches(released, quarter, quarter.schema(released.schema)),
    )


def left_out_by_class(
    source: CountedTable, released: CountedTable, target: str, unit: str | None
) -> dict[str, Any] | None:
    """Count the suppressed rows of every class of the target: the source less the release, whatever the reason.

    Parameters
    ----------
    source : CountedTable
        The table with its cells as declared, units as keys.
    released : CountedTable
        The draft's rows, the unit column still among them.

    Returns
    -------
    dict or None
        None for a target without classes: more than 20 different numbers or dates (see `by_quarter`). Else `target`;
        `counted`: `rows` or `people`; `in`, `left_out`, `share` of the whole table; `classes`, a list of `class`
        (None: the target is missing), `in`, `left_out`, `share`, `stands_out`, and with a unit also `rows_in` and
        `rows_left_out`; `more_classes` when not all are listed; `rule`; and `note` when a class differs much. A person
        is left out of a class when none of the person's rows of that class is released.

    Privacy
    -------
    Exact counts of rows that are not released: the owner's, whatever the promise.
    """
    released_classes = released.by_class(target)
    if not is_categorical(released_classes.column(target), CLASSES):
        return None
    rows = _LeftOut(read=_by_value(source.by_class(target), target), released=_by_value(released_classes, target))
    counted, n_read, n_left = rows, *rows.in_all
    if unit is not None:
        engine, files, released_rows = source.engine, released.engine, released.rows
        of_people = engine.map_batches(source.rows, WithValue(unit), source.rows.schema)
        counted = _LeftOut(
            read=_by_value(engine.count_people(of_people, [target], unit), target),
            released=_by_value(files.count_people(released_rows, [target], unit), target),
        )
        n_read = _total(engine.count_people(of_people, (), unit))
        n_left = n_read - _total(files.count_people(released_rows, (), unit))
    classes = []
    for value in sorted(counted.read, key=lambda value: (-counted.of(value)[1], str(value))):
        entry = {"class": _plain(value), **_figures(*counted.of(value)), "stands_out": counted.stands_out(value)}
        more = {} if unit is None else dict(zip(("rows_in", "rows_left_out"), rows.of(value), strict=True))
        classes.append({**entry, **more})
    n_standing_out = sum(entry["stands_out"] for entry in classes)
    return {
        "target": target,
        "counted": "rows" if unit is None else "people",
        **_figures(n_read, n_left),
        "classes": classes[:LISTED],
        **({"more_classes": len(classes) - LISTED} if len(classes) > LISTED else {}),
        "rule": RULE,
        **({"note": _note(n_standing_out, target, unit)} if n_standing_out else {}),
    }


@dataclass(frozen=True, kw_only=True)
class Quarter:
    """Batch function that puts the quarter of a numeric target in its place, as words; missing stays missing."""

    target: str
    borders: tuple[float, ...]
    """Between the quarters, ascending; fewer than three where one number has more than a quarter of the rows."""

    @classmethod
    def of(cls, target: str, counted: pa.Table) -> Quarter:
        """Find the quarters from the rows of every value of the target."""
        numbers = as_numbers(counted.column(target).to_pylist())
        order = np.argsort(numbers)[: int((~np.isnan(numbers)).sum())]  # what is no number comes last
        reached = np.cumsum(counted.column(COUNT).to_numpy()[order])
        if not reached.size:
            return cls(target=target, borders=())
        places = np.searchsorted(reached, reached[-1] * np.array([0.25, 0.5, 0.75]), side="right")
        found = numbers[order[np.minimum(places, order.size - 1)]]
        return cls(target=target, borders=tuple(np.unique(found[found > numbers[order[0]]]).tolist()))

    @property
    def words(self) -> tuple[str, ...]:
        """Names of the quarters."""
        ends = [f"{border:g}" for border in self.borders]
        between = [f"from {low}, below {high}" for low, high in pairwise(ends)]
        return (f"below {ends[0]}", *between, f"from {ends[-1]}") if ends else ("any number",)

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema of the batches it makes."""
        return schema.set(schema.get_field_index(self.target), pa.field(self.target, pa.string()))

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the batch with the quarters."""
        column = batch.column(self.target)
        plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        values = pc.dictionary_encode(plain)
        numbers = as_numbers(values.dictionary.to_pylist())
        at = np.where(np.isnan(numbers), len(self.borders) + 1, np.searchsorted(self.borders, numbers, side="right"))
        words = pa.array([*self.words, "no number"], pa.string()).take(pa.array(at, pa.int64()))
        place = batch.schema.get_field_index(self.target)
        return batch.set_column(place, pa.field(self.target, pa.string()), words.take(values.indices))


@dataclass(frozen=True, kw_only=True)
class _LeftOut:
    """The rows read and released, by class of the target."""

    read: Mapping[_Value, int]
    released: Mapping[_Value, int]

    def of(self, value: _Value) -> tuple[int, int]:
        """Return the number of rows of a class that were read, and that of those left out."""
        return self.read[value], self.read[value] - self.released.get(value, 0)

    @cached_property
    def in_all(self) -> tuple[int, int]:
        """Rows (people) of all classes: how many were read, and how many are left out."""
        n_read = sum(self.read.values())
        return n_read, n_read - sum(self.released.values())

    def stands_out(self, value: _Value) -> bool:
        """Return True if clearly more of a class than of all is left out; see `RULE`."""
        (n_read, n_left), (all_read, all_left) = self.of(value), self.in_all
        expected = n_read * all_left / all_read
        if n_left < TIMES * expected or n_left - expected < EXCESS:
            return False
        return n_read * _divergence(n_left / n_read, all_left / all_read) > math.log(len(self.read) / CHANCE)


def _divergence(share: float, expected: float) -> float:
    """Return the divergence of two Bernoulli laws in nats: exp(-n times it) bounds the chance of such a share of n."""
    parts = ((share, expected), (1 - share, 1 - expected))
    return sum(p * math.log(p / q) for p, q in parts if p > 0)


def _figures(n_read: int, n_left: int) -> dict[str, Any]:
    return {"in": n_read, "left_out": n_left, "share": n_left / n_read if n_read else 0.0}


def _note(n_classes: int, target: str, unit: str | None) -> str:
    which = f"One class of the target {target!r} loses clearly more of its"
    if n_classes > 1:
        which = f"{n_classes} classes of the target {target!r} lose clearly more of their"
    return (
        f"{which} {'rows' if unit is None else 'people'} than the table as a whole: what is learned or counted from "
        "the release sees too little of it. The owner's figures list the classes."
    )


def _by_value(counted: pa.Table, target: str) -> dict[_Value, int]:
    return dict(zip(counted.column(target).to_pylist(), counted.column(COUNT).to_pylist(), strict=True))


def _total(counted: pa.Table) -> int:
    return int(sum(counted.column(COUNT).to_pylist()))


def _plain(value: _Value) -> str | int | float | None:
    return value if value is None or isinstance(value, str | int | float) else str(value)


def expected_suppression(draft: Draft, counted: Disclosure | None, classes: KAnonymity | None) -> dict[str, Any]:
    """Return the suppression that a batch of the same kind and size would need; empty without a recoding.

    Empty where several tables were joined: groups of single rows do not determine what becomes of whole sets.

    Privacy
    -------
    A function of the released class sizes and of the suppressed rows, which the report states: it adds nothing to them.
    """
    if counted is None or classes is None or classes.rows_known or "recoding" not in draft.params:
        return {}
    if classes.averaged:  # rows of a batch go to the nearest group that is large enough
        return {}
    suppressed = draft.rows.get("suppressed")
    share = expected_small_share(counted.sizes, classes.k, suppressed if isinstance(suppressed, int) else 0)
    return {
        "next_batch": {
            "expected_share_in_groups_too_small": round(share, 4),
            "share_that_may_be_left_out": draft.rows.get("suppression_limit", 0.0),
        }
    }


def expected_small_share(sizes: Sequence[tuple[int, int]], k: int, suppressed: int) -> float:
    """Return the expected share of rows (people) in groups below k when every group is drawn again.

    A group of n rows has Poisson(n) rows in a batch of the same kind and size. Its rows count while they are fewer than
    k: E[X; X < k] = n P(X <= k - 2). Rows that were left out are taken to be in groups that stay too small.

    Parameters
    ----------
    sizes : sequence of (size, number of groups of this size)
        Sizes are 1 or more.
    k : int
        2 or more.
    suppressed : int
        Rows that were left out, 0 or more.

    Returns
    -------
    float
        In [0, 1]; 0 for an empty table.
    """
    rows = suppressed + sum(size * number for size, number in sizes)
    small = suppressed + sum(number * size * _at_most(k - 2, size) for size, number in sizes)
    return small / rows if rows else 0.0


def _at_most(most: int, mean: int) -> float:
    """Return P(X <= most) for X of the Poisson law."""
    return math.fsum(math.exp(x * math.log(mean) - mean - math.lgamma(x + 1)) for x in range(most + 1))


_FEWEST_ROWS, _MOST_ROWS = 500, 20_000
_SEARCHED_SHARE = 50
"""One row in so many is searched, within these bounds: that takes at most a tenth of the time of the command."""
_MODEL_PARAMETERS = ("k", "l", "entropy_l", "recursive", "t", "alpha")


@dataclass(frozen=True, eq=False)
class Previewed:
    """The table that a release is made of."""

    source: Source
    sample_rows: Source | None = None
    """Rows of it that were drawn already: the sample is taken of them, which spares a pass over the source."""


def mondrian_preview(
    table: Previewed,
    policy: Policy,
    engine: Engine,
    method: Method,
    columns: Sequence[ReportColumn],
    randomness: Randomness,
) -> dict[str, JsonObject]:
    """Return the quasi-identifiers that `mondrian` would show at the same k; empty where none is dropped.

    A drawn sample has fewer rows for the same k, so that on the whole table it shows as many columns at least, as a
    rule.

    Parameters
    ----------
    columns : sequence of ReportColumn
        What the method did to every column.

    Privacy
    -------
    Depends on single rows of the source beyond what the release discloses: for the owner alone.
    """
    from anonkit.methods.mondrian import Mondrian

    class InBrief(Mondrian):
        """Mondrian with a guide that takes a tenth of the time, so that more rows can be searched."""

        in_brief = True

    identifying = [column for column in columns if column["role"] == "quasi_identifier"]
    shown = [column["name"] for column in identifying if column["action"] != "dropped"]
    is_other = isinstance(method, RecodingMethod) and not isinstance(method, Mondrian)
    if not is_other or len(shown) == len(identifying) or policy.person_rows is not None:
        return {}
    model: dict[str, Any] = {name: getattr(method, name) for name in _MODEL_PARAMETERS}
    source, sample_rows = table.source, table.sample_rows
    mondrian, n_rows = InBrief(**model), rows_searched(source.n_rows)
    rng = randomness.child("mondrian preview")
    rows = source if sample_rows is None else sample_rows
    sample = rows if rows.n_rows <= n_rows else engine.keep(engine.sample(rows, n_rows, rng))
    try:
        usable = count_usable_rows(sample, policy, engine)
        if policy.sensitive:
            usable = replace(usable, rules=settled_rules(mondrian, sample, policy, engine, usable.needed))
        prepared = prepare(sample, policy, engine, mondrian, mondrian.preparation, usable.rules)
        found = mondrian.find_recoding(prepared, rng=rng, progress=no_progress).recoding
    except GuaranteeError:  # the sample is too small for the requirements: nothing is known
        return {}
    assert not isinstance(found, GroupedRecoding)  # noqa: S101 - boxes are none
    boxed = released_names(found.to_dict())
    return {
        "mondrian_preview": {
            "rows": sample.n_rows,
            "of": source.n_rows,
            "quasi_identifiers": len(identifying),
            "shown": len(shown),
            "columns": [column["name"] for column in identifying if column["name"] in boxed],
            "more": [
                column["name"] for column in identifying if column["name"] in boxed and column["name"] not in shown
            ],
        }
    }


def rows_searched(n_rows: int) -> int:
    """Return the largest number of rows of a table that is searched."""
    return min(max(n_rows // _SEARCHED_SHARE, _FEWEST_ROWS), _MOST_ROWS)
