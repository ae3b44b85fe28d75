"""The words of the expectations in data docs, and the row conditions in them."""

from __future__ import annotations

from string import Template
from typing import Any

import pytest

from anonkit.integrations.great_expectations.expectation_words import (
    anonymity_words,
    closeness_words,
    condition_columns,
    condition_words,
    diversity_words,
    figure,
    found_words,
    promise_words,
    shortfall_words,
)

SOUTH = {"type": "comparison", "column": {"name": "Region"}, "operator": "==", "parameter": "south"}
LISTED = {"type": "comparison", "column": {"name": "Region"}, "operator": "NOT_IN", "parameter": ["a", "b"]}
EMPTY = {"type": "nullity", "column": {"name": "sex"}, "is_null": True}
FILLED = {**EMPTY, "is_null": False}


def _said(words: tuple[str, dict[str, Any]]) -> str:
    return Template(words[0]).substitute(words[1])  # raises where a name has no value


@pytest.mark.parametrize(
    ("condition", "columns", "words"),
    [
        (SOUTH, ["Region"], "Region = south"),
        (LISTED, ["Region"], "Region not in a, b"),
        (EMPTY, ["sex"], "sex missing"),
        (FILLED, ["sex"], "sex not missing"),
        ({"type": "and", "conditions": [SOUTH, EMPTY]}, ["Region", "sex"], "Region = south and sex missing"),
        ({"type": "or", "conditions": [SOUTH, FILLED]}, ["Region", "sex"], "Region = south or sex not missing"),
        ({"type": "pass_through", "pass_through_filter": "age > 3"}, [], "age > 3"),
        ('col("Region") == "south"', ["Region"], 'Region == "south"'),
        ("col('a b') > 3", ["a b"], "a b > 3"),
        ("age > 3", [], "age > 3"),
        (None, [], "None"),
    ],
)
def test_a_row_condition_is_read(condition: Any, columns: list[str], words: str) -> None:
    """Its columns, which must be in the batch, and its words, in every form that a configuration has it in."""
    assert condition_columns(condition) == columns
    assert condition_words(condition) == words


def test_what_must_hold_is_said_in_a_sentence() -> None:
    """Of rows, of people, of one partition; with the name of a parameter where its value comes with the run."""
    rows = {"columns": ["age", "sex", "zip"], "k": 1000}
    assert (
        _said(anonymity_words(rows)) == "Every combination of age, sex and zip must be shared by at least 1,000 rows."
    )
    people = {"columns": ["age"], "k": {"$PARAMETER": "k"}, "unit": "who", "row_condition": SOUTH}
    assert _said(anonymity_words(people)) == (
        "In the rows with Region = south, every combination of age must be shared by at least the run's parameter 'k' "
        "people (values of who)."
    )
    values = {"columns": ["age"], "sensitive": "ill", "l": 2.5}
    assert _said(diversity_words(values)) == (
        "In every combination of age, ill must have 2.5 different values or more."
    )
    assert "be as diverse as with 2.5 equally" in _said(diversity_words({**values, "entropy": True, "unit": "who"}))
    close = {"columns": ["age"], "sensitive": "ill", "t": 0.1}
    assert "as in all of the table, up to" in _said(closeness_words(close))
    assert "as in all of these rows" in _said(closeness_words({**close, "row_condition": EMPTY, "unit": "who"}))
    assert "the release out.parquet" in _said(promise_words({"release": "out.parquet"}))
    assert figure("?") == "?"


COUNTED = {"k": 3, "classes": 9, "classes_below_k": 2, "rows_below_k": 7, "rows": 1200}


@pytest.mark.parametrize(
    ("kind", "kwargs", "result", "found", "shortfall"),
    [
        ("k", {"k": 5}, {}, "not told (BOOLEAN_ONLY)", None),
        ("k", {"k": 5}, None, "not told (BOOLEAN_ONLY)", None),
        ("k", {"k": 5}, {"observed_value": None, "details": {"missing_columns": ["a", "b"]}},
         "not in the table: a, b", "Nothing was counted: a named column is not in the table."),
        ("k", {"k": 5}, {"observed_value": None, "details": {"alike_columns": ["a", "b"]}},
         "several columns are called a, b",
         "Nothing was counted: several columns of the table have one of the names."),
        ("t", {"t": 5}, {"observed_value": None, "details": {"rows": 0}}, "no rows",
         "Nothing was counted: there is no row."),
        ("k", {"k": 5}, {"observed_value": 3, "details": COUNTED}, "k = 3",
         "2 of 9 combinations are shared by fewer than 5 rows; 7 of 1,200 rows are in them."),
        ("k", {"k": 5}, {"observed_value": 3, "details": {**COUNTED, "people": 8}}, "k = 3",
         "2 of 9 combinations are shared by fewer than 5 people."),
        ("l", {"l": 3, "entropy": True}, {"observed_value": 1.96013, "details": {"l": 2}}, "entropy l = 1.96013",
         "The least diverse combination has entropy l = 1.96013; 3 was required."),
        ("t", {"t": 0.1}, {"observed_value": 0.25, "details": {"t": 0.25}}, "t = 0.25",
         "The most distant combination has t = 0.25; 0.1 was required."),
        ("promise", {}, {"observed_value": "54 of 55 checks", "details": {"failed": ["batch_rows"]}},
         "54 of 55 checks hold", "These checks do not hold: batch_rows."),
    ],
)  # fmt: skip
def test_what_was_found_is_said(
    kind: str, kwargs: dict[str, Any], result: dict[str, Any] | None, found: str, shortfall: str | None
) -> None:
    """A few words in the column of observed values, and a sentence on what is wrong; empty without a finding."""
    assert found_words(kind, kwargs, result) == found
    assert shortfall_words(kind, kwargs, result) == shortfall
