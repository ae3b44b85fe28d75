"""Public domains: declared, or read from the table on the owner's word."""

from __future__ import annotations

import pyarrow as pa
import pytest

import anonkit
from anonkit.errors import PolicyError
from anonkit.policy import Column, Missing, Policy

TABLE = pa.table(
    {
        "age": [20, 30, 40, 50] * 25,
        "sex": ["F", "M", None, "M"] * 25,
        "note": ["x", "y"] * 50,
        "income": ["low", "high"] * 50,
    }
)


def test_domains_of_the_table_are_read_where_none_are_declared() -> None:
    """Smallest and largest number, the categories that occur, missing where it occurs; declared ones stay."""
    policy = Policy(columns={"sex": Column(name="sex", categories=("F", "M", "X"), missing=Missing.CATEGORY)})
    release = anonkit.release(
        TABLE, method="errph", epsilon=2.0, bins=4, target="income", insensitive=["note"], policy=policy,
        domains_from_data=True,
    )  # fmt: skip
    domains = {one["name"]: one["domain"] for one in release.params["attributes"]}

    assert domains["age"]["bounds"] == [20.0, 50.0]
    assert domains["sex"] == {"categories": ["F", "M", "X"], "has_missing": True}
    assert release.params["target"]["domain"]["categories"] == ["high", "low"]
    assert "age, income" in release.params["conditions"][0]
    assert "sex" not in release.params["conditions"][0]


def test_dropping_rows_with_a_missing_value_is_refused() -> None:
    """The number of rows is public: it must not depend on who had a missing value."""
    columns = {"sex": Column(name="sex", categories=("F", "M"), missing=Missing.DROP)}
    with pytest.raises(PolicyError, match="dropping rows tells"):
        anonkit.release(TABLE.select(["sex"]), method="errph", epsilon=2.0, policy=Policy(columns=columns))


def test_a_number_under_a_category_domain_is_its_text() -> None:
    """Categories are texts; integers of the table stand for their digits."""
    columns = {"age": Column(name="age", categories=("20", "30", "40", "50"))}
    release = anonkit.release(TABLE.select(["age"]), method="errph", epsilon=20.0, policy=Policy(columns=columns))
    assert set(release.to_arrow().column("age").to_pylist()) <= {"20", "30", "40", "50"}


def test_bounds_on_texts_are_refused() -> None:
    """A bin of a text means nothing."""
    columns = {"sex": Column(name="sex", bounds=(0, 1))}
    with pytest.raises(PolicyError, match="cells are not numbers"):
        anonkit.release(TABLE.select(["sex"]), method="errph", epsilon=2.0, bins=4, policy=Policy(columns=columns))
