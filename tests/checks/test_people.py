"""Counts of people by class and value: their definition, their disclosure, and their validation."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from anonkit.checks.disclosure import measure
from anonkit.checks.people import PeopleCounts

VALUES = ["flu", "hiv", "ulcer", None]
ROWS = st.lists(st.tuples(st.sampled_from("xy"), st.integers(1, 5), st.sampled_from(VALUES)), min_size=1, max_size=14)
Row = tuple[str, int, str | None]


def _table(rows: list[Row], numeric: bool = False) -> pa.Table:
    q, who, s = (list(column) for column in zip(*rows, strict=True))
    cells = pa.array([None if v is None else VALUES.index(v) for v in s], pa.int64()) if numeric else s
    return pa.table({"q": q, "who": who, "s": cells})


def _divisions(members: list[Row]) -> list[Counter[str]]:
    """Return every way to count each person of a class once, at one of the values that person has."""
    held: dict[int, set[str]] = {}
    for _, who, value in members:
        if value is not None:
            held.setdefault(who, set()).add(value)
    return [Counter(chosen) for chosen in itertools.product(*map(sorted, held.values()))] if held else []


def _classes(rows: list[Row]) -> list[list[Row]]:
    return [[row for row in rows if row[0] == key] for key in sorted({row[0] for row in rows})]


def _shares(members: list[Row], *, whole: bool = False) -> dict[str, float]:
    """Return the share of the people with a value who have each value, as published."""
    valued = [row for row in members if row[2] is not None]
    few = len({who for _, who, _ in valued})
    people = few if len(valued) == len(members) else few if few > 2 else min(few, 1)
    people = max(few, min(len(valued), 2)) if whole else people
    told = {}
    for value in {row[2] for row in valued}:
        mine = [row for row in valued if row[2] == value]
        told[value] = min(max(len({who for _, who, _ in mine}), min(len(mine), 2)), people) / people
    return told


def _distance(members: list[Row], rows: list[Row], ordered: bool) -> float:
    """Return how far the shares of a class are from those of the table, counted up from both ends."""
    here, everywhere = _shares(members), _shares(rows, whole=True)
    gaps = [here.get(v, 0.0) - everywhere[v] for v in sorted(everywhere, key=VALUES.index)]
    if not ordered:
        return min(max(sum(g for g in gaps if g > 0), -sum(g for g in gaps if g < 0)), 1.0)
    upward = sum(abs(sum(gaps[: at + 1])) for at in range(len(gaps) - 1))
    downward = sum(abs(sum(gaps[at + 1 :])) for at in range(len(gaps) - 1))
    return min(max(upward, downward) / max(len(gaps) - 1, 1), 1.0)


@settings(max_examples=20, deadline=None)
@given(ROWS, st.booleans())
def test_t_is_how_far_shares_of_people_move(rows: list[Row], numeric: bool) -> None:
    """The worst class's distance by hand; a class that is the whole table is at distance 0."""
    found = measure(_table(rows, numeric), ["q"], sensitive=["s"], unit="who").sensitive["s"]
    by_hand = [
        _distance(members, rows, numeric) if any(row[2] is not None for row in members) else 1.0
        for members in _classes(rows)
    ]
    assert found["t"] == pytest.approx(max(by_hand), abs=1e-12)
    whole = [("x", who, value) for _, who, value in rows if value is not None]
    if len({who for _, who, _ in whole}) > 1:
        assert measure(_table(whole, numeric), ["q"], sensitive=["s"], unit="who").sensitive["s"]["t"] < 1e-12


@settings(max_examples=20, deadline=None)
@given(ROWS, st.booleans())
def test_what_is_told_of_people_is_no_better_than_any_division_of_them(rows: list[Row], numeric: bool) -> None:
    """For each assignment of people to one of their own values, no class is less diverse than published."""
    found = measure(_table(rows, numeric), ["q"], sensitive=["s"], unit="who").sensitive["s"]
    for members in _classes(rows):
        if not _divisions(members):
            assert (found["l"], found["entropy_l"], found["t"]) == (0, 0, 1)
            assert "recursive_c_2" not in found
        for division in _divisions(members):
            counts, people = sorted(division.values(), reverse=True), sum(division.values())
            assert found["l"] <= len(counts)
            assert found["entropy_l"] <= math.exp(-sum(n / people * math.log(n / people) for n in counts)) + 1e-9
            assert found["alpha"] >= counts[0] / people - 1e-9
            if "recursive_c_2" in found:
                assert len(counts) > 1
                assert found["recursive_c_2"] >= counts[0] / sum(counts[1:]) - 1e-9


@settings(max_examples=20, deadline=None)
@given(ROWS, st.booleans())
def test_people_with_one_row_each_are_rows(rows: list[Row], numeric: bool) -> None:
    """If everybody has one row, and a value, each figure equals the field's definition for rows."""
    alone = [(q, number, value or "flu") for number, (q, _, value) in enumerate(rows)]
    by_people = measure(_table(alone, numeric), ["q"], sensitive=["s"], unit="who")
    by_rows = measure(_table(alone, numeric), ["q"], sensitive=["s"])
    assert by_people.sensitive["s"] == pytest.approx(by_rows.sensitive["s"])
    assert by_people.people_sizes == by_rows.class_sizes


def test_one_person_with_many_values_makes_no_class_diverse() -> None:
    """Nine people have hiv, the tenth has four other values: two values account for everybody, not five."""
    rows: list[Row] = [("x", who, "hiv") for who in range(9)] + [("x", 9, v) for v in ("a", "b", "c", "d")]
    table = _table(rows)
    found = measure(table, ["q"], sensitive=["s"], unit="who").sensitive["s"]
    assert measure(table, ["q"], sensitive=["s"]).sensitive["s"]["l"] == 5
    assert found["l"] == 2
    assert found["alpha"] == pytest.approx(0.9)
    assert found["entropy_l"] == pytest.approx(math.exp(-0.9 * math.log(0.9) - 0.1 * math.log(0.1)))
    assert found["recursive_c_2"] == pytest.approx(9.0)


def test_a_value_that_everybody_has_among_others_is_no_diversity() -> None:
    """Five people each have hiv once and the same other value nine times: nobody's hiv is in doubt."""
    rows = [("x", who, value) for who in range(5) for value in ("hiv", *["flu"] * 9)]
    found = measure(_table(rows), ["q"], sensitive=["s"], unit="who")
    assert found.sensitive["s"]["l"] == 1
    assert found.sensitive["s"]["alpha"] == 1
    assert found.people_sizes == ((5, 1),)


def test_risks_count_people() -> None:
    """28 rows of five people are a risk of one in five, and twelve rows of one person are a unique."""
    rows: list[Row] = [("x", number % 5, "flu") for number in range(28)] + [("y", 7, "flu")] * 12
    risk = measure(_table(rows), ["q"], unit="who").to_dict(0.2)
    assert risk["counted"] == "people"
    assert risk["prosecutor"] == {"max": 1.0, "mean": 2 / 6, "share_at_risk": 1 / 6, "risk_threshold": 0.2}
    assert risk["uniques"] == 1
    assert risk["class_sizes"] == [
        {"size": 1, "classes": 1, "records": 1},
        {"size": 5, "classes": 1, "records": 5},
    ]
    assert risk["k_anonymity"] == {"k": 12, "people": 1}


@settings(max_examples=20, deadline=None)
@given(ROWS, st.booleans())
def test_the_counts_that_are_told_allow_the_same_recount(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], numeric: bool
) -> None:
    """Without the unit column, and with the block of counts, the recount is the one with the unit column."""
    table, path = _table(rows, numeric), tmp_path_factory.mktemp("x") / "t.parquet"
    with_unit = measure(table, ["q"], sensitive=["s"], unit="who")
    assert with_unit.counts is not None
    shuffled = table.take(pa.array(np.random.default_rng(len(rows)).permutation(table.num_rows)))
    pq.write_table(shuffled.drop_columns(["who"]), path)
    told = PeopleCounts.from_params(with_unit.counts.to_params())
    again = measure(path, ["q"], sensitive=["s"], people=told)
    assert all(check.passed for check in again.checks)
    assert again == with_unit


@settings(max_examples=20, deadline=None)
@given(ROWS)
def test_how_many_rows_one_person_has_is_not_told(rows: list[Row]) -> None:
    """A value that one person holds in several rows is published like one that two people hold."""
    assume(all(value is not None for _, _, value in rows))
    before = measure(_table(rows), ["q"], sensitive=["s"], unit="who").counts
    assert before is not None
    for value in {row[2] for row in rows}:
        mine = [at for at, row in enumerate(rows) if row[0] == "x" and row[2] == value]
        others = {row[1] for at, row in enumerate(rows) if row[0] == "x" and at not in mine}
        if len(mine) > 1 and len({rows[at][1] for at in mine}) == 1 and rows[mine[0]][1] in others and len(others) > 1:
            other = min(others - {rows[mine[0]][1]})
            changed = [(q, other if at == mine[0] else who, s) for at, (q, who, s) in enumerate(rows)]
            after = measure(_table(changed), ["q"], sensitive=["s"], unit="who").counts
            assert after is not None
            assert after.sensitive["s"].values.tolist() == before.sensitive["s"].values.tolist()


def test_every_value_counts_as_it_is_in_a_file(tmp_path: Path) -> None:
    """Categories, numbers, dates and missing quasi-identifiers have one order, with and without the unit column."""
    table = pa.table(
        {
            "c": pa.array(["é", "Z", "a", None, "é", "z"]).dictionary_encode(),
            "d": pa.array([3, 1, None, 2, 3, 10], pa.int32()).cast(pa.date32()),
            "n": pa.array([2.5, 10.0, -1.0, None, 2.5, 9.0]),
            "who": [1, 2, 3, 4, 1, 5],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    pq.write_table(table.drop_columns(["who"]).take(pa.array([5, 4, 3, 2, 1, 0])), tmp_path / "b.parquet")
    first = measure(tmp_path / "a.parquet", ["c", "d", "n"], unit="who")
    again = measure(tmp_path / "b.parquet", ["c", "d", "n"], people=first.counts)
    assert first.counts is not None
    assert again == first
    assert first.counts.classes.tolist() == [1, 1, 1, 1, 1]
    assert [check.passed for check in again.checks] == [True]


@pytest.mark.parametrize(
    "change", [{"with_value": [1]}, {"with_value": None}, {"values": [1]}, {"everywhere": [1, 1, 1]}]
)
def test_counts_of_another_shape_are_no_counts_of_this_table(change: dict[str, list[int] | None]) -> None:
    """A count a class, a pair and a value; people with a value are counted where cells are missing, and only there."""
    table = _table([("x", 1, "flu"), ("x", 2, "hiv"), ("x", 3, None), ("y", 4, "flu"), ("y", 5, "hiv")])
    counts = measure(table, ["q"], sensitive=["s"], unit="who").counts
    assert counts is not None
    right = counts.sensitive["s"]
    arrays = {name: None if told is None else np.array(told, dtype=np.int64) for name, told in change.items()}
    forged = replace(counts, sensitive={"s": replace(right, **arrays)})
    rows = table.drop_columns(["who"])
    assert all(check.passed for check in measure(rows, ["q"], sensitive=["s"], people=counts).checks)
    found = {check.name: check for check in measure(rows, ["q"], sensitive=["s"], people=forged).checks}
    assert found["people_of_values:s"].observed == 1


@pytest.mark.parametrize("others", [[], [("x", 1, "flu"), ("x", 2, "hiv"), ("z", 3, "flu"), ("z", 4, "hiv")]])
def test_rows_of_nobody_make_no_class_diverse(others: list[Row]) -> None:
    """A class whose rows belong to nobody has no people and no value that anybody has, beside others or alone."""
    rows = [*others, ("y", 0, "flu"), ("y", 0, "hiv")]
    table = _table(rows)
    nobody = pc.if_else(pc.equal(table["who"], 0), None, table["who"])
    found = measure(table.set_column(1, "who", nobody), ["q"], sensitive=["s"], unit="who")
    assert found.people_sizes is not None
    assert found.people_sizes[0][0] == 0
    assert found.sensitive["s"]["l"] == 0
    assert found.sensitive["s"]["t"] == 1
