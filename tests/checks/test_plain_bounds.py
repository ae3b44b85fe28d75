"""Releases that show intervals as numbers: their information is recomputed, and forged ones are refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from checks.forgeries import SMALL, Edit, Files, forged, refused, verdict
from checks.forging import both, cells

import anonkit
from anonkit.bundle.bound_columns import BoundColumn
from anonkit.checks.shown_numbers import bounds_of, wrong_bounds

METHODS = ("rfka", "mondrian")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory, small_customers: pa.Table) -> dict[str, Files]:
    """True releases that show bounds, in memory."""
    found = {}
    for method in METHODS:
        output = tmp_path_factory.mktemp("true") / "out.parquet"
        anonkit.release(
            small_customers,
            method=method,
            target="customer_value",
            output=output,
            ledger=None,
            cells="bounds",
            **SMALL[method],
        )
        found[method] = Files.read(output)
    return found


@pytest.mark.parametrize("method", METHODS)
def test_a_true_release_validates(shown: dict[str, Files], method: str, tmp_path: Path) -> None:
    """Numbers, labels and classes hold; k is counted on the columns as they are, and reached."""
    data = forged(shown[method], lambda files: None, tmp_path)
    assert verdict(data) == (0, ())
    checks = {check.name: check for check in anonkit.validate(data).checks}
    assert checks["bound_classes"].observed == checks["k_anonymity"].observed >= SMALL[method]["k"]
    names = shown[method].params["bounds"]
    assert names or method == "rfka"  # whose search is drawn: it may keep categories alone
    for name, raw in names.items():
        assert {f"bounds:{name}", f"cells:{name}"} <= set(checks)
        assert {raw["low"], raw["high"]} <= set(shown[method].table.column_names)
        assert name not in shown[method].table.column_names


def first(files: Files) -> tuple[str, dict[str, Any]]:
    """The first column that is shown as bounds."""
    return next(iter(files.params["bounds"].items()))


def on_end(end: str, make: Callable[[list[int | None]], list[int | None]]) -> Edit:
    """Change one end in the data."""

    def edit(files: Files) -> None:
        name = first(files)[1][end]
        cells(name, lambda column: pa.array(make(column.to_pylist()), pa.int64()))(files)

    return edit


def on_block(change: Callable[[dict[str, Any]], object]) -> Edit:
    """Change what the params say of the bounds."""
    return lambda files: change(first(files)[1])


def moved(by: int) -> Callable[[list[int | None]], list[int | None]]:
    """Move every number."""
    return lambda numbers: [None if number is None else number + by for number in numbers]


def one_row(numbers: list[int | None]) -> list[int | None]:
    """Change the number of one row."""
    at = next(at for at, number in enumerate(numbers) if number is not None)
    return [*numbers[:at], (numbers[at] or 0) - 1, *numbers[at + 1 :]]


def _move_low(raw: dict[str, Any]) -> None:
    raw["labels"] = [[label, None if low is None else low - 1, high] for label, low, high in raw["labels"]]


def _swap(raw: dict[str, Any]) -> None:
    """Let two labels change their numbers."""
    (one, *ends), (other, *others), *more = raw["labels"]
    raw["labels"] = [[one, *others], [other, *ends], *more]


def _as_text(files: Files) -> None:
    name = first(files)[1]["low"]
    cells(name, lambda column: column.cast(pa.string()))(files)


def _two_of_one(files: Files) -> None:
    """Let each of two columns have the bounds of the other."""
    files.params["bounds"]["income"] = copy.deepcopy(first(files)[1])


def _taken(files: Files) -> None:
    """Call a bound as a column of the source is called."""
    raw = first(files)[1]
    files.table = files.table.rename_columns(
        ["id" if name == raw["low"] else name for name in files.table.column_names]
    )
    raw["low"] = "id"
    files.params["columns"].append({**files.params["columns"][0], "name": "id"})


def _to_another_interval(files: Files) -> None:
    """Move one row into another published interval, which makes a class of its own."""
    raw = first(files)[1]
    rows = files.table.to_pylist()
    pairs = [(low, high) for _, low, high in raw["labels"]]
    key = [one for one in files.table.column_names if one != "customer_value"]
    there = {tuple(row[name] for name in key) for row in rows}
    for at, row in enumerate(rows):
        for low, high in pairs:
            changed = {**row, raw["low"]: low, raw["high"]: high}
            if tuple(changed[name] for name in key) not in there:
                for end in (raw["low"], raw["high"]):
                    place = files.table.schema.get_field_index(end)
                    cells = files.table[end].to_pylist()
                    cells[at] = changed[end]
                    field = files.table.schema.field(place)
                    files.table = files.table.set_column(place, field, pa.array(cells, field.type))
                return
    raise AssertionError("every combination is a class")


FORGERIES: dict[str, tuple[Edit, str]] = {
    "low of every row": (on_end("low", moved(1)), "cells:"),
    "high of one row": (on_end("high", one_row), "cells:"),
    "low of every row and of the params": (both(on_end("low", moved(-1)), on_block(_move_low)), "bounds:"),
    "numbers of two labels": (on_block(_swap), "bounds:"),
    "a row of another interval": (_to_another_interval, "k_anonymity"),
    "no such column": (on_block(lambda raw: raw.update(low="gone")), "bounds:"),
    "texts": (_as_text, "bounds:"),
    "bounds of a column of words": (_two_of_one, "bounds:"),
    "a name that is taken": (_taken, "bound_names"),
    "labels left out": (on_block(lambda raw: raw["labels"].clear()), "bounds:"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_bounds_are_refused(shown: dict[str, Files], forgery: str, tmp_path: Path) -> None:
    """A pair is that of its label, a row shows a pair of the params, and classes are counted on the numbers."""
    refused(shown["mondrian"], FORGERIES[forgery], tmp_path)


def _fields(files: Files) -> list[dict[str, Any]]:
    return [one for one in files.descriptor["resources"][0]["schema"]["fields"] if "description" in one]


def _both_inside(files: Files) -> None:
    """Let the descriptor say of another column what the end of the first means."""
    first_field, second = _fields(files)[:2]
    first_field["description"] = second["description"]


def _undescribed(files: Files) -> None:
    """Describe no column, as earlier versions did."""
    for field in _fields(files):
        for key in ("description", "anonkit:role", "anonkit:action"):
            del field[key]


def test_the_descriptor_says_whether_an_end_is_inside(shown: dict[str, Files], tmp_path: Path) -> None:
    """Of whole numbers both ends are; another sentence is refused, and earlier versions had none."""
    low, high = (field["description"] for field in _fields(shown["mondrian"])[:2])
    assert "begins, itself inside; empty where it is open" in low
    assert "ends, itself inside; empty where it is open" in high
    assert verdict(forged(shown["mondrian"], _both_inside, tmp_path)) == (1, ("descriptor",))
    assert verdict(forged(shown["mondrian"], _undescribed, tmp_path)) == (0, ())


@pytest.mark.parametrize("block", [[], {"age": {}}, {"age": {"low": "a", "high": "b", "labels": [["*", "1", None]]}}])
def test_a_damaged_block_cannot_be_checked(shown: dict[str, Files], block: Any, tmp_path: Path) -> None:
    """A value that is no block of bounds is reported as damaged."""
    code, told = verdict(forged(shown["mondrian"], lambda files: files.params.update(bounds=block), tmp_path))
    assert code != 0
    assert "damaged" in told[0] or "not as anonkit writes them" in told[0]


def test_bounds_without_a_recoding_are_not_looked_at(releases: dict[str, Files], tmp_path: Path) -> None:
    """A release with noise has no labels: its rows are checked as they are."""
    data = forged(releases["rr"], lambda files: files.params.update(bounds={}), tmp_path)
    assert "bound_names" not in {check.name for check in anonkit.validate(data).checks}


@pytest.mark.parametrize(
    ("label", "whole", "fraction"),
    [
        ("[30, 40)", (30, 39), (30.0, 40.0)),
        ("< 20", (None, 19), (None, 20.0)),
        (">= 65", (65, None), (65.0, None)),
        ("37", (37, 37), (37.0, 37.0)),
        ("[30, 40) (2)", (30, 39), (30.0, 40.0)),
        ("< 20|[30, 40)", (None, 39), (None, 40.0)),
        ("[1.5, 2.5)|>= 7|missing", (2, None), (1.5, None)),
        ("*", (None, None), (None, None)),
        ("missing (2)", (None, None), (None, None)),
        (None, (None, None), (None, None)),
        ("young", None, None),
        ("[a, b)", None, None),
        ("< Infinity", None, (None, float("inf"))),
        ("|missing", None, None),
        ("missing|missing", None, None),
    ],
)
def test_the_words_of_a_label_tell_its_ends(label: str | None, whole: Any, fraction: Any) -> None:
    """Of integers both ends are in the interval, of others the highest is the first after it."""
    assert bounds_of(label, whole=True) == whole
    assert bounds_of(label, whole=False) == fraction


def test_what_the_bounds_of_a_column_contradict_is_counted() -> None:
    """Labels twice, pairs twice, ends that are the wrong way round, and types that are not the column's."""
    schema = pa.schema([("a_low", pa.float64()), ("a_high", pa.float64())])

    def wrong(*labels: Any, kind: str = "double") -> int:
        column = BoundColumn(name="a", low="a_low", high="a_high", labels=labels)
        return wrong_bounds(column, {"a": kind}, schema)

    assert wrong(("< 2", (None, 2.0)), (">= 2", (2.0, None))) == 0
    assert wrong(("< 2", (None, 2.0)), ("< 2", (None, 2.0))) == 2
    assert wrong(("< 2", (None, 2.0)), ("< 2 (2)", (None, 2.0))) == 1
    assert wrong(("[3, 2)", (3.0, 2.0))) == 1
    assert wrong(("< 2", (None, 3.0))) == 1
    assert wrong(("< 2", (None, 1)), kind="int64") == 2
    assert wrong(("< 2", (None, 2.0)), kind="string") == 2


@pytest.mark.parametrize("at", [0, -2, -1])
def test_a_label_without_its_pair_is_missed(small_releases: dict[str, Files], at: int, tmp_path: Path) -> None:
    """Also the last ones, which no row shows: rows of the next batch may."""

    def without(files: Files) -> None:
        del files.params["bounds"]["age"]["labels"][at]

    code, failed = verdict(forged(small_releases["bounds"], without, tmp_path))
    assert (code, failed) == (1, ("bounds:age",))
