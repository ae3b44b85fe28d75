"""Words on a privacy loss: the factor is rounded up, domains of the table are not passed over."""

from __future__ import annotations

import math
from typing import Any

import pytest

from anonkit.report.promise_words.dp_words import ApproximateDPWords, CentralDPWords, LocalDPWords, domains_question


def report(epsilon: Any, delta: float | None = None, **parameters: Any) -> dict[str, Any]:
    """A report with a loss."""
    return {
        "guarantee": {
            "parameters": {"epsilon": epsilon, "delta": delta, **parameters},
            "unit": "one row",
            "adjacency": "added or removed",
        },
        "budget": {"epsilon": epsilon, "delta": delta},
        "rows": {"out": 100},
    }


def text(phrases: Any) -> str:
    """Their words."""
    return "".join(phrase.text for phrase in phrases)


@pytest.mark.parametrize(("epsilon", "factor"), [(0.1, "1.11"), (1.0, "2.72"), (5.0, "149"), (20.0, "over a million")])
def test_the_factor_is_never_too_small(epsilon: float, factor: str) -> None:
    """e to the epsilon, rounded up."""
    figures = CentralDPWords().figures(report(epsilon))
    assert figures[1][0] == f"× {factor}"
    if factor != "over a million":
        assert float(factor) >= math.exp(epsilon) - 1e-9


def test_a_delta_takes_the_place_of_the_factor() -> None:
    """The factor would not be a bound."""
    figures = ApproximateDPWords().figures(report(1.0, 1e-6))
    assert [figure for figure, _ in figures][1].startswith("δ = ")
    assert not any(figure.startswith("×") for figure, _ in figures)
    assert "except with a probability of δ" in ApproximateDPWords().uncounted_risk(report(1.0, 1e-6)["guarantee"])


def test_a_row_without_a_bound_is_said_first() -> None:
    """In the headline, the verdict, whose it is and the risk."""
    promise = report("inf")["guarantee"]
    words = LocalDPWords()
    assert words.headline(promise).is_bad
    assert not words.verdict(promise, 0).is_good
    assert "No whole row is protected" in text(next(iter(words.whose(promise))))
    assert "no ε bounds" in words.uncounted_risk(promise)
    assert words.verdict(report(1.0)["guarantee"], 0).is_good


def test_domains_of_the_table_are_a_condition() -> None:
    """The verdict is not good, and the question is loud."""
    promise = report(1.0, domains_from_data=["city"])["guarantee"]
    assert not CentralDPWords().verdict(promise, 3).is_good
    question = domains_question(promise)
    assert any(phrase.is_bad for phrase in question)
    assert "city" in text(question)
    assert not any(phrase.is_bad for phrase in domains_question(report(1.0)["guarantee"]))
