# SPDX-License-Identifier: Apache-2.0
"""How diverse a sensitive attribute is inside equivalence classes: l, t, alpha, beta of the worst class.

Sources: Machanavajjhala et al. 2007 (l, entropy l, recursive (c, l)), Li et al. 2007 (t), Wong et al. 2006 (alpha),
Cao and Karras 2012 (beta).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]

NOTHING: Mapping[str, float] = {"l": 0.0, "entropy_l": 0.0, "t": 0.0, "alpha": 0.0, "beta": 0.0}
"""What a table without rows has."""
_LEAST = ("l", "entropy_l")
"""The worst class has the least of these, and the most of all others."""


def diversity_of(
    classes: Numbers, values: Numbers, counts: Numbers, ordered: bool, recursive: Sequence[int] = (2, 3)
) -> dict[str, float]:
    """Return what the worst class of a table has, from counts of (class, value), each pair once.

    Parameters
    ----------
    classes, values : array of int, shape (n_pairs,)
        Dense codes; values in their order when `ordered`.
    counts : array, shape (n_pairs,)
        Rows, above 0.
    ordered : bool
        True: t is the ordered distance, else the equal one.
    recursive : sequence of int
        Values of l for recursive (c, l)-diversity.
    """
    order = np.lexsort((values, classes))
    overall = np.bincount(values, counts)
    pairs = (classes[order], values[order], counts[order])
    return worst_class([pairs], overall, ordered, recursive)


def worst_class(
    parts: Iterable[tuple[Numbers, Numbers, Numbers]],
    overall: Numbers,
    ordered: bool,
    recursive: Sequence[int] = (2, 3),
) -> dict[str, float]:
    """Return what the worst class of a table has, from its pairs in parts; a part is looked at and let go.

    Parameters
    ----------
    parts : iterable of (classes, values, counts)
        As in `diversity_of`, each sorted by class and value; no class is in two parts, no part is empty.
    overall : array, shape (n_values,)
        Rows of each value in the whole table.
    """
    shares = overall / overall.sum()
    found: dict[str, float] = {}
    for classes, values, counts in parts:
        starts = np.flatnonzero(np.diff(classes, prepend=classes[0] - 1))
        for name, value in _worst(starts, values, counts, shares, ordered, recursive).items():
            worse = min if name in _LEAST else max
            found[name] = worse(found.get(name, value), value)
    return {name: value for name, value in found.items() if np.isfinite(value)}


def _worst(
    starts: Numbers, values: Numbers, counts: Numbers, overall: Numbers, ordered: bool, recursive: Sequence[int]
) -> dict[str, float]:
    """Return the worst of some classes; `starts` are the places of their first pairs."""
    lengths = np.diff(starts, append=values.size)
    classes = np.repeat(np.arange(starts.size), lengths)
    size = np.add.reduceat(counts, starts)
    share = counts / size[classes]
    moved = (
        _earth_mover(starts, values, _up_to(starts, counts) / size[classes], overall)
        if ordered
        else _variation(starts, values, share, overall)
    )
    out = {
        "l": float(lengths.min()),
        "entropy_l": float(np.exp(np.add.reduceat(-share * np.log(share), starts)).min()),
        "alpha": float(share.max()),
        "beta": float((share / overall[values]).max()) - 1,
        "t": float(moved.max()),
    }
    ranked = counts[np.lexsort((-counts, classes))]
    place = np.arange(counts.size) - np.repeat(starts, lengths)
    for l in recursive:  # noqa: E741
        tail = np.add.reduceat(ranked * (place >= l - 1), starts)
        with np.errstate(divide="ignore"):
            out[f"recursive_c_{l}"] = float((ranked[starts] / tail).max())
    return out


def _variation(starts: Numbers, values: Numbers, share: Numbers, overall: Numbers) -> Numbers:
    """Return half the sum of absolute differences, shape (n_classes,)."""
    q = overall[values]
    return np.asarray(np.add.reduceat(np.abs(share - q) - q, starts) + 1) / 2


def _up_to(starts: Numbers, counts: Numbers) -> Numbers:
    """Return the running sum of the counts inside each class: whole numbers, so nothing is rounded."""
    running = np.cumsum(counts)
    before = np.concatenate([[0], running[starts[1:] - 1]])
    return np.asarray(running - np.repeat(before, np.diff(starts, append=counts.size)))


def _earth_mover(starts: Numbers, values: Numbers, reached: Numbers, overall: Numbers) -> Numbers:
    """Return the ordered distance of each class to the table, shape (n_classes,).

    `reached` is the share of its class up to a pair.

    It is the area between two distribution functions. That of a class is constant between two values of the class, and
    that of the table ascends: they cross once there, and sums of the table's function on both sides of the crossing
    give the area. So the work is by the pairs, not by classes times values.
    """
    n_values = overall.size
    below = np.cumsum(overall)
    area = np.concatenate([[0.0], np.cumsum(below)])
    ends = np.append(values[1:], n_values)
    ends[starts[1:] - 1] = n_values
    between = _area(reached, values, ends, below, area)
    before = area[values[starts]]
    return np.asarray(np.add.reduceat(between, starts) + before) / max(n_values - 1, 1)


def _area(level: Numbers, first: Numbers, end: Numbers, below: Numbers, area: Numbers) -> Numbers:
    """Return the sum of |level - below[j]| over first <= j < end, for ascending `below` with running sums `area`."""
    crossing = np.clip(np.searchsorted(below, level), first, end)
    left = level * (crossing - first) - (area[crossing] - area[first])
    right = area[end] - area[crossing] - level * (end - crossing)
    return np.asarray(left + right)
