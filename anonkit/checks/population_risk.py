# SPDX-License-Identifier: Apache-2.0
"""Individual risk of re-identification in the population of which a table is a sample, from the sizes of its classes.

What is known of the population is a file of it, its size, or the sampling fraction. The owner's side evaluates
hypergeometric functions; here the same expectation follows from a recurrence and a series.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.errors import ParameterError, option

SIMPLE_SAMPLE = "the table is a simple random sample of the population"
"""Assumption of an estimate by a size or a fraction of the population."""
OF_WEIGHTS = "the weights say how many people of the population a row stands for"
"""Assumption of an estimate by the weights of a sample."""
WHOLE_POPULATION = "the file lists the whole population, a row a person"
"""Assumption on a file of the population."""


@dataclass(frozen=True, kw_only=True)
class AgainstPopulation:
    """Knowledge of the population: a file of it, its size, or the share of it that the table is; or nothing.

    Raises
    ------
    ParameterError
        More than one is given, or one that is no size or no share; or a k-map is required without a file.
    """

    file: object = None
    """A path, an address or a table: a row is a person. It has the quasi-identifiers, under the same names."""
    size: int | None = None
    """People of the population, at least as many as the table has."""
    fraction: float | None = None
    """Share of the population that the table is, in (0, 1]."""
    k_map: int | None = None
    """Fewest people that the file has to have of every released class, 2 or more; None asks nothing."""

    def __post_init__(self) -> None:
        names = ("population", "population_size", "sampling_fraction")
        given = [
            name for name, value in zip(names, (self.file, self.size, self.fraction), strict=True) if value is not None
        ]
        if len(given) > 1:
            raise ParameterError(f"{option(given[0])} and {option(given[1])} say the same thing", "give one of them")
        if self.size is not None and self.size < 1:
            raise ParameterError(f"population_size ({self.size}) must be at least 1", "people of the population")
        if self.fraction is not None and not 0 < self.fraction <= 1:
            raise ParameterError(
                f"sampling_fraction ({self.fraction}) must be in (0, 1]", "0.01 for one per cent of the population"
            )
        if self.k_map is not None and self.k_map < 2:
            raise ParameterError(f"k_map ({self.k_map}) must be at least 2", "people of every class in the population")
        if self.k_map is not None and self.file is None:
            raise ParameterError("k_map is counted in a file of the population", option("population", "FILE"))

    @classmethod
    def known(
        cls,
        *,
        population: object = None,
        population_size: int | None = None,
        sampling_fraction: float | None = None,
        k_map: int | None = None,
    ) -> AgainstPopulation:
        """Return the known facts by their names in calls, recipes and on the command line."""
        return cls(file=population, size=population_size, fraction=sampling_fraction, k_map=k_map)

    @property
    def is_given(self) -> bool:
        """True if anything is known of the population."""
        return self.basis != "none"

    @property
    def basis(self) -> str:
        """Basis of the estimates."""
        if self.file is not None:
            return "file"
        return "size" if self.size is not None else "fraction" if self.fraction is not None else "none"

    def fraction_of(self, n_people: int, in_file: int | None) -> float | None:
        """Return the share of the population that so many people are; None where it is not known.

        Raises
        ------
        ParameterError
            The stated population is smaller than the table.
        """
        if self.size is not None and self.size < n_people:
            raise ParameterError(
                f"population_size ({self.size}) is smaller than the table ({n_people})", "it counts everybody"
            )
        size = in_file if self.file is not None else self.size
        if size is None:
            return self.fraction
        return n_people / size if size >= n_people else None


BY_CONSTRUCTION = "0 by construction"
"""Statement on unique rows where no class has a single one."""
_RECURRENT = 64
"""Rows up to which the recurrence is used; beyond, the series falls fast at any fraction. A convention."""
_TERMS = 200
"""Terms of the series: with those left out it is smaller by less than 1e-40 of itself."""


def individual_risks(sizes: NDArray[np.int64], fractions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return E[1 / F | f], the risk of a row in a class of f rows here and of F people in the population.

    Parameters
    ----------
    sizes : int64 array, shape (n_classes,)
        Rows of each class, f, at least 1.
    fractions : float64 array, shape (n_classes,)
        Share of the class's people that are in the table, p, in (0, 1]: the sampling fraction, or f over the sum of
        the weights.

    Returns
    -------
    float64 array, shape (n_classes,)
        In (0, 1].

    Notes
    -----
    With F given f negative binomial (Benedetti and Franconi 1998) it is the integral of s^(f-1) p / (p + q s) over s
    from 0 to 1, q = 1 - p. So the value for f + 1 is p / q (1 / f - the value for f), and that for 1 is
    p / q log(1 / p). Where p > 1 / 2, or f is large, its series in q is used: p / f times the sum of
    k! q^k / ((f + 1) ... (f + k)).
    """
    f, p, q = sizes.astype(np.float64), fractions, 1 - fractions
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


def people_by_weights(sizes: NDArray[np.int64], weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return the people that each class represents, and all of them; infinity where they are too many for a float."""
    with np.errstate(over="ignore"):
        people = sizes * weights
    try:
        return people, math.fsum(people.tolist())
    except OverflowError:
        return people, math.inf


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
        None where the weights add up to fewer people than there are rows, or to infinitely many: then they say nothing
        of a population.
    """
    (people, total), records = people_by_weights(sizes, weights), int(sizes.sum())
    if not records <= total < math.inf or not records:
        return None
    risks = individual_risks(sizes, sizes / np.maximum(people, sizes))
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
    sizes = np.array([size for size, _ in class_sizes], np.int64)
    risks = individual_risks(sizes, np.full(sizes.size, fraction)).tolist()
    records = sum(each * classes for each, classes in class_sizes)
    expected = math.fsum(each * classes * risk for (each, classes), risk in zip(class_sizes, risks, strict=True))
    return {
        "basis": "fraction" if size is None else "size",
        "assumption": SIMPLE_SAMPLE,
        "estimates": {
            **({} if size is None else {"population_size": size}),
            "sampling_fraction": fraction,
            "individual": {
                "max": max(risks, default=0.0),
                "mean": expected / records if records else 0.0,
                "sum": expected,
            },
            "by_size": [
                {"size": each, "classes": classes, "risk": risk}
                for (each, classes), risk in zip(class_sizes, risks, strict=True)
            ],
            "uniques": uniques,
        },
    }
