"""Attacks on the published cuts and lists of a k-anonymous release, with the source at hand.

The attacker reads `params.json` and the released cells only; the source shows whether he is right. Nothing of the
searching code is imported: points and labels are read anew, with fractions.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anonkit

WAYS: dict[str, dict[str, Any]] = {
    "rfka": {"method": "rfka", "trees": 5},
    "rfka, 5 % suppressed": {"method": "rfka", "trees": 5, "max_suppression": 0.05},
    "rfka --bins 5": {"method": "rfka", "trees": 5, "bins": 5},
    "rfka --search greedy": {"method": "rfka", "trees": 5, "search": "greedy"},
    "rfka --preset paper": {"method": "rfka", "preset": "paper", "trees": 5},
    "rfka --features one-hot, 5 % suppressed": {
        "method": "rfka", "trees": 5, "features": "one-hot", "search": "greedy", "ladder": "none",
        "max_suppression": 0.05,
    },
    "greedy-hamdist": {"method": "greedy-hamdist"},
    "greedy-hamdist, 5 % suppressed": {"method": "greedy-hamdist", "max_suppression": 0.05},
    "mondrian": {"method": "mondrian"},
    "datafly": {"method": "datafly"},
    "datafly, 5 % suppressed": {"method": "datafly", "max_suppression": 0.05},
    "incognito, 5 % suppressed": {"method": "incognito", "max_suppression": 0.05},
}  # fmt: skip


@pytest.fixture(autouse=True)
def _unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worth of a table to a model is not measured: that takes four fifths of the time and tests nothing here."""
    for name in ("prediction_of_first_rows", "prediction_for_all_rows"):
        monkeypatch.setattr(f"anonkit.pipeline.output_measures.{name}", lambda *_, **__: None)


# --- tables --------------------------------------------------------------------------------------------------------


def make_table(seed: int) -> tuple[pa.Table, int]:
    """Return a table with heavy tails, outliers, repeated, rare and missing values, and a k for it."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(40, 260))
    k = int(rng.integers(2, 9))
    body = rng.normal(0, 1, n)
    tail = np.exp(rng.normal(3, 1.6, n))
    wild = np.where(rng.random(n) < 0.02, rng.choice([-1e6, 1e6, 12345.678], n), body * 100)
    born = [date(1990, 1, 1) + timedelta(days=int(day)) for day in rng.integers(-4000, 4000, n)]
    born[0] = date(1899, 3, 5)
    seen = [datetime(2020, 1, 1) + timedelta(seconds=float(second)) for second in np.rint(tail * 1000)]
    kinds = np.array(["a", "b", "c", "d", "other", "missing", "rare", "rarer", "rarest"])
    kind = rng.choice(kinds, n, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.06, 0.02, 0.01, 0.01])
    columns: dict[str, pa.Array] = {
        "age": pa.array(np.clip(rng.integers(15, 60, n) + (tail > 100) * 37, 0, 120)),
        "snowflake": pa.array((2**60 + rng.integers(0, 40, n)).tolist(), pa.int64()),
        "wage": pa.array(np.round(tail, 2)),
        "wild": pa.array(wild),
        "price": pa.array([Decimal(f"{cents}.25") + 10**16 for cents in rng.integers(0, 30, n)], pa.decimal128(24, 2)),
        "born": pa.array(born),
        "seen": pa.array(seen, pa.timestamp("us")),
        "kind": pa.array(kind),
    }
    chosen = rng.choice(sorted(columns), 4, replace=False)
    table = {name: _with_missing(columns[name], rng) for name in sorted(chosen)}
    label = np.where(body + (kind == "a") + rng.normal(0, 0.5, n) > 0.3, "yes", "no")
    return pa.table({**table, "y": pa.array(label)}), k


def _with_missing(column: pa.Array, rng: np.random.Generator) -> pa.Array:
    share = rng.choice([0.0, 0.01, 0.2])
    cells = [
        None if gone else cell for cell, gone in zip(column.to_pylist(), rng.random(len(column)) < share, strict=True)
    ]
    return pa.array(cells, column.type)


# --- reading -------------------------------------------------------------------------------------------------------


def where(point: Any) -> Fraction:
    """Return the place of a cell, or of the text of a cut, exactly."""
    if isinstance(point, datetime):
        return Fraction((point.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1))
    if isinstance(point, date):
        return where(datetime(point.year, point.month, point.day))
    if isinstance(point, str):
        if re.fullmatch(r"\d{4}-\d\d-\d\d.*", point):
            return where(datetime.fromisoformat(point))
        return Fraction(Decimal(point))
    return Fraction(Decimal(repr(point))) if isinstance(point, float) else Fraction(point)


def covers(label: Any, cell: Any, other: str | None, missing: str = "missing") -> bool:
    """Return whether a released label holds a cell of the source: intervals exactly, sets by their members.

    `other` is what the pool of a cell that is not listed is called.
    """
    if label == "*":
        return True
    if cell is None:
        return label is None or (missing in _atoms(label)[1]) is not _atoms(label)[0]
    if label is None:
        return False
    negated, atoms = _atoms(label)
    # a pooled value is nowhere called by its own text, which may be that of missing
    inside = any(_atom_covers(atom, cell) for atom in atoms) if other is None else other in atoms
    return inside is not negated


def _atoms(label: str) -> tuple[bool, list[str]]:
    negated = label.startswith("not ")
    return negated, label.removeprefix("not ").split("|")


def _atom_covers(atom: str, cell: Any) -> bool:
    if isinstance(cell, str):
        return atom == cell
    if atom.startswith("["):
        low, high = atom.strip("[)").split(", ")
        return where(low) <= where(cell) < where(high)
    if atom.startswith("<"):
        return where(cell) < where(atom[2:])
    if atom.startswith(">="):
        return where(cell) >= where(atom[3:])
    return atom not in ("missing", "other") and where(atom) == where(cell)


# --- the attack ----------------------------------------------------------------------------------------------------


def axes(params: dict[str, Any]) -> list[dict[str, Any]]:
    """Return everything a recoding says of columns."""
    recoding = params["recoding"]
    return recoding["columns"] if recoding["kind"] == "global" else recoding["axes"]


def never_parted(recoding: dict[str, Any], axis: dict[str, Any], one: int, other: int) -> bool:
    """Return whether no split of a local recoding separates two parts of an axis: they are one then."""
    if recoding["kind"] == "global":
        return False
    at = next(number for number, each in enumerate(recoding["axes"]) if each["name"] == axis["name"])
    splits = [set(node["left"]) for node in recoding["nodes"] if node is not None and node["axis"] == at]
    return all((one in left) == (other in left) for left in splits)


def narrowest(table: pa.Table, params: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield, for every part of every published axis that is found from the data, the rows of the source in it.

    Parts that share a label are one. A part that says nothing (no cut, no list) is all rows.
    """
    for axis in axes(params):
        if axis["kind"] == "kept":
            continue
        cells = table.column(axis["name"]).to_pylist()
        if axis["kind"] == "intervals":
            cuts = [where(cut) for cut in axis["cuts"]]
            parts = [len(cuts) + 1 if cell is None else sum(where(cell) >= cut for cut in cuts) for cell in cells]
            n_parts = len(cuts) + 1 + axis["missing"]
        else:
            listed = {value: at for at, value in enumerate(axis["values"])}
            n_parts = len(listed) + axis["other"] + axis["missing"]
            parts = [n_parts - 1 if cell is None else listed.get(cell, len(listed)) for cell in cells]
            if axis["other"] and axis["missing"] and never_parted(params["recoding"], axis, n_parts - 2, n_parts - 1):
                parts = [n_parts - 2 if cell is None else part for cell, part in zip(cells, parts, strict=True)]
        told = axis.get("labels", list(range(n_parts)))
        if "labels" not in axis and axis["missing"]:
            parts = [part for part in parts if part < n_parts - 1]  # a box holds missing beside k rows: boxes show it
            told = told[:-1]
        for label in set(told):
            rows = sum(told[part] == label for part in parts)
            if label == "*" or (axis["kind"] == "categories" and rows == 0 and axis["values"] != []):
                continue  # a place for values that nobody has discloses nobody
            yield axis["name"], rows


def at_least(table: pa.Table, k: int, release: anonkit.Release) -> int:
    """Return the rows of the narrowest part that a release publishes, or k when it publishes none."""
    return min((rows for _, rows in narrowest(table, json.loads(json.dumps(release.params)))), default=k)


def other_of(params: dict[str, Any], name: str) -> str | None:
    """Return what the pool of a column is called."""
    axis = next((axis for axis in axes(params) if axis["name"] == name), {})
    return axis.get("other_label", "other" if axis.get("other") else None)


def declared(table: pa.Table) -> anonkit.Policy:
    """Return a policy that says of every column but the target that an attacker may know it."""
    roles = {name: {"role": "quasi_identifier"} for name in table.column_names}
    numbers = ["row"] if "row" in table.column_names else []
    policy = anonkit.Policy.from_dict({"columns": {**roles, "y": {"role": "target"}}})
    return policy.with_roles(insensitive=numbers).releasing_as_is(numbers)


def released(table: pa.Table, k: int, way: str) -> anonkit.Release | None:
    """Release a table; None where nothing can be."""
    numbered = table.append_column("row", pa.array(range(table.num_rows)))
    try:
        return anonkit.release(numbered, k=k, policy=declared(numbered), **WAYS[way])
    except anonkit.AnonkitError:
        return None


def check_labels(table: pa.Table, release: anonkit.Release) -> None:
    """Assert that every released cell covers the source's, exactly."""
    shown = release.to_arrow()
    rows = shown.column("row").to_pylist()
    for name in shown.column_names:
        if name in ("row", "y"):
            continue
        axis = next((axis for axis in axes(release.params) if axis["name"] == name), {})
        source = table.column(name).to_pylist()
        for row, label in set(zip(rows, shown.column(name).to_pylist(), strict=True)):
            cell = source[row]
            if label != cell:
                unlisted = cell is not None and cell not in axis.get("values", [])
                pool = other_of(release.params, name) if unlisted else None
                assert covers(label, cell, pool, axis.get("missing_label", "missing")), name


@pytest.mark.quick_cases("rfka", "mondrian")
@pytest.mark.parametrize("way", WAYS)
def test_no_published_part_holds_fewer_than_k_rows_of_the_source(way: str) -> None:
    """Of five tables: cuts, listed values and pools hold k source rows; labels their cells."""
    made = 0
    for seed in range(5):
        table, k = make_table(seed)
        release = released(table, k, way)
        if release is None:
            continue
        made += 1
        assert at_least(table, k, release) >= k, seed
        check_labels(table, release)
    assert made >= 4


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_nor_does_one_of_two_hundred_tables(way: str) -> None:
    """As above, 200 tables."""
    for seed in range(1000, 1200):
        table, k = make_table(seed)
        release = released(table, k, way)
        if release is not None:
            assert at_least(table, k, release) >= k, seed
            check_labels(table, release)


# --- extremes ------------------------------------------------------------------------------------------------------


def without_extremes(cells: Sequence[float], k: int, at: int) -> list[float]:
    """Return the column with its k - 1 largest cells moved to the cell that comes `at` places below them."""
    order = sorted(range(len(cells)), key=lambda row: cells[row])
    out = list(cells)
    for row in order[len(order) - k + 1 :]:
        out[row] = cells[order[len(order) - k - at]]
    return out


@pytest.mark.parametrize(
    "way", ["rfka", "rfka --bins 5", "rfka --preset paper", "greedy-hamdist", "mondrian", "datafly"]
)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))])
def test_the_extremes_do_not_follow_from_anything_published(way: str, seed: int) -> None:
    """A table whose largest k - 1 numbers are far smaller has the same params, byte for byte."""
    rng, k = np.random.default_rng(seed), 5
    cells = [float(cell) for cell in np.concatenate((rng.integers(-40, 900, 116), [-77, 1013, 5000, 60_000]))]
    label = ["yes" if cell > 400 else "no" for cell in cells]
    shown = []
    for moved in (cells, *(without_extremes(cells, k, at) for at in range(2 * k))):
        table = pa.table({"n": moved, "y": label})
        shown.append(json.dumps(anonkit.release(table, k=k, policy=declared(table), **WAYS[way]).params["recoding"]))
        if len(shown) > 1 and shown[-1] == shown[0]:
            return
    raise AssertionError("no table without the largest numbers looks the same")


def test_edges_of_equal_bins_do_not_tell_the_smallest_and_largest_value() -> None:
    """Stepping a bin's width out from the outermost cuts used to give -77 and 1013, which one row holds each."""
    rng = np.random.default_rng(0)
    cells = [*rng.integers(0, 900, 398).tolist(), -77, 1013]
    table = pa.table({"n": cells, "y": ["yes" if cell > 300 else "no" for cell in cells]})
    for way in ("rfka --bins 5", "rfka --preset paper", "greedy-hamdist"):
        (axis,) = axes(anonkit.release(table, k=10, policy=declared(table), **WAYS[way]).params)
        cuts = [where(cut) for cut in axis["cuts"]]
        width = (cuts[-1] - cuts[0]) / max(len(cuts) - 1, 1)
        assert abs(cuts[0] - width - min(cells)) > 20, way
        assert abs(cuts[-1] + width - max(cells)) > 20, way


def test_a_single_cut_has_k_rows_beyond_it() -> None:
    """One birth of 1,000 after 2010, suppressed: no cut discloses it."""
    rng = np.random.default_rng(1)
    born = [date(1950, 1, 1) + timedelta(days=int(day)) for day in rng.integers(0, 15_000, 999)] + [date(2011, 5, 4)]
    table = pa.table({"born": born, "y": ["yes" if day.year > 1970 else "no" for day in born]})
    release = anonkit.release(table, k=10, target="y", trees=5)
    assert at_least(table, 10, release) >= 10


# --- exact labels --------------------------------------------------------------------------------------------------


LARGE = {
    "snowflake": (pa.int64(), 2**62 + np.arange(0, 4000, 7)),
    "least": (pa.int64(), -(2**63) + np.arange(0, 600, 1)),
    "largest": (pa.int64(), 2**63 - 1 - np.arange(0, 600, 1)),
    "unsigned": (pa.uint64(), np.uint64(2**64 - 1) - np.arange(0, 600, 1).astype(np.uint64)),
    "nanoseconds": (pa.int64(), 1_700_000_000_000_000_000 + np.arange(0, 600_000, 1000)),
}


@pytest.mark.quick_cases("*-rfka", "decimal-mondrian", "snowflake-greedy-hamdist")
@pytest.mark.parametrize(
    ("kind", "way"),
    [
        *itertools.product([*LARGE, "decimal", "timestamp[ns]", "zoned"], ["rfka", "mondrian"]),
        *itertools.product(["snowflake", "decimal"], ["rfka --bins 5", "rfka --preset paper", "greedy-hamdist"]),
    ],
)
def test_every_interval_holds_its_cell_exactly(kind: str, way: str) -> None:
    """Integers beyond 2^53, long decimals and times: no label is false by the last digit."""
    if kind in LARGE:
        given, values = LARGE[kind]
        cells = pa.array(values.tolist(), given)
    elif kind == "decimal":
        cells = pa.array([Decimal(10**17 + at).scaleb(-2) + 10**15 for at in range(500)], pa.decimal128(30, 2))
    elif kind == "zoned":
        stamps = [1_698_530_000_000_000 + at * 7_000_001 for at in range(2000)]  # over the end of summer time
        cells = pa.array(stamps, pa.timestamp("us", "Europe/Vienna"))
    else:
        cells = pa.array([1_700_000_000_000_000_000 + at * 1000 for at in range(500)], pa.timestamp("ns"))
    label = ["yes" if at % 50 < 25 else "no" for at in range(len(cells))]
    table = pa.table({"x": cells, "y": label})
    release = released(table, 10, way)
    assert release is not None
    if kind == "zoned":
        stamps = pa.array([at // 1 for at in stamps])
        table = pa.table({"x": stamps.cast(pa.timestamp("us")), "y": label})
        shown = release.to_arrow()
        for row, text in zip(shown.column("row").to_pylist(), shown.column("x").to_pylist(), strict=True):
            assert covers(text.replace("+00:00", ""), table.column("x")[row].as_py(), None)
        return
    if kind == "timestamp[ns]":
        table = pa.table({"x": cells.cast(pa.timestamp("us")), "y": label})
    check_labels(table, release)
    assert len(set(release.to_arrow().column("x").to_pylist())) > 2 or "paper" in way or "greedy" in way


# --- declared hierarchies ------------------------------------------------------------------------------------------


TREE = [
    ["nurse", "care", "service"], ["doctor", "care", "service"], ["teacher", "school", "service"],
    ["tutor", "school", "service"], ["clerk", "office", "white"], ["broker", "office", "white"],
    ["miner", "craft", "blue"], ["smith", "craft", "blue"], ["baker", "food", "blue"], ["cook", "food", "blue"],
]  # fmt: skip
NODES = {name for path in TREE for name in path}


def _bins(widths: Sequence[Fraction], cells: Sequence[Any]) -> set[str | None]:
    """Return the name of every bin of a ladder, and of every single value."""
    out: set[str | None] = {None, "*", *map(str, cells)}
    for width in widths:
        for cell in cells:
            low = where(cell) // width * width
            ends = itertools.product(_names(low), _names(low + width))
            out |= {f"[{a}, {b})" for a, b in ends}
    return out


def _names(point: Fraction) -> list[str]:
    names = [str(float(point))]
    return [*names, str(int(point))] if point.denominator == 1 else names


@pytest.mark.quick_cases(
    "0-mondrian",
    "0-incognito, 5 % suppressed",
    "0-rfka --bins 5",
    "0-rfka --features one-hot, 5 % suppressed",
    "0-datafly",
    "0-greedy-hamdist",
)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))])
def test_released_labels_are_nodes_of_what_is_declared(way: str, seed: int) -> None:
    """Of a column with a tree, a ladder or `ladder = "none"` nothing else is released than its groups and bins."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(150, 400))
    job = rng.choice([path[0] for path in TREE[:9]], n, p=[0.2, 0.1, 0.2, 0.05, 0.2, 0.1, 0.1, 0.04, 0.01])
    age = [None if gone else int(a) for a, gone in zip(rng.integers(17, 93, n), rng.random(n) < 0.03, strict=True)]
    wage = np.round(np.exp(rng.normal(3, 1, n)), 1).tolist()
    town = rng.choice(["A", "B", "C", "D"], n, p=[0.6, 0.3, 0.08, 0.02])
    label = np.where(rng.random(n) + (job == "nurse") + np.array([(a or 0) > 50 for a in age]) > 1, "yes", "no")
    table = pa.table({"job": job, "age": pa.array(age), "wage": wage, "town": town, "y": label})
    policy = anonkit.Policy.from_dict(
        {
            "columns": {
                "job": {"tree": TREE},
                "age": {"ladder": [15, 30]},
                "wage": {"ladder": [2.5, 20, 100]},
                "town": {"ladder": "none"},
                "y": {"role": "target"},
                "row": {"role": "insensitive", "release_as_is": True},
            }
        }
    )
    numbered = table.append_column("row", pa.array(range(n)))
    release = anonkit.release(numbered, k=6, policy=policy, **WAYS[way])
    shown = release.to_arrow().to_pydict()
    allowed = {
        "job": NODES | {"*", None},
        "age": _bins([Fraction(15), Fraction(30)], [a for a in age if a is not None]),
        "wage": _bins([Fraction(5, 2), Fraction(20), Fraction(100)], wage),
        "town": {"A", "B", "C", "D", "*"},
    }
    for name in allowed.keys() & shown.keys():
        labels = {str(label) if isinstance(label, float | int) else label for label in shown[name]}
        assert labels <= allowed[name], name
    paths = {path[0]: path for path in TREE}
    for row, text in zip(shown["row"], shown.get("job", ["*"] * len(shown["row"])), strict=True):
        assert text == "*" or text in paths[str(job[row])]
    check_labels(table.drop_columns(["job"]), _without(release, "job"))


class _without:  # noqa: N801 - a release seen without one column
    def __init__(self, release: anonkit.Release, name: str) -> None:
        self.params = release.params
        table = release.to_arrow()
        self._table = table.drop_columns([name]) if name in table.column_names else table

    def to_arrow(self) -> pa.Table:
        return self._table


# --- the pool ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["rfka", "rfka --search greedy", "mondrian"])
def test_a_category_called_other_is_not_the_pool(way: str) -> None:
    """A real `other` and the pool of rare values have two labels, in the cells and in params."""
    rng = np.random.default_rng(3)
    job = [*["other"] * 60, *["clerk"] * 60, *[f"rare {at}" for at in range(30)]]
    label = [*["yes"] * 60, *["no"] * 60, *["yes", "no"] * 15]
    order = rng.permutation(150)
    table = pa.table({"job": [job[at] for at in order], "y": [label[at] for at in order]})
    release = released(table, 10, way)
    assert release is not None
    shown = release.to_arrow().to_pydict()
    cells = table.column("job").to_pylist()
    of_other = {text for row, text in zip(shown["row"], shown["job"], strict=True) if cells[row] == "other"}
    of_rare = {text for row, text in zip(shown["row"], shown["job"], strict=True) if cells[row].startswith("rare")}
    pool = other_of(release.params, "job")
    assert pool not in {"other", "clerk"}
    assert not of_other & of_rare
    check_labels(table, release)
