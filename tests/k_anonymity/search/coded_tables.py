"""Hypothesis strategies for coded tables and requirements, and the plain definitions they are checked against."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from anonkit.domains.coded_columns import CodedColumn
from anonkit.k_anonymity.search.equivalence import (
    AlphaK,
    AtLeastK,
    CapByValue,
    DistinctL,
    EntropyL,
    HistogramRequirement,
    RecursiveCL,
    Requirement,
    TCloseness,
)

SENSITIVE_VALUES = 3


def coded(
    name: str, codes: Any, *, size: int | None = None, ordered: bool = False, missing: bool = False
) -> CodedColumn:
    """Return a column of made-up values; the last is missing on request."""
    codes = np.asarray(codes, dtype=np.int32)
    size = int(codes.max(initial=-1)) + 1 if size is None else size
    values: list[object] = [float(code) if ordered else f"v{code}" for code in range(size)]
    if missing:
        values[-1] = None
    return CodedColumn(name=name, codes=codes, values=values, ordered=ordered)


def arrays(n_rows: int, size: int) -> st.SearchStrategy[np.ndarray]:
    """Return codes in [0, size) for every row."""
    return st.lists(st.integers(0, size - 1), min_size=n_rows, max_size=n_rows).map(lambda x: np.array(x, np.int64))


@st.composite
def tables(draw: st.DrawFn, max_rows: int = 40, max_columns: int = 3) -> list[CodedColumn]:
    """Draw a table of ordered and categorical columns, some with missing values."""
    n_rows = draw(st.integers(1, max_rows))
    columns = []
    for at in range(draw(st.integers(1, max_columns))):
        size = draw(st.integers(1, 5))
        ordered, missing = draw(st.booleans()), draw(st.booleans())
        columns.append(coded(f"c{at}", draw(arrays(n_rows, size)), size=size, ordered=ordered, missing=missing))
    return columns


@st.composite
def requirements(draw: st.DrawFn, n_rows: int, *, t_closeness: bool = True) -> list[Requirement]:
    """Draw k-anonymity, and perhaps one more requirement, of rows or of people, missing being a value or not."""
    k = draw(st.integers(2, 5))
    units = draw(st.none() | arrays(n_rows, max(1, n_rows // 2)))
    sensitive = draw(arrays(n_rows, SENSITIVE_VALUES))
    held: dict[str, Any] = {"units": units, "missing": draw(st.sampled_from([None, 0]))}
    more: list[Requirement] = [
        DistinctL(sensitive, 2, **held),
        EntropyL(sensitive, 1.6, **held),
        RecursiveCL(sensitive, 2.0, 2, **held),
        AlphaK(sensitive, 0.6, **held),
        CapByValue(sensitive, np.array([0.6, 0.8, np.inf]), **held),
        DistinctL(sensitive, 2, ends=np.array([1, 3, 3]), **held),
        AlphaK(sensitive, 0.6, ends=np.array([2, 2, 3]), **held),
        EntropyL(sensitive, 1.6, ends=np.array([2, 3, 3]), **held),
        RecursiveCL(sensitive, 2.0, 2, ends=np.array([2, 3, 3]), **held),
    ]
    if t_closeness:
        more += [TCloseness(sensitive, 0.3, **held), TCloseness(sensitive, 0.3, ordered=True, **held)]
    extra = draw(st.sampled_from([None, *more]))
    return [AtLeastK(k, units)] if extra is None else [AtLeastK(k, units), extra]


def plainly_meets(requirement: Requirement, rows: Sequence[int], kept: Sequence[int]) -> bool:
    """Return by definition whether a class (its rows) meets a requirement, in a release of the kept rows."""
    if isinstance(requirement, AtLeastK):
        return (len(rows) if requirement.units is None else len(set(requirement.units[rows].tolist()))) >= requirement.k
    assert isinstance(requirement, HistogramRequirement)
    counts, holders = plainly_held(requirement, rows, everything=False)
    left, division = holders, []
    is_grouped = isinstance(requirement, EntropyL | RecursiveCL) and requirement.ends is not None
    for count in plainly_grouped(requirement.ends, counts) if is_grouped else sorted(counts.values(), reverse=True):
        division.append(min(count, left))
        left -= division[-1]
    division = [count for count in division if count]
    shares = {value: min(count, holders) / holders for value, count in counts.items()} if holders else {}
    if isinstance(requirement, DistinctL) and requirement.ends is not None:
        return plainly_apart(requirement.ends, counts, holders) >= requirement.l
    if isinstance(requirement, DistinctL):
        return len(division) >= requirement.l
    if isinstance(requirement, EntropyL):
        p = [count / holders for count in division]
        return bool(p) and math.exp(-sum(x * math.log(x) for x in p)) >= requirement.l - 1e-9
    if isinstance(requirement, RecursiveCL):
        return bool(division) and division[0] < requirement.c * sum(division[requirement.l - 1 :])
    if isinstance(requirement, CapByValue):
        members = len(rows) if requirement.units is None else len(set(requirement.units[rows].tolist()))
        return all(min(count, members) / members <= requirement.caps[value] + 1e-9 for value, count in counts.items())
    if isinstance(requirement, AlphaK):
        ends = requirement.ends if requirement.ends is not None else np.arange(SENSITIVE_VALUES) + 1
        near = (sum(counts.get(one, 0) for one in range(value, ends[value])) for value in counts)
        return not holders or max(min(n, holders) / holders for n in near) <= requirement.alpha + 1e-9
    assert isinstance(requirement, TCloseness)
    everywhere, anybody = plainly_held(requirement, kept, everything=True)
    support = sorted(everywhere)
    gaps = [shares.get(value, 0.0) - min(everywhere[value], anybody) / anybody for value in support]
    if not holders:
        return requirement.t >= 1
    if requirement.ordered:
        upward = sum(abs(sum(gaps[: at + 1])) for at in range(len(gaps) - 1))
        downward = sum(abs(sum(gaps[at + 1 :])) for at in range(len(gaps) - 1))
        distance = max(upward, downward) / max(len(support) - 1, 1)
    else:
        distance = max(sum(gap for gap in gaps if gap > 0), -sum(gap for gap in gaps if gap < 0))
    return min(distance, 1.0) <= requirement.t + 1e-9


def plainly_apart(ends: Sequence[int], counts: dict[int, int], holders: int) -> int:
    """Count values that lie behind the end of the last one counted, but for the rarest that nobody need have alone."""
    chosen: list[int] = []
    for value in sorted(counts):
        if not chosen or value >= ends[chosen[-1]]:
            chosen.append(value)
    surplus, spare = sum(counts.values()) - holders, 0
    for count in sorted(counts[value] for value in chosen):
        surplus -= count
        spare += surplus >= 0
    return len(chosen) - spare


def plainly_grouped(ends: Sequence[int], counts: dict[int, int]) -> list[int]:
    """Take the values within an end that most hold together, the least first among equals, until none is left."""
    left, groups = dict(counts), []
    while left:
        near = {value: [one for one in left if value <= one < ends[value]] for value in sorted(left)}
        first = max(near, key=lambda value: (sum(left[one] for one in near[value]), -value))
        groups.append(sum(left.pop(one) for one in near[first]))
    return groups


def of_people(requirement: Requirement) -> bool:
    """Return whether requirements are on the values of people: these are not monotone for people in several classes."""
    return isinstance(requirement, HistogramRequirement) and requirement.units is not None


def plainly_held(
    requirement: HistogramRequirement, rows: Sequence[int], *, everything: bool
) -> tuple[dict[int, int], int]:
    """Count who holds each value in some rows, and any: one person's several rows count as two people."""
    valued = [row for row in rows if requirement.sensitive[row] != requirement.missing]
    values = requirement.sensitive[valued].tolist()
    if requirement.units is None:
        return dict(Counter(values)), len(valued)
    pairs = set(zip(values, requirement.units[valued].tolist(), strict=True))
    people = Counter(value for value, _ in pairs)
    told = {value: max(people[value], min(n, 2)) for value, n in Counter(values).items()}
    anybody = len({person for _, person in pairs})
    if everything:
        return told, max(anybody, min(len(valued), 2))
    return told, anybody if len(valued) == len(rows) else anybody if anybody > 2 else min(anybody, 1)


def classes_of(columns: Sequence[np.ndarray], rows: Sequence[int]) -> list[list[int]]:
    """Group rows by their combination of codes."""
    found: dict[tuple[int, ...], list[int]] = {}
    for row in rows:
        found.setdefault(tuple(int(column[row]) for column in columns), []).append(row)
    return list(found.values())


def holds(columns: Sequence[np.ndarray], kept: np.ndarray, asked: Sequence[Requirement]) -> bool:
    """Return by definition whether every class of the kept rows meets all requirements."""
    rows = np.flatnonzero(kept).tolist()
    return all(plainly_meets(one, group, rows) for group in classes_of(columns, rows) for one in asked)
