"""Raw risk of a source table."""

from __future__ import annotations

from contextlib import closing

import pyarrow as pa
import pyarrow.csv
import pytest

from anonkit.engines import LocalEngine
from anonkit.pipeline.source_risk import source_risk
from anonkit.policy.declaration import Policy


def test_people_are_counted_where_a_unit_is_declared() -> None:
    """The raw risk is that of people then, however many rows they have."""
    table = pa.table({"who": ["1", "1", "2", "3"], "town": ["x", "x", "x", "y"]})
    policy = Policy.from_dict({"columns": {"who": {"role": "unit"}, "town": {"role": "quasi_identifier"}}})
    with closing(LocalEngine()) as engine:
        raw = source_risk(engine.scan(table, policy), engine, policy, 0.2)
        nothing = source_risk(engine.scan(table, policy), engine, Policy.from_dict({"columns": {
            "who": {"role": "identifier"}, "town": {"role": "insensitive"}}}), 0.2)  # fmt: skip

    assert (raw["counted"], raw["classes"], raw["k"], raw["uniques"]) == ("people", 2, 1, 1)
    assert raw["prosecutor"]["mean"] == pytest.approx(2 / 3)
    assert nothing == {}
