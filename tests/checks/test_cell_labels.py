"""Names of cells in params.json, read once more: right ones pass, forged ones are counted."""

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
from anonkit.checks.cell_labels import is_cell_label, numbers_of, wrong_outlines
from anonkit.policy.declaration import Policy

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


@pytest.mark.slow_cases("rfka", "mondrian")
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
