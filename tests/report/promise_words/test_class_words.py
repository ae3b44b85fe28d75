"""Words on k-anonymity, and on no promise: names are apart, and nothing looks like a bound that is none."""

from __future__ import annotations

from typing import Any

from anonkit.report.promise_words.class_words import (
    ClassWords,
    NoPromiseWords,
    Phrase,
    capital,
    listed_with_and,
    passed_words,
)

REPORT: dict[str, Any] = {
    "guarantee": {"parameters": {"k": 5, "l_diversity": 2}, "unit": "one value of 'patient'"},
    "rows": {"out": 1_200},
    "verification": {"checks": []},
    "disclosure_risk": {
        "k_anonymity": {"k": 6, "people": None},
        "prosecutor": {"max": 1 / 6},
    },
}


def text(phrases: Any) -> str:
    """Their words."""
    return "".join(phrase.text for phrase in phrases)


def test_names_are_listed_and_set_apart() -> None:
    """One, two or more of them."""
    assert text(listed_with_and(["a"])) == "a"
    assert text(listed_with_and(["a", "b", "c"])) == "a, b and c"
    assert [phrase.is_name for phrase in listed_with_and(["a", "b"])] == [True, False, True]
    assert capital("one row") == "One row"
    assert passed_words(0, "form") == ""
    assert passed_words(3, "form") == " 3 of 3 checks of form passed."


def test_what_was_requested_is_beside_what_was_counted() -> None:
    """k and l, the smallest class, the highest risk and the rows."""
    figures = ClassWords().figures(REPORT)
    assert figures[:2] == [("k = 5", "requested"), ("l = 2", "requested")]
    assert ("6", "rows in the smallest class found") in figures
    assert ("1 in 6", "highest risk of re-identification") in figures
    assert figures[-1] == ("1,200", "rows released")


def test_a_release_without_a_promise_shows_no_figure() -> None:
    """Any would look like a bound."""
    words = NoPromiseWords()
    assert words.figures(REPORT) == []
    assert words.headline({}) == Phrase("No formal guarantee", is_bad=True)
    assert not words.verdict({}, 2).is_good
    assert "2 of 2 checks" in words.verdict({}, 2).rest
