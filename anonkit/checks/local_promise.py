# SPDX-License-Identifier: Apache-2.0
"""The promise of a randomized table recomputed independently, with every report figure that follows from it.

Published integers give response matrices (`local_matrices`), the largest quotient within a column its privacy loss, and
the published rule the loss of a row: the product of the quotients when a row answers everything, the largest when it
answers one attribute. None of the code that made the claim is imported.

The shuffle amplification that a file claims is a sum of independent draws whose positive part has a small mean (Balle,
Bell, Gascón, Nissim, CRYPTO 2019). Whoever made the claim convolved the draws on a grid; here the same mean is an
integral along the saddle point of the moment generating function, so that a slip in the one is not repeated in the
other. The two agree within a few hundredths of epsilon, and a claim further off than that on either side is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.checks.local_matrices import BlindAndNear, OwnMatrix, ResponseWords, loss_of
from anonkit.checks.local_params import BoundedCells, PublishedAnswers, RandomizedColumn, stated_loss
from anonkit.checks.number_cells import fewest
from anonkit.checks.sameness import same
from anonkit.errors import ReleaseFormatError, refusing_damage
from anonkit.promises.guarantee import Check
from anonkit.promises.noise_promises import FEWEST_SHUFFLED, SHUFFLE_ASSUMPTION, SHUFFLE_BOUND, shuffle_obstacle

_FIGURES = ("action", "mechanism", "epsilon", "p_keep", "breach", "released_values", "domain", "parameters")
"""Keys of a column of the report about its answers."""
_CONFIDENCES = {"99.9%": 0.999, "99%": 0.99, "95%": 0.95, "50%": 0.5}
_ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class PublishedLoss:
    """The privacy loss that a table's published parameters have."""

    epsilon: float
    """Of a whole row: the smallest float not below the exact figure."""
    attributes: Mapping[str, float]
    """Of each answer."""


def published_loss(table: PublishedAnswers) -> PublishedLoss:
    """Return the loss of each answer and of a row, exact before they are rounded up to a float."""
    ratios = {column.name: column.ratio for column in table.columns if column.mechanism is not None}
    answered = [ratios[column.name] for column in table.attributes]
    row: Fraction | None = Fraction(1)
    if table.asked_column is None:
        for ratio in answered:
            row = None if row is None or ratio is None else row * ratio
    else:
        row = None if None in answered else max((answer for answer in answered if answer is not None), default=row)
    if table.target is not None and table.target.name in ratios:
        label = ratios[table.target.name]
        row = None if row is None or label is None else row * label
    return PublishedLoss(epsilon=loss_of(row), attributes={name: loss_of(ratio) for name, ratio in ratios.items()})


def promise_checks(table: PublishedAnswers, report: Mapping[str, Any], *, is_promised: bool) -> Iterator[Check]:
    """Compare the promise, and every figure that follows from the parameters, with what was worked out anew.

    Parameters
    ----------
    table : PublishedAnswers
        Content of the params.
    report : mapping
        Its blocks `guarantee`, `columns`, `budget` and `published_measures`; and `method`, where it is known.
    is_promised : bool
        False where nothing is promised: then the columns without a bound have to be named all the same.

    Yields
    ------
    Check
        `epsilon` and `epsilon_per_attribute` under a local promise; `answers_as_promised`, `figures:COLUMN`,
        `budget_lines`, `published_measures`, `method_parameters` and `stated_losses`: how many figures differ.

    Raises
    ------
    ReleaseFormatError
        The report lacks a block or has one of the wrong kind.
    """
    loss = published_loss(table)
    with refusing_damage("the report of a randomized table lacks a figure or has one of the wrong kind"):
        claimed = report["guarantee"]["parameters"]
        if is_promised:
            yield from _claims(table, loss, claimed)
        else:
            yield _differing("answers_as_promised", _without_bound(table), claimed)
        stated = {column.name: column.stated for column in table.columns if column.mechanism is not None}
        yield _differing("stated_losses", loss.attributes, stated)
        yield from _columns(table, loss, report["columns"])
        yield _budget(loss, report["budget"])
        yield _measures(table, report.get("published_measures", {}))
        yield from _method(table, loss, report["method"])


# --- the claim ---------------------------------------------------------------------------------------------------


def _claims(table: PublishedAnswers, loss: PublishedLoss, block: Mapping[str, Any]) -> Iterator[Check]:
    """Compare the parameters of a local promise with the loss of the published integers."""
    claimed = stated_loss(block["epsilon"])
    yield Check(name="epsilon", passed=loss.epsilon <= claimed, observed=_json(loss.epsilon), required=_json(claimed))
    losses = {
        name: stated_loss(stated_answer) for name, stated_answer in zip(block["answers"], block["losses"], strict=True)
    }
    same = sum(name in losses and loss.attributes[name] <= losses[name] for name in loss.attributes)
    yield Check(
        name="epsilon_per_attribute",
        passed=same == len(loss.attributes) == len(losses),
        observed=same,
        required=len(loss.attributes),
    )
    yield _differing("answers_as_promised", _promised(table, loss), block)


def _promised(table: PublishedAnswers, loss: PublishedLoss) -> dict[str, Any]:
    """Return the expected parameters of the guarantee."""
    transformed = [attribute.name for attribute in table.attributes if attribute.transformation is not None]
    clear = [
        attribute.name for attribute in table.columns if attribute.words is not None and attribute.words.is_truth()
    ]
    boundless = [name for name, loss_of_attribute in loss.attributes.items() if math.isinf(loss_of_attribute)]
    return {
        "epsilon": _json(loss.epsilon),
        "one_answer_per_row": table.asked_column is not None,
        "randomized": [name for name in loss.attributes if name not in boundless],
        "clear": clear,
        "unbounded": [name for name in boundless if name not in (*transformed, *clear)],
        "transformed": transformed,
        "hidden_with_each_answer": table.target.name if table.joint and table.target is not None else None,
        "losses": [_json(loss_of_attribute) for loss_of_attribute in loss.attributes.values()],
        "answers": list(loss.attributes),
    }


def _without_bound(table: PublishedAnswers) -> dict[str, Any]:
    """Return the expected columns of a report without a guarantee."""
    clear = [column.name for column in table.columns if column.words is not None and column.words.is_truth()]
    return {"transformed": [column.name for column in table.attributes], "clear": clear}


# --- figures that follow -----------------------------------------------------------------------------------------


def _columns(table: PublishedAnswers, loss: PublishedLoss, columns: Any) -> Iterator[Check]:
    stated = {column["name"]: column for column in columns}
    for answer in table.columns:
        entry = stated.get(answer.name, {})
        given = {name: entry[name] for name in _FIGURES if name in entry}
        yield _differing(f"figures:{answer.name}", _facts(table, loss, answer), given, whole=True)


def _facts(table: PublishedAnswers, loss: PublishedLoss, answer: RandomizedColumn) -> dict[str, Any]:
    """Return the expected entry of a column in the report."""
    twice = {"domain": answer.raw_domain, "parameters": answer.raw_parameters}
    if answer.mechanism is None:
        return {"action": "randomized", **twice}
    is_target = answer is table.target
    if is_target and answer.words is not None and answer.words.is_truth():
        return {"action": "kept", **twice}
    facts = {
        "action": "randomized",
        "mechanism": answer.mechanism,
        "epsilon": _json(loss.attributes[answer.name]),
        **twice,
    }
    if is_target:
        return facts
    if answer.truth is not None and isinstance(answer.words, BlindAndNear):
        facts["p_keep"] = answer.truth / (1 << answer.words.word_bits)
    breach = breach_of(answer)
    if breach is not None:
        facts["breach"] = breach
    if answer.answers is not None:
        facts["released_values"] = answer.answers.size
    return facts


def breach_of(answer: RandomizedColumn) -> float | None:
    """Return the largest breach coefficient of Zhang and Tang (2007) of a column; None where it has none."""
    if isinstance(answer.words, BlindAndNear) and answer.truth is not None:
        total = 1 << answer.words.word_bits
        least = min(answer.words.blind)
        return float(Fraction(answer.truth, total) ** 2 / Fraction(answer.truth + least, total))
    if isinstance(answer.words, OwnMatrix):
        size, total = answer.words.n_codes, 1 << answer.words.word_bits
        truths = [Fraction(row[code], total) for code, row in enumerate(answer.words.entries)]
        return float(max(p**2 + (1 - p) ** 2 / max(size - 1, 1) for p in truths))
    return None


def _budget(loss: PublishedLoss, budget: Mapping[str, Any]) -> Check:
    stated = {"epsilon": budget["epsilon"], "delta": budget["delta"], "per_level": budget["per_level"]}
    expected = {
        "epsilon": _json(loss.epsilon),
        "delta": 0,
        "per_level": [],
        "per_attribute": [{"name": name, "epsilon": _json(attribute)} for name, attribute in loss.attributes.items()],
    }
    return _differing("budget_lines", expected, {**stated, "per_attribute": budget["per_attribute"]})


def _measures(table: PublishedAnswers, stated: Mapping[str, Any]) -> Check:
    """Compare the measures of the method's own paper."""
    breaches = {attribute.name: breach_of(attribute) for attribute in table.attributes}
    expected: dict[str, Any] = {}
    breach = {name: figure for name, figure in breaches.items() if figure is not None}
    if breach:
        expected["breach"] = breach
    if any(attribute.transformation is not None for attribute in table.attributes):
        expected["breach_width"] = {
            name: round(2 * NormalDist().inv_cdf((1 + confidence) / 2), 2) for name, confidence in _CONFIDENCES.items()
        }
    given = {name: {key: figure for key, figure in block.items() if key != "how"} for name, block in stated.items()}
    return _differing("published_measures", expected, given, whole=True)


# --- the method --------------------------------------------------------------------------------------------------

_NOISES = {
    "N(1,1)": ((1.0, 1.0, "normal"), (0.0, 1.0, "normal")),
    "N(2,10)": ((2.0, 10.0, "normal"), (0.0, 5.0, "normal")),
}
_MECHANISMS = {
    "rr": ("randomized-response", "band-response", "set-response"),
    "errph": ("randomized-response", "response-matrix"),
    "ppnb": ("randomized-response", "response-matrix", "trr"),
    "trr": ("trr",),
}
_LEAST_TRUTH = Fraction(4095, 4096)
"""Share of the wanted truth that rounding to words leaves at least."""


def _method(table: PublishedAnswers, loss: PublishedLoss, method: Mapping[str, Any]) -> Iterator[Check]:
    """Compare the parameters of the method, as the report names them, with what was done to the columns."""
    name, parameters = method["name"], method["parameters"]
    if name not in _MECHANISMS:
        return  # a method of someone else's: what it writes is judged by the parameters alone
    wrong = sum(attribute.mechanism not in (*_MECHANISMS[name], None) for attribute in table.attributes)
    if name == "rr":
        wrong += (parameters["allocation"] == "sample") != (table.asked_column is not None)
    else:
        wrong += table.asked_column is not None
    wrong += not _label_fits(table, "clear" if name == "trr" else parameters["label"])
    wrong += sum(not _strength_fits(attribute, loss, parameters) for attribute in table.columns)
    if name == "rr":
        answered = [attribute.name for attribute in table.columns if attribute.name in loss.attributes]
        bounded = math.fsum(loss.attributes[answer] for answer in answered if not math.isinf(loss.attributes[answer]))
        whole = max((loss.attributes[answer.name] for answer in table.attributes), default=0.0)
        wrong += (whole if table.asked_column is not None else bounded) > parameters["epsilon"] * (1 + _ROUNDING)
    if parameters.get("bins") is not None:
        wrong += sum(
            isinstance(attribute.domain, BoundedCells)
            and attribute.domain.cells != fewest(parameters["bins"], attribute.domain.multiples)
            for attribute in table.attributes
        )
    if "noise" in parameters:
        wrong += sum(not _noise_fits(attribute, parameters) for attribute in table.attributes)
    yield Check(name="method_parameters", passed=wrong == 0, observed=int(wrong), required=0)


def _label_fits(table: PublishedAnswers, label: object) -> bool:
    if table.target is None:
        return True
    return (label == "clear") == (table.target.words is not None and table.target.words.is_truth())


def _strength_fits(answer: RandomizedColumn, loss: PublishedLoss, parameters: Mapping[str, Any]) -> bool:
    """Return True if an answer is as strong as the method's p_keep or epsilon."""
    words = answer.words
    if words is None or words.is_truth() or answer.mechanism is None:
        return True
    if parameters.get("epsilon") is not None and loss.attributes[answer.name] > parameters["epsilon"] * (1 + _ROUNDING):
        return False
    if answer.truth is None:
        return True
    if parameters.get("p_keep") is None:
        return True
    p, expected = Fraction(answer.truth, 1 << words.word_bits), Fraction(parameters["p_keep"])
    return expected * _LEAST_TRUTH <= p <= expected * (1 + Fraction(1, 1 << 30))


def _noise_fits(answer: RandomizedColumn, parameters: Mapping[str, Any]) -> bool:
    """Return True if a number was multiplied and shifted as the method's noise and center say."""
    how = answer.transformation
    if how is None:
        return True
    if (how.multiplier, how.offset) != _NOISES.get(parameters["noise"]):
        return False
    if not parameters["center"]:
        return how.bounds is None and (how.centre, how.scale, how.step) == (0.0, 1.0, 2.0**-10)
    if how.bounds is None:
        return False
    low, high = how.bounds
    scale = (high - low) / 2
    return (how.centre, how.scale, how.step) == ((low + high) / 2, scale, 2.0 ** (math.floor(math.log2(scale)) - 10))


# --- comparing ---------------------------------------------------------------------------------------------------


def _differing(name: str, expected: Mapping[str, Any], stated: Mapping[str, Any], *, whole: bool = False) -> Check:
    """Return a check of how many figures are not as expected; with `whole`, no other may be stated either."""
    keys = set(expected) | set(stated) if whole else set(expected)
    wrong = sum(not (key in stated and key in expected and _same(expected[key], stated[key])) for key in keys)
    return Check(name=name, passed=wrong == 0, observed=wrong, required=0)


def _same(expected: Any, stated: Any) -> bool:
    """Return True if two figures are one: integers, strings and truth values exactly, others but for rounding."""
    if isinstance(expected, Mapping):
        return (
            isinstance(stated, Mapping)
            and set(expected) == set(stated)
            and all(_same(value, stated[key]) for key, value in expected.items())
        )
    if isinstance(expected, list | tuple):
        return isinstance(stated, list | tuple) and len(expected) == len(stated) and all(map(_same, expected, stated))
    if isinstance(expected, float) and type(stated) in (int, float):
        return math.isclose(expected, stated, rel_tol=_ROUNDING)
    return type(expected) is type(stated) and bool(expected == stated)


def _json(loss: float) -> float | str:
    return "inf" if math.isinf(loss) else loss


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
