"""Fixtures of the tests of snapshots: a table read through one, and the private folders that are left."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from anonkit.checks.table_scans import scanned
from anonkit.engines import open_engine
from anonkit.engines.snapshots.addresses import source_at
from anonkit.engines.snapshots.dispatch import snapshot
from anonkit.policy.declaration import Policy

Read = Callable[..., pa.Table]


@pytest.fixture(autouse=True)
def scratch(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of temporary files; nothing of a source is left in it after a test.

    The database in which a process counts stays open, so that it is opened before, with its empty folder elsewhere.
    """
    with scanned(pa.table({"n": [1]})):
        pass
    folder = tmp_path_factory.mktemp("scratch")
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield folder
    assert list(folder.rglob("*")) == []


@pytest.fixture
def read() -> Read:
    """Read a source as a release does, into memory."""

    def reading(source: object, policy: Policy | None = None, **how: Any) -> pa.Table:
        with closing(open_engine("local")) as engine, snapshot(source_at(source, **how)) as stays:
            opened = stays.scan(engine, policy or Policy())
            return pa.Table.from_batches(opened.batches(), schema=opened.schema)

    return reading
