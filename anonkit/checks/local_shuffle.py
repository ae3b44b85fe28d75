# SPDX-License-Identifier: Apache-2.0
"""The shuffle amplification claimed for a randomized file, recomputed from its response matrices.

The claim is a sum of independent draws whose positive part has a small mean (Balle, Bell, Gascón, Nissim, CRYPTO 2019).
Who made the claim convolved the draws on a grid; here the same mean is an integral along the saddle point of the
moment generating function, so that a slip in the one is not repeated in the other. The two agree within a few
hundredths of epsilon, and a claim further off than that on either side is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.checks.local_matrices import OwnMatrix, ResponseWords
from anonkit.checks.local_params import PublishedAnswers
from anonkit.checks.sameness import same
from anonkit.errors import ReleaseFormatError
from anonkit.promises.guarantee import Check
from anonkit.promises.noise_promises import FEWEST_SHUFFLED, SHUFFLE_ASSUMPTION, SHUFFLE_BOUND, shuffle_obstacle

FloatArray = NDArray[np.float64]

_SHARES = (0.01, 0.1)
"""Default of delta times the rows where it is less than a millionth; the second in releases before 0.2."""
_SLACK = 0.03
"""By how much of itself a stated epsilon may be off: a convention above the error of both computations."""
_CLOSE_UP_TO = 6.0
"""Local epsilon up to which the claim is the smallest that holds; above it the owner's grid is coarse, and the claim an
upper bound that may be far off. A claim that is too large is no wrong promise. The bound is a convention."""
_KINDS = 20_000
_GROUPS = 600
_POINTS = 4_000
"""Kinds of answers, groups of values and points of the integral: they bound the time; `_SLACK` covers their error."""


def shuffle_checks(table: PublishedAnswers, report: Mapping[str, Any], epsilon: float) -> Iterator[Check]:
    """Check the `shuffle` block of a report.

    Parameters
    ----------
    table : PublishedAnswers
        Content of the params.
    report : mapping
        Its blocks `shuffle`, `rows`, `columns` and `method`.
    epsilon : float
        The loss of a row in plain sight, worked out anew.

    Yields
    ------
    Check
        `shuffle_claim`: the block states what follows from the parameters; `shuffle_epsilon`: its epsilon holds for its
        delta, and no smaller one that could be distinguished from it does. Not yielded where nothing is claimed.

    Raises
    ------
    ReleaseFormatError
        The block is absent, or a figure of it is of the wrong kind.
    """
    try:
        stated_block = dict(report["shuffle"])
        requested_delta, rows = report["method"]["parameters"].get("shuffle_delta"), int(report["rows"]["out"])
        unit = next((column["name"] for column in report["columns"] if column["role"] == "unit"), None)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ReleaseFormatError("the report lacks what it says of the shuffled file") from None
    bare = [answer.name for answer in table.columns if answer.mechanism is not None and answer.ratio is None]
    if bare or unit is not None or not table.attributes:
        expected = {"applies": False, "reason": shuffle_obstacle(bare, unit)}
        yield Check(
            name="shuffle_claim",
            passed=same(stated_block, expected),
            observed=same(stated_block, expected),
            required=True,
        )
        return
    stated, delta = stated_block.pop("epsilon", None), stated_block.pop("delta", None)
    expected = {
        "applies": True,
        "rows": rows,
        "adjacency": "replace one record",
        "assumption": SHUFFLE_ASSUMPTION,
        "bound": SHUFFLE_BOUND,
    }
    possible = [min(1e-6, share / max(rows, 1)) for share in _SHARES] if requested_delta is None else [requested_delta]
    numbers = all(type(figure) in (int, float) for figure in (stated, delta)) and type(stated_block.get("rows")) is int
    amplified = numbers and stated < epsilon
    sound = (
        numbers
        and same(stated_block, expected)
        and delta in (possible if amplified else [0])
        and 0 <= stated <= epsilon
    )
    yield Check(name="shuffle_claim", passed=bool(sound), observed=bool(sound), required=True)
    if not sound:
        return
    if not amplified:
        return  # nothing is claimed beyond the local promise; a bound that could not be found is no wrong promise
    if rows < FEWEST_SHUFFLED:
        yield Check(name="shuffle_epsilon", passed=False, observed=stated, required=epsilon)
        return
    law = _Law.of(table)
    above = law.delta(stated * (1 + _SLACK), rows) <= delta
    tight = stated == 0 or epsilon > _CLOSE_UP_TO or law.delta(stated * (1 - _SLACK), rows) > delta
    is_consistent = above and tight
    yield Check(name="shuffle_epsilon", passed=bool(is_consistent), observed=stated, required=f"within {_SLACK:.0%}")


class _Law:
    """The worst law of one row's likelihood ratios under what its answers say of nobody."""

    def __init__(self, blanket: float, log_ratios: FloatArray, chance: FloatArray) -> None:
        self.blanket = blanket
        self.log_ratios = log_ratios
        """ln of the ratio under the one row and under the other, shape (2, n_kinds)."""
        self.chance = chance

    @classmethod
    def of(cls, table: PublishedAnswers) -> _Law:
        """Read the mechanisms: answers of a row are independent, or one of them is given."""
        label = table.target
        words = [attribute.words for attribute in table.attributes if attribute.words is not None]
        whole = cls(1.0, np.zeros((2, 1)), np.ones(1))
        if table.asked_column is None:
            for word in words:
                whole = whole.times(*_ends(word))
        else:
            ends = [_ends(word) for word in words]
            blankets = np.array([blanket for blanket, _, _ in ends])
            weights = np.repeat(blankets / blankets.sum(), [chance.size for _, _, chance in ends])
            ratios = np.concatenate([ratios for _, ratios, _ in ends], axis=1)
            whole = cls(float(blankets.mean()), ratios, weights * np.concatenate([chance for _, _, chance in ends]))
        if label is not None and label.mechanism is not None and label.words is not None:
            whole = whole.times(*_ends(label.words))
        return whole

    def times(self, blanket: float, log_ratios: FloatArray, chance: FloatArray) -> _Law:
        """Return the law of a row that gives one more answer."""
        ratios = (self.log_ratios[:, :, np.newaxis] + log_ratios[:, np.newaxis, :]).reshape(2, -1)
        chances = np.outer(self.chance, chance).ravel()
        if chances.size > _KINDS:
            step = ratios.max() / 200
            places, kind = np.unique(np.rint(ratios / step), axis=1, return_inverse=True)
            ratios = places * step
            chances = np.bincount(kind.ravel(), weights=chances).astype(np.float64)
        return _Law(self.blanket * blanket, ratios, chances)

    def delta(self, epsilon: float, rows: int) -> float:
        """Return about the delta that epsilon has among so many rows."""
        draws = self.blanket * (np.exp(self.log_ratios[0]) - np.exp(epsilon + self.log_ratios[1]))
        values, chance = _grouped(draws, self.chance * self.blanket)
        return _mean_excess(values, chance, rows) / (self.blanket * rows)


def _ends(words: ResponseWords) -> tuple[float, FloatArray, FloatArray]:
    """Return the blanket of a mechanism, and the worst law of its two ratios: 1 or the largest, seldom both large."""
    if isinstance(words, OwnMatrix):
        least = sum(min(column) for column in zip(*words.entries, strict=True))
    else:
        least = sum(words.blind)  # type: ignore[attr-defined]  # all other kinds have it
    blanket, ratio = least / (1 << words.word_bits), words.worst_ratio()
    if ratio is None or ratio == 1:
        return blanket, np.zeros((2, 1)), np.ones(1)
    loss = math.log(ratio)
    large = min(1.0, (1 / blanket - 1) / (float(ratio) - 1))
    smaller, both = min(large, 1 - large), max(0.0, 2 * large - 1)
    ratios = np.array([[loss, 0.0, loss, 0.0], [0.0, loss, loss, 0.0]])
    return blanket, ratios, np.array([smaller, smaller, both, 1 - 2 * smaller - both])


def _grouped(values: FloatArray, chance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return values and chances with values that lie close together made one, at their mean."""
    if values.size <= _GROUPS:
        return values, chance
    bent = np.arcsinh(values / np.sqrt(values**2 @ chance))
    places = ((bent - bent.min()) / np.ptp(bent) * (_GROUPS - 1)).astype(np.int64)
    total = np.bincount(places, weights=chance)
    there = total > 0
    means = np.bincount(places, weights=chance * values)[there] / total[there]
    return means.astype(np.float64), total[there].astype(np.float64)


def _mean_excess(values: FloatArray, chance: FloatArray, n: int) -> float:
    """Return E[(sum of n draws)+] by inversion of the moment generating function along its saddle point.

    A draw is one of the values with its chance, else 0. E[S+] is the integral of exp(K(z)) / z² over z = c + it, for
    any c > 0, divided by 2 pi; K is the cumulant generating function of the sum.
    """
    if values.max() <= 0:
        return 0.0

    def slope(c: float) -> float:
        """Return the derivative of K(c) - 2 ln c."""
        grown = chance * np.exp(c * values)
        return float(n * (grown @ values) / (1 + chance @ np.expm1(c * values)) - 2 / c)

    low, high = 1e-12 / values.max(), 500 / values.max()
    if slope(high) < 0:
        return 0.0
    for _ in range(80):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    c = math.sqrt(low * high)
    grown = chance * np.exp(c * values)
    total = 1 + chance @ np.expm1(c * values)
    bend = math.sqrt(n * (grown @ values**2 / total - (grown @ values / total) ** 2) + 2 / c**2)
    # steps of a tenth of the width of the peak, and onwards in growing ones: beyond it 1 / z² falls
    t = np.concatenate([np.arange(0, 12, 0.1), np.geomspace(12, 4e3, _POINTS)]) / bend
    heights = np.empty(t.size)
    for part in np.array_split(np.arange(t.size), max(1, t.size * values.size // 2_000_000)):
        z = c + 1j * t[part]
        moment = 1 + np.expm1(np.multiply.outer(z, values)) @ chance
        heights[part] = (np.exp(n * (np.log(moment) - math.log(total))) / z**2).real
    scale = n * math.log(total)
    return math.exp(min(scale, 700.0)) * _area(heights, t) / math.pi


def _area(heights: FloatArray, t: FloatArray) -> float:
    """Return the integral by trapezes; numpy calls it `trapezoid` since 2.0, and `trapz` before."""
    return float((heights[1:] + heights[:-1]) @ np.diff(t)) / 2
