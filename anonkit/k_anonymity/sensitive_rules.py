# SPDX-License-Identifier: Apache-2.0
"""The rules for the values of each sensitive column, fixed once on the table: values, widths, and caps.

A measured column has a width within which its numbers count as one value: ten salaries within a few per cent disclose
what each of ten people earns, and to count them as ten values would be diversity in name. Numbers that are no measures,
such as codes of diagnoses, are different where they differ at all.

A sensitive column without a required l, t or alpha has a cap on confidence by value. A value that a share p of the
table has, p at most .8, may be held by at most (1 + p) / 2 of a class: a value that hardly anybody has is then no more
than a guess in any class, which distinct l-diversity does not see to. A commoner value is exempt.

Privacy
-------
Widths and caps are of the whole table before anything is searched, so that they do not follow from what is suppressed.
They are published rounded, a width to two digits and a cap to whole percents, and caps for released values alone.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from types import MappingProxyType
from typing import Any, SupportsFloat

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.documents import ParamsPart, left_out
from anonkit.domains.coded_columns import CodedColumn, FloatArray, IntArray, folded_text
from anonkit.k_anonymity.privacy_model import AnonymityModel
from anonkit.k_anonymity.recoded_rows import any_missing, are_nobodys
from anonkit.policy.column_declarations import Column
from anonkit.policy.declaration import Policy
from anonkit.promises.anonymous_classes import EXEMPT_ABOVE, Diversity
from anonkit.promises.no_values import CODE_WORDS, FEW_CODES, MISSING_CODES, NO_VALUES, TOLERANCE
from anonkit.protocols import COUNT, Engine, Source

_MIDDLE = (0.05, 0.95)
_WHOLE = re.compile(r"-?[0-9]{1,9}")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+\d*|\d+")


def is_measured(column: Column, kind: pa.DataType, n_values: int) -> bool:
    """Return True if a column is measured, not one of codes.

    Parameters
    ----------
    column : Column
        A tolerance that it declares decides, and so do categories.
    kind : DataType
        As it was read.
    n_values : int
        Different numbers in it.
    """
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return False
    if column.tolerance is not None or column.domain_values is not None:
        return bool(column.tolerance)
    if not pa.types.is_integer(kind):
        return True
    words = {word.lower() for word in _WORDS.findall(column.name)}
    return n_values > FEW_CODES and words.isdisjoint(CODE_WORDS)


def has_missing_codes(values: Sequence[object]) -> bool:
    """Return True if a common code for a missing value is far from all other values.

    A code above 0 is apart where it lies further above the largest of the others than these reach, one below 0 where
    none of the others is; among strings that are no numbers every code is.
    """
    codes = {float(code) for code in MISSING_CODES}
    numbers = [_number_of(value) for value in values]
    found = [number for number in numbers if number in codes]
    others = [number for number in numbers if number is not None and number not in codes]
    if not found or not others:
        return bool(found) and None in numbers
    low, high = min(others), max(others)
    return None in numbers or any(low >= 0 if code < 0 else code - high > high - low for code in found)


def _number_of(value: object) -> float | None:
    """Return a number, or a string that spells an integer, as a number."""
    if isinstance(value, str):
        return float(value) if _WHOLE.fullmatch(value) else None
    return float(value) if isinstance(value, SupportsFloat) and not isinstance(value, bool) else None


def rounded_width(numbers: FloatArray, rows: IntArray, tolerance: float | None) -> float:
    """Return the width within which numbers are one value, rounded to two digits.

    Parameters
    ----------
    numbers, rows : array, shape (n_values,)
        The different numbers, ascending, and the rows of each.
    tolerance : float, optional
        Share of the middle 90 % of all numbers; None: `TOLERANCE`.
    """
    if not numbers.size:
        return 0.0
    below = np.cumsum(rows) / rows.sum()
    low, high = (float(numbers[np.searchsorted(below, share - 1e-12)]) for share in _MIDDLE)
    return float(f"{(TOLERANCE if tolerance is None else tolerance) * (high - low):.1e}")


LEAST_CAP = 0.51
"""Cap of a value that hardly any row has: of every value that is not listed."""
_EXEMPT_OF = (4, 5)
assert _EXEMPT_OF[0] / _EXEMPT_OF[1] == EXEMPT_ABOVE  # noqa: S101 - compared in integer numbers of rows


@dataclass(frozen=True, kw_only=True)
class Caps:
    """Largest share of a class that may hold each value of one sensitive column."""

    of_values: Mapping[str, float | None] = field(default_factory=lambda: MappingProxyType({}))
    """Strings, dates and truth values with a cap above the least one; None: exempt."""
    from_numbers: tuple[tuple[float, float | None], ...] = ()
    """Numbers, ascending, from each of which on, up to the next one, a cap holds."""
    missing: float | None = LEAST_CAP
    """Cap of a missing cell, where it is a value."""

    def of(self, column: CodedColumn) -> FloatArray:
        """Return the cap of each code, shape (column.size,); infinite where a value is exempt."""
        caps = [self._of(value) for value in column.values]
        return np.array([np.inf if cap is None else cap for cap in caps], dtype=np.float64)

    def _of(self, value: object) -> float | None:
        if value is None:
            return self.missing
        number = number_of(value)
        if number is None:
            return self.of_values.get(value_key(value), LEAST_CAP)
        at = bisect_right(self.from_numbers, number, key=lambda entry: entry[0])
        return self.from_numbers[at - 1][1] if at else LEAST_CAP

    @classmethod
    def of_counts(cls, column: CodedColumn, counts: IntArray, everybody: int, ends: IntArray | None) -> Caps:
        """Return the caps of a table.

        Parameters
        ----------
        column : CodedColumn
            Its values; the codes are not looked at.
        counts : array, shape (column.size,)
            Rows, or people, with each value.
        everybody : int
            All of them, those without a value too.
        ends : array, optional
            As in `HistogramRequirement`.
        """
        most = np.minimum(_within(counts, ends), everybody)
        caps = [_cap(int(count), everybody) for count in most]
        return cls.listed(zip(column.values, caps, strict=True))

    @classmethod
    def listed(cls, caps: Iterable[tuple[object, float | None]]) -> Caps:
        """Return published caps of values in ascending order: what hardly any row has is not listed."""
        of_values: dict[str, float | None] = {}
        numbers: list[tuple[float, float | None]] = []
        missing: float | None = LEAST_CAP
        for value, cap in caps:
            number = number_of(value)
            if value is None:
                missing = cap
            elif number is None and cap != LEAST_CAP:
                of_values[value_key(value)] = cap
            elif number is not None and cap != (numbers[-1][1] if numbers else LEAST_CAP):
                numbers.append((number, cap))
        return cls(of_values=of_values, from_numbers=tuple(numbers), missing=missing)

    def of_released(self, column: CodedColumn) -> Caps:
        """Return the caps of the values of a released column alone."""
        return Caps.listed((value, self._of(value)) for value in column.values)

    @property
    def n_exempt(self) -> int:
        """Values, or runs of numbers, that are exempt."""
        return [self.missing, *self.of_values.values(), *(cap for _, cap in self.from_numbers)].count(None)

    @property
    def pairs(self) -> tuple[tuple[Any, float | None], ...]:
        """The pairs of value and cap that are published."""
        listed: Iterable[tuple[Any, float | None]] = self.from_numbers or sorted(self.of_values.items())
        return (*(() if self.missing == LEAST_CAP else ((None, self.missing),)), *listed)

    @classmethod
    def of_pairs(cls, pairs: Sequence[tuple[Any, float | None]]) -> Caps:
        """Return the caps that are published as pairs."""
        numbers = [(float(value), cap) for value, cap in pairs if not isinstance(value, str | None)]
        return cls(
            of_values={value: cap for value, cap in pairs if isinstance(value, str)},
            from_numbers=tuple(numbers),
            missing=next((cap for value, cap in pairs if value is None), LEAST_CAP),
        )


def _cap(count: int, everybody: int) -> float | None:
    """Return (1 + p) / 2 rounded up to two digits, None where p is above `EXEMPT_ABOVE`: in integers, exactly."""
    if count * _EXEMPT_OF[1] > everybody * _EXEMPT_OF[0]:
        return None
    return max(-(-50 * (everybody + count) // everybody), 51) / 100


def _within(counts: IntArray, ends: IntArray | None) -> IntArray:
    """Return the holders of each value and of those up to its end, shape (n_values,)."""
    if ends is None:
        return counts
    sums = np.concatenate([[0], np.cumsum(counts)])
    return np.asarray(sums[ends] - sums[:-1])


def number_of(value: object) -> float | None:
    """Return a number as one that is compared with others; None for strings, dates and truth values."""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        return None
    return float(value)


def value_key(value: object) -> str:
    """Return the name of a value that is no number in `params.json`: moments in UTC, durations in nanoseconds."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, timedelta):
        ticks = 1_000 * (value // timedelta(microseconds=1)) + getattr(value, "nanoseconds", 0)
        return str(ticks)
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC)
    return value.isoformat() if isinstance(value, date | time) else str(value)


@dataclass(frozen=True, kw_only=True)
class StatedValues(ParamsPart):
    """The values of a sensitive column as the params have them: what they require, and how they are counted."""

    l: float | None = field(default=None, metadata=left_out())  # noqa: E741 - the field's own letter
    t: float | None = field(default=None, metadata=left_out())
    alpha: float | None = field(default=None, metadata=left_out())
    tolerance: float | None = field(default=None, metadata=left_out())
    width: float
    caps: tuple[tuple[Any, float | None], ...] | None = field(default=None, metadata=left_out())


@dataclass(frozen=True, kw_only=True)
class SensitiveRule:
    """The requirements on the values of one sensitive column, and the definition of a value."""

    name: str
    required: Diversity
    no_values: frozenset[str] | None = frozenset(NO_VALUES)
    """Folded strings that are none; None: strings are not folded either, as in version 0.1."""
    missing_is_value: bool = False
    """A missing cell is a value like any other, and so is a string that is none."""
    width: float = 0.0
    """Numbers no further apart are one value; 0: equal ones alone."""
    caps: Caps | None = None
    """None: there is no cap on confidence."""
    has_codes: bool = False
    """True where a common code for a missing value is far from all others."""

    @property
    def bounds_something(self) -> bool:
        """Return True if a class could break it."""
        return self.caps is not None or self.required.bounds_something

    def stated(self, declared: Column) -> StatedValues:
        """Return the statement of `params.json` on the values of the column."""
        return StatedValues(
            l=declared.l,
            t=declared.t,
            alpha=declared.alpha,
            tolerance=declared.tolerance,
            width=self.width,
            caps=None if self.caps is None else self.caps.pairs,
        )

    def ends(self, column: CodedColumn) -> IntArray | None:
        """Return, for each code of a measured column, the first code that is another value.

        Returns
        -------
        array, shape (column.size,)
            None where only equal values are one.
        """
        if not self.width:
            return None
        valued = column.values[: column.missing]  # missing is last
        numbers = np.array(valued, dtype=np.float64)
        ends = np.searchsorted(numbers, numbers + self.width, side="right")
        return np.append(ends, [column.size] if column.missing is not None else []).astype(np.int64)


def settled_rules(
    model: AnonymityModel, source: Source, policy: Policy, engine: Engine, needed: Sequence[str]
) -> tuple[SensitiveRule, ...]:
    """Fix what counts as a value of each sensitive column, and the caps, on the rows that may be released.

    Parameters
    ----------
    needed : sequence of str
        Columns whose missing cells drop their row.
    """
    rules = plain_rules(model, policy)
    schema = read_schema(source.schema, [*(rule.name for rule in rules), *([policy.unit] if policy.unit else [])])
    usable = UsableValues(rules=rules, schema=schema, needed=tuple(needed), unit=policy.unit)
    counted = _counted(engine.map_batches(source, usable, schema), rules, policy, engine)
    return tuple(_settled(rule, source, policy, *found) for rule, found in zip(rules, counted, strict=True))


def plain_rules(model: AnonymityModel, policy: Policy) -> tuple[SensitiveRule, ...]:
    """Return the rules as far as they follow from model and policy: widths 0, and caps of no value in particular."""
    capped = policy.person_rows is None or not policy.person_rows.whole_set
    return tuple(
        SensitiveRule(
            name=name,
            required=required,
            no_values=frozenset(NO_VALUES) - {folded_text(text) for text in policy.column(name).domain_values or ()},
            missing_is_value=name in policy.missing_is_value,
            caps=Caps() if capped and not required.required() else None,
        )
        for name, required in model.required_of(policy).items()
    )


def _counted(
    read: Source, rules: Sequence[SensitiveRule], policy: Policy, engine: Engine
) -> list[tuple[CodedColumn, IntArray, IntArray, int]]:
    """Return the values of each column, the rows and the holders of each, and how many holders there are in all."""
    names = [rule.name for rule in rules]
    tables = engine.count_sets(read, [(name,) for name in names])
    everybody = read.n_rows
    if policy.unit is not None:
        everybody = sum(engine.count_people(read, (), policy.unit).column(COUNT).to_pylist())
    found = []
    for name, table in zip(names, tables, strict=True):
        rows = holders = table.column(COUNT).to_numpy()
        if policy.unit is not None:
            holders = engine.count_people(read, (name,), policy.unit).column(COUNT).to_numpy()
        found.append((coded_values(table.column(name), name), rows, holders, everybody))
    return found


def coded_values(cells: pa.ChunkedArray, name: str) -> CodedColumn:
    """Return the distinct values of a counted column, ascending, missing last; its codes are those of the cells."""
    listed = cells.to_pylist()
    ordered = not (pa.types.is_string(cells.type) or pa.types.is_boolean(cells.type))
    return CodedColumn(name=name, codes=np.arange(len(listed), dtype=np.int32), values=listed, ordered=ordered)


def _settled(
    rule: SensitiveRule, source: Source, policy: Policy, column: CodedColumn, rows: IntArray, holders: IntArray, n: int
) -> SensitiveRule:
    """Return a rule with its width and caps, from the rows and the holders of each value."""
    declared = policy.column(rule.name)
    valued = len(column.values) - (column.missing is not None)
    rule = replace(rule, has_codes=declared.domain_values is None and has_missing_codes(column.values[:valued]))
    if is_measured(declared, source.schema.field(rule.name).type, valued):
        numbers = np.array(column.values[:valued], dtype=np.float64)
        rule = replace(rule, width=rounded_width(numbers, rows[:valued], declared.tolerance))
    if rule.caps is None:
        return rule
    if column.missing is not None and not rule.missing_is_value:
        holders = np.append(holders[:-1], 0)
    return replace(rule, caps=Caps.of_counts(column, holders, n, rule.ends(column)))


def stored_rules(
    model: AnonymityModel, policy: Policy, stored: Mapping[str, Mapping[str, Any]]
) -> tuple[SensitiveRule, ...]:
    """Return the rules of an earlier release, by its `params.json`.

    One without widths is of version 0.1: strings counted as they are, and there were no caps.
    """
    return tuple(_stored(rule, stored[rule.name]) for rule in plain_rules(model, policy))


def _stored(rule: SensitiveRule, entry: Mapping[str, Any]) -> SensitiveRule:
    if "width" not in entry:
        return replace(rule, no_values=None, caps=None)
    stated = StatedValues.from_params(entry)
    if rule.caps is None:
        return replace(rule, width=float(stated.width), caps=None)
    if stated.caps is None:
        raise ValueError("no caps")
    return replace(rule, width=float(stated.width), caps=Caps.of_pairs(stated.caps))


def of_released(rules: Sequence[SensitiveRule], data: Source, engine: Engine) -> tuple[SensitiveRule, ...]:
    """Return the rules with the caps of released values alone, in one pass over the rows that are released."""
    capped = [rule for rule in rules if rule.caps is not None]
    if not capped:
        return tuple(rules)
    read = SensitiveValueMap.of(capped, data.schema)
    counted = engine.count_sets(
        engine.map_batches(data, read, read.schema, same_rows=True), [(rule.name,) for rule in capped]
    )
    released = {
        rule.name: rule.caps.of_released(coded_values(table.column(rule.name), rule.name))
        for rule, table in zip(capped, counted, strict=True)
        if rule.caps is not None
    }
    return tuple(replace(rule, caps=released.get(rule.name)) for rule in rules)


def sensitive_notes(rules: Sequence[SensitiveRule], data: Source, names: Sequence[str], engine: Engine) -> list[str]:
    """Describe what of sensitive columns is not bounded, and where codes may mean a missing value.

    Parameters
    ----------
    data : Source
        The rows that are released.
    names : sequence of str
        Their quasi-identifiers.
    """
    notes = []
    for rule in rules:
        if rule.caps is not None and rule.caps.n_exempt:
            notes.append(
                f"Column {rule.name!r} has a value that more than {EXEMPT_ABOVE:.0%} of the table have: it is exempt "
                "from the cap on confidence."
            )
        if not rule.bounds_something:
            notes.append(
                f"Nothing bounds what a group tells of {rule.name!r}: {_share_of_one(rule, data, names, engine):.1%} "
                "of the rows are in groups with one value of it."
            )
        if rule.has_codes:
            notes.append(
                f"Column {rule.name!r} has a number far from all others that often means a missing value, such "
                "as -9, 99 or 999: it counts as a value unless `missing_values` lists it."
            )
    return notes


def _share_of_one(rule: SensitiveRule, data: Source, names: Sequence[str], engine: Engine) -> float:
    """Return the share of rows in classes whose rows with a value have one value."""
    read = SensitiveValueMap.of([rule], data.schema)
    counted = engine.map_batches(data, read, read.schema, same_rows=True)
    (cells,) = engine.count_sets(counted, [(*names, rule.name)])
    rows: dict[tuple[Any, ...], int] = {}
    values: dict[tuple[Any, ...], int] = {}
    for *group, value, count in zip(*(column.to_pylist() for column in cells.columns), strict=True):
        key = tuple(group)
        rows[key] = rows.get(key, 0) + count
        values[key] = values.get(key, 0) + (value is not None or rule.missing_is_value)
    return sum(count for key, count in rows.items() if values[key] == 1) / max(sum(rows.values()), 1)


# --- cells as they count ---------------------------------------------------------------------------------------------


def read_schema(schema: pa.Schema, names: Iterable[str]) -> pa.Schema:
    """Return names and types of columns as they count: categories as strings."""
    return pa.schema([(name, _plain_type(schema.field(name).type)) for name in names])


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def as_counted(cells: pa.Array, no_values: frozenset[str]) -> pa.Array:
    """Return the cells of a sensitive column as they count: strings folded, marks for a missing cell missing."""
    kind = _plain_type(cells.type)
    if not pa.types.is_string(kind):
        return cells
    coded = cells if isinstance(cells, pa.DictionaryArray) else pc.dictionary_encode(cells)
    folded = [None if text is None else folded_text(text) for text in coded.dictionary.to_pylist()]
    values = pa.array([None if text in no_values else text for text in folded], pa.string())
    return values.take(coded.indices)


@dataclass(frozen=True, kw_only=True, eq=False)
class SensitiveValueMap:
    """Batch function that puts what counts as a value in the place of the cells of sensitive columns."""

    no_values: Mapping[str, frozenset[str]]
    """By sensitive column."""
    schema: pa.Schema

    @classmethod
    def of(cls, rules: Sequence[SensitiveRule], schema: pa.Schema) -> SensitiveValueMap:
        """Read the columns of the rules that are there, and leave the others."""
        marks = {
            rule.name: rule.no_values for rule in rules if rule.no_values is not None and rule.name in schema.names
        }
        kinds = [(field.name, _plain_type(field.type) if field.name in marks else field.type) for field in schema]
        return cls(no_values=marks, schema=pa.schema(kinds))

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the same rows."""
        cells = [
            as_counted(batch.column(name), self.no_values[name]) if name in self.no_values else batch.column(name)
            for name in self.schema.names
        ]
        return pa.RecordBatch.from_arrays(cells, schema=self.schema)


@dataclass(frozen=True, kw_only=True, eq=False)
class UsableValues:
    """Batch function that returns the sensitive values of the rows that may be released."""

    rules: tuple[SensitiveRule, ...]
    schema: pa.Schema
    """The columns of the rules, and the unit as its keys."""
    needed: tuple[str, ...]
    unit: str | None

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Leave out rows that miss a needed cell, or have no unit."""
        dropped = any_missing(batch, self.needed) | are_nobodys(batch, self.unit)
        usable = batch.filter(pa.array(~dropped)) if dropped.any() else batch
        return SensitiveValueMap.of(self.rules, self.schema)(usable.select(self.schema.names), row)
