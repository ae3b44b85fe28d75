"""The choice of measured sensitive columns, the width of their values, and codes for a missing one."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anonkit
from anonkit.k_anonymity.measured_columns import has_missing_codes, is_measured, rounded_width
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy


def sensitive(name: str = "pay", **more: Any) -> Column:
    """A sensitive column."""
    return Column(name=name, role=Role.SENSITIVE, **more)


@pytest.mark.parametrize(
    ("column", "kind", "n_values", "measured"),
    [
        (sensitive(), pa.float64(), 3, True),
        (sensitive(), pa.decimal128(9, 2), 3, True),
        (sensitive(), pa.int64(), 21, True),
        (sensitive(), pa.int64(), 20, False),
        (sensitive("icdCode"), pa.int64(), 900, False),
        (sensitive("icdCode", tolerance=0.1), pa.int64(), 3, True),
        (sensitive(tolerance=0.0), pa.float64(), 900, False),
        (sensitive(categories=("1", "2")), pa.int64(), 900, False),
        (sensitive(), pa.string(), 900, False),
        (sensitive(), pa.date32(), 900, False),
    ],
)
def test_measures_are_told_from_codes(column: Column, kind: pa.DataType, n_values: int, measured: bool) -> None:
    """By type, number of values and header; what is declared decides."""
    assert is_measured(column, kind, n_values) is measured


def test_the_width_is_of_the_middle_and_rounded_to_two_digits() -> None:
    """The largest salary does not widen it."""
    numbers = np.array([*range(1000, 2000, 10), 1_000_000], dtype=np.float64)
    rows = np.ones(numbers.size, dtype=np.int64)
    assert rounded_width(numbers, rows, None) == 45.0
    assert rounded_width(numbers, rows, 0.5) == 450.0
    assert rounded_width(numbers[:0], rows[:0], None) == 0.0


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2, 3, 99], True),
        ([18, 40, 70, 99], False),
        ([0, 5, -9], True),
        ([-20, 5, -9], False),
        (["flu", "99"], True),
        (["1", "2", "999"], True),
        ([1.5, 2.5, 999.0], True),
        ([Decimal("1.5"), Decimal(999)], True),
        (["flu", "cold"], False),
        ([99], False),
        ([True, False], False),
        ([], False),
    ],
)
def test_codes_for_a_missing_value_are_found_where_they_stand_apart(values: list[Any], expected: bool) -> None:
    """Ages up to 99 are no codes."""
    assert has_missing_codes(values) is expected


def test_the_owner_is_told_of_codes() -> None:
    """Without the cell; where it is listed as missing nothing is said."""
    rng = np.random.default_rng(1)
    table = pa.table({"age": rng.integers(18, 90, 400), "score": rng.choice([1, 2, 3, 4, 99], 400)})
    columns = {"score": {"role": "sensitive"}}
    for listed, said in (({}, True), ({"missing_values": ["99"]}, False)):
        policy = Policy.from_dict({"columns": columns, "target": False, **listed})
        release = anonkit.release(table, method="mondrian", k=10, policy=policy)
        assert any("often means a missing value" in note for note in release.report["notes"]) is said


def test_ten_salaries_close_by_are_one_value() -> None:
    """l counts those further apart; so a box of ten neighbouring salaries is not released as ten values."""
    rng = np.random.default_rng(2)
    place = np.repeat(np.arange(30), 10)
    pay = np.round(rng.uniform(20_000, 90_000, 300))
    pay[:10] = 30_000 + np.arange(10) * 100
    table = pa.table({"place": place, "pay": pay})
    policy = Policy.from_dict({"columns": {"pay": {"role": "sensitive", "l": 2}}, "target": False})
    exact = Policy.from_dict({"columns": {"pay": {"role": "sensitive", "l": 2, "tolerance": 0}}, "target": False})

    def fewest(policy: Policy) -> tuple[float, float, float]:
        release = anonkit.release(table, method="mondrian", k=10, policy=policy)
        (entry,) = (column for column in release.params["columns"] if column["name"] == "pay")
        rows = release.to_arrow().to_pylist()
        groups: dict[Any, list[float]] = {}
        for row in rows:
            groups.setdefault(row.get("place"), []).append(row["pay"])
        spread = min(max(group) - min(group) for group in groups.values())
        return entry["width"], spread, release.report["disclosure_risk"]["l_diversity"]["pay"]["l"]

    width, spread, l = fewest(policy)  # noqa: E741
    assert 2_500 < width < 4_000
    assert spread > width
    assert l >= 2
    assert fewest(exact)[0] == 0.0
    assert fewest(exact)[1] == 900
