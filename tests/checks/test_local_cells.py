"""Cells of a randomized table counted anew: clear numbers, order of categories, files that are none."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonkit.checks.local_cells import cell_checks, count_answers
from anonkit.checks.local_params import PublishedAnswers, read_answers
from anonkit.domains.number_bins import Categories
from anonkit.errors import ReleaseFormatError
from anonkit.published.channels.kary_response import RandomizedResponse
from anonkit.published.channels.transformed_response import TransformedResponse
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable


def table_of(domain: Any, mechanism: Any) -> PublishedAnswers:
    """The params of a table of one column, as the checks read them."""
    made = PublishedTable(target=None, attributes=(PublishedAttribute(name="x", domain=domain, mechanism=mechanism),))
    return read_answers(json.loads(json.dumps(made.to_params())))


def checks_of(folder: Path, table: PublishedAnswers, cells: Any) -> dict[str, bool]:
    """Return the checks that a file of these cells passes."""
    pq.write_table(pa.table({"x": cells}), folder / "t.parquet")
    counts = count_answers(folder / "t.parquet", table)
    return {check.name: check.passed for check in cell_checks(table, counts)}


def test_a_file_that_is_none_is_an_error_without_cells(tmp_path: Path) -> None:
    """The file is named, nothing of what it holds."""
    path = tmp_path / "t.parquet"
    path.write_bytes(b"secret")
    with pytest.raises(ReleaseFormatError, match="not a readable Parquet file") as found:
        count_answers(path, table_of(Categories(values=("a", "b")), RandomizedResponse.equal(2, 0.5)))
    assert "secret" not in str(found.value)


@pytest.mark.parametrize(("cells", "passed"), [([1.5, 2.25, None], True), ([1.5, math.inf], False)])
def test_a_clear_number_may_be_any_finite_one(tmp_path: Path, cells: list[float | None], passed: bool) -> None:
    """It is on no grid and may be missing; what is infinite is no number."""
    assert checks_of(tmp_path, table_of(None, TransformedResponse.clear()), pa.array(cells))["domain:x"] is passed


@pytest.mark.parametrize("truth_values", [False, True])
def test_cells_are_booleans_where_their_domain_says_so_and_there_alone(tmp_path: Path, truth_values: bool) -> None:
    """Words of truth values are no answers of booleans, nor booleans those of words."""
    domain = Categories(values=("false", "true"), are_truth_values=truth_values)
    table = table_of(domain, RandomizedResponse.equal(2, 0.5))
    for cells in (pa.array([True, False]), pa.array(["true", "false"])):
        is_boolean = bool(pa.types.is_boolean(cells.type))
        assert checks_of(tmp_path, table, cells)["domain:x"] is (is_boolean == truth_values)


@pytest.mark.parametrize("length", [1, 20_000])
def test_the_order_of_categories_is_looked_at_where_a_file_keeps_it(tmp_path: Path, length: int) -> None:
    """Of another order is refused; categories of more than 32,768 letters in all are not kept in the data file."""
    values = ("a" * length, "b" * length)
    table = table_of(Categories(values=values), RandomizedResponse.equal(2, 0.5))
    swapped = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1], pa.int32()), pa.array(values[::-1]), ordered=True)
    found = checks_of(tmp_path, table, swapped)
    assert found["domain:x"]
    assert found.get("category_order:x", True) is (length > 1)
