# SPDX-License-Identifier: Apache-2.0
"""Strict equality of two statements in a release, as strict as the readers of its files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from anonkit.promises.guarantee import Check

_FIGURE = 1e-9
"""Relative difference of two figures that were computed in the same way on two machines."""


def same(left: object, right: object, *, tolerance: float = 0.0) -> bool:
    """Return True if two JSON values are the same: keys in any order, 2 and 2.0 alike, true and 1 not.

    Parameters
    ----------
    tolerance : float
        Relative difference of two numbers that are no whole ones.
    """
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[key], right[key], tolerance=tolerance) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(
            same(element, other, tolerance=tolerance) for element, other in zip(left, right, strict=True)
        )
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right or (
            tolerance > 0 and isinstance(left, float) and math.isclose(left, right, rel_tol=tolerance)
        )
    return type(left) is type(right) and bool(left == right)


def same_figure(left: object, right: object) -> bool:
    """Return True if two measures are the same, up to the rounding of another machine."""
    return same(left, right, tolerance=_FIGURE)


def differing(left: Mapping[str, Any], right: Mapping[str, Any], *, figures: bool = False) -> int:
    """Count the keys of two blocks under which they do not say the same."""
    equal = same_figure if figures else same
    return sum(
        key not in left or key not in right or not equal(left[key], right[key]) for key in left.keys() | right.keys()
    )


def none_of(name: str, number: int) -> Check:
    """Return the check that nothing was found."""
    return Check(name=name, passed=number == 0, observed=int(number), required=0)  # True is no number in JSON


def counted(value: object) -> int:
    """Return a count as a document states it.

    Raises
    ------
    ValueError
        It is no integer, or below 0.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("not a count")
    return value


def repeated(names: list[Any]) -> int:
    """Count the names that occur more than once."""
    return len(names) - len(set(names))


def named(entries: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the entries of a list of blocks with their names."""
    for entry in entries:
        yield entry["name"], entry
