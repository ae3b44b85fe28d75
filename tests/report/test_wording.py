# SPDX-License-Identifier: Apache-2.0
"""Words and figures: nothing is rounded to look better than it is."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.report.wording import (
    bound,
    check_words,
    date_text,
    delta_words,
    gathered,
    heading,
    most_words,
    number,
    one_in,
    pairs_words,
    percent,
    required_words,
    shuffle_words,
)


def _read(text: str) -> float:
    return float(text.replace(",", ""))


@given(value=st.floats(1e-9, 1e9))
def test_a_bound_is_never_written_smaller_than_it_is(value: float) -> None:
    """Epsilon is rounded up, by less than one part in 100,000; float dust apart."""
    assert value * (1 - 1e-8) <= _read(bound(value)) <= value * (1 + 1e-5)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (8.700000000000001, "8.7"),
        (math.log(3), "1.09862"),
        (0.1 + 0.2, "0.3"),
        ("inf", "∞"),
        (math.inf, "∞"),
        (0, "0"),
    ],
)
def test_bounds_people_write_stay_as_they_are(value: object, text: str) -> None:
    """Rounding up does not turn 8.7 into 8.70001 because of a float."""
    assert bound(value) == text


@given(share=st.floats(0, 1))
def test_a_share_is_none_or_all_only_when_it_is(share: float) -> None:
    """A risk that exists is never written as 0%, nor an incomplete one as 100%."""
    text = percent(share)

    assert (text == "0%") == (share == 0)
    assert (text == "100%") == (share == 1)


@given(risk=st.floats(1e-7, 1))
def test_a_risk_in_words_is_no_smaller_than_the_risk(risk: float) -> None:
    """`1 in n` rounds n down."""
    n = _read(one_in(risk).removeprefix("1 in "))

    assert 1 / n >= risk * (1 - 1e-8)
    assert 1 / (n + 1) < risk


@given(value=st.integers(-(10**15), 10**15) | st.floats(-1e12, 1e12))
def test_numbers_can_be_read_back(value: float) -> None:
    """Six significant digits, one decimal above ten thousand, integers exact."""
    assert _read(number(value)) == pytest.approx(value, rel=1e-5)
    if isinstance(value, int):
        assert _read(number(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (True, "yes"),
        (False, "no"),
        (1234567, "1,234,567"),
        (2.0, "2"),
        (-math.inf, "−∞"),
        (math.nan, "–"),
        ([1, "b", None], "1, b, –"),
        ({"p_keep": 0.5, "epsilon": 1}, "true value kept with probability 0.5, ε 1"),
    ],
)
def test_values_of_every_kind_have_a_text(value: object, text: str) -> None:
    """All values of JSON can be shown."""
    assert number(value) == text


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        ("2026-11-21T01:45:18+00:00", "21 November 2026, 01:45 UTC"),
        ("2026-01-01T00:30:00+02:00", "31 December 2025, 22:30 UTC"),
        ("some day", "some day"),
    ],
)
def test_dates_are_written_in_utc(moment: str, text: str) -> None:
    """A moment is shown in UTC, month by name."""
    assert date_text(moment) == text


@pytest.mark.parametrize(
    ("name", "text"), [("k", "k"), ("epsilon", "ε"), ("l_diversity", "l-diversity"), ("per_level", "Per level")]
)
def test_symbols_stay_small_at_the_beginning_of_a_line(name: str, text: str) -> None:
    """Headings begin with a capital, symbols do not."""
    assert heading(name) == text


def _names_of_checks() -> Iterator[str]:
    """Yield the name, or what is before its colon, of every check that is made under a name that is in code."""
    for path in sorted((Path(__file__).parents[2] / "anonkit").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not any(f"{maker}(" in text for maker in ("Check", "none_of", "_wrong")):
            continue  # parsing all that makes none took most of the time
        for call in ast.walk(ast.parse(text)):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                continue
            named = next((word.value for word in call.keywords if word.arg == "name"), None)
            told = {"Check": named, "none_of": call.args[0] if call.args else None}.get(call.func.id)
            if call.func.id == "_wrong" and path.stem == "central_aggregates":
                told = call.args[0]
            first = told.values[0] if isinstance(told, ast.JoinedStr) else told
            if isinstance(first, ast.Constant):
                yield str(first.value).partition(":")[0]


def test_every_check_has_a_sentence() -> None:
    """A reviewer reads what was looked at: no check that anonkit makes is shown by its key alone."""
    names = set(_names_of_checks())

    assert len(names) > 90
    assert {name for name in names if check_words(name) == (heading(name), "")} == set()


def test_a_check_of_no_column_does_not_quote_one() -> None:
    """A check has the same name for one column and for all of them: for all, the sentence quotes none."""
    assert "‘" not in check_words("values")[0]
    assert "‘age’" in check_words("values:age")[0]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("k_anonymity", ("Rows in the smallest equivalence class", "at least")),
        ("t_closeness:a:b", ("Distance of ‘a:b’ between the worst class and the whole table", "at most")),
        ("values_in_domain:{age}", ("Values in domain: {age}", "")),
    ],
)
def test_checks_are_said_in_words(name: str, words: tuple[str, str]) -> None:
    """Known checks have a sentence, unknown ones their name; attributes are never read as a format."""
    assert check_words(name) == words


def test_checks_that_passed_alike_are_stated_once() -> None:
    """One line for all columns that passed; a column that failed keeps a line of its own, and no figure is lost."""
    domain = {"passed": True, "observed": 0, "required": 0}
    checks = [
        {"name": "epsilon", "passed": True, "observed": 1.0, "required": 1.0},
        {"name": "domain:age", **domain},
        {"name": "domain:job", **domain},
        {"name": "domain:loan", "passed": False, "observed": 3, "required": 0},
    ]
    told = gathered(checks)

    assert [one["name"] for one in told] == ["epsilon", "domain:2 columns", "domain:loan"]
    assert check_words(told[1]["name"])[0] == "Cells outside their published domain, in each of 2 columns"
    assert told[2] == checks[3]
    assert gathered(checks[:2]) == checks[:2]


@pytest.mark.parametrize(
    ("name", "required", "words"),
    [
        ("epsilon", 1.5, "at most 1.5"),
        ("epsilon", "inf", "at most ∞"),
        ("adjacency", "replace one record", "replace one record"),
    ],
)
def test_what_is_required_is_said_with_its_relation(name: str, required: float | str, words: str) -> None:
    """A figure has a relation; a text has to be that text."""
    assert required_words({"name": name, "required": required}) == words


@pytest.mark.parametrize(
    ("columns", "pairs", "anchored", "text"),
    [
        (11, 0, False, "0 of 55 measured: columns are drawn as if independent"),
        (
            10,
            0,
            True,
            "0 of 45 measured, besides those with the target: columns are drawn as if independent within a class",
        ),
        (11, 9, False, "9 of 55 measured: columns that these do not join are drawn as if independent"),
        (11, 10, False, "10 of 55 measured"),
        (1, 0, True, ""),
    ],
)
def test_few_pairs_say_what_becomes_of_the_other_columns(columns: int, pairs: int, anchored: bool, text: str) -> None:
    """Nothing is said where there are no pairs, and no more than the count where all columns may be joined."""
    assert pairs_words(columns, pairs, anchored=anchored) == text


def test_a_triple_is_named_beside_the_pairs() -> None:
    """The three columns that were measured with the target, whether it splits the tables or not."""
    text = pairs_words(4, 0, anchored=True, triple=["a", "b", "c d"])
    assert text == (
        "0 of 6 measured, besides those with the target; 'a', 'b', 'c d' together with the target: other columns are "
        "drawn as if independent within a class"
    )
    assert pairs_words(4, 0, anchored=False, triple="abc").endswith("other columns are drawn as if independent")


@pytest.mark.parametrize(
    ("delta", "rows", "first", "second"),
    [
        (0.01, 100, "δ = 0.01 is not below one in 100 rows, which the table has about:", "shows a row in the open"),
        (0.01, 99, "δ = 0.01 is not far below one in 99 rows, which the table has about:", "and 1 in 1 of such"),
        (1e-4, 500, "δ = 0.0001 is not far below one in 500 rows, which the table has about:", "and 1 in 20 of such"),
    ],
)
def test_a_delta_is_compared_with_the_rows(delta: float, rows: int, first: str, second: str) -> None:
    """From a hundredth of one in the rows on it is not far below it, and what that means is said."""
    told = delta_words(_report(delta, rows))
    assert told is not None
    assert told[0] == first
    assert second in told[1]


@pytest.mark.parametrize(("delta", "rows"), [(0.0, 10), (1e-9, 10**6), (1e-4, 100), (0.5, 0)])
def test_a_delta_far_below_one_in_the_rows_is_no_reason_for_words(delta: float, rows: int) -> None:
    """A hundredth of it at most; without rows there is nothing to compare it with."""
    assert delta_words(_report(delta, rows)) is None


def _report(delta: float, rows: int, *, drawn: bool = False, unit: str | None = None) -> dict[str, Any]:
    parameters = {"delta": delta, "unit_column": unit, "rows_per_unit": 1 if unit is None else 3}
    promise = {"adjacency": "add or remove one record", "parameters": parameters}
    risk = {"k_anonymity": {"k": 5}} if drawn else None
    return {"budget": {"delta": delta}, "rows": {"out": rows}, "guarantee": promise, "disclosure_risk": risk}


def test_delta_is_compared_with_those_who_are_protected() -> None:
    """Rows that are drawn are some of those in the table; people are a third of the rows where each may have three."""
    drawn = delta_words(_report(1e-3, 500, drawn=True))
    assert drawn is not None
    assert drawn[0] == "δ = 0.001 is not far below one in 500 rows, which the table has at least:"
    people = delta_words(_report(1e-3, 500, unit="who"))
    assert people is not None
    assert people[0] == "δ = 0.001 is not far below one in 167 people, which the table has about:"


def test_a_reviewer_has_to_answer_how_many_are_in_the_table() -> None:
    """No release under noise states it, so nothing else is stated on a small delta."""
    asked = "The table has 10,000,000 {} at most: δ = 1e-09 is then far below one in their number."
    assert most_words(_report(1e-9, 10)) == asked.format("rows")
    assert most_words(_report(1e-9, 10, unit="who")) == asked.format("people")


def test_a_delta_of_the_shuffled_file_is_compared_with_its_rows() -> None:
    """The default is a hundredth of one in them; one that the owner chose may not be."""
    block = {"applies": True, "epsilon": 0.1, "delta": 1e-6, "rows": 1000, "assumption": "Nobody looks."}
    assert "far below" not in shuffle_words(block)
    assert "δ = 0.01 is not below one in 1,000 rows:" in shuffle_words({**block, "delta": 0.01})
