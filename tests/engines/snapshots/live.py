"""Readers of a source, and words that its refusals may not have: for the tests of snapshots."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from anonkit.engines.engine_choice import Local
from anonkit.engines.snapshots.addresses import source_at
from anonkit.engines.snapshots.dispatch import snapshot
from anonkit.errors import AnonkitError
from anonkit.policy.declaration import Policy


def read(source: object, policy: Policy | None = None, **how: Any) -> pa.Table:
    """Return what the local engine reads of a source."""
    policy = policy or Policy()
    with snapshot(source_at(source, **how)) as opened, Local().opened() as engine:
        table = opened.scan(engine, policy)
        return pa.Table.from_batches(table.batches(), table.schema)


def quotes_nothing(error: BaseException | None, *secrets: str) -> None:
    """Fail where a cell, a password or a query is in an error, or in one that it leads back to."""
    while error is not None:
        text = f"{error} {error!r} {error.args} {vars(error)}"
        assert not [secret for secret in secrets if secret in text]
        assert isinstance(error, AnonkitError)
        error = error.__context__ or error.__cause__
