"""Caps, widths and marks of sensitive columns: recounted by hand, and forged."""

from __future__ import annotations

import datetime as dt
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from checks.forgeries import Edit, Files, refused
from checks.forging import at, both, stated_anew
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.checks.counted_as import CountedAs, LookedAt
from anonkit.checks.disclosure import Disclosure, measure
from anonkit.checks.read_values import ReadValues
from anonkit.checks.sensitive_params import value_checks
from anonkit.errors import UncheckedError
from anonkit.policy.declaration import Policy

# --- by hand ---------------------------------------------------------------------------------------------------------


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
    for cells in classes.values():
        valued = [cell for cell in cells if cell is not None]
        near = [sum(one <= other <= one + width for other in valued) for one in valued]
        l = min(l, apart(valued, width))  # noqa: E741
        alpha = max([alpha, *(n / len(valued) for n in near)])
        confidence = max([confidence, *(n / len(cells) for n in near)])
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


# --- what can follow by the rule -------------------------------------------------------------------------------------


def strange(numbers: Sequence[Any], reading: ReadValues, name: str = "pay") -> int:
    """Widths and caps of a column, in a table of one class, that do not follow by the rule."""
    table = pa.table({"q": ["a"] * len(numbers), name: numbers})
    return int(measure(table, ["q"], sensitive=[name], reading=reading).sensitive[name]["strange"])


NUMBERS = [float(number) for number in range(100, 200)]
"""5 % of the middle 90 % are 4.5."""


@pytest.mark.parametrize(
    ("width", "left_out", "expected"),
    [(4.5, 0, 0), (4.4, 0, 1), (0.0, 0, 1), (4.7, 3, 0), (9.0, 3, 1), (900.0, 40, 0), (1.0, None, 0)],
)
def test_a_width_follows_from_the_table_and_the_rows_left_out(width: float, left_out: Any, expected: int) -> None:
    """Exactly where none was; any where they may have been anywhere; of another table nothing is known."""
    assert strange(NUMBERS, ReadValues(widths={"pay": width}, left_out=left_out)) == expected


@pytest.mark.parametrize(
    ("name", "cells", "more", "width", "expected"),
    [
        ("code", list(range(100)), {}, 0.0, 0),
        ("code", list(range(100)), {}, 4.5, 1),
        ("code", list(range(100)), {"tolerances": {"code": 0.1}}, 9.0, 0),
        ("pay", list(range(5)), {}, 0.0, 0),
        ("pay", [0.5, 0.7], {"categories": {"pay": ["0.5", "0.7"]}}, 0.0, 0),
        ("pay", pa.array([None, None], pa.float64()), {}, 0.0, 0),
        ("pay", NUMBERS, {"tolerances": {"pay": 0.0}}, 0.0, 0),
    ],
)
def test_codes_and_categories_are_no_measures(
    name: str, cells: Any, more: dict[str, Any], width: float, expected: int
) -> None:
    """Integers under such a header, few of them, and declared categories have no width, unless it is declared."""
    assert strange(cells, ReadValues(widths={name: width}, left_out=0, **more), name) == expected


def test_a_width_that_nobody_fixed_is_the_one_of_the_table() -> None:
    """As of a file that is no release."""
    assert measure(pa.table({"pay": NUMBERS[:4] + NUMBERS}), [], sensitive=["pay"]).sensitive["pay"]["l"] == 20


@pytest.mark.parametrize(
    ("caps", "left_out", "expected"),
    [
        ([["a", 0.85]], 0, 0),
        ([["a", 0.9]], 0, 1),
        ([["a", None]], 0, 1),
        ([["a", 0.7]], 0, 1),
        ([["a", 0.86]], 1, 0),
        ([], 0, 1),
        ([["a", 0.9]], None, 0),
    ],
)
def test_a_cap_follows_from_the_table_and_the_rows_left_out(caps: Any, left_out: Any, expected: int) -> None:
    """Of a value that 7 of 10 have it is .85, of one that one has .55."""
    caps = [*caps, ["b", 0.55], ["c", 0.55], ["d", 0.55]]
    cells = ["a"] * 7 + ["b", "c", "d"]
    assert strange(cells, ReadValues(caps={"pay": caps}, left_out=left_out)) == expected


def test_a_cap_of_people_follows_within_what_is_told_of_them() -> None:
    """Eight of ten people: at most .9, and never nothing."""
    rows = [(f"p{at}", "a" if at < 8 else "b") for at in range(10)]
    table = pa.table({"q": ["x"] * 10, "u": [u for u, _ in rows], "s": [s for _, s in rows]})

    def found(cap: Any) -> int:
        reading = ReadValues(caps={"s": [["a", cap], ["b", 0.6]]}, left_out=0)
        return int(measure(table, ["q"], sensitive=["s"], unit="u", reading=reading).sensitive["s"]["strange"])

    assert (found(0.9), found(0.99), found(0.52)) == (0, 1, 1)


def test_the_values_of_parts_are_those_of_the_whole() -> None:
    """Workers return numbers and caps part by part."""
    cells = pa.chunked_array([[1.0, 2.0, 3.0]])
    reading = ReadValues(caps={"s": [[2.0, 0.6]]})
    whole = LookedAt.of(cells, "s", reading).columns()
    parts = [pa.table(LookedAt.of(cells.slice(at, 1), "s", reading).columns()) for at in range(3)]
    again = LookedAt.from_tables(parts).columns()
    assert {name: values.tolist() for name, values in again.items()} == {
        name: values.tolist() for name, values in whole.items()
    }
    assert LookedAt.from_tables([]).columns() == {}
    assert CountedAs().ends is None


def test_a_figure_that_is_strange_is_a_check_that_fails() -> None:
    """By column."""
    found = Disclosure(rows=1, classes=1, k=1, people=None, class_sizes=((1, 1),), sensitive={"s": {"strange": 2.0}})
    (check,) = value_checks(found, ["s"])
    assert (check.name, check.passed, check.observed) == ("sensitive_values:s", False, 2)


# --- forgeries -------------------------------------------------------------------------------------------------------


def _table() -> pa.Table:
    rng = np.random.default_rng(5)
    n = 600
    return pa.table(
        {
            "age": rng.integers(20, 80, n),
            "place": rng.integers(0, 12, n),
            "illness": rng.choice(["flu", "cough", "back", "HIV"], n, p=[0.5, 0.3, 0.19, 0.01]),
            "pay": np.round(rng.lognormal(8, 0.4, n), 1),
            "grade": rng.choice(["a", "b", "c"], n),
        }
    )


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A release with a capped text, a capped measure, and a column with an alpha of its own."""
    out = tmp_path_factory.mktemp("sensitive") / "out.parquet"
    columns = {
        "illness": {"role": "sensitive"},
        "pay": {"role": "sensitive"},
        "grade": {"role": "sensitive", "alpha": 0.9},
    }
    policy = Policy.from_dict({"columns": columns, "target": False})
    anonkit.release(_table(), method="mondrian", k=10, policy=policy, output=out, ledger=None)
    assert anonkit.validate(out).passed
    return Files.read(out)


def told(name: str, **more: Any) -> Edit:
    """Change what the params say of a column; None takes it away."""

    def edit(files: Files) -> None:
        entry = next(one for one in files.params["columns"] if one["name"] == name)
        for key, value in more.items():
            entry.pop(key) if value is None else entry.update({key: value})

    return edit


def promised(**more: Any) -> Edit:
    """Change the parameters of the promise, and its sentences; None takes one away."""

    def edit(files: Files) -> None:
        parameters = files.report["guarantee"]["parameters"]
        for key, value in more.items():
            parameters.pop(key) if value is None else parameters.update({key: value})

    return stated_anew(edit)


def uncapped(files: Files) -> None:
    """Take the cap on an illness away, in the promise and in the params."""
    promised(confidence_cap={"columns": ["pay"], "exempt_above": 0.8})(files)
    told("illness", caps=None)(files)
    files.report["verification"]["checks"] = [
        check for check in files.report["verification"]["checks"] if check["name"] != "confidence_cap:illness"
    ]


FORGERIES: dict[str, tuple[Edit, str]] = {
    "caps as high as can be": (
        told("illness", caps=[["back", 0.9], ["cough", 0.9], ["flu", 0.9]]),
        "sensitive_values:",
    ),
    "a value exempt": (told("illness", caps=[["back", 0.6], ["cough", 0.66], ["flu", None]]), "sensitive_values:"),
    "no caps": (told("illness", caps=[]), "sensitive_values:"),
    "caps of numbers": (told("pay", caps=[[0.0, 0.9]]), "sensitive_values:"),
    "a cap above all": (told("illness", caps=[["flu", 1.0]]), "sensitive_columns"),
    "a cap that is none": (told("illness", caps=[["flu", True]]), "sensitive_columns"),
    "a value twice": (told("illness", caps=[["flu", 0.75], ["flu", 0.9]]), "sensitive_columns"),
    "numbers in no order": (told("pay", caps=[[9000.0, 0.6], [10.0, 0.55]]), "sensitive_columns"),
    "a narrow width": (told("pay", width=0.0), "sensitive_values:"),
    "a width that is no number": (told("pay", width=True), "sensitive_columns|documents"),
    "no width": (told("pay", width=None), "sensitive_columns"),
    "another tolerance": (told("pay", tolerance=0.001), "sensitive_values:"),
    "another alpha": (told("grade", alpha=1.0), "sensitive_columns"),
    "alpha of one promised": (promised(of_columns={"grade": {"alpha_k_anonymity": 1.0}}), "sensitive_columns"),
    "nothing asked of a column": (promised(of_columns=None), "sensitive_columns"),
    "no cap at all": (uncapped, "sensitive_columns"),
    "another list of marks": (at("params", "no_values", to=["flu"]), "sensitive_columns"),
    "no list of marks": (at("params", "no_values", to=[]), "sensitive_columns"),
    "another folding": (at("params", "folding", to="none"), "sensitive_columns"),
    "caps of a column that is not sensitive": (told("age", caps=[]), "sensitive_columns"),
    "an illness of all in one class": (
        both(at("report", "rows", "suppressed", to=0), lambda files: _all_ill(files)),
        "confidence_cap:",
    ),
}


def _all_ill(files: Files) -> None:
    """Make all rows of the first class those of one illness."""
    rows = files.table.to_pylist()
    key = [name for name in files.report["guarantee"]["parameters"]["quasi_identifiers"] if name in rows[0]]
    first = [rows[0][name] for name in key]
    cells = ["HIV" if [row[name] for name in key] == first else row["illness"] for row in rows]
    at_ = files.table.schema.get_field_index("illness")
    files.table = files.table.set_column(at_, "illness", pa.array(cells, pa.string()))


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_sensitive_column_is_refused(original: Files, forgery: str, tmp_path: Path) -> None:
    """Caps, widths, marks and what is requested agree with the table, and with the promise."""
    refused(original, FORGERIES[forgery], tmp_path)


def test_a_release_of_the_first_version_is_not_called_checked(original: Files, tmp_path: Path) -> None:
    """It has a sensitive column, and does not say what counts as a value of it."""
    files = original.copy()
    del files.params["no_values"]
    with pytest.raises(UncheckedError, match="does not say what counts as a value"):
        anonkit.validate(files.write(tmp_path))
