# SPDX-License-Identifier: Apache-2.0
"""The promise of a randomized table recomputed independently, with every report figure that follows from it.

Published integers give response matrices (`local_matrices`), the largest quotient within a column its privacy loss, and
the published rule the loss of a row: the product of the quotients when a row answers everything, the largest when it
answers one attribute. None of the code that made the claim is imported.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

from anonkit.checks.local_matrices import BlindAndNear, OwnMatrix, loss_of
from anonkit.checks.local_params import BoundedCells, PublishedAnswers, RandomizedColumn, stated_loss
from anonkit.checks.number_cells import fewest
from anonkit.errors import refusing_damage
from anonkit.promises.guarantee import Check

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
