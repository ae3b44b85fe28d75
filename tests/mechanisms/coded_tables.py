"""Hypothesis strategies for coded tables and requirements, and the plain definitions they are checked against."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from anonkit.mechanisms.coding import CodedColumn
from anonkit.mechanisms.equivalence import (
    AlphaK,
    AtLeastK,
    DistinctL,
    EntropyL,
    RecursiveCL,
    Requirement,
    TCloseness,
)

SENSITIVE_VALUES = 3


def coded(
    name: str, codes: Any, *, size: int | None = None, ordered: bool = False, missing: bool = False
) -> CodedColumn:
    """Return a column of made-up values; the last is missing when asked."""
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
    """Draw k-anonymity, of rows or people, and perhaps one more requirement."""
    k = draw(st.integers(2, 5))
    units = draw(st.none() | arrays(n_rows, max(1, n_rows // 2)))
    sensitive = draw(arrays(n_rows, SENSITIVE_VALUES))
    more: list[Requirement] = [
        DistinctL(sensitive, 2),
        EntropyL(sensitive, 1.6),
        RecursiveCL(sensitive, 2.0, 2),
        AlphaK(sensitive, 0.6),
    ]
    if t_closeness:
        more += [TCloseness(sensitive, 0.3), TCloseness(sensitive, 0.3, ordered=True)]
    extra = draw(st.sampled_from([None, *more]))
    return [AtLeastK(k, units)] if extra is None else [AtLeastK(k, units), extra]


def plainly_meets(requirement: Requirement, rows: Sequence[int], kept: Sequence[int]) -> bool:
    """Tell from the definition whether a class (its rows) meets a requirement, in a release of the kept rows."""
    if isinstance(requirement, AtLeastK):
        return (len(rows) if requirement.units is None else len(set(requirement.units[rows].tolist()))) >= requirement.k
    values = requirement.attributes[0]
    counts = Counter(values[list(rows)].tolist())
    shares = {value: count / len(rows) for value, count in counts.items()}
    if isinstance(requirement, DistinctL):
        return len(counts) >= requirement.l
    if isinstance(requirement, EntropyL):
        return math.exp(-sum(p * math.log(p) for p in shares.values())) >= requirement.l - 1e-9
    if isinstance(requirement, RecursiveCL):
        descending = sorted(counts.values(), reverse=True)
        return descending[0] < requirement.c * sum(descending[requirement.l - 1 :])
    if isinstance(requirement, AlphaK):
        return max(shares.values()) <= requirement.alpha + 1e-9
    assert isinstance(requirement, TCloseness)
    everywhere = Counter(values[list(kept)].tolist())
    overall = {value: count / len(kept) for value, count in everywhere.items()}
    support = sorted(set(overall) | set(shares))
    gaps = [shares.get(value, 0.0) - overall.get(value, 0.0) for value in support]
    if requirement.ordered:
        distance = sum(abs(sum(gaps[: at + 1])) for at in range(len(gaps))) / max(len(support) - 1, 1)
    else:
        distance = sum(abs(gap) for gap in gaps) / 2
    return distance <= requirement.t + 1e-9


def classes_of(columns: Sequence[np.ndarray], rows: Sequence[int]) -> list[list[int]]:
    """Group rows by their combination of codes."""
    found: dict[tuple[int, ...], list[int]] = {}
    for row in rows:
        found.setdefault(tuple(int(column[row]) for column in columns), []).append(row)
    return list(found.values())


def holds(columns: Sequence[np.ndarray], kept: np.ndarray, asked: Sequence[Requirement]) -> bool:
    """Tell from the definitions whether every class of the kept rows meets everything asked."""
    rows = np.flatnonzero(kept).tolist()
    return all(plainly_meets(one, group, rows) for group in classes_of(columns, rows) for one in asked)
