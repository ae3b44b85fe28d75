"""Refusals of the privacy model to state a requirement."""

from __future__ import annotations

import pyarrow as pa
import pytest

import anonkit
from anonkit.errors import PolicyError
from anonkit.policy.column_declarations import Column, Missing, Role
from anonkit.policy.declaration import Policy

TABLE = pa.table({"a": [1, 2] * 20, "s": [None, 1, 2, 3] * 10, "y": ["u", "v"] * 20})


def release(column: Column, **more: object) -> anonkit.Release:
    """Release with one column declared."""
    policy = Policy(columns={"y": Column(name="y", role=Role.TARGET), column.name: column}, **more)  # type: ignore[arg-type]
    return anonkit.release(TABLE, method="datafly", k=3, policy=policy, ledger=None, utility=False)


@pytest.mark.parametrize("missing", [Missing.DROP, Missing.ERROR])
@pytest.mark.parametrize("role", [Role.SENSITIVE, Role.INSENSITIVE, Role.TARGET])
def test_what_is_not_done_about_missing_cells_is_refused(role: Role, missing: Missing) -> None:
    """Rows leave for quasi-identifiers alone: a request for another column is refused, not ignored."""
    name = "y" if role is Role.TARGET else "s"
    with pytest.raises(PolicyError, match=f"'{name}': missing = '{missing}' is for quasi-identifiers"):
        release(Column(name=name, role=role, missing=missing))


def test_the_policys_own_word_is_about_quasi_identifiers() -> None:
    """Said of all columns together it refuses nothing, and drops the rows that miss a quasi-identifier alone."""
    found = release(Column(name="s", role=Role.SENSITIVE), missing=Missing.DROP)
    assert found.report["rows"] | {"out": 40, "dropped_missing": 0} == found.report["rows"]
