"""Who is at work in a place: by its process where that is seen, else for as long as it is believed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from ledger.claims import claim

from anonkit.ledger.settling import at_work
from anonkit.ledger.standing import Entry, State

ELSEWHERE = '{"machine": "elsewhere", "boot": "", "number": 1, "started": ""}'


@pytest.mark.parametrize(
    ("minutes", "believed"), [(-1, True), (0, True), (1, True), (3, False), (-3, False), (-60 * 24 * 365, False)]
)
def test_a_release_of_another_machine_is_believed_for_a_while(minutes: int, believed: bool) -> None:
    """And no longer where a clock was wrong: one that was ahead would take the place for ever."""
    created = (datetime.now(UTC) - timedelta(minutes=minutes)).isoformat()
    more = {**vars(claim(output="/x/out.parquet")), "number": 1, "created": created, "process": ELSEWHERE}
    for state in (State.RESERVED, State.PUBLISHING):
        found = at_work("/x/out.parquet", [Entry(**more, state=state)])
        assert (found is not None) == believed
