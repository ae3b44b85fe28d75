"""Names in SQL: quoted ones are read back, and an address names a table and at most one schema."""

from __future__ import annotations

import pytest

from anonkit.bundle.sql_names import alike_names, in_quotes, own_names, table_parts
from anonkit.errors import ParameterError


@pytest.mark.parametrize("name", ["people", 'odd "name"', "a.b", "", " "])
def test_a_quoted_name_is_one_part(name: str) -> None:
    """Dots and quotes within it are its own."""
    if name:
        assert table_parts(in_quotes(name), folds=True) == (name,)


@pytest.mark.parametrize(
    ("name", "schema", "folds", "parts"),
    [
        ("People", None, True, ("people",)),
        ("People", None, False, ("People",)),
        ('Team."People"', None, True, ("team", "People")),
        ("people", "Team", True, ("team", "people")),
        ("Ärzte", None, True, ("Ärzte",)),  # no plain name: the database does not fold it
    ],
)
def test_parts_are_folded_as_the_database_folds_them(
    name: str, schema: str | None, folds: bool, parts: tuple[str, ...]
) -> None:
    """Unquoted plain names alone, and only where the database writes them in lower case."""
    assert table_parts(name, schema, folds=folds) == parts


@pytest.mark.parametrize(("name", "schema"), [("a..b", None), ('"open', None), ("a.b", "c"), ("a", "b.c"), ("", None)])
def test_what_is_no_name_is_refused(name: str, schema: str | None) -> None:
    """A part that is empty, a quote that is not closed, two schemas."""
    with pytest.raises(ParameterError):
        table_parts(name, schema, folds=True)


def test_columns_get_names_of_their_own() -> None:
    """By their place; SQL may take names that differ in capitals for one."""
    assert own_names(["Age", "age"]) == {"Age": "c0", "age": "c1"}
    assert alike_names(["Age", "age"])
    assert not alike_names(["Age", "ages"])
