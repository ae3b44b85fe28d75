# SPDX-License-Identifier: Apache-2.0
"""Domains taken from a table when the owner allows it, so that no single person can be inferred from them.

This limits harm and is no differential privacy: a category depends on the tenth person that has it. Every
file of a release states that its claim is conditional on these domains being public knowledge.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.domains.cell_values import key_of_text, number_of_text
from anonkit.domains.coded_columns import CodedColumn, category_value
from anonkit.domains.named_parts import roundest_between
from anonkit.errors import PolicyError, option
from anonkit.policy.calendar_columns import calendar_of_texts, calendar_of_type, days_of, within_days
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.target_task import Task, as_numbers, task_from_declaration
from anonkit.protocols import Engine, Source, is_too_large, sample_to_search
from anonkit.randomness import Randomness

MIN_PEOPLE = 10
"""Least number of people that share a category, or lie beyond a bound, that is read from a table, by default."""

_RANDOMIZED = (Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.TARGET)

_CODE = re.compile(r"\s*0[0-9]")
"""A string of digits that begins with a zero, such as a postal code: nobody writes a quantity so."""

_Codes = NDArray[np.int64]


def with_domains_of(policy: Policy, source: Source, engine: Engine, min_people: int = MIN_PEOPLE) -> Policy:
    """Return the policy with domains read from a table where none are declared.

    Numbers get bounds: round numbers at or beyond which at least so many people lie at either end, and at most twice
    as many where values allow it; what lies beyond is clamped. Where all of them are whole, the column is one of
    integers. Dates and moments get bounds at the ends of parts of the calendar: at least so many people are in the
    first part or before it, and in the last or after it. Everything else, and what has no such bounds, gets the
    categories that at least so many people share; other values are outside the domain, and rows with another class have
    no class. A target has categories, or bounds where it is declared to be a number to predict.
    An undeclared column in which no value is so common is taken for an identifier. People are the units where a unit is
    declared, else rows. Of a table that does not fit into memory, the same keyed sample of rows is read each time.

    Parameters
    ----------
    policy : Policy
        With the role of every column.
    min_people : int
        In [2, inf), as a request for a release checks: one would publish what one person has.

    Returns
    -------
    Policy
        `domains_from_data` and `identifiers_from_data` name the columns.

    Raises
    ------
    PolicyError
        No value of a column with a declared role is so common, or fewer than two classes of the target are.

    Privacy
    -------
    Such a domain discloses which categories are common and how far numbers reach. A promise that rests on it holds only
    if it is public knowledge all the same.
    """
    undeclared = [
        name
        for name in policy.names(*_RANDOMIZED)
        if (column := policy.column(name)).categories is None
        and column.bounds is None
        and column.tree is None
        and not column.has_bins
    ]
    rows = source
    if is_too_large(source, engine):
        rows = sample_to_search(source, engine, Randomness.seeded(0).child("domains"))
    people = None if policy.unit is None else _people(engine.encode(rows, [policy.unit])[0])
    columns = dict(policy.columns)
    left_out = []
    for name in undeclared:
        column = columns[name]
        (coded,) = engine.encode(rows, [name])
        if _is_number_to_predict(column, policy):
            columns[name] = _with_bounds(column, coded, people, min_people)
            continue
        columns[name] = _with_domain(column, coded, people, source.schema.field(name).type, min_people)
        if columns[name] is column:
            _refuse_declared(column, policy, min_people)
            columns[name] = replace(column, role=Role.IDENTIFIER)
            left_out.append(name)
    return replace(
        policy,
        columns=columns,
        domains_from_data=tuple(name for name in undeclared if name not in left_out),
        whole_from_data=tuple(
            name for name in undeclared if columns[name].step is not None and policy.column(name).step is None
        ),
        identifiers_from_data=(*policy.identifiers_from_data, *left_out),
        domains_min_people=min_people,
    )


def _is_number_to_predict(column: Column, policy: Policy) -> bool:
    """Return True if the column is a target that is declared to be a number; its cells never decide on it."""
    return column.role is Role.TARGET and task_from_declaration(column, policy.task) is Task.REGRESSION


def _refuse_declared(column: Column, policy: Policy, min_people: int) -> None:
    who = "rows" if policy.unit is None else "people"
    if column.role is Role.TARGET:
        raise PolicyError(
            f"target {column.name!r} has fewer than two classes that {min_people} {who} share",
            f"declare its categories in the policy, or name another {option('target')}",
        )
    if column.role is not Role.QUASI_IDENTIFIER or policy.declares(column.name):
        raise PolicyError(
            f"column {column.name!r} has no value that {min_people} {who} share: no domain can be read from it",
            "declare its categories or bounds in the policy, or role insensitive to leave it out",
        )


def _people(unit: CodedColumn) -> _Codes:
    """Return one number a person for every row, -1 for rows of nobody: 12, 12.0 and 012 are one person."""
    number: dict[str | None, int] = {}
    keys = [None if value is None else key_of_text(str(value)) for value in unit.values]
    lookup = np.array([-1 if key is None else number.setdefault(key, len(number)) for key in keys], dtype=np.int64)
    return lookup[unit.codes] if unit.size else np.zeros(0, dtype=np.int64)


def _with_domain(
    column: Column, coded: CodedColumn, people: _Codes | None, kind: pa.DataType, min_people: int
) -> Column:
    """Return the column with a domain, or the very same when no value is common enough."""
    values, codes, whose = _of_people(coded, people)
    calendar = calendar_of_type(column, kind) or calendar_of_texts(column, values)
    if calendar is not None and column.role is not Role.TARGET:
        days, read = days_of(values, calendar)
        of_rows = read[codes]
        ends = outermost_people(days[codes][of_rows].astype(np.float64), whose[of_rows], min_people)
        ranged = None if ends is None else within_days(column, calendar, int(ends[0][0]), int(ends[1][1]))
        if ranged is not None:
            return ranged
    numbers = None if column.role is Role.TARGET else _numbers(values, kind)
    if numbers is not None:
        bounds = bounds_of_people(numbers[codes], whose, min_people)
        if bounds is not None:
            return _in_whole_numbers(replace(column, bounds=bounds), numbers)
    listed = _common(values, codes, whose, min_people, texts_alone=column.compares_texts)
    enough = len(listed) >= (2 if column.role is Role.TARGET else 1)
    return replace(column, categories=tuple(listed)) if enough else column


def _with_bounds(column: Column, coded: CodedColumn, people: _Codes | None, min_people: int) -> Column:
    """Return a target to predict with bounds of its numbers; cells that hold none do not count.

    Raises
    ------
    PolicyError
        Too few people lie at either end of any bounds.
    """
    values, codes, whose = _of_people(coded, people)
    numbers = as_numbers(values)
    bounds = bounds_of_people(numbers[codes], whose, min_people)
    if bounds is None:
        raise PolicyError(
            f"target {column.name!r} has too few numbers to read bounds from that {min_people} people lie at or beyond",
            "declare bounds = [low, high] in the policy",
        )
    return _in_whole_numbers(replace(column, bounds=bounds), numbers)


def _in_whole_numbers(column: Column, numbers: NDArray[np.float64]) -> Column:
    """Return the column as one of integers where all its numbers are, and nothing is declared of them."""
    finite = numbers[np.isfinite(numbers)]
    if column.whole_values is not None or not bool((finite == np.round(finite)).all()):
        return column
    stepped = replace(column, is_whole_by_type=True)
    return replace(column, step=1.0) if stepped.whole_values is not None else column


def _of_people(coded: CodedColumn, people: _Codes | None) -> tuple[list[Any], _Codes, _Codes]:
    """Return the values of a column, and of every row of somebody the code of its value and whose it is."""
    present = len(coded.values) - (coded.missing is not None)
    rows = np.flatnonzero(coded.codes < present)
    codes = coded.codes[rows].astype(np.int64)
    whose = rows if people is None else people[rows]
    return list(coded.values[:present]), codes[whose >= 0], whose[whose >= 0]


def _numbers(values: Sequence[Any], kind: pa.DataType) -> NDArray[np.float64] | None:
    """Return the values as numbers when all of them are, shape (n_values,)."""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return np.array(values, dtype=np.float64)
    if not values or pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
        return None
    if any(_CODE.match(str(value)) for value in values):
        return None
    read = [number_of_text(str(value)) for value in values]
    return None if any(number is None for number in read) else np.array(read, dtype=np.float64)


def bounds_of_people(numbers: NDArray[np.float64], whose: _Codes, min_people: int) -> tuple[float, float] | None:
    """Return round bounds at or beyond which at least so many people lie at either end; None when they would meet.

    Parameters
    ----------
    numbers : ndarray of shape (n,)
        Cells that are not missing.
    whose : ndarray of shape (n,)
        The person of each cell.

    Notes
    -----
    A person counts at an end by the outermost of their numbers. With the people in that order, the bound is the
    roundest number between the number of the person `min_people` and that of the person twice as far in, or their
    common number, which more than `min_people` people then have.
    """
    finite = np.isfinite(numbers)
    ends = outermost_people(numbers[finite], whose[finite], min_people)
    if ends is None:
        return None
    low, high = _round_between(*ends[0], up=True), _round_between(*ends[1], up=False)
    return (low, high) if low < high else None


def outermost_people(
    numbers: NDArray[np.float64], whose: _Codes, min_people: int
) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Return between which numbers a bound may lie at either end; None where there are too few people.

    Parameters
    ----------
    numbers : ndarray of shape (n,)
        Finite.
    whose : ndarray of shape (n,)
        The person of each.
    min_people : int

    Returns
    -------
    pair of pairs of float
        Of the lowest numbers of people that of number `min_people` and that of the one twice as far in; of the highest
        ones the same, ascending.
    """
    _, person = np.unique(whose, return_inverse=True)
    n_people = int(person.max(initial=-1)) + 1
    if n_people < 2 * min_people:
        return None
    least, most = np.full(n_people, np.inf), np.full(n_people, -np.inf)
    np.minimum.at(least, person, numbers)
    np.maximum.at(most, person, numbers)
    least.sort()
    most.sort()
    low = float(least[min_people - 1]), float(least[2 * min_people - 1])
    return low, (float(most[-2 * min_people]), float(most[-min_people]))


def _round_between(low: float, high: float, *, up: bool) -> float:
    """Return the roundest number c with low < c <= high, or low <= c < high to go up; their value when they are one."""
    if low == high:
        return low
    # mirrored, the half-open interval is closed at the end beyond which people are counted
    return 0.0 - float(roundest_between(-high, -low)) if up else float(roundest_between(low, high))  # type: ignore[arg-type]


def _common(values: Sequence[Any], codes: _Codes, whose: _Codes, min_people: int, *, texts_alone: bool) -> list[str]:
    """Return the categories that enough people have, in the order of the values.

    Unless strings alone are compared, all spellings of one exact number are one category, named by the commonest one.
    """
    labels = [str(category_value(value, False)) for value in values]
    group_of: dict[str, int] = {}
    groups = [
        group_of.setdefault(label if texts_alone else key_of_text(label) or label, len(group_of)) for label in labels
    ]
    of_value = np.array(groups, dtype=np.int64)
    people_of_group = _people_of(of_value[codes], whose, len(group_of))
    alone = _people_of(codes, whose, len(labels))
    named: dict[int, int] = {}
    for at, group in enumerate(groups):
        if people_of_group[group] >= min_people and (group not in named or alone[at] > alone[named[group]]):
            named[group] = at
    return [labels[named[group]] for group in dict.fromkeys(groups) if group in named]


def _people_of(codes: _Codes, whose: _Codes, size: int) -> _Codes:
    """Return the number of different people with each code, shape (size,)."""
    span = int(whose.max(initial=0)) + 1
    pairs = np.unique(codes * span + whose)
    return np.bincount(pairs // span, minlength=size)
