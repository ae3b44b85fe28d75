"""Rows and people left out by class of the target: counted again here, row by row in Python, for every method."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonkit
from anonkit.datasets import bank_customers
from anonkit.pipeline.suppression import CHANCE, EXCESS, CountedTable, left_out_by_class
from anonkit.protocols import COUNT

METHODS: dict[str, dict[str, Any]] = {
    "mondrian": {},
    "rfka": {"trees": 5},
    "greedy-hamdist": {},
    "datafly": {},
    "incognito": {},
}
AS_MANY = {"max_suppression": 0.9}


def expected(table: pa.Table, released: pa.Table, target: str) -> dict[Any, tuple[int, int]]:
    """Rows read and rows left out of each class."""
    read, kept = (Counter(part.column(target).to_pylist()) for part in (table, released))
    return {value: (read[value], read[value] - kept[value]) for value in read}


def told(release: anonkit.Release) -> dict[Any, tuple[int, int]]:
    """The owner's figures of each class."""
    classes = release.owner["rows_left_out"]["classes"]
    return {entry["class"]: (entry["in"], entry["left_out"]) for entry in classes}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Small tables with holes and few values, and a target that may be missing."""
    rows = draw(st.integers(12, 40))
    return pa.table(
        {
            "age": draw(st.lists(st.none() | st.integers(20, 29), min_size=rows, max_size=rows)),
            "job": draw(st.lists(st.sampled_from(["cook", "nurse", None, ""]), min_size=rows, max_size=rows)),
            "label": draw(st.lists(st.sampled_from(["a", "b", None]), min_size=rows, max_size=rows)),
        }
    )


@pytest.mark.quick_cases("datafly")
@pytest.mark.parametrize("method", METHODS)
@given(table=tables(), k=st.integers(2, 4))
@settings(max_examples=6)
def test_the_owner_is_told_what_every_class_lost(method: str, table: pa.Table, k: int) -> None:
    """The source less the release, class by class, rows without a target among them; the share is of the class."""
    settled = METHODS[method] if method == "mondrian" else {**METHODS[method], **AS_MANY}
    try:
        release = anonkit.release(table, method=method, k=k, target="label", ledger=None, **settled)
    except anonkit.AnonkitError as refused:
        assert refused.exit_code == 1  # noqa: PT017 - so few rows may not form classes of k
        return
    found = release.owner["rows_left_out"]
    assert told(release) == expected(table, release.to_arrow(), "label")
    assert (found["in"], found["left_out"]) == (table.num_rows, table.num_rows - release.to_arrow().num_rows)
    assert all(entry["share"] == entry["left_out"] / entry["in"] for entry in [found, *found["classes"]])
    assert not any("rows_left_out" in key for key in release.report)


def test_rows_that_miss_a_needed_cell_are_left_out_too() -> None:
    """For any reason: rows dropped for a missing cell and rows suppressed are in one count."""
    table = pa.table(
        {
            "age": [30] * 40 + [None] * 8 + [77] * 2,
            "job": ["cook", "nurse"] * 25,
            "label": ["a"] * 40 + ["b"] * 10,
        }
    )
    policy = anonkit.Policy.from_dict({"columns": {"age": {"missing": "drop"}}})
    release = anonkit.release(
        table, method="rfka", k=5, target="label", policy=policy, ledger=None, trees=5, max_suppression=0.5
    )
    assert release.report["rows"]["dropped_missing"] == 8
    assert told(release) == expected(table, release.to_arrow(), "label")
    assert told(release)["b"][1] >= 8


@pytest.mark.slow
def test_an_applied_recoding_tells_it_too(tmp_path: Path) -> None:
    """The next batch, with cells that are missing; without models too, as `anonkit apply` does by default."""
    _lists_losses_of_the_next_batch(tmp_path, "local")


@pytest.mark.slow
def test_spark_tells_the_same(spark: Any, tmp_path: Path) -> None:
    """Counted where the rows are, exact."""
    _lists_losses_of_the_next_batch(tmp_path, "spark")


def _lists_losses_of_the_next_batch(tmp_path: Path, engine: str) -> None:
    """Rows of the batch that miss an age are left out."""
    table = bank_customers(500, seed=3).select(["age", "education", "customer_value"])
    first, second = table.slice(0, 300), table.slice(300)
    age = [None if at % 5 == 0 else value for at, value in enumerate(second.column("age").to_pylist())]
    second = second.set_column(0, "age", pa.array(age))
    policy = anonkit.Policy.from_dict({"columns": {"age": {"missing": "drop"}}})
    anonkit.release(
        first,
        output=tmp_path / "one.parquet",
        method="mondrian",
        k=5,
        target="customer_value",
        policy=policy,
        ledger=None,
    )
    release = anonkit.apply(tmp_path / "one.params.json", second, engine=engine, ledger=None, utility=True)
    assert release.report["rows"]["out"] == 160
    assert told(release) == expected(second, release.to_arrow(), "customer_value")
    assert release.owner["prediction_for_all_rows"]["rows_left_out"] == 40
    if engine == "local":
        untrained = anonkit.apply(tmp_path / "one.params.json", second, ledger=None)
        assert told(untrained) == told(release)
        assert "prediction_for_all_rows" not in untrained.owner


def test_people_are_counted_where_people_are_declared() -> None:
    """A person is left out of a class when none of the person's rows of it is released, however many there were."""
    random = np.random.default_rng(4)
    who = random.integers(0, 90, 400)
    label = np.where(random.random(400) < 0.2, "b", np.where(who % 3 == 0, "b", "a"))
    table = pa.table(
        {
            "who": [None if one == 0 else f"P{one}" for one in who],
            "age": 20 + who % 13,
            "town": [f"T{one % 7}" for one in who],
            "row": pa.array(range(400)),
            "label": label,
        }
    )
    policy = anonkit.Policy.from_dict({"columns": {"row": {"role": "insensitive", "release_as_is": True}}})
    release = anonkit.release(
        table, method="rfka", k=6, unit="who", target="label", policy=policy, ledger=None, trees=5, max_suppression=0.6
    )
    released = set(release.to_arrow().column("row").to_pylist())
    rows = table.to_pylist()
    for entry in release.owner["rows_left_out"]["classes"]:
        of_class = [row for row in rows if row["label"] == entry["class"]]
        people = {row["who"] for row in of_class if row["who"]}
        there = {row["who"] for row in of_class if row["row"] in released}
        assert (entry["in"], entry["left_out"]) == (len(people), len(people - there))
        assert entry["rows_in"] == len(of_class)
        assert entry["rows_left_out"] == sum(row["row"] not in released for row in of_class)
    found = release.owner["rows_left_out"]
    assert found["counted"] == "people"
    assert found["in"] == len({row["who"] for row in rows if row["who"]})
    assert found["left_out"] == found["in"] - len({row["who"] for row in rows if row["row"] in released})
    assert found["left_out"] > 0


def test_nothing_of_it_is_in_a_file_of_the_release(tmp_path: Path) -> None:
    """Counts by class and the figures of the source are the owner's: in the private report, 0600, and nowhere else."""
    table = bank_customers(400, seed=3)
    anonkit.release(
        table,
        output=tmp_path / "out.parquet",
        method="datafly",
        k=5,
        target="customer_value",
        ledger=None,
        owner_report=tmp_path / "private",
        **AS_MANY,
    )
    owner = json.loads((tmp_path / "private" / "owner.report.json").read_bytes())
    assert owner["rows_left_out"]["left_out"] > 0
    assert owner["prediction_for_all_rows"]["rows"] == 400
    for file in tmp_path.glob("out*"):
        content = file.read_bytes()
        assert b"rows_left_out" not in content
        assert b"prediction_for_all_rows" not in content
        assert b"loses clearly more" not in content


class _Counts:
    """An engine that answers with given counts."""

    def __init__(self, counts: dict[str, int]) -> None:
        self.counts = counts

    def count_sets(self, source: object, sets: object) -> list[pa.Table]:
        return [pa.table({"y": list(self.counts), COUNT: list(self.counts.values())})]


def _table(counts: dict[str, int]) -> CountedTable:
    return CountedTable(engine=_Counts(counts), rows=None)  # type: ignore[arg-type]


def _standing_out(read: dict[str, int], left: dict[str, int]) -> list[str]:
    kept = {value: read[value] - left.get(value, 0) for value in read}
    found = left_out_by_class(_table(read), _table(kept), "y", None)
    assert found is not None
    assert ("note" in found) == any(entry["stands_out"] for entry in found["classes"])
    assert not any(value in found.get("note", "") for value in read)
    return [entry["class"] for entry in found["classes"] if entry["stands_out"]]


def test_a_class_that_loses_clearly_more_stands_out_and_a_few_rows_do_not() -> None:
    """Seen: 1.1 % of the rows and 5 % of the positives. A class of five rows all lost says nothing clear."""
    assert _standing_out({"pos": 1000, "neg": 9000}, {"pos": 50, "neg": 60}) == ["pos"]
    assert _standing_out({"rare": 5, "neg": 9000}, {"rare": 5, "neg": 60}) == []
    assert _standing_out({"pos": 1000, "neg": 9000}, {"pos": 12, "neg": 90}) == []
    assert _standing_out({"pos": 10, "neg": 10}, {}) == []
    assert _standing_out({"pos": 30, "neg": 3000}, {"pos": 30}) == ["pos"]


@pytest.mark.slow
def test_a_target_that_has_nothing_to_do_with_it_does_not_shout() -> None:
    """Rows left out at random, of ten classes of any size: fewer than the stated share of tables name one."""
    random = np.random.default_rng(5)
    named = 0
    for _ in range(1500):
        sizes = random.integers(20, 2000, 10)
        left = random.multivariate_hypergeometric(sizes, int(sizes.sum() * random.uniform(0.002, 0.3)))
        names = [f"class {at}" for at in range(10)]
        named += bool(
            _standing_out(dict(zip(names, sizes.tolist(), strict=True)), dict(zip(names, left.tolist(), strict=True)))
        )
    assert named <= 1500 * CHANCE + 4
    assert EXCESS >= 10


@pytest.mark.slow
def test_of_many_classes_those_that_lost_most_are_listed() -> None:
    """At most fifty, and how many more there are; a target that is a number is shown by its quarters."""
    read = {f"class {at:03}": 10 + at for at in range(70)}
    found = left_out_by_class(_table(read), _table({}), "y", None)
    assert found is not None
    assert [entry["class"] for entry in found["classes"]] == [f"class {at:03}" for at in range(69, 19, -1)]
    assert found["more_classes"] == 20
    table = bank_customers(200, seed=1).select(["age", "education", "deposit"])
    release = anonkit.release(table, method="mondrian", k=5, target="deposit", ledger=None)
    quarters = release.owner["rows_left_out"]["classes"]
    assert [entry["in"] for entry in quarters] == [50] * 4
    assert {entry["class"].split()[0] for entry in quarters} == {"below", "from"}
