"""Releases with central differential privacy read anew: the account, and the cells."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.central_dp import ADD_OR_REMOVE, REPLACE, CentralDP
from anonkit.checks.central import central_checks, published_account
from anonkit.errors import ReleaseFormatError
from anonkit.mechanisms.accounting import LAPLACE, Accounting, Bootstrap, Draw

ONE = 1 << 52
LEAF = Draw(purpose="leaf", mechanism=LAPLACE, rate=ONE // 4, sensitivity=1, times=2, level=1, ends_path=True)
COLUMNS = [
    {"name": "age", "type": "number", "domain": {"bounds": [0, 10], "cells": 5, "has_missing": False}},
    {"name": "sex", "type": "category", "domain": {"categories": ["F", "M"], "has_missing": True}},
    {"name": "count", "type": "count", "domain": {"has_missing": False}},
]


def params(**more: Any) -> dict[str, Any]:
    """What a release of one line publishes."""
    return {**Accounting(draws=(LEAF,)).to_params(), "columns": COLUMNS, **more}


DRAWS = st.builds(
    Draw,
    purpose=st.just("p"),
    mechanism=st.just(LAPLACE),
    rate=st.integers(1, ONE),
    sensitivity=st.integers(1, 600),
    times=st.integers(1, 30),
    level=st.integers(0, 4),
    ends_path=st.booleans(),
)


@given(
    st.lists(DRAWS, max_size=8),
    st.integers(1, 5),
    st.sampled_from([ADD_OR_REMOVE, REPLACE]),
    st.sampled_from([None, Bootstrap(trees=2, weights=(1 << 31, 1 << 30, 1 << 30))]),
)
def test_the_account_is_added_up_alike_by_two_codes(
    draws: list[Draw], rows: int, adjacency: str, bootstrap: Bootstrap | None
) -> None:
    """What the release claims and what the check finds are the same float, however paths end."""
    draws = [Draw(**{**vars(one), "rate": min(one.rate, ONE // (one.sensitivity * one.times) + 1)}) for one in draws]
    account = Accounting(draws=tuple(draws), rows_per_unit=rows, adjacency=adjacency, bootstrap=bootstrap)
    found = published_account(account.to_params())
    assert found.epsilon <= account.epsilon
    assert found.epsilon == pytest.approx(account.epsilon, rel=1e-15, abs=1e-30)
    assert (found.rows_per_unit, found.adjacency) == (rows, adjacency)


@pytest.mark.parametrize(
    ("key", "value"),
    [("rate", ONE), ("rate", 0), ("sensitivity", 1.5), ("times", -1), ("mechanism", "none"), ("epsilon", 0.1)],
)
def test_an_altered_line_is_refused(key: str, value: Any) -> None:
    """A line states its own epsilon: whoever changes one number has to change the other, and then the total."""
    told = params()
    told["accounting"][0][key] = value
    with pytest.raises(ReleaseFormatError):
        published_account(told)


@pytest.mark.parametrize("damage", ["accounting", "composition"])
def test_a_missing_part_is_refused(damage: str) -> None:
    """No account, no claim."""
    told = params()
    del told[damage]
    with pytest.raises(ReleaseFormatError):
        published_account(told)


def test_a_larger_rate_with_its_own_epsilon_breaks_the_promise(tmp_path: Path) -> None:
    """The sum is compared with the report."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"age": [1.0], "sex": ["F"], "count": [3]}), path)
    told = params()
    guarantee = CentralDP(epsilon=0.5).to_dict()
    assert all(check.passed for check in central_checks(path, told, guarantee))
    louder = copy.deepcopy(told)
    louder["accounting"][0] |= {"rate": ONE // 2, "epsilon": 1.0}
    broken = [check.name for check in central_checks(path, louder, guarantee) if not check.passed]
    assert broken == ["epsilon"]


def test_cells_outside_the_domain_are_counted(tmp_path: Path) -> None:
    """Numbers must be middles of cells, categories listed ones, noisy counts whole; a missing column fails."""
    path = tmp_path / "t.parquet"
    table = pa.table({"age": [1.0, 1.5, 11.0, None], "sex": ["F", "X", None, "M"], "count": [1.0, -1.0, 0.5, 2.0]})
    pq.write_table(table, path)
    found = {check.name: check.observed for check in central_checks(path, params(), {"kind": "none"})}
    assert found == {"domain:age": 3, "domain:sex": 1, "domain:count": 1}
    pq.write_table(table.drop_columns(["age"]), path)
    assert not next(iter(central_checks(path, params(), {"kind": "none"}))).passed


@pytest.mark.parametrize(("dropped", "bare"), [(None, 0), ("split at level 0", 1), ("leaf at level 1", 1)])
def test_the_account_must_speak_of_every_level_of_the_trees(tmp_path: Path, dropped: str | None, bare: int) -> None:
    """A line left out makes the sum smaller; the published trees tell that it is missing."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"age": [1.0], "sex": ["F"], "count": [3]}), path)
    split = Draw(purpose="split at level 0", mechanism=LAPLACE, rate=ONE // 4, sensitivity=1, level=0)
    leaf = Draw(purpose="leaf at level 1", mechanism=LAPLACE, rate=ONE // 4, sensitivity=1, level=1, ends_path=True)
    lines = tuple(line for line in (split, leaf) if line.purpose != dropped)
    tree = [{"attribute": "sex", "children": [1, 2]}, {"counts": [1]}, {"counts": [2]}]
    told = {**Accounting(draws=lines).to_params(), "columns": COLUMNS, "trees": [tree]}
    found = {one.name: one for one in central_checks(path, told, CentralDP(epsilon=0.5).to_dict())}
    assert found["account_covers_trees"].observed == bare
    assert found["account_covers_trees"].passed == (bare == 0)
    assert found["epsilon"].passed
