"""The choice of measured sensitive columns, the width of their values, and codes for a missing one.

A sensitive column without a requirement has a cap on confidence by value, under every k-anonymous method.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anonkit
from anonkit.errors import PolicyError
from anonkit.k_anonymity.sensitive_rules import has_missing_codes, is_measured, rounded_width
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy

METHODS = ["rfka", "mondrian", "datafly", "incognito", "mdav", "greedy-hamdist"]


def _box(n: int = 6000, *, patients: int = 66) -> pa.Table:
    """A table in which 69 rows of one box of ages and places hold all patients of one illness."""
    rng = np.random.default_rng(1)
    age, place, sex = rng.integers(18, 90, n), rng.integers(0, 60, n), rng.integers(0, 2, n)
    illness = rng.choice(["flu", "cough", "asthma", "diabetes", "back"], n).astype(object)
    inside = np.flatnonzero((age >= 40) & (age <= 44) & (place < 9))
    age[inside[69:]] = 20
    illness[inside[:patients]] = "hiv"
    return pa.table({"age": age, "place": place, "sex": sex, "outcome": sex ^ (age > 50), "illness": illness})


def _policy(**illness: Any) -> Policy:
    columns = {"illness": {"role": "sensitive", **illness}, "outcome": {"role": "target", "categories": ["0", "1"]}}
    return Policy.from_dict({"columns": columns})


def _classes(release: anonkit.Release, column: str, unit: Mapping[int, Any] | None = None) -> list[Counter[Any]]:
    rows = release.to_arrow().to_pylist()
    names = [name for name in release.report["guarantee"]["parameters"]["quasi_identifiers"] if name in rows[0]]
    found: dict[Any, Counter[Any]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), Counter())[row[column]] += 1
    return list(found.values())


def _largest(classes: list[Counter[Any]], value: Any) -> float:
    return max(counted[value] / counted.total() for counted in classes)


@pytest.mark.quick_cases("greedy-hamdist", "mdav")
@pytest.mark.parametrize("method", METHODS)
def test_no_class_tells_the_illness_of_a_box(method: str) -> None:
    """66 of 6,000 have it, all in one box of 69 rows: 51 % of a class at most, and every other value by its share."""
    table = _box()
    release = anonkit.release(table, method=method, k=10, policy=_policy())
    classes, shares = _classes(release, "illness"), Counter(table["illness"].to_pylist())

    assert _largest(classes, "hiv") <= 0.51
    for value, rows in shares.items():
        assert _largest(classes, value) <= math.ceil(50 * (1 + rows / table.num_rows) - 1e-9) / 100
    assert {check["name"] for check in release.report["verification"]["checks"]} >= {"confidence_cap:illness"}


def test_what_nothing_bounds_is_said() -> None:
    """With the share of rows whose class has one value."""
    ill = ["hiv"] * 10 + ["unknown"] * 10 + ["flu", "cold"] * 30
    table = pa.table({"place": ["a"] * 20 + ["b"] * 60, "illness": ill})
    columns = {"illness": {"role": "sensitive"}, "place": {"role": "quasi_identifier"}}
    policy = Policy.from_dict({"columns": columns, "target": False})
    release = anonkit.release(table, method="mondrian", k=10, alpha=1.0, policy=policy)

    assert any("25.0% of the rows are in groups with one value" in note for note in release.report["notes"])


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_alpha_of_one_switches_the_cap_off(method: str) -> None:
    """The table is released as if the column were not sensitive: the box comes out at 95 %."""
    asked = {"k": 10, "policy": _policy(alpha=1)}
    capped = anonkit.release(_box(), method=method, k=10, policy=_policy())
    free = anonkit.release(_box(), method=method, **asked)

    assert "confidence_cap" in capped.report["guarantee"]["parameters"]
    assert "confidence_cap" not in free.report["guarantee"]["parameters"]
    if method in ("rfka", "mondrian"):
        assert _largest(_classes(free, "illness"), "hiv") > 0.51


@pytest.mark.slow
def test_a_rare_flag_costs_few_classes() -> None:
    """A 1 % flag keeps four fifths of the classes, where l = 2 leaves a handful."""
    rng = np.random.default_rng(3)
    n = 5000
    table = pa.table(
        {
            "age": rng.integers(18, 90, n),
            "place": rng.integers(0, 40, n),
            "flag": np.where(rng.random(n) < 0.01, "y", "n"),
        }
    )
    declared = {"columns": {"flag": {"role": "sensitive"}}, "target": False}

    def classes(**asked: Any) -> int:
        release = anonkit.release(table, method="mondrian", k=10, policy=Policy.from_dict(declared), **asked)
        return int(release.report["disclosure_risk"]["classes"])

    free = classes(alpha=1.0)
    assert classes() >= 0.8 * free
    assert classes(l=2) < 0.2 * free


def test_a_common_value_is_exempt_and_said_to_be() -> None:
    """99 % have it: what is rarer is capped all the same."""
    rng = np.random.default_rng(3)
    table = pa.table({"age": rng.integers(18, 90, 2000), "flag": np.where(rng.random(2000) < 0.01, "y", "n")})
    policy = Policy.from_dict({"columns": {"flag": {"role": "sensitive"}}, "target": False})
    release = anonkit.release(table, method="mondrian", k=10, policy=policy)
    (entry,) = (column for column in release.params["columns"] if column["name"] == "flag")

    assert entry["caps"] == [["n", None]]
    assert any("exempt" in note and "'flag'" in note for note in release.report["notes"])


@pytest.mark.slow
def test_a_sensitive_target_is_capped_and_a_plain_one_is_not() -> None:
    """Nobody said that a plain target is secret."""
    table = _box().drop_columns(["illness"])
    plain = Policy.from_dict({"columns": {"outcome": {"role": "target"}}})
    secret = Policy.from_dict({"columns": {"outcome": {"role": "target", "sensitive": True}}})

    released = {
        name: anonkit.release(table, method="rfka", k=10, policy=p) for name, p in (("p", plain), ("s", secret))
    }
    assert released["s"].report["guarantee"]["parameters"]["confidence_cap"]["columns"] == ["outcome"]
    assert "confidence_cap" not in released["p"].report["guarantee"]["parameters"]
    assert max(_largest(_classes(released["s"], "outcome"), value) for value in (0, 1)) <= 0.8
    assert "no_values" not in released["p"].params


def test_rows_without_a_value_count_in_the_class_alone() -> None:
    """A class of which half is unknown and half is ill stays, and no cap is on what is unknown."""
    ill = ["hiv"] * 10 + ["unknown"] * 10 + ["flu", "cold"] * 40
    table = pa.table({"place": ["a"] * 20 + ["b"] * 80, "illness": ill})
    policy = Policy.from_dict(
        {"columns": {"illness": {"role": "sensitive"}, "place": {"role": "quasi_identifier"}}, "target": False}
    )
    release = anonkit.release(table, method="mondrian", k=10, policy=policy)

    assert sorted(sum(counted.values()) for counted in _classes(release, "illness")) == [20, 80]


def test_people_are_counted_where_a_unit_stands() -> None:
    """One person with nine of ten rows is one of two people."""
    rows = [
        ("a", person, "hiv" if person < 5 else "flu") for person in range(10) for _ in range(9 if person < 5 else 1)
    ]
    rows += [("b", person, "flu" if person % 2 else "cold") for person in range(10, 60)]
    names = ("place", "person", "illness")
    table = pa.table({name: list(cells) for name, cells in zip(names, zip(*rows, strict=True), strict=True)})
    columns = {"person": {"role": "unit"}, "illness": {"role": "sensitive"}, "place": {"role": "quasi_identifier"}}
    policy = Policy.from_dict({"columns": columns, "target": False})
    release = anonkit.release(table, method="mondrian", k=5, policy=policy)

    assert len(_classes(release, "illness")) == 2  # 45 of 50 rows of the first one, and 5 of 10 people


@pytest.mark.slow_cases("mondrian")
@pytest.mark.parametrize("method", ["rfka", "mondrian"])
def test_the_next_batch_keeps_the_caps_of_the_first(tmp_path: Path, method: str) -> None:
    """The next batch keeps these caps for any contents, also where a value that was rare is common."""
    out = tmp_path / "out.parquet"
    anonkit.release(_box(), method=method, k=10, policy=_policy(), output=out, ledger=None)
    first, batch = anonkit.load(out), _box(3000, patients=60)
    following = anonkit.apply(tmp_path / "out.params.json", batch, output=tmp_path / "next.parquet", ledger=None)

    listed = {c["name"]: c.get("caps") for c in first.params["columns"]}["illness"]
    assert set(map(tuple, {c["name"]: c.get("caps") for c in following.params["columns"]}["illness"])) <= set(
        map(tuple, listed)
    )
    assert _largest(_classes(following, "illness"), "hiv") <= 0.51
    assert anonkit.validate(tmp_path / "next.parquet").passed


def test_what_a_column_asks_takes_the_place_of_the_cap() -> None:
    """l, t and alpha of a column bind it alone; a parameter binds all."""
    table = _box().append_column("other", _box()["illness"])
    columns = {"illness": {"role": "sensitive", "l": 2}, "other": {"role": "sensitive"}}
    release = anonkit.release(
        table, method="mondrian", k=10, policy=Policy.from_dict({"columns": columns, "target": False})
    )
    parameters = release.report["guarantee"]["parameters"]

    assert parameters["of_columns"] == {"illness": {"l_diversity": 2}}
    assert parameters["confidence_cap"]["columns"] == ["other"]
    names = {check["name"] for check in release.report["verification"]["checks"]}
    assert {"l_diversity:illness", "confidence_cap:other"} <= names
    assert "confidence_cap:illness" not in names


@pytest.mark.parametrize(
    "spec", [{"role": "quasi_identifier", "l": 2}, {"role": "sensitive", "alpha": 0}, {"role": "sensitive", "t": 2}]
)
def test_what_a_column_may_not_ask_is_refused(spec: dict[str, Any]) -> None:
    """Of no other role, and within the range of the model."""
    with pytest.raises(PolicyError, match="column 'illness'"):
        Policy.from_dict({"columns": {"illness": spec}})


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
