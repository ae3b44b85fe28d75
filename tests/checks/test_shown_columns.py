"""The promise that a column is kept is counted again from the files alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.checks.shown_columns import SHOWN_CHECK as CHECK
from anonkit.checks.shown_columns import disputed_columns, kept_column_checks, kept_columns

cells = st.lists(st.sampled_from(["x", "y", None]), min_size=1, max_size=6)


@given(first=cells, second=cells)
def test_columns_of_fewer_than_two_values_are_counted(first: list[str | None], second: list[str | None]) -> None:
    """A missing cell is a value; a column that is not there shows none."""
    n_rows = min(len(first), len(second))
    columns = {"a": first[:n_rows], "b": second[:n_rows]}
    (check,) = kept_column_checks(pa.table(columns), list(columns), ["a", "b", "c"])
    lost = 1 + sum(len(set(values)) < 2 for values in columns.values())
    assert (check.observed, check.required, check.passed) == (lost, 0, False)


def test_what_is_kept_passes() -> None:
    """Two values are enough; where nothing is to be kept there is no check."""
    table = pa.table({"a": ["x", "y"], "b": ["x", "x"]})
    (check,) = kept_column_checks(table, ["a", "b"], ["a"])
    assert check.passed
    assert kept_column_checks(table, ["a", "b"], []) == ()
    (disputed,) = kept_column_checks(table, ["a", "b"], ["a"], ["a"])
    assert not disputed.passed


def test_params_and_report_say_alike_what_is_kept() -> None:
    """A column that only one of them names is kept, and disputed."""
    params = {"columns": [{"name": "a", "keep": True}, {"name": "b", "keep": True}, {"name": "c"}]}
    report = {"columns": [{"name": "a", "keep": True}, {"name": "b"}, {"name": "c"}, {"name": "d", "keep": True}]}
    assert kept_columns(params, report) == ["a", "b", "d"]
    assert disputed_columns(params, report) == ["b", "d"]


def _kept(out: Path, **more: Any) -> None:
    rows = pa.table({"a": ["u", "v"] * 20, "b": [0, 0, 1, 1] * 10, "y": ["no", "yes", "yes", "no"] * 10})
    columns = {name: {"role": "quasi_identifier"} for name in ("a", "b")}
    policy = anonkit.Policy.from_dict({"columns": columns})
    anonkit.release(
        rows, k=3, target="y", trees=10, keep=["a"], policy=policy, unit="none", ledger=None, output=out, **more
    )


def _without_report(out: Path) -> None:
    _without(out.with_name("out.report.json"))


def _without_params(out: Path) -> None:
    _without(out.with_name("out.params.json"))


def _without(place: Path) -> None:
    document = json.loads(place.read_text())
    for column in document["columns"]:
        column.pop("keep", None)
    place.write_text(json.dumps(document))


def _one_value(out: Path) -> None:
    table = pq.read_table(out)
    at = table.column_names.index("a")
    pq.write_table(table.set_column(at, table.schema.field(at), pa.array(["u"] * table.num_rows)), out)


@pytest.mark.parametrize("cells", ["labels", "bounds"])
def test_a_release_that_keeps_its_word_validates(tmp_path: Path, cells: str) -> None:
    """The check is among those of the release, in both forms of cells."""
    _kept(tmp_path / "out.parquet", cells=cells)
    validation = anonkit.validate(tmp_path / "out.parquet")
    assert validation.passed
    assert CHECK in {check.name for check in validation.checks}


@pytest.mark.parametrize("forge", [_without_report, _without_params, _one_value])
def test_a_forged_word_does_not_validate(tmp_path: Path, forge: Callable[[Path], None]) -> None:
    """Files that do not say alike what is kept, and rows that show one value, fail the check by its name."""
    out = tmp_path / "out.parquet"
    _kept(out)
    forge(out)
    failed = {check.name for check in anonkit.validate(out).checks if not check.passed}
    assert CHECK in failed
