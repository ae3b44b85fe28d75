# SPDX-License-Identifier: Apache-2.0
"""Risk of each class in a population of which the table is a simple random sample, worked out from class sizes alone.

The owner's side evaluates hypergeometric functions; here the same expectation follows from a recurrence and a series.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.checks.against_population import OF_WEIGHTS, SIMPLE_SAMPLE

BY_CONSTRUCTION = "0 by construction"
"""Statement on unique rows where no class has a single one."""
_RECURRENT = 64  # rows up to which the recurrence is used; beyond, the series falls fast at any fraction
_TERMS = 200


def expected_risks(sizes: Iterable[int], fraction: float) -> dict[int, float]:
    """Return E[1 / F | f] for classes of f rows: what an attacker who picks anybody of the population's class gains.

    Parameters
    ----------
    sizes : iterable of int
        Rows of a class, f, at least 1.
    fraction : float
        Sampling fraction p, in (0, 1].

    Returns
    -------
    dict
        By size, in (0, 1].

    Notes
    -----
    With F given f negative binomial (Benedetti and Franconi 1998) it is the integral of s^(f-1) p / (p + q s) over s
    from 0 to 1, q = 1 - p. So the value for f + 1 is p / q (1 / f - the value for f), and that for 1 is
    p / q log(1 / p). Where p > 1 / 2, or f is large, its series in q is used: p / f times the sum of
    k! q^k / ((f + 1) ... (f + k)).
    """
    wanted = sorted(set(sizes))
    if fraction == 1:
        return {size: 1 / size for size in wanted}
    found, odds = {}, fraction / (1 - fraction)
    value, at = odds * math.log(1 / fraction), 1
    for size in wanted:
        if fraction > 1 / 2 or size > _RECURRENT:
            found[size] = _by_series(size, fraction)
            continue
        while at < size:
            value, at = odds * (1 / at - value), at + 1
        found[size] = value
    return found


def _by_series(size: int, fraction: float) -> float:
    term = total = 1.0
    for k in range(1, _TERMS):
        term *= k * (1 - fraction) / (size + k)
        total += term
    return fraction / size * total


def risks_by_people(sizes: NDArray[np.int64], people: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the same expectation of classes that represent so many people each, by the recurrence and the series.

    Parameters
    ----------
    sizes : int64 array, shape (n_classes,)
        Rows of each class, at least 1.
    people : float64 array, shape (n_classes,)
        People of the population that these represent, at least as many.

    Returns
    -------
    float64 array, shape (n_classes,)
    """
    f = sizes.astype(np.float64)
    p = f / people
    q = 1 - p
    by_series = (p > 1 / 2) | (sizes > _RECURRENT)
    risks = np.empty_like(p)
    term, total = np.ones(int(by_series.sum())), np.ones(int(by_series.sum()))
    for k in range(1, _TERMS):
        term = term * k * q[by_series] / (f[by_series] + k)
        total += term
    risks[by_series] = p[by_series] / f[by_series] * total
    rest = np.flatnonzero(~by_series)
    odds = p[rest] / q[rest]
    value = -odds * np.log(p[rest])
    for at in range(1, int(sizes[rest].max(initial=1))):
        more = sizes[rest] > at
        value[more] = odds[more] * (1 / at - value[more])
    risks[rest] = value
    return risks


def estimates_by_weights(sizes: NDArray[np.int64], weights: NDArray[np.float64]) -> dict[str, Any] | None:
    """Return the `population` block for classes each of whose rows has one weight; None where these are relative.

    Parameters
    ----------
    sizes : int64 array, shape (n_classes,)
        Rows of each class.
    weights : float64 array, shape (n_classes,)
        The weight of each of them.

    Returns
    -------
    dict or None
        None where the weights add up to fewer people than there are rows: then they say nothing of a population.
    """
    stand_for = sizes * weights
    total, records = math.fsum(stand_for.tolist()), int(sizes.sum())
    if not total >= records or not records:
        return None
    risks = risks_by_people(sizes, np.maximum(stand_for, sizes))
    expected = math.fsum((sizes * risks).tolist())
    return {
        "basis": "weights",
        "assumption": OF_WEIGHTS,
        "estimates": {
            "population_size": total,
            "individual": {"max": float(risks.max()), "mean": expected / records, "sum": expected},
            "uniques": BY_CONSTRUCTION,
        },
    }


def estimates_of(
    class_sizes: Sequence[tuple[int, int]], fraction: float, size: int | None, uniques: object
) -> dict[str, Any]:
    """Return the `population` block for a table of such classes.

    Parameters
    ----------
    class_sizes : sequence of (int, int)
        (size, number of classes), ascending.
    fraction : float
        Sampling fraction, in (0, 1].
    size : int, optional
        People of the population, where these are what is known.
    uniques : object
        Statement on the population's unique rows.
    """
    risks = expected_risks((each for each, _ in class_sizes), fraction)
    records = sum(each * classes for each, classes in class_sizes)
    expected = math.fsum(each * classes * risks[each] for each, classes in class_sizes)
    return {
        "basis": "fraction" if size is None else "size",
        "assumption": SIMPLE_SAMPLE,
        "estimates": {
            **({} if size is None else {"population_size": size}),
            "sampling_fraction": fraction,
            "individual": {
                "max": max(risks.values(), default=0.0),
                "mean": expected / records if records else 0.0,
                "sum": expected,
            },
            "by_size": [{"size": each, "classes": classes, "risk": risks[each]} for each, classes in class_sizes],
            "uniques": uniques,
        },
    }
