"""Points that may separate thousands: found where they are beside whole numbers, and nowhere else."""

from __future__ import annotations

import pyarrow as pa
import pytest

from anonkit.engines.reading.grouped_points import CountGroups, columns_of_groups, text_columns_of_groups
from anonkit.policy.declaration import Policy


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["1.234", "900"], True),
        (["1.234", "-12.000", None, " 7 "], True),
        (["1.234", "2.345"], False),  # decimals, all of them
        (["900", "12"], False),
        (["1.234", "900", "1.5"], False),
        (["0.234", "900"], False),  # no group begins with a zero
        (["1.234", "900", "many"], False),
    ],
)
def test_a_column_may_have_groups_where_both_are_found(cells: list[str | None], found: bool) -> None:
    """And nothing else, whole or in batches that are added up."""
    assert columns_of_groups(["a"], [pa.array(cells)], Policy()) == (("a",) if found else ())
    count = CountGroups(names=["a"])
    parts = [pa.record_batch({"a": pa.array(cells[at : at + 1], pa.string())}) for at in range(len(cells))]
    assert count.found(sum(count(part, 0) for part in parts)) == (("a",) if found else ())


@pytest.mark.parametrize(
    "declared", [{"type": "text"}, {"categories": ["1.234", "900"]}, {"decimal": ","}, {"role": "identifier"}]
)
def test_a_declared_column_holds_no_such_doubt(declared: dict[str, object]) -> None:
    """By its type, its values, its written form or its role."""
    policy = Policy.from_dict({"columns": {"a": declared}})
    assert text_columns_of_groups(pa.schema([("a", pa.string()), ("b", pa.string())]), policy) == ["b"]
    assert columns_of_groups(["a"], [pa.array(["1.234", "900"])], policy) == ()
