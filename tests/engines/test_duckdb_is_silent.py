"""In a notebook DuckDB shows how far a long query is, on stdout: no connection of anonkit does."""

from __future__ import annotations

import os
import subprocess
import sys
from ast import literal_eval
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

_CODE = """
import sys
from pathlib import Path
import duckdb, pyarrow as pa, pyarrow.parquet as pq

opened = []
connect = duckdb.connect

class Connection:
    def __init__(self, connection, opener):
        self._connection, self._opener = connection, opener
    def __getattr__(self, name):
        return getattr(self._connection, name)
    def __enter__(self):
        return self
    def __exit__(self, *error):
        self.close()
    def cursor(self):
        return Connection(self._connection.cursor(), self._opener)
    def close(self):
        shown = self._connection.execute("SELECT current_setting('enable_progress_bar')").fetchone()[0]
        opened.append((self._opener, shown))
        self._connection.close()

asked = connect().execute("SELECT current_setting('enable_progress_bar')").fetchone()[0]

def recorded(*words, **more):
    return Connection(connect(*words, **more), Path(sys._getframe(1).f_code.co_filename).stem)

duckdb.connect = recorded

import anonkit
from anonkit.checks.disclosure import measure
from anonkit.checks.table_scans import columns_of
from anonkit.engines.local import local_engine
from anonkit.engines.local.left_join import LeftJoin
from anonkit.policy.declaration import Policy

folder = Path(sys.argv[1])
table = pa.table({"k": [b"a", b"b"] * 20, "q": [1, 2] * 20, "s": ["x", "y"] * 20})
pq.write_table(table, folder / "a.parquet")
measure(table, ["s"])
columns_of(folder / "a.parquet")
local_engine._CODES_IN_MEMORY = 0
with local_engine.LocalEngine() as engine:
    engine.class_sizes(engine.scan(table.select(["s"]), Policy()), ["s"], 2)
LeftJoin(first=folder / "a.parquet", second=folder / "a.parquet", folder=folder).counts()
place = folder / "r.parquet"
anonkit.release(table.select(["q", "s"]), method="mondrian", k=2, target="s", ledger=None, output=place)
anonkit.export(place, f"duckdb:///{folder / 'r.duckdb'}?table=people")
print(asked, sorted(set(opened)))
"""


@pytest.mark.slow
def test_no_connection_shows_how_far_a_query_is(tmp_path: Path) -> None:
    """Recounts, counts that spill, joins and exports, where Python runs without a script: DuckDB's default there."""
    done = subprocess.run(
        [sys.executable, "-c", _CODE, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS)])},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    asked, _, found = done.stdout.partition(" ")
    assert asked == "True"
    settings = literal_eval(found)
    assert {opener for opener, _ in settings} == {"table_scans", "spilling_counts", "left_join", "embedded_tables"}
    assert [opener for opener, is_shown in settings if is_shown] == []
