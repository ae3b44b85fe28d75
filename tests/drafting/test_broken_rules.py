"""Rows that break a public rule: counted by the rule, batch by batch, and rules that hold left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.drafting.broken_rules import broken_rules
from anonkit.policy.declaration import Policy
from anonkit.protocols import BatchCount

COLUMNS: dict[str, Any] = {
    "city": {"categories": ["Bonn", "Ulm"], "missing": "first"},
    "land": {"categories": ["west", "south"], "missing": "first"},
    "age": {"bounds": [0, 99], "missing": "first"},
}
RULES = [
    {"determines": {"from": "city", "to": "land", "map": [["Bonn", "west"], ["Ulm", "south"]]}},
    {"never": {"city": "Ulm", "age": [0, 17]}},
    {"never": {"city": "Bonn", "age": 50}},
]
ROWS = pa.record_batch(
    {
        "city": ["Bonn", "Bonn", "Ulm", "Ulm", "Ulm"],
        "land": ["west", "south", "south", "west", "west"],
        "age": [20.0, 30.0, 17.0, 18.0, 3.0],
    }
)


def add_up(count: BatchCount, names: Sequence[str], size: int) -> NDArray[np.int64]:
    """Sum the counts of the rows, one batch a row, each with the named columns alone."""
    total = np.zeros(size, dtype=np.int64)
    for at in range(ROWS.num_rows):
        total += count(ROWS.slice(at, 1).select(list(names)), at)
    return total


def test_rows_are_counted_by_the_rule_that_they_break() -> None:
    """Three lands that do not follow from the city, two children of Ulm; nobody of Bonn is fifty."""
    found = broken_rules(Policy.from_dict({"columns": COLUMNS, "constraints": RULES}), add_up)
    assert list(found.values()) == [3, 2]
    first, second = found
    assert "land" in first
    assert "age" in second


def test_a_policy_without_rules_counts_nothing() -> None:
    """The source is not looked at."""

    def refused(*_: object) -> NDArray[np.int64]:
        raise AssertionError

    assert broken_rules(Policy.from_dict({"columns": COLUMNS}), refused) == {}
