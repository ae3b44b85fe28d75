"""Values of classes as they are counted: exemptions, caps and widths by an independent count, and no value lost."""

from __future__ import annotations

import datetime as dt
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from part_workers import without_rows

from anonkit.bundle.data_files import read_by
from anonkit.checks.class_counts import (
    ColumnValues,
    CountedValues,
    DomainOfValues,
    FactsOfValues,
    ValuesOfClasses,
    WorstClass,
)
from anonkit.checks.class_relation import classes_of
from anonkit.checks.counted_as import LookedAt, ReadValues
from anonkit.checks.disclosure import measure
from anonkit.errors import EngineError
from tests.checks.test_class_relation import folder_of


def apart(numbers: Sequence[float], width: float) -> int:
    """Most numbers that are further apart than a width: the next one is the least that is."""
    found: list[float] = []
    for number in sorted(numbers):
        if not found or number > found[-1] + width:
            found.append(number)
    return len(found)


def grouped(numbers: Sequence[float], width: float) -> list[int]:
    """Sizes of groups: most numbers within the width of one of them, the least first; then most of those left."""
    left, sizes = sorted(numbers), []
    while left:
        near = [[other for other in left if one <= other <= one + width] for one in left]
        most = max(near, key=len)
        sizes.append(len(most))
        left = [number for number in left if number not in most]
    return sizes


def worst(rows: Sequence[tuple[str, Any]], width: float) -> dict[str, float]:
    """l, its entropy, recursive c, alpha, and the largest share of a class within the width of a number it has."""
    classes: dict[str, list[Any]] = defaultdict(list)
    for name, number in rows:
        classes[name].append(number)
    l, alpha, confidence, entropy_l, c = math.inf, 0.0, 0.0, math.inf, 0.0  # noqa: E741
    for values in classes.values():
        valued = [cell for cell in values if cell is not None]
        near = [sum(one <= other <= one + width for other in valued) for one in valued]
        l = min(l, apart(valued, width))  # noqa: E741
        alpha = max([alpha, *(n / len(valued) for n in near)])
        confidence = max([confidence, *(n / len(values) for n in near)])
        sizes = grouped(valued, width)
        shares = [size / len(valued) for size in sizes]
        entropy_l = min(entropy_l, math.exp(-sum(p * math.log(p) for p in shares)) if sizes else 0.0)
        c = max(c, sizes[0] / sum(sizes[1:]) if len(sizes) > 1 else math.inf)
    recursive = {"recursive_c_2": c} if math.isfinite(c) else {}
    return {"l": l, "alpha": alpha, "confidence": confidence, "entropy_l": entropy_l, **recursive}


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.none() | st.integers(0, 12)), min_size=1, max_size=30),
    st.sampled_from([0.0, 1.0, 2.5, 20.0]),
)
def test_numbers_within_the_width_are_one(rows: list[tuple[str, Any]], width: float) -> None:
    """l by greedy packing, entropy and recursive l of groups, alpha by what lies within the width above a number."""
    table = pa.table({"q": [q for q, _ in rows], "s": pa.array([s for _, s in rows], pa.float64())})
    reading = ReadValues(widths={"s": width}, caps={"s": []})
    found = measure(table, ["q"], sensitive=["s"], reading=reading).sensitive["s"]

    expected = worst(rows, width)
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert ("recursive_c_2" in found) is ("recursive_c_2" in expected)
    assert found["confidence_cap"] == (0.51 if expected["confidence"] else 1.0)


def test_the_value_that_is_most_above_its_cap_is_told() -> None:
    """Not the commonest one, and nothing of what is exempt."""
    table = pa.table({"q": ["a"] * 10, "s": ["x"] * 6 + ["y"] * 3 + [None]})
    found = measure(table, ["q"], sensitive=["s"], reading=ReadValues(caps={"s": [["x", None], ["y", 0.6]]}))
    assert (found.sensitive["s"]["confidence"], found.sensitive["s"]["confidence_cap"]) == (0.3, 0.6)

    found = measure(table, ["q"], sensitive=["s"], reading=ReadValues(caps={"s": [["x", 0.8]]}))
    assert (found.sensitive["s"]["confidence"], found.sensitive["s"]["confidence_cap"]) == (0.6, 0.8)


def test_where_every_value_is_exempt_nothing_is_capped() -> None:
    """The check holds whatever the classes are."""
    table = pa.table({"q": ["a"] * 3, "s": ["x"] * 3})
    found = measure(table, ["q"], sensitive=["s"], reading=ReadValues(caps={"s": [["x", None]]}))
    assert (found.sensitive["s"]["confidence"], found.sensitive["s"]["confidence_cap"]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("cells", "caps", "expected"),
    [
        (["a", "b", None], [["b", 0.7], [None, 0.6]], [0.51, 0.7, 0.6]),
        ([False, True], [["true", None]], [0.51, math.inf]),
        ([dt.date(2020, 1, 1), dt.date(2021, 1, 1), None], [["2021-01-01", 0.55]], [0.51, 0.55, 0.51]),
        ([1, 5, 9, None], [[None, 0.8], [5, 0.6], [9, None]], [0.51, 0.6, math.inf, 0.8]),
    ],
)
def test_caps_are_found_by_value(cells: list[Any], caps: list[list[Any]], expected: list[float]) -> None:
    """Texts, dates and truth values by what they are called, numbers from one on up to the next; others have .51."""
    looked = LookedAt.of(pa.chunked_array([cells]), "s", ReadValues(caps={"s": caps}))
    assert looked.caps is not None
    assert looked.caps.tolist() == expected


def test_every_person_counts_at_the_value_that_makes_the_class_least_diverse() -> None:
    """Two people who both have a low and a high number may be at one of them."""
    rows = [("p1", 1.0), ("p2", 1.0), ("p1", 9.0), ("p2", 9.0), ("p1", 1.0), ("p2", 9.0)]
    table = pa.table({"q": ["a"] * 6, "u": [u for u, _ in rows], "s": [s for _, s in rows]})
    reading = ReadValues(widths={"s": 1.0}, caps={"s": []})
    found = measure(table, ["q"], sensitive=["s"], unit="u", reading=reading).sensitive["s"]
    assert (found["l"], found["alpha"], found["confidence"]) == (1.0, 1.0, 1.0)


def test_values_that_a_group_does_not_know_are_noticed() -> None:
    """A cell that compares otherwise where it was dealt would be no value there."""
    values = ColumnValues(column="s", reading=ReadValues(), missing_is_value=False)
    with classes_of(pa.table({"s": [1, 2, 2]}), [], ["s"]) as fewer:
        domain, facts = fewer.of_columns([DomainOfValues(values=values), FactsOfValues(values=values, records=3)])
        table = fewer.table_of(values).replace_schema_metadata({"kind": "BIGINT", "here": ""})
    with classes_of(pa.table({"q": [1, 1, 1, 1], "s": [1, 2, 2, 3]}), ["q"], ["s"]) as classes:
        classes = replace(classes, table_of=lambda need: table)
        worst = WorstClass(values=values, records=4, recursive=())
        assert worst.published(next(classes.each([worst])), facts)["l"] == 2
        for other in (replace(facts, rows=4), replace(facts, rows=2)):
            with pytest.raises(EngineError, match="does not add up"):
                worst.published(next(classes.each([worst])), other)
        held = next(classes.each([ValuesOfClasses(values=values, unit=None)]))
        with pytest.raises(EngineError, match="does not add up"):
            CountedValues.joined(held, replace(domain, rows=domain.rows + 1))


def test_people_are_one_whatever_the_spelling_of_their_number(tmp_path: Path) -> None:
    """0 and -0 are one person, not-a-number is one, and a missing one is nobody."""
    whose = [0.0, -0.0, float("nan"), -float("nan"), None, 1.0, 0.0, -0.0]
    table = pa.table({"q": [1] * 8, "s": list("aabbbbab"), "person": pa.array(whose, pa.float64())})
    data = folder_of(table, tmp_path / "here", 1)
    expected = measure(table, ["q"], sensitive=["s"], unit="person")
    assert expected.people == 3
    with read_by(without_rows(data, tmp_path / "there")):
        assert measure(data, ["q"], sensitive=["s"], unit="person") == expected
