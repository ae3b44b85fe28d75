"""Public domains: declared, or read from the table on the owner's word."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import anonkit
from anonkit.domains.number_bins import NumberBins
from anonkit.errors import PolicyError
from anonkit.policy.answer_design import AnswerDesign
from anonkit.policy.column_declarations import Column, ColumnType, Missing, Outside, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import CategoricalAttribute, numeric_target, public_attribute, public_domains
from anonkit.policy.target_task import Task

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
    """Categories are texts; integers of the table represent their digits."""
    columns = {"age": Column(name="age", categories=("20", "30", "40", "50"))}
    release = anonkit.release(TABLE.select(["age"]), method="errph", epsilon=20.0, policy=Policy(columns=columns))
    assert set(release.to_arrow().column("age").to_pylist()) <= {"20", "30", "40", "50"}


def test_texts_under_bounds_are_missing() -> None:
    """The owner learns how many; the release is made all the same."""
    columns = {"sex": Column(name="sex", bounds=(0, 1))}
    release = anonkit.release(
        TABLE.select(["sex"]), method="errph", epsilon=20.0, bins=4, policy=Policy(columns=columns)
    )
    assert release.to_arrow().column("sex").null_count > 90
    assert release.owner["cells_not_as_declared"] == {"sex": {"missing": 25, "outside": 75, "filled": 75}}


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


def with_target(task: Task | None = None, **declared: Any) -> Policy:
    """A policy with one attribute and a target."""
    target = Column(name="y", role=Role.TARGET, **declared)
    return Policy(columns={"a": Column(name="a", categories=("0", "1")), "y": target}, task=task)


def test_the_classes_of_a_number_to_predict_are_equal_bins_of_its_bounds() -> None:
    """By its bounds or its task alone, as declared; missing is a class of its own where that is declared."""
    (classes,) = (public_domains(with_target(bounds=(0.0, 16.0))).classes.domain,)
    assert isinstance(classes, NumberBins)
    assert (classes.ends, classes.size) == (tuple(range(1, 9)), 8)
    counted = public_domains(with_target(Task.REGRESSION, bounds=(0.0, 16.0), missing=Missing.CATEGORY)).classes.domain
    assert counted.size == 9
    assert numeric_target(with_target(bounds=(0.0, 16.0))) == public_attribute(with_target(bounds=(0, 16)).columns["y"])
    assert numeric_target(with_target(categories=("0", "1"))) is None
    assert numeric_target(Policy(columns={"a": Column(name="a", categories=("0", "1"))})) is None


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (with_target(Task.REGRESSION), "number to predict and has no public bounds"),
        (with_target(type=ColumnType.NUMBER), "number to predict and has no public bounds"),
        (with_target(Task.CLASSIFICATION, bounds=(0.0, 1.0)), "classes need categories"),
        (
            with_target(bounds=(0.0, 1.0), answers=AnswerDesign(where="column 'y'", weights=(1.0, 2.0))),
            "is for categories",
        ),
        (with_target(categories=tuple(map(str, range(1001)))), "1,001 classes"),
        (with_target(), "no public domain"),
    ],
)
@pytest.mark.parametrize("method", ["dp-forest", "dp-nb", "edprf", "rr"])
def test_a_target_without_a_public_domain_of_its_task_is_refused_with_the_remedy(
    policy: Policy, said: str, method: str
) -> None:
    """Before any data is read, by every method; the hint names what to declare."""
    table = pa.table({"a": ["0", "1"] * 50, "y": [0.5] * 100})
    with pytest.raises(PolicyError, match=said) as refused:
        anonkit.release(table, method=method, epsilon=1.0, policy=policy, ledger=None)
    assert refused.value.hint


def test_columns_without_a_domain_are_named_together() -> None:
    """Five by name, the others counted, and the ways out: the owner learns of all of them at once."""
    names = [f"c{at}" for at in range(7)]
    policy = Policy(columns={name: Column(name=name) for name in names})
    with pytest.raises(PolicyError, match="7 columns have no public domain: 'c0', 'c1', 'c2', 'c3', 'c4' and 2 more"):
        public_domains(policy)
    one = Policy(columns={"a": Column(name="a"), "b": Column(name="b", categories=("x", "y"))})
    with pytest.raises(PolicyError, match="column 'a' has no public domain"):
        public_domains(one)
