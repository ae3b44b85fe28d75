"""The account of noise in the params: added up alike by two codes, and refused where a line is damaged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.budget_rules.model_queries import TABLE, ClippedSum
from anonkit.checks.central_account import published_account
from anonkit.errors import ReleaseFormatError
from anonkit.mechanisms.accounting import Accounting
from anonkit.mechanisms.query_sensitivity import sensitivity_of
from anonkit.promises.guarantee import ADD_OR_REMOVE, REPLACE
from anonkit.published.noisy_tables import LAPLACE
from anonkit.published.statements.draws import Bootstrap, Draw
from tests.checks.test_central import COLUMNS

ONE = 1 << 52
LEAF = Draw(name="leaf", query=TABLE, law=LAPLACE, rate=ONE // 4, times=2, level=1, ends_path=True)


def params(**more: Any) -> dict[str, Any]:
    """The params of a release of one line."""
    return {**Accounting(draws=(LEAF,)).to_params(), "columns": COLUMNS, **more}


DRAWS = st.builds(
    Draw,
    name=st.just("p"),
    law=st.just(LAPLACE),
    rate=st.integers(1, ONE),
    query=st.builds(ClippedSum, bound=st.integers(1, 600)),
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
    """The release and the check compute the same float, in any order of the paths."""
    draws = [replace(one, rate=min(one.rate, ONE // (sensitivity_of(one.query) * one.times) + 1)) for one in draws]
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
    """A line states its own epsilon: anyone who changes one number has to change the other, and then the total."""
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
