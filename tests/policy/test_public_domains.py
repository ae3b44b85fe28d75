"""Public domains: declared, or read from the table on the owner's word."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import anonkit
from anonkit.errors import PolicyError
from anonkit.policy.answer_design import AnswerDesign
from anonkit.policy.declaration import Column, Missing, Outside, Policy, Role
from anonkit.policy.public_domains import CategoricalAttribute, public_attribute

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


def test_texts_under_bounds_are_missing() -> None:
    """The owner is told how many; the release is made all the same."""
    columns = {"sex": Column(name="sex", bounds=(0, 1))}
    release = anonkit.release(
        TABLE.select(["sex"]), method="errph", epsilon=20.0, bins=4, policy=Policy(columns=columns)
    )
    assert release.to_arrow().column("sex").null_count > 90
    assert release.owner["cells_not_as_declared"] == {"sex": {"missing": 25, "outside": 75}}


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"missing": Missing.ERROR}, "a refusal tells that a value is missing"),
        ({"missing": Missing.DROP}, "dropping rows tells"),
        ({"outside": Outside.REFUSE}, "a refusal tells that a cell is outside"),
    ],
)
@pytest.mark.parametrize("method", ["errph", "dp-nb"])
def test_what_would_refuse_for_a_cell_is_refused_beforehand(declared: dict[str, Any], said: str, method: str) -> None:
    """Before any data is opened: there is no such file."""
    columns = {
        "sex": Column(name="sex", categories=("F", "M"), **declared),
        "income": Column(name="income", role=Role.TARGET, categories=("low", "high")),
    }
    with pytest.raises(PolicyError, match=said):
        anonkit.release("nowhere.csv", method=method, epsilon=1.0, policy=Policy(columns=columns))


def test_missing_is_a_value_whatever_the_table_holds() -> None:
    """Declared or not; `first` declares that it is none, and a design for the categories alone does."""

    def has_missing(**declared: Any) -> bool:
        attribute = public_attribute(Column(name="a", **declared))
        return attribute.domain.has_missing if isinstance(attribute, CategoricalAttribute) else attribute.has_missing

    assert has_missing(categories=("x", "y"))
    assert has_missing(bounds=(0, 1), missing=Missing.CATEGORY)
    assert not has_missing(bounds=(0, 1), missing=Missing.FIRST)
    for size, found in ((2, False), (3, True)):
        design = AnswerDesign(where="a", weights=(1.0,) * size)
        assert has_missing(categories=("x", "y"), answers=design) is found
    assert not has_missing(role=Role.TARGET, categories=("x", "y"))
