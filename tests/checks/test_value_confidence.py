# SPDX-License-Identifier: Apache-2.0
"""The confidence of each value in a class, against a count by hand in pandas."""

from __future__ import annotations

from collections import Counter
from datetime import date, time
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.checks import table_scans
from anonkit.checks.clear_parts import KnownBeside
from anonkit.checks.counted_as import folding
from anonkit.checks.disclosure import measure
from anonkit.checks.table_scans import counted_alike, opened
from anonkit.checks.value_confidence import ColumnConfidence, shown

TEXTS = st.sampled_from(["hiv", "HIV", "hiv ", "Flu", "?", "", "ok", None])
CLASSES = st.sampled_from(["a", "b", "c", None])


def told(table: pa.Table, *, missing_is_value: bool = False, keys: tuple[str, ...] = ("q",)) -> ColumnConfidence:
    """Look at column `s` in the classes of `q`."""
    found = measure(table, keys, listed=("s",), missing_is_value=("s",) if missing_is_value else ())
    return found.by_value["s"]


def by_hand(classes: list[Any], values: list[Any], labels: dict[Any, Any]) -> dict[Any, dict[str, Any]]:
    """Count with pandas; None is no value."""
    frame = pd.DataFrame({"q": [str(q) for q in classes], "v": pd.Series(values, dtype=object)})
    sizes = frame.groupby("q").size()
    out = {}
    for value in {value for value in values if value is not None}:
        held = frame[frame["v"] == value].groupby("q").size()
        share = held / sizes[held.index]
        out[labels[value]] = {
            "base_rate": held.sum() / len(frame),
            "highest_confidence": share.max(),
            "lift": share.max() * len(frame) / held.sum(),
            "share_above_half": held[share > 0.5].sum() / held.sum(),
            "share_above_nine_tenths": held[10 * held > 9 * sizes[held.index]].sum() / held.sum(),
        }
    return out


def same_as(found: ColumnConfidence, expected: dict[Any, dict[str, Any]]) -> None:
    """Compare entry by entry."""
    entries = [each.to_dict() for each in found.values]
    values = {each["value"] if not isinstance(each["value"], list) else tuple(each["value"]): each for each in entries}
    assert set(values) == set(expected)
    for value, figures in expected.items():
        for name, figure in figures.items():
            assert values[value][name] == pytest.approx(figure), (value, name)


@given(rows=st.lists(st.tuples(CLASSES, TEXTS), max_size=40), missing_is_value=st.booleans())
def test_texts_are_told_as_a_count_by_hand_has_them(
    rows: list[tuple[str | None, str | None]], missing_is_value: bool
) -> None:
    """Folded, marks of missing no values unless missing is one, the commonest spelling shown."""
    classes, cells = [q for q, _ in rows], [s for _, s in rows]
    folded = [None if cell is None or folding(cell) in ("?", "") else folding(cell) for cell in cells]
    labels: dict[Any, Any] = {}
    for value in set(folded) - {None}:
        spelled = Counter(cell for cell in cells if cell is not None and folding(cell) == value)
        labels[value] = min(spelled, key=lambda text: (-spelled[text], text))
    if missing_is_value:
        folded, labels = [value or "(none)" for value in folded], {**labels, "(none)": None}
    table = pa.table({"q": pa.array(classes, pa.string()), "s": pa.array(cells, pa.string())})
    found = told(table, missing_is_value=missing_is_value)

    same_as(found, by_hand(classes, folded, labels))
    alike = [q for q in classes if len({v for c, v in zip(classes, folded, strict=True) if c == q and v}) == 1]
    assert found.of_one_value == pytest.approx(len(alike) / max(len(classes), 1))
    assert [-each.to_dict()["lift"] for each in found.values] == sorted(-e.to_dict()["lift"] for e in found.values)


@given(
    rows=st.lists(st.tuples(CLASSES, st.integers(0, 60) | st.none()), min_size=1, max_size=150),
    missing_is_value=st.booleans(),
    is_float=st.booleans(),
)
def test_numbers_are_told_by_themselves_or_in_at_most_ten_bands(
    rows: list[tuple[str | None, int | None]], missing_is_value: bool, is_float: bool
) -> None:
    """Up to twenty values by themselves; else in bands whose ends are released values; what is no number is missing."""
    classes, cells = [q for q, _ in rows], [s for _, s in rows]
    valued = sorted(cell for cell in cells if cell is not None)
    if len(set(cells)) <= 20:
        labels: dict[Any, Any] = {value: value for value in valued}
        coded: list[Any] = list(cells)
    else:
        band = {value: 10 * sum(other < value for other in valued) // len(valued) for value in valued}
        coded = [None if cell is None else f"band {band[cell]}" for cell in cells]
        ends = {each: [value for value in valued if f"band {band[value]}" == each] for each in set(coded) - {None}}
        labels = {each: (inside[0], inside[-1]) for each, inside in ends.items()}
    if missing_is_value:
        coded, labels = ["(none)" if cell is None else cell for cell in coded], {**labels, "(none)": None}
    if is_float:
        column = pa.array([float("nan") if cell is None else float(cell) for cell in cells], pa.float64())
    else:
        column = pa.array(cells, pa.int64())
    found = told(pa.table({"q": pa.array(classes, pa.string()), "s": column}), missing_is_value=missing_is_value)

    same_as(found, by_hand(classes, coded, labels))
    assert len(found.values) <= (10 if len(set(cells)) > 20 else 20) + missing_is_value
    assert {end for each in found.values for end in np.ravel(each.value) if end is not None} <= set(valued)


def test_the_box_of_the_ill_is_seen() -> None:
    """66 of 69 in one class have a value that 1.1 % of 6,000 have: 95.7 %, and every holder is in it."""
    table = pa.table(
        {"q": ["box"] * 69 + ["rest"] * 5931, "s": ["hiv"] * 66 + ["flu"] * 3 + ["flu"] * 3000 + ["none"] * 2931}
    )
    first = told(table).values[0].to_dict()

    assert first["value"] == "hiv"
    assert first["highest_confidence"] == pytest.approx(66 / 69)
    assert first["share_above_half"] == first["share_above_nine_tenths"] == 1.0


def test_twenty_texts_of_largest_lift_and_all_above_half_are_told() -> None:
    """Of 60: thirty that a class has alone, then those of next larger lift up to twenty, which these are already."""
    alone = [(f"c{at}", f"own {at}") for at in range(30) for _ in range(3)]
    mixed = [("m", f"text {at}") for at in range(30)]
    table = pa.table({"q": [q for q, _ in alone + mixed], "s": [s for _, s in alone + mixed]})
    values = [each.value for each in told(table).values]
    assert len(values) == 30
    assert all(value.startswith("own") for value in values)
    few = pa.table({"q": ["m"] * 60, "s": [f"text {at % 30}" for at in range(60)]})
    assert [each.value for each in told(few).values] == sorted(f"text {at}" for at in range(30))[:20]


def test_truth_values_days_and_amounts_are_told() -> None:
    """As JSON has them; without quasi-identifiers all rows are one class."""
    yes = told(pa.table({"q": ["a", "a", "b"], "s": [True, False, True]}), keys=())
    assert [(each.value, each.highest_confidence) for each in yes.values] == [(False, 1 / 3), (True, 2 / 3)]
    assert shown(date(2026, 1, 2)) == "2026-01-02"
    assert shown(time(1, 2)) == "01:02:00"
    assert shown(Decimal("1.50")) == "1.50"
    assert shown(float("inf")) == "inf"


def test_nothing_is_told_of_no_rows_and_of_no_value() -> None:
    """Neither a value nor a share."""
    empty = pa.table({"q": pa.array([], pa.string()), "s": pa.array([], pa.string())})
    blank = pa.table({"q": ["a", "b"], "s": ["?", None]})
    for table in (empty, blank):
        assert told(table) == ColumnConfidence(values=(), of_one_value=0.0)


@given(
    rows=st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 40) | st.none(), st.sampled_from("uvwxyz")), min_size=1
    ),
    is_text=st.booleans(),
    missing_is_value=st.booleans(),
    is_sensitive=st.booleans(),
)
def test_people_are_told_as_a_count_by_hand_has_them(
    rows: list[tuple[str, int | None, str]], is_text: bool, missing_is_value: bool, is_sensitive: bool
) -> None:
    """Each person counts once in a class and value, one of several rows as two, those of a band together.

    An undeclared target is published in the same way, without its diversity.
    """
    cells = [None if s is None else (f"v{s:02}" if is_text else s) for _, s, _ in rows]
    table = pa.table(
        {
            "q": [q for q, _, _ in rows],
            "s": pa.array(cells, pa.string() if is_text else pa.int64()),
            "u": [u for *_, u in rows],
        }
    )
    declared = ["s"] if missing_is_value else []
    sensitive = ["s"] if is_sensitive else []
    asked: dict[str, Any] = {"sensitive": sensitive, "missing_is_value": declared, "listed": ["s"]}
    found = measure(table, ["q"], unit="u", **asked)
    assert list(found.sensitive) == sensitive
    assert found.counts is not None
    again = measure(table.drop_columns(["u"]), ["q"], people=found.counts, **asked)
    assert again.by_value == found.by_value
    assert all(check.passed for check in again.checks)

    everybody = {q: len({u for c, _, u in rows if c == q}) for q in "ab"}
    valued = {s for s in cells if s is not None or missing_is_value}

    def told_people(inside: Any) -> int:
        own = [u for (*_, u), s in zip(rows, cells, strict=True) if inside(s) and (s is not None or missing_is_value)]
        return max(len(set(own)), min(len(own), 2))

    anybody = max(told_people(lambda s: True), 1)
    numbers = sorted(s for s in cells if s is not None)
    for each in found.by_value["s"].values:
        ends = each.value if isinstance(each.value, list) else [each.value] * 2
        inside = {
            s
            for s in valued
            if (s is None and ends[0] is None) or (None not in (s, ends[0]) and ends[0] <= s <= ends[1])
        }
        in_class = {}
        for q in "ab":
            held = sum(
                max(
                    len({u for (c, _, u), s in zip(rows, cells, strict=True) if c == q and s == value}),
                    min(sum(c == q and s == value for (c, *_), s in zip(rows, cells, strict=True)), 2),
                )
                for value in inside
            )
            in_class[q] = min(held, everybody[q])
        holders = min(sum(told_people(lambda s, v=value: s == v) for value in inside), anybody)
        shares = {q: in_class[q] / everybody[q] for q in "ab" if everybody[q]}
        assert each.highest_confidence == pytest.approx(max(shares.values()))
        assert each.to_dict()["base_rate"] == pytest.approx(holders / anybody)
        above = sum(in_class[q] for q, share in shares.items() if share > 0.5)
        assert each.to_dict()["share_above_half"] == pytest.approx(above / sum(in_class.values()))
    assert len(found.by_value["s"].values) <= max(20, len(numbers))


@pytest.mark.quick_cases("8-8", "65536-4096")
@pytest.mark.parametrize(("first", "long"), [(8, 8), (40, 8), (64, 8), (1 << 16, 1 << 12)])
def test_a_long_table_is_read_once_to_the_same_figures(first: int, long: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Combinations of cells with the number of their rows represent the rows, where there are far fewer of them."""
    table = pa.table(
        {
            "q": ["a", "b", None, "b"] * 10,
            "s": ["hiv", "HIV ", "flu", None] * 10,
            "t": [1.5, 2.5, 1.5, None] * 10,
            "i": list(range(40)),
        }
    )
    asked: dict[str, Any] = {
        "sensitive": ["s"],
        "target": "t",
        "listed": ["t", "s"],
        "beside": KnownBeside(columns=("t",), sensitive=("s",), target="t", k=3),
    }
    expected = measure(table, ["q"], **asked), measure(table, ["q"], **{**asked, "sensitive": ["s", "i"]})
    monkeypatch.setattr(table_scans, "_FIRST", first)
    monkeypatch.setattr(table_scans, "_LONG", long)
    found = measure(table, ["q"], **asked), measure(table, ["q"], **{**asked, "sensitive": ["s", "i"]})
    assert found == expected
    with opened(table) as lines:
        assert counted_alike(lines, []) is lines
        assert counted_alike(lines, ["q", "i"]) is lines
        assert (counted_alike(lines, ["q", "s"]) is lines) == (long > 40)
