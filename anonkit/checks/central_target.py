# SPDX-License-Identifier: Apache-2.0
"""Validation of the bins of a numeric target: worked out again from the published noisy histogram, by other code.

What follows from noisy counts costs no privacy; what does not follow from them may disclose rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.checks.central_params import Family, PublicFacts, integers
from anonkit.checks.number_cells import fewest
from anonkit.errors import ReleaseFormatError
from anonkit.promises.guarantee import Check

MOST_BINS = 8
_EQUAL_BINS = 8
"""Bins of a target: by its histogram, and of equal width. Part of the format."""
_SIGNIFICANT_DEVIATIONS = 2.0
"""Deviations of its noise from which on a run of cells has rows, as in `dp_trees.additive_model.target_bins`."""
_CLOSE = 1e-9

FloatArray = NDArray[np.float64]


def target_checks(params: Mapping[str, Any], facts: PublicFacts) -> Iterator[Check]:
    """Check the bins of a numeric target; nothing where the target has classes.

    Parameters
    ----------
    params : mapping
    facts : PublicFacts
        Read from the params.
    """
    if facts.target.domain.fine:
        wrong = _wrong_bins(params, facts)
        yield Check(name="target_bins", passed=wrong is None, observed=wrong, required="as rebuilt")


def _wrong_bins(params: Mapping[str, Any], facts: PublicFacts) -> str | None:
    """Return the first fault of the bins, in words; None where they have none."""
    stated, domain = params["target"], facts.target.domain
    if not facts.family.is_stacked:
        bins = facts.parameters["bins"] if facts.family is Family.MARGINALS else _EQUAL_BINS
        equal = (
            "ends" not in stated["domain"]
            and "histogram" not in stated
            and domain.fine == fewest(bins, domain.multiples)
        )
        return None if equal else "other bins than equal ones"
    if "histogram" not in stated or "ends" not in stated["domain"]:
        return "no histogram"
    (rate, bins), counts = integers([stated["histogram"][key] for key in ("rate", "bins")]), _counts(stated)
    rates = [line["rate"] for line in params["accounting"] if line["purpose"] == "values of the target"]
    if rates != [rate] or len(counts) != domain.fine + domain.has_missing or not 1 <= bins <= MOST_BINS:
        return "a histogram that no line speaks of"
    rows = rows_of_cells(counts[: domain.fine], rate)
    if not _ends_fit(rows, domain.ends, bins):
        return "bins that do not follow from the histogram"
    low, high = domain.bounds or (math.nan, math.nan)
    means = _means(rows, domain.ends, domain.grid.middles)
    close = np.abs(np.array(_numbers(stated["domain"]["means"])) - means) <= _CLOSE * (high - low)
    return None if close.all() else "means that do not follow from the histogram"


def _counts(target: Mapping[str, Any]) -> list[int]:
    return integers(target["histogram"]["counts"])


def _numbers(values: Any) -> list[float]:
    if not isinstance(values, list) or any(type(value) not in (int, float) for value in values):
        raise ReleaseFormatError("the means of the params must be numbers, and are not")
    return values


def rows_of_cells(counts: list[int], rate: int) -> FloatArray:
    """Return the rows of each cell that exceed the noise, shape (len(counts),).

    A run of cells is spread evenly unless one of its halves exceeds the noise; then a half that does not has no rows.
    """
    loss = rate / 2**52
    deviation = math.sqrt(2 * math.exp(-loss)) / -math.expm1(-loss)
    out = np.zeros(len(counts))

    def fill(first: int, last: int) -> None:
        middle = (first + last) // 2
        halves = [(first, middle), (middle, last)] if last - first > 1 else []
        loud = [
            (start, stop)
            for start, stop in halves
            if sum(counts[start:stop]) > _SIGNIFICANT_DEVIATIONS * deviation * math.sqrt(stop - start)
        ]
        for start, stop in loud:
            fill(start, stop)
        if not loud:
            out[first:last] = max(0.0, sum(counts[first:last]) / (last - first))

    fill(0, len(counts))
    return out if out.sum() > 0 else np.ones(len(counts))


def _ends_fit(rows: FloatArray, ends: tuple[int, ...], bins: int) -> bool:
    """Return True if each bin ends with the cell that brings the rows to its share; either of two at a tie."""
    reached, known = np.cumsum(rows), {rows.size}
    near = _CLOSE * float(reached[-1])
    for number in range(1, bins):
        goal = float(reached[-1]) * number / bins
        first, last = np.searchsorted(reached, [goal - near, goal + near]).tolist()
        choices = set(range(first + 1, min(last, rows.size - 1) + 2))
        if not choices & set(ends):
            return False
        known |= choices
    return ends[-1] == rows.size and set(ends) <= known


def _means(rows: FloatArray, ends: tuple[int, ...], middles: FloatArray) -> FloatArray:
    """Return the mean of the rows of each bin, its middle where it has none."""
    out = []
    for first, last in zip((0, *ends), ends, strict=False):
        own = rows[first:last]
        out.append(float(np.average(middles[first:last], weights=own if own.sum() > 0 else None)))
    return np.array(out)
