"""Cells of integers and decimals: written a second time as methods have them, and refused where they are not."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from checks.forgeries import Edit, Files, forged, verdict
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.checks.number_cells import EqualCells, fewest, is_as_written, multiples_of
from anonkit.domains.number_bins import Grid
from anonkit.domains.rounding_grid import WholeValues
from anonkit.errors import ReleaseFormatError
from anonkit.policy.declaration import Policy

VALUES = st.builds(
    lambda step, low, more: WholeValues(step=step, low=low, high=low + more),
    st.sampled_from([Fraction(1), Fraction(1, 100), Fraction(5), Fraction(3, 10)]),
    st.integers(-(10**6), 10**6),
    st.integers(1, 300),
)


@given(VALUES, st.integers(1, 90), st.integers(1, 20), st.integers(1, 16))
def test_cells_are_those_of_the_methods(values: WholeValues, cells: int, band: int, parts: int) -> None:
    """Ends, shown numbers and codes agree, on the grid, divided, and widened by a band."""
    grid = Grid.over(values.bounds, min(cells, values.size), has_missing=False, values=values)
    multiples = multiples_of(grid.to_params(), values.bounds)
    low, high = values.bounds
    rebuilt = EqualCells(low=low, high=high, cells=grid.cells, multiples=multiples)
    widened = EqualCells(low=low, high=high, cells=grid.cells, multiples=multiples, beyond=band - 1)
    divided = grid.finer(parts)
    assert divided.cells == rebuilt.divided(parts).cells
    for own, other in ((grid, rebuilt), (grid.widened(band), widened)):
        assert own.edges().tolist() == other.edges.tolist()
        assert own.midpoints().tolist() == other.middles.tolist()
        codes = np.arange(own.cells)
        assert np.array_equal(other.codes_of_shown(own.midpoints()), codes)
        assert np.array_equal(other.codes_of_multiples(own.midpoints()), codes)
    shown = divided.midpoints()
    assert np.array_equal(rebuilt.codes_of_multiples(shown), grid.encode(shown))


SPIKED = st.builds(
    lambda values, places: WholeValues(
        step=values.step,
        low=values.low,
        high=values.high,
        spikes=tuple(sorted({values.low + place % values.size for place in places})),
    ),
    VALUES,
    st.lists(st.integers(0, 300), min_size=1, max_size=5),
)


@given(SPIKED, st.integers(1, 90), st.integers(1, 20))
def test_values_that_are_cells_of_their_own_are_so_in_both_codes(values: WholeValues, bins: int, parts: int) -> None:
    """With any equal cells a spike is shown as itself and is alone in its cell; other values are parts of cells."""
    grid = Grid.over(values.bounds, min(bins, values.size), has_missing=True, values=values)
    assert Grid.from_params(grid.to_params()) == grid
    multiples = multiples_of(grid.to_params(), values.bounds)
    low, high = values.bounds
    rebuilt = EqualCells(low=low, high=high, cells=grid.cells, multiples=multiples, bins=grid.bins)
    assert fewest(grid.bins, multiples) == grid.cells
    own = np.array(values.own_cells)
    every = np.array([values.number(at) for at in range(values.low, values.high + 1)])
    codes = grid.encode(every)
    assert np.array_equal(grid.decode(grid.encode(own)), own)
    assert (np.bincount(codes, minlength=grid.cells)[grid.encode(own)] == 1).all()
    assert (np.bincount(codes, minlength=grid.cells) > 0).all()
    assert (np.diff(codes) >= 0).all()
    plain = Grid.over(values.bounds, grid.bins, has_missing=True, values=WholeValues.within(low, high, values.step))
    together = [set(plain.encode(every[codes == code]).tolist()) for code in range(grid.cells)]
    assert all(len(one) == 1 for one in together)
    for mine, theirs in ((grid, rebuilt), (grid.finer(parts), rebuilt.divided(parts))):
        assert mine.edges().tolist() == theirs.edges.tolist()
        assert mine.midpoints().tolist() == theirs.middles.tolist()
        assert (mine.cells, mine.bins) == (theirs.cells, theirs.bins)
        assert np.array_equal(theirs.codes_of_multiples(every), mine.encode(every))


@pytest.mark.parametrize("spikes", [[0.5], [10], [-1], [3, 2], [2, 2], "0", ["0"], [True], [float("inf")], [None]])
def test_spikes_that_no_method_writes_are_refused(spikes: Any) -> None:
    """No different multiples within the bounds, ascending."""
    with pytest.raises(ReleaseFormatError):
        multiples_of({"step": 1, "spikes": spikes}, (0, 9))


def test_what_is_no_multiple_has_no_cell() -> None:
    """A fraction, a number outside, an infinite one and a missing one; of any numbers equal cells and their middles."""
    whole = EqualCells(low=0, high=9, cells=4, multiples=multiples_of({"step": 1}, (0, 9)))
    odd = np.array([2.5, -1, 10, np.inf, np.nan])
    assert whole.codes_of_multiples(odd).tolist() == [-1] * 5
    assert whole.codes_of_shown(np.array([1.5, -4, 40, np.nan])).tolist() == [-1] * 4
    plain = EqualCells(low=0, high=9, cells=3)
    assert plain.edges.tolist() == [0, 3, 6, 9]
    assert plain.middles.tolist() == [1.5, 4.5, 7.5]
    assert plain.divided(16).cells == 48
    assert fewest(7, None) == 7


def test_whole_numbers_are_written_as_such() -> None:
    """Decimals and any numbers are floats."""
    whole, decimals = (multiples_of({"step": step}, (0, 9)) for step in (2 - 1, 0.5))
    assert [is_as_written(kind, whole) for kind in (pa.int64(), pa.int32(), pa.float64())] == [True, False, False]
    assert [is_as_written(kind, decimals) for kind in (pa.int64(), pa.float64())] == [False, True]


@pytest.mark.parametrize(
    ("step", "bounds"),
    [("1", (0, 9)), (True, (0, 9)), (0, (0, 9)), (float("inf"), (0, 9)), (1, (0.5, 9)), (1, (0, 9.5))],
)
def test_steps_that_no_method_writes_are_refused(step: Any, bounds: tuple[float, float]) -> None:
    """No number above 0, or bounds that are no multiples of it."""
    with pytest.raises(ReleaseFormatError):
        multiples_of({"step": step}, bounds)


# --- forged releases ----------------------------------------------------------------------------------------------

POLICY = Policy.from_dict(
    {
        "columns": {
            "age": {"role": "quasi_identifier", "type": "integer", "bounds": [17, 90]},
            "price": {"role": "quasi_identifier", "step": 0.25, "bounds": [0, 4]},
            "ill": {"role": "target", "categories": ["no", "yes"]},
        }
    }
)
KINDS: dict[str, dict[str, Any]] = {
    "dp-nb": {"epsilon": 8.0},
    "dp-forest": {"epsilon": 8.0, "depth": 2},
    "dp-marginals": {"epsilon": 8.0},
    "dp-forest cells": {"epsilon": 8.0, "depth": 2, "as_": "cells"},
    "edprf": {"epsilon": 8.0, "trees": 1, "depth": 2},
    "errph": {"epsilon": 8.0, "bins": 8},
    "rr": {"epsilon": 8.0, "allocation": "split"},
}


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Files]:
    """One true release of each kind."""
    rng = np.random.default_rng(4)
    age, price = rng.integers(17, 91, 600), rng.integers(0, 17, 600) / 4
    table = pa.table({"age": age, "price": price, "ill": np.where(rng.random(600) < age / 120, "yes", "no")})
    found = {}
    for kind, parameters in KINDS.items():
        output = tmp_path_factory.mktemp("true") / "out.parquet"
        method = kind.partition(" ")[0]
        anonkit.release(table, method=method, policy=POLICY, output=output, ledger=None, **parameters)
        found[kind] = Files.read(output)
    return found


def shown_as(name: str, change: Callable[[Any], Any], kind: pa.DataType | None = None) -> Edit:
    """Change the released numbers of a column, or the type they have."""

    def edit(files: Files) -> None:
        at, before = files.table.schema.get_field_index(name), files.table.column(name)
        cells = change(before.to_numpy().astype(np.float64))
        files.table = files.table.set_column(at, name, pa.array(cells, kind or before.type, from_pandas=True))

    return edit


def in_domains(name: str, **changes: Any) -> Edit:
    """Change the domain of a column wherever the params have it; None takes a key away."""

    def edit(files: Files) -> None:
        for part in ("columns", "attributes"):
            for entry in files.params.get(part, []):
                if entry["name"] == name:
                    entry["domain"] = {k: v for k, v in {**entry["domain"], **changes}.items() if v is not None}

    return edit


ROWS = ["dp-nb", "dp-forest", "dp-marginals", "edprf", "errph", "rr"]


@pytest.mark.parametrize("kind", KINDS)
def test_true_releases_validate(releases: dict[str, Files], kind: str, tmp_path: Path) -> None:
    """Integers are `int64`, decimals floats, whatever the method."""
    table = releases[kind].table
    if kind in ROWS:
        assert table.schema.field("age").type == pa.int64()
        prices = table.column("price").to_numpy()
        assert np.array_equal(prices * 4, np.round(prices * 4), equal_nan=True)
    assert verdict(forged(releases[kind], lambda files: None, tmp_path)) == (0, ())


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize(
    "edit",
    [
        shown_as("age", lambda ages: ages, pa.float64()),
        shown_as("age", lambda ages: ages + 0.25, pa.float64()),
        shown_as("price", lambda prices: prices + 0.1),
        in_domains("age", step=None),
        in_domains("age", step=2),
        in_domains("age", bounds=[16, 90]),
        in_domains("price", step=0.5),
        in_domains("price", cells=400),
        in_domains("price", step="0.25"),
    ],
    ids=["floats", "fractions", "between", "any", "other step", "other bounds", "coarser", "more cells", "text"],
)
def test_forged_numbers_are_refused(releases: dict[str, Files], kind: str, edit: Edit, tmp_path: Path) -> None:
    """A fractional cell in a column of integers, bins that do not fit, or a type stated otherwise."""
    assert verdict(forged(releases[kind], edit, tmp_path))[0] != 0


# --- types that are assumed to be public --------------------------------------------------------------------------

ASSUMED = "That all numbers of {} are whole is public knowledge: the types of the source say so."


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A release whose source says by its types that two columns hold integers."""
    rng = np.random.default_rng(5)
    table = pa.table({"a": rng.integers(0, 9, 200), "b": rng.integers(0, 9, 200), "y": rng.choice(["0", "1"], 200)})
    numbers = {name: {"role": "quasi_identifier", "bounds": [0, 9]} for name in ("a", "b")}
    policy = Policy.from_dict({"columns": {**numbers, "y": {"role": "target", "categories": ["0", "1"]}}})
    output = tmp_path_factory.mktemp("typed") / "out.parquet"
    anonkit.release(table, method="dp-nb", epsilon=4.0, policy=policy, output=output, ledger=None)
    return Files.read(output)


@pytest.mark.parametrize(
    ("names", "stands"), [("a, b", True), ("b", True), ("a, c", False), ("c", False), ("a, a", False), ("a,b", False)]
)
def test_the_assumption_is_of_columns_of_whole_numbers(typed: Files, names: str, stands: bool, tmp_path: Path) -> None:
    """The report may name these, each once, and no other column."""

    def edit(files: Files) -> None:
        said = [ASSUMED.format(names)]
        assert files.params["assumptions"] == [ASSUMED.format("a, b")]
        files.params["assumptions"] = files.report["guarantee"]["assumptions"] = said

    code, failed = verdict(forged(typed, edit, tmp_path))
    assert ("published_claim" not in failed) is stands
    assert (code == 0) is stands


@pytest.mark.parametrize("method", ["dp-forest", "dp-nb"])
def test_a_target_of_whole_numbers_is_predicted(method: str, tmp_path: Path) -> None:
    """Its rows are in the bins of the published histogram, and validate finds them there."""
    random = np.random.default_rng(4)
    age = random.integers(20, 70, 4000)
    rows = pa.table({"age": age, "hours": np.clip(age - 10 + random.integers(-5, 6, 4000), 0, 79)})
    columns = {
        "age": {"role": "quasi_identifier", "bounds": [20, 69], "type": "integer"},
        "hours": {"role": "target", "bounds": [0, 79], "type": "integer"},
    }
    out = tmp_path / "out.parquet"
    policy = Policy.from_dict({"columns": columns, "task": "regression"})
    anonkit.release(rows, method=method, policy=policy, epsilon=4.0, output=out, ledger=None)
    assert anonkit.validate(out).passed
