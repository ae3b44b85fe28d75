"""Every live source from real parts: read right, deletes honoured, refusals, and memory at many rows.

`python recipes/benchmarks/sources.py [--rows 10000000] [--only SOURCE …]` prints a table, one line a source. Each is
made with `rows` people, of whom some are deleted again where it can delete, and is then read by a process of its own,
whose greatest resident memory is printed: once with a tenth of the rows, once with all.

The refusals are those of the command line: exit code 3, one line and a hint, nothing written, and none of the secrets
and cells that were planted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from postgresql import PASSWORD, QUOTED, Server

MARKER = "acellofsomebody"
SELECT = (
    "SELECT i AS id, (20 + i % 60)::integer AS age, lpad((i % 90000)::varchar, 5, '0') AS zip, "
    f"(i % 700000 / 100.0)::double AS income, '{MARKER}' || (i % 97) AS word"
)
"""Rows of people, for DuckDB; `id` from 0."""
GONE = 1000
"""People with the lowest numbers, who are deleted."""
READ = """
import json, re, sys
from anonkit.engines import Local
from anonkit.engines.snapshots.dispatch import snapshot
from anonkit.policy.declaration import Policy
import pyarrow.compute as pc
address, columns = sys.argv[1], 0
policy = Policy()
rows = total = least = 0
with snapshot(address) as opened, Local().opened() as engine:
    table = opened.scan(engine, policy)
    least = None
    for batch in table.batches(["id", "age"]):
        if batch.num_rows:
            rows += batch.num_rows
            total += pc.sum(batch.column("id")).as_py()
            low = pc.min(batch.column("id")).as_py()
            least = low if least is None else min(low, least)
    columns = len(table.schema)
# of this program alone: ru_maxrss begins with what the process that started it had held
peak = int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) // 1024
print(json.dumps({"rows": rows, "sum": total, "least": least, "columns": columns, "peak": peak}))
"""


class Source:
    """One kind of source: how it is made, spelled, broken."""

    name: str
    deletes = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self, rows: int) -> str:
        """Make a table of so many people and delete some; return its address."""
        raise NotImplementedError

    def wrong(self) -> tuple[str, dict[str, str]] | None:
        """Return an address, and an environment, whose credentials are wrong; None where there are none."""
        return None

    def lost(self) -> tuple[str, Callable[[], object] | None] | None:
        """Return an address, and what ends the connection while it is read; None where there is none to lose."""
        return None

    def close(self) -> None:
        """Stop what was started."""


def people(rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the people in batches."""
    with duckdb.connect() as connection:
        yield from connection.sql(f"{SELECT} FROM range({rows}) t(i)").to_arrow_reader(1 << 17)


class PostgreSQL(Source):
    """A table of a server."""

    name = "PostgreSQL"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.server = Server.start()

    def make(self, rows: int) -> str:
        """Make the table by the server's own generator."""
        with self.server.connect() as connection:
            connection.execute("DROP TABLE IF EXISTS people")
            connection.execute(
                "CREATE UNLOGGED TABLE people AS SELECT i::bigint AS id, (20 + i % 60)::integer AS age, "
                "lpad((i % 90000)::text, 5, '0') AS zip, (i % 700000 / 100.0)::numeric(12, 2) AS income, "
                f"'{MARKER}' || (i % 97) AS word FROM generate_series(0, {rows - 1}) i"
            )
            connection.execute(f"DELETE FROM people WHERE id < {GONE}")
        return f"{self.server.address}?table=people"

    def wrong(self) -> tuple[str, dict[str, str]]:
        """Another password."""
        return f"{self.server.address}?table=people".replace(QUOTED, "not-" + QUOTED), {}

    def lost(self) -> tuple[str, Callable[[], object]]:
        """The server ends the session."""
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'anonkit'"

        def end() -> None:
            with self.server.connect() as connection:
                for _ in range(3000):
                    if connection.execute(f"{ended} AND query LIKE 'COPY%'").fetchall():
                        return
                    time.sleep(0.02)

        return f"{self.server.address}?table=people", end

    def close(self) -> None:
        """Stop the server."""
        self.server.remove()


class SQLite(Source):
    """A file."""

    name = "SQLite"

    def make(self, rows: int) -> str:
        """Make it in one transaction."""
        import sqlite3

        path = self.folder / "people.db"
        path.unlink(missing_ok=True)
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE people (id INTEGER, age INTEGER, zip TEXT, income REAL, word TEXT)")
            for batch in people(rows):
                columns = [column.to_pylist() for column in batch.columns]
                connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", zip(*columns, strict=True))
            connection.execute(f"DELETE FROM people WHERE id < {GONE}")
        connection.close()
        return f"sqlite:///{path}?table=people"

    def lost(self) -> tuple[str, None]:
        """A file that was cut."""
        path = self.folder / "cut.db"
        shutil.copy(self.folder / "people.db", path)
        os.truncate(path, path.stat().st_size // 2)
        return f"sqlite:///{path}?table=people", None


class DuckDB(Source):
    """A file."""

    name = "DuckDB"

    def make(self, rows: int) -> str:
        """Make it by DuckDB's own generator."""
        path = self.folder / "people.duckdb"
        path.unlink(missing_ok=True)
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"CREATE TABLE people AS {SELECT} FROM range({rows}) t(i)")
            connection.execute(f"DELETE FROM people WHERE id < {GONE}")
        return f"duckdb:///{path}?table=people"

    def lost(self) -> tuple[str, None]:
        """A file that was cut."""
        path = self.folder / "cut.duckdb"
        shutil.copy(self.folder / "people.duckdb", path)
        os.truncate(path, path.stat().st_size // 2)
        return f"duckdb:///{path}?table=people", None


class Delta(Source):
    """A folder."""

    name = "Delta"

    def make(self, rows: int) -> str:
        """Make it by `deltalake`, and delete by it."""
        from deltalake import DeltaTable, write_deltalake

        folder = self.folder / "delta"
        shutil.rmtree(folder, ignore_errors=True)
        batches = people(rows)
        first = next(batches)
        write_deltalake(
            str(folder), pa.RecordBatchReader.from_batches(first.schema, _all(first, batches)), mode="append"
        )
        DeltaTable(str(folder)).delete(f"id < {GONE}")
        return str(folder)

    def lost(self) -> tuple[str, None]:
        """One of its files is gone."""
        folder = self.folder / "delta-cut"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.folder / "delta", folder)
        for path in sorted(folder.glob("*.parquet")):
            path.unlink()
        return str(folder), None


def _all(first: pa.RecordBatch, others: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from others


class Iceberg(Source):
    """A folder."""

    name = "Iceberg"

    def make(self, rows: int) -> str:
        """Make it by `pyiceberg` in files of a million rows, and delete by it."""
        from pyiceberg.catalog.sql import SqlCatalog

        folder = self.folder / f"iceberg-{rows}"
        folder.mkdir()
        catalog = SqlCatalog("bench", uri="sqlite:///:memory:", warehouse=f"file://{folder}")
        catalog.create_namespace("people")
        table: Any = None
        kept: list[pa.RecordBatch] = []
        for batch in people(rows):
            kept.append(batch)
            if sum(b.num_rows for b in kept) >= 1_000_000:
                table = _append(catalog, table, kept)
        table = _append(catalog, table, kept) if kept else table
        table.delete(f"id < {GONE}")
        self.at = table.location().removeprefix("file://")
        return self.at

    def lost(self) -> tuple[str, None]:
        """Its files are gone."""
        for path in sorted(Path(self.at).rglob("*.parquet"))[1:]:
            path.unlink()
        return self.at, None


def _append(catalog: Any, table: Any, kept: list[pa.RecordBatch]) -> Any:
    rows = pa.Table.from_batches(kept)
    kept.clear()
    table = table or catalog.create_table("people.all", schema=rows.schema)
    table.append(rows)
    return table


class S3(Source):
    """Objects of an S3 server, in a process of its own."""

    deletes = False
    suffix = "parquet"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        code = (
            "from moto.server import ThreadedMotoServer as S; import time; "
            "s = S(ip_address='127.0.0.1', port=0, verbose=False); s.start(); "
            "print(s.get_host_and_port()[1], flush=True); time.sleep(1e6)"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        port = int(self.process.stdout.readline())
        self.proxy = Proxy(port)
        self.endpoint = f"http://127.0.0.1:{port}"
        os.environ.update(
            AWS_ENDPOINT_URL=f"http://127.0.0.1:{self.proxy.port}",
            AWS_ACCESS_KEY_ID="owner",
            AWS_SECRET_ACCESS_KEY=PASSWORD,
            AWS_REGION="us-east-1",
            AWS_EC2_METADATA_DISABLED="true",
        )

    def make(self, rows: int) -> str:
        """Put one object."""
        import boto3

        path = self.folder / f"people.{self.suffix}"
        _write(path, rows)
        client = boto3.client("s3", endpoint_url=self.endpoint, region_name="us-east-1")
        client.create_bucket(Bucket="people")
        with path.open("rb") as file:
            client.upload_fileobj(file, "people", path.name)
        return f"s3://people/{path.name}"

    def lost(self) -> tuple[str, None]:
        """The connection is closed after the first bytes, however often it is made again."""
        self._request_known_keys(10**9)
        self.proxy.most = 1 << 16
        return f"s3://people/people.{self.suffix}", None

    def wrong(self) -> tuple[str, dict[str, str]]:
        """A key that the server does not know."""
        self._request_known_keys(0)
        return f"s3://people/people.{self.suffix}", {}

    def _request_known_keys(self, after: int) -> None:
        """Let the server ask for a key that it knows, after so many requests."""
        from urllib.request import Request, urlopen

        plain = {"Content-Type": "text/plain"}
        place = f"{self.endpoint}/moto-api/reset-auth"
        urlopen(Request(place, str(after).encode(), plain, method="POST")).close()

    def close(self) -> None:
        """Stop the server."""
        self.proxy.close()
        self.process.kill()
        self.process.wait()


class Proxy:
    """Passes bytes on to a port, and closes a connection that has answered more than `most`."""

    def __init__(self, port: int) -> None:
        self.most: int | None = None
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._to))
            threading.Thread(target=self._pass, args=(client, server, None), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, self), daemon=True).start()

    @staticmethod
    def _pass(source: socket.socket, target: socket.socket, limited: Proxy | None) -> None:
        n_bytes = 0
        with contextlib.suppress(OSError):
            while part := source.recv(1 << 16):
                n_bytes += len(part)
                if limited is not None and limited.most is not None and n_bytes > limited.most:
                    break
                target.sendall(part)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()


class S3Parquet(S3):
    """A Parquet file."""

    name = "S3 Parquet"


class S3Text(S3):
    """A CSV file."""

    name = "S3 CSV"
    suffix = "csv"


def _write(path: Path, rows: int) -> None:
    how = "FORMAT parquet" if path.suffix == ".parquet" else "FORMAT csv, HEADER"
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({SELECT} FROM range({GONE}, {rows}) t(i)) TO '{path}' ({how})")


class Web(Source):
    """A CSV file of a web server that asks for a password."""

    name = "HTTP CSV"
    deletes = False

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        source = self
        self.cut = False

        class Handler(BaseHTTPRequestHandler):
            """Sends the file."""

            def do_GET(self) -> None:
                from base64 import b64encode

                path = source.folder / "people.csv"
                known = "Basic " + b64encode(f"owner:{PASSWORD}".encode()).decode()
                if self.headers.get("Authorization") != known:
                    self.send_error(401, MARKER)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(path.stat().st_size))
                self.end_headers()
                with path.open("rb") as file:
                    if source.cut:
                        self.wfile.write(file.read(path.stat().st_size // 2))
                    else:
                        shutil.copyfileobj(file, self.wfile, 1 << 20)

            def log_message(self, *_: Any) -> None:
                """Log nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.port = self.server.server_address[1]

    def make(self, rows: int) -> str:
        """Write the file."""
        _write(self.folder / "people.csv", rows)
        return f"http://owner:{QUOTED}@127.0.0.1:{self.port}/people.csv"

    def wrong(self) -> tuple[str, dict[str, str]]:
        """Another password."""
        return f"http://owner:not-{QUOTED}@127.0.0.1:{self.port}/people.csv", {}

    def lost(self) -> tuple[str, None]:
        """The connection is closed after the first half."""
        self.cut = True
        return f"http://owner:{QUOTED}@127.0.0.1:{self.port}/people.csv", None

    def close(self) -> None:
        """Stop."""
        self.server.shutdown()
        self.server.server_close()


SOURCES: tuple[type[Source], ...] = (PostgreSQL, SQLite, DuckDB, Delta, Iceberg, S3Parquet, S3Text, Web)


def read(address: str, temporary: Path) -> dict[str, Any]:
    """Read a source in a process of its own."""
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", READ, address],
        capture_output=True, text=True, check=False, env={**os.environ, "TMPDIR": str(temporary)},
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return {**json.loads(done.stdout), "seconds": time.monotonic() - start}


def refused(address: str, folder: Path, temporary: Path, more: dict[str, str], end: Callable[[], object] | None) -> str:
    """Release a source that cannot be read; return the defects of its message, or `exit 3`."""
    out = folder / "out.parquet"
    command = [sys.executable, "-m", "anonkit", "release", "--method", "mondrian", "--k", "5", "--no-ledger"]
    started = subprocess.Popen(
        [*command, "--task", "classification", "--target", "word", address, str(out)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, **more, "TMPDIR": str(temporary)},
    )  # fmt: skip
    if end is not None:
        end()
    said, error = started.communicate()
    wrong = [f"exit {started.returncode}"] if started.returncode != 3 else []
    wrong += ["a secret was told"] * any(secret in said + error for secret in (PASSWORD, QUOTED, MARKER))
    wrong += ["files were left"] * bool(list(folder.glob("out.*")) or list(temporary.glob("anonkit-*")))
    wrong += ["more than a line"] * (error.count("\n") > 2)
    print("   ", " ".join(error.split())[:160], file=sys.stderr)
    return ", ".join(wrong) or "exit 3"


def line(kind: type[Source], rows: int, top: Path) -> str:
    """Return a line of the table."""
    folder, temporary = top / "source", top / "temporary"
    for made in (folder, temporary):
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True)
    source = kind(folder)
    try:
        found = []
        for n in (rows // 10, rows):
            address = source.make(n)
            got = read(address, temporary)
            right = got["rows"] == n - GONE and got["sum"] == sum(range(GONE, n)) and got["columns"] == 5
            found.append((got, "yes" if right and got["least"] == GONE else f"NO: {got}"))
        peaks = " → ".join(f"{got['peak']} MB" for got, _ in found)
        deletes = "yes" if source.deletes else "has none"
        wrong = source.wrong()
        credentials = "has none" if wrong is None else refused(wrong[0], folder, temporary, wrong[1], None)
        lost = source.lost()
        midway = "has none" if lost is None else refused(lost[0], folder, temporary, {}, lost[1])
        return (
            f"| {kind.name} | {' / '.join(right for _, right in found)} | {deletes} | {credentials} | {midway} "
            f"| {peaks} | {found[-1][0]['seconds']:.0f} s |"
        )
    finally:
        source.close()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--only", nargs="*", default=[kind.name for kind in SOURCES])
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as top:
        print(
            f"| source | read right ({given.rows // 10:,} / {given.rows:,}) | deletes honoured | bad credentials |",
            end="",
        )
        print(" connection lost midway, or a part gone | peak memory | time |")
        print("| --- | --- | --- | --- | --- | --- | --- |", flush=True)
        for kind in SOURCES:
            if kind.name in given.only:
                print(line(kind, given.rows, Path(top)), flush=True)


if __name__ == "__main__":
    main()
