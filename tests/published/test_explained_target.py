"""A target that published tables do not explain is named; one that they explain is not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anonkit
from anonkit.policy.declaration import Policy
from anonkit.published.column_means import excess, is_explained, notes_on_target

SCALE = 4.0
VARIANCE = 2 * SCALE**2


def null_tables(rng: np.random.Generator, n_rows: int, sizes: tuple[int, ...]) -> list[tuple[np.ndarray, float]]:
    """Tables of a class with columns that have nothing to do with it, with Laplace noise."""
    found = []
    for size in sizes:
        shares = np.outer([0.8, 0.2], np.full(size, 1 / size)).ravel()
        counts = rng.multinomial(n_rows, shares).reshape(2, size)
        found.append((counts + rng.laplace(0, SCALE, counts.shape), VARIANCE))
    return found


@pytest.mark.quick_cases("sizes2-50", "sizes1-*", "sizes0-*")
@pytest.mark.parametrize("n_rows", [50, 5_000])
@pytest.mark.parametrize("sizes", [(2,), (2, 3, 5, 16, 64), (16,) * 30])
def test_tables_of_nothing_are_seldom_taken_for_something(n_rows: int, sizes: tuple[int, ...]) -> None:
    """In at most 5 of 100 releases, few rows and many."""
    rng = np.random.default_rng(1)
    assert sum(is_explained(null_tables(rng, n_rows, sizes)) for _ in range(400)) <= 20


def test_a_relation_is_seen_where_it_is_above_noise_and_chance() -> None:
    """By hand: two classes and two codes, 400 rows apart or 4."""
    noise = np.array([[3.0, -2.0], [1.0, -4.0]])
    assert is_explained([(np.array([[400.0, 0.0], [0.0, 400.0]]) + noise, VARIANCE)])
    assert not is_explained([(np.array([[104.0, 100.0], [100.0, 104.0]]) + noise, VARIANCE)])
    assert excess((np.array([[5.0, 3.0]]), VARIANCE)) == -math.inf  # one class
    assert excess((np.array([[-5.0, -3.0], [-9.0, -1.0]]), VARIANCE)) < 9  # counts of noise alone
    assert not is_explained([])
    assert notes_on_target(None, []) == ()
    (said,) = notes_on_target("ill", [])
    assert "'ill': no table of it with another column was measured" in said


METHODS: dict[str, dict[str, Any]] = {"dp-nb": {}, "dp-marginals": {}, "dp-forest": {}, "dp-tree": {}}


def people(n: int) -> pa.Table:
    """A class that is the parity of three columns, and one that nearly follows from one."""
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2, (n, 5))
    parity = bits[:, :3].sum(axis=1) % 2
    near = np.where(rng.random(n) < 0.9, bits[:, 3], 1 - bits[:, 3])
    columns = {f"c{at}": [f"v{cell}" for cell in bits[:, at]] for at in range(5)}
    return pa.table({**columns, "parity": [f"p{cell}" for cell in parity], "near": [f"p{cell}" for cell in near]})


@pytest.mark.quick_cases("dp-marginals", "dp-forest")
@pytest.mark.parametrize("method", METHODS)
def test_a_release_names_the_target_that_its_rows_do_not_explain(method: str) -> None:
    """In one line of the report, which terminal and page show; no line where a column predicts it."""
    for target in ("parity", "near"):
        other = {"parity": "near", "near": "parity"}[target]
        columns: dict[str, Any] = {f"c{at}": {"categories": ["v0", "v1"]} for at in range(5)}
        columns[target] = {"role": "target", "categories": ["p0", "p1"]}
        release = anonkit.release(
            people(1_000).drop_columns(other), method=method, policy=Policy.from_dict({"columns": columns}),
            epsilon=1.0, seed=2, ledger=None, **METHODS[method],
        )  # fmt: skip
        named = [note for note in release.report["notes"] if "explain nothing of the target" in note]
        assert len(named) == (target == "parity"), (method, target)
        assert all("'parity'" in note for note in named)


def test_a_target_without_a_table_is_named() -> None:
    """A few rows and many columns: dp-marginals measures columns alone."""
    columns: dict[str, Any] = {f"c{at}": {"categories": ["v0", "v1"]} for at in range(5)}
    columns |= {"parity": {"role": "target", "categories": ["p0", "p1"]}, "near": {"categories": ["p0", "p1"]}}
    release = anonkit.release(
        people(30),
        method="dp-marginals",
        policy=Policy.from_dict({"columns": columns}),
        epsilon=0.5,
        seed=2,
        ledger=None,
    )
    assert not release.params["anchored"]
    assert not any("parity" in pair["names"] for pair in release.params["pairs"])
    assert any("no table of it with another column was measured" in note for note in release.report["notes"])
