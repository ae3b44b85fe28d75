"""The measures of the report, recounted row by row in Python from the released table and from the source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy

METHODS: dict[str, dict[str, Any]] = {
    "mondrian": {},
    "rfka": {"trees": 5, "max_suppression": 0.5},
    "greedy-hamdist": {"max_suppression": 0.9},
}


def classes(table: pa.Table, columns: Sequence[str]) -> Counter[tuple[Any, ...]]:
    """Rows of every combination; missing is a value."""
    return Counter(tuple(row[name] for name in columns) for row in table.to_pylist())


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Small tables with holes, few values, and a target."""
    rows = draw(st.integers(12, 60))
    return pa.table(
        {
            "age": draw(st.lists(st.none() | st.integers(20, 29), min_size=rows, max_size=rows)),
            "job": draw(st.lists(st.sampled_from(["cook", "nurse", None, ""]), min_size=rows, max_size=rows)),
            "height": draw(st.lists(st.sampled_from([1.5, 1.75, 2.0]), min_size=rows, max_size=rows)),
            "label": draw(st.lists(st.sampled_from(["a", "b"]), min_size=rows, max_size=rows)),
        }
    )


@pytest.mark.quick_cases("rfka")
@pytest.mark.parametrize("method", METHODS)
@given(table=tables(), k=st.integers(2, 5))
@settings(max_examples=5)
def test_sizes_and_risks_are_those_of_the_released_rows(method: str, table: pa.Table, k: int) -> None:
    """Discernibility, mean class size and every risk follow from the class sizes, as the literature defines them."""
    try:
        release = anonkit.release(table, method=method, k=k, target="label", ledger=None, **METHODS[method])
    except anonkit.AnonkitError as refused:
        assert refused.exit_code == 1  # noqa: PT017 - so few rows may not form classes of k
        return
    released, report = release.to_arrow(), release.report
    asked = report["guarantee"]["parameters"]["quasi_identifiers"]
    sizes = Counter(classes(released, [name for name in asked if name in released.column_names]).values())
    rows, found = released.num_rows, report["disclosure_risk"]
    number = sum(sizes.values())
    assert found["class_sizes"] == [
        {"size": size, "classes": sizes[size], "records": size * sizes[size]} for size in sorted(sizes)
    ]
    assert found["classes"] == number
    assert found["k_anonymity"]["k"] == min(sizes) >= k
    assert found["uniques"] == 0
    assert report["utility"]["discernibility"] == sum(size**2 * sizes[size] for size in sizes)
    assert report["utility"]["average_equivalence_class_size"] == pytest.approx(rows / number)
    assert found["marketer"]["success_rate"] == pytest.approx(number / rows)
    for attacker in ("prosecutor", "journalist"):
        risks = [Fraction(1, size) for size in sizes.elements() for _ in range(size)]
        assert found[attacker]["max"] == pytest.approx(float(max(risks)))
        assert found[attacker]["mean"] == pytest.approx(float(sum(risks) / rows))
        assert found[attacker]["share_at_risk"] == pytest.approx(sum(risk > Fraction(1, 5) for risk in risks) / rows)


@pytest.mark.slow
@given(table=tables())
@settings(max_examples=5)
def test_the_owner_is_told_what_the_source_was(table: pa.Table) -> None:
    """Rows, classes, k and uniques of the source under all quasi-identifiers, those that are dropped included."""
    release = anonkit.release(table, method="mondrian", k=2, target="label", ledger=None)
    sizes = classes(table, ["age", "job", "height"])
    found = release.owner["source"]
    assert found["rows"] == table.num_rows
    assert found["uniques"] == sum(size == 1 for size in sizes.values())
    # the empty string is a text of its own in a table that is no CSV
    assert (found["classes"], found["k"]) == (len(sizes), min(sizes.values()))


@pytest.mark.slow
def test_of_people_the_source_is_counted_in_people() -> None:
    """With a unit column classes are as large as the people in them, however many rows they have."""
    table = bank_customers(240, seed=2, rows_per_customer=3).select(["customer_id", "age", "income", "customer_value"])
    release = anonkit.release(table, method="mondrian", k=2, unit="customer_id", target="customer_value", ledger=None)
    people: dict[tuple[Any, ...], set[str]] = {}
    for row in table.to_pylist():
        people.setdefault((row["age"], row["income"]), set()).add(row["customer_id"])
    sizes = Counter(map(len, people.values()))
    found = release.owner["source"]
    assert (found["k"], found["classes"], found["uniques"]) == (min(sizes), len(people), sizes[1])
    assert "source" not in release.report


def test_a_person_of_the_source_is_one_however_the_name_is_spelled() -> None:
    """7, 7.0 and a 7 among blanks are one person: a class of their rows alone is no class of three."""
    who = ["7", "7.0", " 7 ", *(f"P{at}" for at in range(20))]
    table = pa.table({"who": who, "age": [30] * 3 + [40] * 20, "label": ["a", "b", "a"] + ["a", "b"] * 10})
    release = anonkit.release(table, method="mondrian", k=2, unit="who", target="label", ledger=None)
    assert (release.owner["source"]["k"], release.owner["source"]["uniques"]) == (1, 1)


def _labelled(labels: Sequence[Any], answer: Sequence[Any]) -> pa.Table:
    return pa.table({"group": answer, "label": labels})


@pytest.mark.slow
def test_a_target_that_a_column_tells_is_predicted_and_another_is_not() -> None:
    """A known target gives accuracy and area 1, a coin the share of the commonest; the majority is that of the rows."""
    labels = ["yes" if at % 3 else "no" for at in range(1_500)]
    asked = {"method": "datafly", "k": 5, "target": "label", "ledger": None, "seed": 1}
    told = anonkit.release(_labelled(labels, labels), **asked)
    coin = anonkit.release(_labelled(labels, [at % 2 for at in range(1_500)]), **asked)
    for scores in (
        told.report["utility"]["prediction_of_target"],
        told.owner["utility_of_source"]["prediction_of_target"],
    ):
        assert (scores["accuracy"], scores["balanced_accuracy"], scores["auc"]) == (1.0, 1.0, 1.0)
    scores = coin.report["utility"]["prediction_of_target"]
    assert scores["majority"] == pytest.approx(2 / 3, abs=0.08)
    assert scores["accuracy"] == scores["majority"]
    assert abs(scores["balanced_accuracy"] - 0.5) < 0.1
    assert abs(scores["auc"] - 0.5) < 0.15


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "b"] * 49,
        ["a"] * 150,
        ["a"] * 150 + ["b"] * 4,
        [f"label {at % 21}" for at in range(210)],
        ["a", "b"] * 49 + [None] * 60,
    ],
    ids=["few rows", "one class", "a rare class", "many classes", "few rows with a class"],
)
def test_where_a_score_would_say_nothing_there_is_none(labels: list[str | None]) -> None:
    """Fewer than 100 rows with a class, one class, more than twenty, or one with fewer than five rows."""
    table = _labelled(labels, [at % 2 for at in range(len(labels))])
    release = anonkit.release(table, method="datafly", k=2, target="label", ledger=None)
    assert not {"prediction_of_target", "scored_rows"} & set(release.report["utility"])
    assert "prediction_of_target" not in release.owner["utility_of_source"]


@pytest.mark.parametrize("method", ["rr", "ppnb", "dp-nb", "dp-tree"])
def test_a_private_release_measures_nothing_of_the_source(method: str) -> None:
    """Neither classes nor models nor counts of the source, in the report or for the owner."""
    parameters = {"p_keep": 0.5} if method == "ppnb" else {"epsilon": 1.0}
    release = anonkit.release(
        bank_customers(120, seed=1), method=method, policy=bank_customers_policy(), ledger=None, **parameters
    )
    assert release.report["disclosure_risk"] == {}
    assert not {"discernibility", "average_equivalence_class_size", "prediction_of_target"} & set(
        release.report["utility"]
    )
    assert not {"source", "utility_of_source"} & set(release.owner)
