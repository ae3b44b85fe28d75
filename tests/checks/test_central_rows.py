"""Rows drawn from noisy counts, as the check counts them: pieces, places, and cells of a number."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import anonkit
from anonkit.checks import central_rows
from anonkit.checks.central_params import PublicColumn, domain_of
from anonkit.checks.central_rows import codes_of
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.dp_trees.release import synthetic_rows as pieces


@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("parts", [1, 4])
def test_a_number_has_the_code_of_its_cell_and_one_beyond_the_bounds_none(parts: int, missing: bool) -> None:
    """Cells from the lower bound on, each without its upper end; missing comes last, or is outside."""
    column = PublicColumn(name="n", domain=domain_of({"bounds": [-1, 4], "cells": 5, "has_missing": missing}, "number"))
    cells = 5 * parts
    middles = [-1 + (at + 0.5) * 5 / cells for at in range(cells)]
    found = codes_of(pa.array([*middles, -1.01, 4.0, None, -1.0]), column, parts).tolist()
    assert found == [*range(cells), -1, -1, cells if missing else -1, 0]


def test_a_category_has_the_code_of_its_place_in_the_list() -> None:
    """Encoded or not; an unknown one has none."""
    domain = domain_of({"categories": ["u", "v"], "has_missing": True}, "category")
    cells = pa.array(["v", None, "u", "w"])
    for own in (cells, cells.dictionary_encode()):
        assert codes_of(own, PublicColumn(name="w", domain=domain)).tolist() == [1, 2, 0, -1]


@pytest.mark.parametrize("columns", [1, 32, 33, 500, 10**5])
def test_a_piece_has_as_many_rows_as_the_method_draws_together(columns: int) -> None:
    """Known to whoever checks the rows, for tables of any width."""
    assert central_rows._rows_together(columns) == pieces.rows_together(columns)


@pytest.mark.slow
def test_rows_drawn_in_several_pieces_are_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each piece of a class is rounded by itself: the check of the rows allows one a piece, and no more."""
    monkeypatch.setattr(pieces, "PIECE_ROWS", 100)
    monkeypatch.setattr(central_rows, "_PIECE_ROWS", 100)
    for seed in range(3):
        release = anonkit.release(
            bank_customers(3_000, seed=1), method="dp-nb", epsilon=1.0, policy=bank_customers_policy(), seed=seed,
            ledger=None,
        )  # fmt: skip
        assert release.report["rows"]["out"] > 2_000


@pytest.mark.slow
def test_rows_drawn_in_several_pieces_are_the_mixture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each piece of a component is rounded by itself, and the check of the rows allows for that."""
    monkeypatch.setattr(pieces, "PIECE_ROWS", 100)
    monkeypatch.setattr(central_rows, "_PIECE_ROWS", 100)
    for seed in range(2):
        release = anonkit.release(
            bank_customers(1_500, seed=1),
            method="dp-marginals",
            epsilon=9.0,
            policy=bank_customers_policy(),
            seed=seed,
            ledger=None,
        )
        assert release.report["rows"]["out"] > 1_000


def test_places_of_a_number_that_is_never_missing_are_checked() -> None:
    """Its cells have no code of missing, and rows that show them are released."""
    columns: dict[str, Any] = {
        "age": {"type": "integer", "bounds": [0, 99], "missing": "first"},
        "ill": {"role": "target", "categories": ["no", "yes"]},
    }
    table = pa.table({"age": list(range(100)) * 4, "ill": ["no", "yes"] * 200})
    for method in ("dp-nb", "dp-marginals", "dp-forest"):
        release = anonkit.release(table, method=method, policy={"columns": columns}, epsilon=4, seed=1, ledger=None)
        checks = {check["name"]: check["passed"] for check in release.report["verification"]["checks"]}
        assert checks["places_in_cells:age"], method
