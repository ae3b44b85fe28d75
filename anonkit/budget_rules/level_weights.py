# SPDX-License-Identifier: Apache-2.0
"""Budget allocation over the levels of a tree, from the root to the leaves, by public weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction


def uniform(levels: int) -> list[Fraction]:
    """Return equal weights."""
    return [Fraction(1)] * levels


def halving(levels: int) -> list[Fraction]:
    """Return half of what is left for each level; the last two get the same."""
    return [Fraction(1, 1 << min(level + 1, levels - 1)) if levels > 1 else Fraction(1) for level in range(levels)]


def arithmetic_ascending(levels: int) -> list[Fraction]:
    """Return 1, 2, ..., h: most for the leaves."""
    return [Fraction(level + 1) for level in range(levels)]


def arithmetic_descending(levels: int) -> list[Fraction]:
    """Return h, ..., 2, 1: most for the root."""
    return [Fraction(levels - level) for level in range(levels)]


def harmonic(levels: int) -> list[Fraction]:
    """Return 1/h, ..., 1/2, 1 (eDPRF)."""
    return [Fraction(1, levels - level) for level in range(levels)]


ALLOCATIONS: Mapping[str, Callable[[int], list[Fraction]]] = {
    "uniform": uniform,
    "halving": halving,
    "arithmetic-ascending": arithmetic_ascending,
    "arithmetic-descending": arithmetic_descending,
    "harmonic": harmonic,
}
