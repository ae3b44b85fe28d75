"""Names of columns in a line of text: any name is read back, ambiguous ones from double quotes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.published.quoted_names import first_name, in_quotes, names_of, which_column


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Cs"])), min_size=1, max_size=4))
def test_quoted_names_are_read_back(names: list[str]) -> None:
    """Commas, quotes and blanks within them are their own."""
    assert names_of(", ".join(in_quotes(name) for name in names)) == tuple(names)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("region=north", ("region", "north")),
        (" region = a=b", ("region", " a=b")),
        ('"a=b"=c', ("a=b", "c")),
        ("region", ("region", None)),
        ('"a, b"', ("a, b", None)),
        ('"a" b=c', ('"a" b', "c")),  # quotes that do not end the name are a part of it
    ],
)
def test_the_first_name_ends_at_its_sign(text: str, found: tuple[str, str | None]) -> None:
    """And what follows is left as it is."""
    assert first_name(text, "=") == found


def test_the_hint_says_how_odd_names_are_typed() -> None:
    """Only where the table has one."""
    assert "double quotes" in which_column("aeg", ["age", "a, b"])
    assert "double quotes" not in which_column("aeg", ["age", "sex"])
    assert "age" in which_column("aeg", ["age", "sex"])
