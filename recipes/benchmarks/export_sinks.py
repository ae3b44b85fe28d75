"""Sinks of `anonkit export` × what must hold: a table from real runs, PostgreSQL as Debian has it.

Written right (compared with the release), a changed, a missing and an added row refused, wrong credentials refused, a
connection (a write) lost midway leaves nothing; and the time and the peak of memory, above what importing takes, of
writing and comparing many rows of six columns, each in a process of its own.

Run it:  PYTHONPATH=tests python recipes/benchmarks/export_sinks.py [--rows 1000000] [--sinks csv duckdb ...]
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from postgresql import Server

import anonkit
from anonkit.bundle.exports.export_files import Target
from anonkit.bundle.exports.opened_targets import ReleasedTable, form_of
from anonkit.checks.exported_rows import export_checks
from anonkit.errors import AnonkitError
from anonkit.pipeline.exporting import export, validate_export

SINKS = ("csv", "xlsx", "arrow", "sqlite", "duckdb", "postgresql")
_SIDECARS = {"datapackage.json": b'{"resources": [{"name": "data"}]}'}


def target_of(sink: str, folder: Path, server: str) -> str:
    """Return a target of a sink."""
    if sink == "postgresql":
        return f"{server}?table=sink"
    return f"{sink}:///{folder}/out.{sink}?table=sink" if sink in ("sqlite", "duckdb") else str(folder / f"out.{sink}")


def refused(target: str, changed: pa.Table, folder: Path) -> bool:
    """Return whether a target is refused as a copy of another table."""
    pq.write_table(changed, folder / "changed.parquet")
    with closing(form_of(Target.of(target))) as form:
        return not all(check.passed for check in export_checks(form, ReleasedTable(data=folder / "changed.parquet")))


def lost_midway(sink: str, release: Path, target: str, server: Server | None) -> str:
    """Cut a write in its middle; return what is left."""
    batches = ReleasedTable.batches

    def cut(self: ReleasedTable) -> Iterator[pa.RecordBatch]:
        yield from batches(self)
        if server is None:
            raise OSError(5, "the disk is gone")
        with closing(server.connect()) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'anonkit' AND pid <> pg_backend_pid()"
            )
        yield from batches(self)

    ReleasedTable.batches = cut  # type: ignore[method-assign]
    try:
        export(release, target)
    except AnonkitError as error:
        ended = f"exit {error.exit_code}"
    except OSError:
        ended = "error"
    finally:
        ReleasedTable.batches = batches  # type: ignore[method-assign]
    with closing(form_of(Target.of(target))) as form:
        left = "something left" if form.exists() else "nothing left"
    return f"{ended}, {left}"


def wrong_credentials(release: Path, server: Server) -> str:
    """Return how a wrong password ends."""
    try:
        export(release, f"postgresql://owner:wr%40ng@127.0.0.1:{server.port}/postgres?table=sink")
    except AnonkitError as error:
        return f"exit {error.exit_code}, {'shown' if 'wr%40ng' in str(error) or 'wr@ng' in str(error) else 'not shown'}"
    return "written"


def write_many(path: Path, n_rows: int) -> None:
    """Write rows of six columns such as releases have, a piece at a time."""
    rng = np.random.default_rng(1)
    ages = pa.array([f"[{low}, {low + 10})" for low in range(0, 90, 10)] + ["*"])
    jobs = pa.array(["clerk|nurse", "not pilot", "=odd", "smith", None])
    writer = None
    for start in range(0, n_rows, 1 << 18):
        n = min(1 << 18, n_rows - start)
        batch = pa.table(
            {
                "age": ages.take(pa.array(rng.integers(0, len(ages), n))),
                "job": jobs.take(pa.array(rng.integers(0, len(jobs), n))),
                "visits": pa.array(rng.integers(-5, 60, n)),
                "dose": pa.array(rng.normal(size=n)),
                "smokes": pa.array(rng.random(n) < 0.3),
                "seen": pa.array(rng.integers(0, 20_000, n).astype("datetime64[D]")),
            }
        )
        writer = pq.ParquetWriter(path, batch.schema) if writer is None else writer
        writer.write_table(batch)
    assert writer is not None
    writer.close()


def peak_kilobytes() -> int:
    """Return the most memory this program has held; `getrusage` counts what its parent held when it was started."""
    return int(re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())[1])  # type: ignore[index]


def measured(source: Path, target: str) -> None:
    """Write and compare in this process; print seconds of both, and the peak of memory above its beginning in MB."""
    rows, form = ReleasedTable(data=source), form_of(Target.of(target))
    pq.read_schema(source)
    before, begun = peak_kilobytes(), time.perf_counter()
    with closing(form):
        form.write(rows, _SIDECARS)
        written = time.perf_counter()
        assert all(check.passed for check in export_checks(form, rows))
        form.commit()
    peak = peak_kilobytes() - before
    print(f"{written - begun:.0f} s + {time.perf_counter() - written:.0f} s, {peak / 1024:.0f} MB")


def main() -> None:
    """Print one line a sink."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--sinks", nargs="*", default=list(SINKS))
    parser.add_argument("--measure", nargs=2, metavar=("PARQUET", "TARGET"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measured(Path(given.measure[0]), given.measure[1])
        return
    server = Server.start()
    try:
        with tempfile.TemporaryDirectory() as name:
            print_table(Path(name), server, given)
    finally:
        server.remove()


def print_table(folder: Path, server: Server, given: Any) -> None:
    """Print the table."""
    release = folder / "release" / "out.parquet"
    source = anonkit.datasets.bank_customers(2_000, seed=1)
    anonkit.release(source, method="mondrian", k=10, target="customer_value", output=release, ledger=None)
    table, many = pq.read_table(release), folder / "many.parquet"
    write_many(many, given.rows)
    cells = table.column("age").to_pylist()
    changed = table.set_column(0, "age", pa.array([*cells[:-1], "< 1"]))
    print(
        f"| sink | written right | changed | missing | added row | wrong credentials | lost midway "
        f"| {given.rows:,} rows: write + compare, peak |\n| --- | --- | --- | --- | --- | --- | --- | --- |"
    )
    for sink in given.sinks:
        target = target_of(sink, folder, server.address)
        on_server = sink == "postgresql"
        cut = lost_midway(sink, release, target, server if on_server else None)
        export(release, target)
        right = validate_export(target, release).passed
        found = [
            refused(target, other, folder)
            for other in (changed, table.slice(1), pa.concat_tables([table, table.slice(5, 1)]))
        ]
        login = wrong_credentials(release, server) if on_server else "–"
        done = subprocess.run(
            [sys.executable, __file__, "--measure", many, target.replace("=sink", "=many").replace("/out.", "/many.")],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        size = done.stdout.strip() or done.stderr.strip().splitlines()[-1]
        words = " | ".join("refused" if one else "TAKEN" for one in found)
        print(f"| {sink} | {'yes' if right else 'NO'} | {words} | {login} | {cut} | {size} |", flush=True)


if __name__ == "__main__":
    main()
