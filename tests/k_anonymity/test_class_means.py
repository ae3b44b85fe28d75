"""Means of classes: rounded within their interval, and withheld where they would disclose one person's number."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from anonkit.engines.engine_choice import Local
from anonkit.k_anonymity.class_means import class_means, middle, rounded
from anonkit.policy.declaration import Policy


def means_of(
    groups: list[str], numbers: list[float | None], ends: dict[str, tuple[Any, Any]], k: int = 3, **more: Any
) -> tuple[dict[str, float], dict[str, int]]:
    """Return the mean of each class, and how many were withheld by rule."""
    holders = {name: column for name, column in more.items() if name != "step"}
    table = pa.table({"x": pa.array(groups), "original 0: x": pa.array(numbers, pa.float64()), **holders})
    entry = {"labels": [[label, *pair] for label, pair in ends.items()]}
    if "step" in more:
        entry["step"] = more["step"]
    with Local().open() as engine:
        found = class_means(lambda pairs: engine.scan(table, Policy()), engine, ["x"], {"x": entry}, list(holders), k)
    labels = found.classes.column("x").to_pylist()
    return dict(zip(labels, found.means["x"].tolist(), strict=True)), dict(found.owner["x"])


def test_a_mean_is_that_of_the_rows_of_its_class() -> None:
    """By hand: (31 + 34 + 37) / 3 = 34, (41 + 42 + 49) / 3 = 44."""
    found, withheld = means_of(["a", "b", "a", "b", "a", "b"], [31, 41, 34, 42, 37, 49], {"a": (30, 39), "b": (40, 49)})
    assert found == {"a": 34.0, "b": 44.0}
    assert withheld == {"classes": 2, "few": 0, "p_percent": 0, "dominance": 0, "near_end": 0}


@pytest.mark.parametrize(
    ("numbers", "rule"),
    [
        ([100, 40, 9.9], "p_percent"),  # the person with 40 knows the 100 within 9.9
        ([100, 10, 14.9], "dominance"),  # 100 of 124.9 are 80.06 %
        ([0, 0, 99], "dominance"),
        ([1, 1, 2], "near_end"),  # all are at most 4 of 99
        ([98, 99, 99], "near_end"),
        ([50, 60, None], "few"),
    ],
)
def test_a_mean_that_discloses_one_number_is_withheld(numbers: list[float | None], rule: str) -> None:
    """The middle of the interval is shown, and the owner reads by which rule."""
    found, withheld = means_of(["a"] * 3, numbers, {"a": (0, 99)})
    assert found == {"a": 49.5}
    assert withheld[rule] == 1


@pytest.mark.parametrize("numbers", [[99, 40, 10], [99, 10, 14.9], [10, 20, 30], [5.1, 45, 50]])
def test_a_mean_at_the_edge_of_a_rule_is_shown(numbers: list[float]) -> None:
    """Just beyond 10 %, just below 80 %: the mean, to integers, as the size of the interval says."""
    found, withheld = means_of(["a"] * 3, numbers, {"a": (0, 99)})
    assert found == {"a": float(round(sum(numbers) / 3))}
    assert sum(withheld.values()) == 1  # the class itself


def test_the_numbers_of_a_person_are_one_contribution() -> None:
    """Three rows of one person make up more than 80 %; a row of nobody is a person of its own."""
    rows = {"groups": ["a"] * 5, "numbers": [50, 50, 50, 15, 15], "ends": {"a": (0, 99)}}
    assert means_of(**rows)[0] == {"a": 36.0}
    person = pa.array(["p", "p", "p", "q", "r"])
    found, withheld = means_of(**rows, who=person)
    assert found == {"a": 49.5}
    assert withheld["dominance"] == 1
    alone = pa.array(["p", None, None, "q", "r"])
    assert means_of(**rows, who=alone)[0] == {"a": 36.0}


def test_of_candidates_for_the_person_each_has_to_allow_a_mean() -> None:
    """Two columns may say whose the rows are: by the second one person dominates."""
    rows = {"groups": ["a"] * 5, "numbers": [50, 50, 50, 15, 15], "ends": {"a": (0, 99)}}
    found, _ = means_of(**rows, one=pa.array(list("abcde")), other=pa.array(list("pppqr")))
    assert found == {"a": 49.5}


def test_an_open_end_has_no_middle() -> None:
    """Withheld means are missing there; shown ones are rounded by their distance from the other end."""
    found, _ = means_of(["a"] * 3 + ["b"] * 3, [1, 2, 99, 61, 72, 83.3], {"a": (None, 99), "b": (60, None)})
    assert math.isnan(found["a"])
    assert found["b"] == 72.0
    assert math.isnan(middle(None, 2))
    assert math.isnan(middle(2, None))


@pytest.mark.parametrize(
    ("mean", "low", "high", "step", "shown"),
    [
        (37.44, 30, 39, None, 37.4),
        (37.44, 20, 49, None, 37.0),
        (23_456.7, 10_000, 49_999, None, 23_000.0),
        (2015.34, 2010, 2019, None, 2015.3),
        (2015.34, 2010, None, None, 2015.3),
        (72.46, 65, None, None, 72.5),
        (18.97, None, 19, None, 18.97),
        (0.0123456, None, None, None, 0.012),
        (0.0, None, None, None, 0.0),
        (19.0, None, 19, None, 19.0),
        (7.0, 7, 7, None, 7.0),
        (33.45, 33.4, 47.1, None, 33.4),
        (47.6, 33.4, 47.7, None, 47.7),
        (37.44, 30, 39, 1.0, 37.0),
        (1.37, 0, 9.9, 0.05, 1.35),
        (39.8, 30, 39, 5.0, 39.0),
        (-12.34, -20, -11, None, -12.3),
    ],
)
def test_a_mean_is_rounded_within_its_interval(
    mean: float, low: float | None, high: float | None, step: float | None, shown: float
) -> None:
    """Two digits of what is public of the interval, or multiples of the declared step; never beyond an end."""
    assert rounded(mean, low, high, step) == shown


def test_sums_do_not_depend_on_the_order_of_rows() -> None:
    """The same rows in another order show the same means."""
    generator = np.random.default_rng(4)
    numbers = generator.lognormal(3, 1, 300)
    groups = generator.choice(["a", "b", "c"], 300)
    ends = dict.fromkeys("abc", (0.0, 1000.0))
    order = generator.permutation(300)
    first = means_of(groups.tolist(), numbers.tolist(), ends)
    assert first == means_of(groups[order].tolist(), numbers[order].tolist(), ends)


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan, 1e308])
def test_what_has_no_finite_sum_has_no_mean(number: float) -> None:
    """Infinite numbers, and sums beyond all doubles: the middle is shown, and nothing is measured of these rows."""
    found, _ = means_of(["a"] * 4 + ["b"] * 4, [number] * 4 + [31, 34, 37, 34], {"a": (0, 99), "b": (30, 39)})
    assert found == {"a": 49.5, "b": 34.0}


def test_zero_has_no_sign() -> None:
    """A mean just below 0 is shown as 0."""
    assert math.copysign(1, rounded(-0.3, -20, 19, None)) == 1


def test_no_member_learns_another_s_number_closely() -> None:
    """Every class of 3 or 4 numbers between 0 and 99: whose mean is shown, by it nobody is known closely.

    Of any two members the one who knows the mean exactly, and that nobody has less than 0, bounds the other's number by
    what the rest add: at least 10 % of it. One alone is at most 80 % of the sum; and the mean lets some number lie a
    tenth of the interval from either end.
    """
    numbers = [0, 1, 2, 5, 9, 10, 30, 50, 80, 98, 99]
    groups = [group for size in (3, 4) for group in combinations_with_replacement(numbers, size)]
    names = [str(at) for at in range(len(groups))]
    rows = [(name, number) for name, group in zip(names, groups, strict=True) for number in group]
    found, withheld = means_of(
        [name for name, _ in rows], [float(number) for _, number in rows], dict.fromkeys(names, (0, 99))
    )
    shown = [group for name, group in zip(names, groups, strict=True) if found[name] != 49.5]
    assert len(shown) > 100
    assert withheld["p_percent"] > 20
    for group in shown:
        total, n_members = sum(group), len(group)
        for one, other in permutations(group, 2):
            assert total - one - other >= 0.1 * other
        assert max(group) <= 0.8 * total
        assert n_members * min(total / n_members, 99 - total / n_members) >= 9.9
