"""Requested tables as lines of text: one form each, and what cannot be read is refused by what is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.dp_trees.aggregate_requests import requests_of
from anonkit.errors import ParameterError


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["", "a = ", '"a = by" = ']), st.sampled_from(["count", "sum(x)", "mean( x y )", 'median("by")']),
    st.lists(st.sampled_from(["x", "marital status", "by", "count", 'quo"te', "co,mma"]), max_size=3, unique=True),
    st.sampled_from(["", " weight 2", " weight 0.25"]),
)  # fmt: skip
def test_a_request_has_one_form_that_says_the_same(name: str, what: str, by: list[str], weight: str) -> None:
    """Reading the one form of a line gives the same request, whose one form it is."""
    groups = ", ".join('"' + column.replace('"', '""') + '"' for column in by)
    line = f"{name}{what}{f' by {groups}' if by else ''}{weight}"
    (request,) = requests_of([line])
    (again,) = requests_of([request.text])
    assert again.text == request.text
    assert (again.shown, again.table, again.by, again.of) == (request.shown, request.table, tuple(by), request.of)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "no table is requested"), ("a =", "no table is requested"), ('"age', "quotation mark"),
        ("age, sex by ill", "before or after"), ("max(age)", "is none of"), ("mean(age", "bracket"),
        ("mean(age, 0.5)", "levels"), ("quantile(age)", "levels"), ("median(age, 0.2)", "levels"),
        ("quantile(age, 1)", "decimal"), ("quantile(age, 0.0)", "decimal"), ("a,,b", "name of a column"),
        ("a, b, c, d", "3 different"), ("sex, sex", "3 different"), ("sex weight", "a weight is"),
        ("sex weight 0", "a weight is"), ("sex ) x", "not expected"), ('"" = sex', "name is empty"),
        (f"quantile(age, {', '.join(f'0.{at:04d}' for at in range(1, 101))})", "99 quantiles"),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_read_is_refused(line: str, why: str) -> None:
    """One line says what is wrong, and the hint shows lines that can be."""
    with pytest.raises(ParameterError, match=why):
        requests_of([line])
