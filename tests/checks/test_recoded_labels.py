"""Labels of a recoding, read from params.json anew: declared names pass, names that mislead do not.

Names of cells in params.json, read once more: right ones pass, forged ones are counted.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.checks.recoded_labels import AxisParts, boxes_of, is_cell_label, label_checks, numbers_of, wrong_outlines
from anonkit.policy.declaration import Policy
from anonkit.published.recoding import IntervalAxis, LocalRecoding

CELL, SIBLING, PARENT = "831f1dfffffffff", "831f18fffffffff", "821f1ffffffffff"
PLACE = {"resolutions": [3, 2]}
POLICY = {"places": {"home": {"latitude": "lat", "longitude": "lon"}}, "columns": {"y": {"role": "target"}}}


def cuts_of(name: str) -> list[str]:
    """The ends of a cell among those of resolution 3."""
    numbers = numbers_of(name, 3)
    assert numbers is not None
    return [str(number) for number in numbers]


@pytest.mark.parametrize(
    "name",
    [
        *("", "Berlin", "931f1dfffffffff", "871f1d489ffffff0", "881f1dfffffffff", "83ffffffffffff1", "831f1dffffffff0"),
        *("83f5fffffffffff", "831fffffffffff"),
    ],
)
def test_what_is_no_cell_has_no_numbers(name: str) -> None:
    """Another mode, another length, digits behind the last or none before it, a base cell that there is not."""
    assert numbers_of(name, 15) is None


def test_a_cell_finer_than_the_finest_has_no_numbers() -> None:
    """The params say which is the finest."""
    assert numbers_of(CELL, 2) is None


def test_a_label_is_the_cell_between_its_cuts() -> None:
    """A cell, and its parent over all of its parts; no sibling, no part of it, nothing that is not declared."""
    cell, parent = cuts_of(CELL), cuts_of(PARENT)
    assert is_cell_label(CELL, [1], cell, PLACE)
    assert is_cell_label(PARENT, [1, 2, 3], sorted({*parent, *cell}, key=int), PLACE)
    assert not is_cell_label(SIBLING, [1], cell, PLACE)
    assert not is_cell_label(PARENT, [1], cell, PLACE)
    assert not is_cell_label(PARENT, [1], parent, {"resolutions": [3]})
    assert not is_cell_label("Berlin", [1], cell, PLACE)
    assert not is_cell_label(None, [1], cell, PLACE)
    assert not is_cell_label(CELL, [0], cell, PLACE)
    assert not is_cell_label(CELL, [1, 3], [*cell, str(10**6), str(10**7)], PLACE)
    assert not is_cell_label(CELL, [2], cell, PLACE)


def test_an_outline_holds_its_centre_and_every_shown_cell_has_one() -> None:
    """Also across the antimeridian; `*` and missing have none."""
    right = {"center": [52.5, 13.0], "bounds": [52.0, 12.0, 53.0, 14.0]}
    across = {"center": [0.0, -179.5], "bounds": [-1.0, 179.0, 1.0, -178.0]}
    assert wrong_outlines({CELL: right, SIBLING: across}, [CELL, SIBLING, "*", None]) == 0
    assert wrong_outlines({CELL: right}, [CELL, SIBLING]) == 1
    assert wrong_outlines({CELL: {**right, "center": [54.0, 13.0]}}, [CELL]) == 1
    assert wrong_outlines({CELL: {**across, "center": [0.0, 0.0]}}, [CELL]) == 1


def people(n_rows: int = 600, *, shift: float = 0.0) -> pa.Table:
    """People who live about two cities, some of them without an address."""
    random = np.random.default_rng(5)
    north = random.random(n_rows) < 0.5
    latitudes = np.where(north, 53.5, 48.1) + random.normal(0, 0.2, n_rows) + shift
    longitudes = np.where(north, 10.0, 11.6) + random.normal(0, 0.2, n_rows)
    there = pa.array(latitudes, mask=random.random(n_rows) < 0.05)
    return pa.table({"lat": there, "lon": longitudes, "y": np.where(north, "a", "b")})


@pytest.mark.quick_cases("datafly")
@pytest.mark.parametrize("method", ["rfka", "datafly", "incognito", "mondrian"])
def test_places_are_released_as_cells_and_forged_cells_are_found(method: str, tmp_path: Path) -> None:
    """k is counted in the file, no coordinate leaves, the next batch may lie elsewhere; a forged name fails."""
    path = tmp_path / "a.parquet"
    asked: dict[str, Any] = {"k": 8} if method == "mondrian" else {"k": 8, "max_suppression": 0.1}
    table = people()
    anonkit.release(table, method=method, policy=Policy.from_dict(POLICY), output=path, ledger=None, **asked)
    for out, shift in ((path, None), (tmp_path / "near.parquet", 0.3), (tmp_path / "far.parquet", -60.0)):
        if shift is not None:
            batch = people(shift=shift)
            anonkit.apply(tmp_path / "a.params.json", batch, output=out, max_suppression=0.9, ledger=None)
        shown = pq.read_table(out)
        assert {"lat", "lon"}.isdisjoint(shown.column_names)
        assert min(Counter(shown["home"].to_pylist()).values()) >= 8
        assert anonkit.validate(out).passed
    params = tmp_path / "a.params.json"
    text = params.read_text()
    raw = json.loads(text)
    for coordinate in (str(table["lat"][0]), str(table["lon"][0])):
        assert coordinate not in text
    cells = [cell for cell in raw["places"]["home"] if f'"{cell}"' in json.dumps(raw["recoding"])]
    digit = format((int(cells[0][3], 16) + 1) % 8, "x")
    params.write_text(text.replace(cells[0], cells[0][:3] + digit + cells[0][4:]))
    failed = {check.name for check in anonkit.validate(path).checks if not check.passed}
    assert "labels:home" in failed
    raw["places"]["home"][cells[0]]["center"][0] += 5
    params.write_text(json.dumps(raw))
    assert "domain:home" in {check.name for check in anonkit.validate(path).checks if not check.passed}


CODES = ["01067", "01069", "10115", "10117"]
TREE = [[code, f"{code[:3]}**", f"{code[:1]}****"] for code in CODES]
NUMBERS = {"kind": "intervals", "cuts": ["10", "20", "30"], "missing": True}
JOBS = {"kind": "categories", "values": ["clerk", "miner", "nurse"], "missing": False}


@pytest.mark.quick_cases("None-incognito", "160-rfka")
@pytest.mark.parametrize("method", ["rfka", "datafly", "incognito"])
@pytest.mark.parametrize("search_rows", [None, 160])
def test_a_release_along_a_declared_tree_validates(method: str, search_rows: int | None, tmp_path: Path) -> None:
    """Groups are called as the policy says, which is in no file; also in a recoding found on a sample."""
    policy = Policy.from_dict({"columns": {"zip": {"role": "quasi_identifier", "tree": TREE}, "y": {"role": "target"}}})
    table = pa.table({"zip": [code for code in CODES for _ in range(60)], "y": ["n"] * 120 + ["j"] * 120})
    asked = {"k": 64, "trees": 5} if method == "rfka" else {"k": 64}
    anonkit.release(
        table,
        method=method,
        policy=policy,
        output=tmp_path / "a.parquet",
        search_rows=search_rows,
        ledger=None,
        **asked,
    )
    assert set(anonkit.load(tmp_path / "a.parquet").to_arrow().column("zip").to_pylist()) == {"010**", "101**"}
    assert anonkit.validate(tmp_path / "a.parquet").passed


@pytest.mark.parametrize(
    ("labels", "declared", "wrong"),
    [
        (["010**", "010**", "101**", "101**"], CODES, 0),
        (["010**", "010**", "10115", "10117"], CODES, 0),
        (["010**", "010**", "101**", "101**"], [], 2),
        (["010**", "010**", "101**", "101**"], CODES[:3], 2),
        (["10115", "10115", "101**", "101**"], CODES, 1),
        (["10115", "10117", "010**", "010**"], CODES, 2),
        (["01067|01069", "01067|01069", "101**", "101**"], CODES, 1),
        (["01067|01069", "01067|01069", "10115|10117", "10115|10117"], CODES, 0),
        (["01067|01069", "01067|01069", "*", "*"], CODES, 0),
        (["010**", "010**", "*", "*"], CODES, 0),
    ],
)
def test_names_that_no_tree_can_give_are_refused(
    labels: list[str], declared: list[str], wrong: int, tmp_path: Path
) -> None:
    """A name is free where values are declared, but for values of other groups, and beside groups called by theirs."""
    shown = list(dict.fromkeys(labels))
    pq.write_table(pa.table({"zip": labels}), tmp_path / "a.parquet")
    axis = {"name": "zip", "kind": "categories", "values": CODES, "other": False, "missing": False, "labels": labels}
    params = {
        "recoding": {"kind": "global", "columns": [axis]},
        "columns": [{"name": "zip", **({"domain": {"categories": declared}} if declared else {})}],
    }
    report = {"columns": [{"name": "zip", "released_values": len(shown), "values": shown}]}
    checks = {check.name: check for check in label_checks(tmp_path / "a.parquet", ["zip"], params, report)}

    assert checks["labels:zip"].observed == wrong
    assert checks["domain:zip"].passed
    assert checks["told:zip"].passed


@pytest.mark.parametrize(
    "axis",
    [
        {**NUMBERS, "missing": "perhaps"},
        {**NUMBERS, "cuts": ["10", "20", "20"]},
        {**JOBS, "other": "some"},
        {**JOBS, "values": ["clerk", "clerk"]},
        {**JOBS, "kind": "numbers"},
        {**JOBS, "missing": True, "missing_label": "none"},
    ],
)
def test_what_is_no_axis_is_refused(axis: dict[str, Any]) -> None:
    """Neither yes nor no, a value or a cut twice, another kind, a label that missing does not have."""
    with pytest.raises(ValueError, match=r"no axis|neither yes nor no|a cut appears twice"):
        AxisParts.of(axis)


def test_intervals_are_named_by_their_ends() -> None:
    """Below the first cut, between cuts, from the last on; several of them and missing beside each other."""
    parts = AxisParts.of(NUMBERS)
    assert parts.size == 5
    assert [parts.label([part]) for part in range(4)] == ["< 10", "[10, 20)", "[20, 30)", ">= 30"]
    assert parts.label([0, 1]) == "< 20"
    assert parts.label([0, 2, 3]) == "< 10|>= 20"
    assert parts.label([1, 4]) == "[10, 20)|missing"
    assert parts.label([4]) is None
    assert parts.label(range(4)) == "*"


def test_declared_groups_are_named_by_the_first_that_holds_the_parts() -> None:
    """The smaller group first; what no group holds is everything."""
    groups = [{"label": "indoors", "parts": [0, 2]}, {"label": "anybody", "parts": [0, 1, 2]}]
    parts = AxisParts.of({**JOBS, "groups": groups})
    assert parts.label([0]) == "indoors"
    assert parts.label([0, 1]) == "anybody"
    assert AxisParts.of({**JOBS, "groups": groups[:1]}).label([0, 1]) == "*"


def test_a_name_that_a_value_has_is_numbered() -> None:
    """A category may be called as missing is."""
    axis = {"kind": "categories", "values": ["missing", "missing (2)"], "missing": True}
    assert AxisParts.of({**axis, "missing_label": "missing (3)"}).names == ("missing", "missing (2)", "missing (3)")
    with pytest.raises(ValueError, match="no axis"):
        AxisParts.of({**axis, "missing_label": "missing"})


def test_boxes_that_no_row_can_be_in_show_nothing() -> None:
    """A node that divides off parts its box no longer has, as earlier versions wrote, gives one box, not two."""
    nodes = [
        {"axis": 0, "left": [0], "children": [1, 2]},
        None,
        {"axis": 0, "left": [0], "children": [3, 4]},
        None,
        None,
    ]
    assert boxes_of({"axes": [JOBS], "nodes": nodes}) == {("clerk",), ("miner|nurse",)}


def test_boxes_above_others_may_be_shown_where_boxes_merge() -> None:
    """The params say whether rows of small boxes show a box further up the tree."""
    recoding = {"axes": [JOBS], "nodes": [{"axis": 0, "left": [0], "children": [1, 2]}, None, None]}
    assert boxes_of(recoding) == {("clerk",), ("miner|nurse",)}
    assert boxes_of({**recoding, "merged": True}) == {("clerk",), ("miner|nurse",), ("*",)}


AGES = {
    "name": "age",
    "kind": "intervals",
    "cuts": ["10", "20", "30"],
    "missing": False,
    "labels": ["< 10", "[10, 20)", "[20, 30)", ">= 30"],
}


def _label_checks(recoding: dict[str, Any], shown: list[str], folder: Path) -> dict[str, bool]:
    pq.write_table(pa.table({"age": shown}), folder / "a.parquet")
    values = list(dict.fromkeys(shown))
    report = {"columns": [{"name": "age", "released_values": len(values), "values": values}]}
    params = {"recoding": recoding, "columns": [{"name": "age"}]}
    return {check.name: check.passed for check in label_checks(folder / "a.parquet", ["age"], params, report)}


@pytest.mark.parametrize(
    ("coarser", "shown", "failed"),
    [
        ([["< 20", "< 20", ">= 20", ">= 20"], ["*"] * 4], ["< 10", "< 20", "*"], set()),
        ([["< 20", "< 20", ">= 20", ">= 20"]], ["< 10", "< 30"], {"domain:age"}),
        ([["< 30", "< 30", "< 30", ">= 30"], ["< 20", "< 20", ">= 20", ">= 20"]], ["< 10"], {"labels:age"}),
        ([["< 40", "< 40", ">= 20", ">= 20"]], ["< 10"], {"labels:age"}),
        ([["< 20", "< 20", ">= 20"]], ["< 10"], {"labels:age"}),
    ],
)
def test_levels_above_are_coarser_and_named_by_their_parts(
    coarser: list[list[str]], shown: list[str], failed: set[str], tmp_path: Path
) -> None:
    """A row may show a level above where groups merge; a level that tears a group, or misnames one, is refused."""
    column = {**AGES, "coarser": coarser}
    checks = _label_checks({"kind": "global", "columns": [column], "merged": True}, shown, tmp_path)

    assert {name for name, passed in checks.items() if not passed} == failed


def test_levels_above_are_not_shown_where_nothing_merged(tmp_path: Path) -> None:
    """Declared levels are in the params of every release; its rows show the labels alone."""
    column = {**AGES, "coarser": [["< 20", "< 20", ">= 20", ">= 20"]]}
    recoding = {"kind": "global", "columns": [column]}

    assert not _label_checks(recoding, ["< 10", "< 20"], tmp_path)["domain:age"]
    assert _label_checks(recoding, ["< 10", ">= 30"], tmp_path)["domain:age"]
    with pytest.raises(ValueError, match="neither yes nor no"):
        _label_checks({**recoding, "merged": "perhaps"}, ["< 10"], tmp_path)


@pytest.mark.parametrize("change", [{"children": [0, 2]}, {"left": [7]}])
def test_what_is_no_tree_of_boxes_is_refused(change: dict[str, Any]) -> None:
    """A node that leads to itself or before, a part that its axis does not have."""
    nodes = [{"axis": 0, "left": [0], "children": [1, 2], **change}, None, None]
    with pytest.raises(ValueError, match="not a tree of boxes"):
        boxes_of({"axes": [JOBS], "nodes": nodes})


def test_a_box_that_nothing_leads_to_is_refused() -> None:
    """Each box occurs once in the tree: one more would be shown to readers, and checked by nobody."""
    nodes = [{"axis": 0, "left": [0], "children": [1, 2]}, None, None, None]
    with pytest.raises(ValueError, match="not every box is in the tree"):
        boxes_of({"axes": [JOBS], "nodes": nodes})


@pytest.mark.parametrize(
    ("cuts", "label", "wrong"),
    [
        (["5", "6"], "5", 0),
        (["5", "7"], "5", 1),
        (["0.1", "0.2"], "0.1", 0),
        (["2020-02-28", "2020-02-29"], "2020-02-28", 0),
        (["2020-02-28", "2020-03-01"], "2020-02-28", 1),
        (["2020-01-01T00:00:00", "2020-01-01T00:00:00.000001"], "2020-01-01T00:00:00", 0),
    ],
)
def test_a_value_is_its_own_label_where_no_other_lies_between_the_cuts(
    cuts: list[str], label: str, wrong: int, tmp_path: Path
) -> None:
    """The next number of so many digits, the next day, the next microsecond."""
    labels = [f"< {cuts[0]}", label, f">= {cuts[1]}"]
    pq.write_table(pa.table({"x": labels}), tmp_path / "a.parquet")
    axis = {"name": "x", "kind": "intervals", "cuts": cuts, "missing": False, "labels": labels}
    params = {"recoding": {"kind": "global", "columns": [axis]}, "columns": [{"name": "x"}]}
    report = {"columns": [{"name": "x", "released_values": 3, "values": labels}]}
    checks = {check.name: check for check in label_checks(tmp_path / "a.parquet", ["x"], params, report)}
    assert checks["labels:x"].observed == wrong


def test_a_recoding_of_another_kind_is_none(tmp_path: Path) -> None:
    """Neither global nor local."""
    pq.write_table(pa.table({"x": ["a"]}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="no recoding"):
        list(label_checks(tmp_path / "a.parquet", ["x"], {"recoding": {"kind": "fuzzy"}}, {"columns": []}))


def test_a_local_recoding_of_columns_that_are_not_there_has_no_boxes_to_compare(tmp_path: Path) -> None:
    """Other checks state whether a column has to be released; of labels nothing is left to count."""
    data = tmp_path / "out.parquet"
    pq.write_table(pa.table({"other": [1, 2]}), data)
    recoding = LocalRecoding(axes=(IntervalAxis(name="age", cuts=(30,), has_missing=False),), nodes=(None,)).to_dict()
    found = list(label_checks(data, ["other"], {"recoding": recoding, "columns": []}, {"columns": []}))

    assert [(check.name, check.passed) for check in found] == [("boxes", True)]
