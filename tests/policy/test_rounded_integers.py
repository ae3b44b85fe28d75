"""Floats that are declared to hold integers: refused where the type does not distinguish them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from anonkit.errors import GuaranteeError
from anonkit.policy.declaration import Policy
from anonkit.policy.rounded_integers import refuse_rounded


def policy(**column: Any) -> Policy:
    """A policy of one column."""
    return Policy.from_dict({"columns": {"a": column}})


@pytest.mark.parametrize(
    ("kind", "declared", "message"),
    [
        (pa.float64(), {"role": "unit"}, "do not tell all people apart"),
        (pa.float32(), {"categories": ["1", "16777216"]}, "declared whole numbers"),
        (pa.float64(), {"categories": ["9007199254740992"]}, "declared whole numbers"),
        (pa.float32(), {"bounds": [0, 20_000_000], "type": "integer"}, "declared whole numbers"),
    ],
)
def test_floats_that_merge_integers_are_refused(kind: pa.DataType, declared: dict[str, Any], message: str) -> None:
    """By the type of the column and by what is declared alone."""
    with pytest.raises(GuaranteeError, match=message):
        refuse_rounded(pa.schema([("a", kind)]), policy(**declared))


@pytest.mark.parametrize(
    ("kind", "declared"),
    [
        (pa.float32(), {"categories": ["1", "16777215"]}),
        (pa.int64(), {"role": "unit"}),
        (pa.float32(), {"bounds": [0, 20_000_000]}),
        (pa.float32(), {"categories": ["16777216.5", "x"]}),
    ],
)
def test_other_columns_are_taken(kind: pa.DataType, declared: dict[str, Any]) -> None:
    """Integers that the type represents, integers of any size, and numbers that are no integers."""
    refuse_rounded(pa.schema([("a", kind)]), policy(**declared))
