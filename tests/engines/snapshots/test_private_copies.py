"""Tables larger than memory: raw rows are in a private folder, for as long as they are needed.

Standard input: read once, the same as a file of its format, and what goes wrong with a pipe.
"""

from __future__ import annotations

import gzip
import io
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.engines import LocalEngine
from anonkit.errors import EngineError, ParameterError, SourceError
from anonkit.policy.declaration import Policy
from anonkit.randomness import Randomness

TEXT = "age,zip,sex\n" + "".join(f"{20 + at % 40},{100 + at % 5},{'fm'[at % 2]}\n" for at in range(80))


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let some bytes come through standard input."""

    def through(raw: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))

    return through


def _formats(tmp_path: Path) -> dict[str, bytes]:
    table = pa.table({"age": pa.array([31, 42], pa.int64()), "zip": ["01234", None]})
    pq.write_table(table, tmp_path / "in.parquet")
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    text, lines = b"age,zip\n31,01234\n42,\n", b'{"age": 31, "zip": "01234"}\n{"age": 42}\n'
    return {
        "csv": text,
        "tsv": text.replace(b",", b"\t"),
        "jsonl": lines,
        "parquet": (tmp_path / "in.parquet").read_bytes(),
        "arrow": stream.getvalue(),
        "CSV": gzip.compress(text),
    }


@pytest.mark.parametrize("name", ["csv", "tsv", "jsonl", "parquet", "arrow", "CSV"])
def test_every_format_of_a_stream_is_read(tmp_path: Path, read: Any, pipe: Any, name: str) -> None:
    """The cells of a file of the same bytes; a compressed text is known by its first bytes."""
    pipe(_formats(tmp_path)[name])

    assert read("-", format=name).to_pydict()["age"] == [31, 42]


def test_workbooks_come_through_a_pipe_too(tmp_path: Path, read: Any, pipe: Any) -> None:
    """With the sheet that was named."""
    import xlsxwriter

    with xlsxwriter.Workbook(str(tmp_path / "in.xlsx")) as book:
        for name in ("a", "b"):
            book.add_worksheet(name).write_row(0, 0, [name, "q"])
    pipe((tmp_path / "in.xlsx").read_bytes())

    assert read("-", format="excel", sheet="b").column_names == ["b", "q"]


def test_a_release_of_a_pipe_is_that_of_the_file(tmp_path: Path, pipe: Any) -> None:
    """The pipe is read once and the rows are used by every step, domains from the table among them."""
    path = tmp_path / "in.csv"
    path.write_text(TEXT, encoding="utf-8")
    how: dict[str, Any] = {
        "method": "rr",
        "epsilon": 4.0,
        "domains_from_data": True,
        "domains_min_people": 2,
        "seed": 1,
    }
    of_file = anonkit.release(path, **how)
    pipe(TEXT.encode())
    of_pipe = anonkit.release("-", format="csv", **how)

    assert of_pipe.to_arrow().equals(of_file.to_arrow())
    assert of_pipe.params == of_file.params


def test_the_same_rows_through_a_pipe_are_known_again(tmp_path: Path, pipe: Any) -> None:
    """A second request for the same release hands back the first; other rows in its place are refused."""
    output = tmp_path / "out.parquet"
    how: dict[str, Any] = {"format": "csv", "method": "mondrian", "k": 3, "output": output, "dataset": "people"}
    pipe(TEXT.encode())
    anonkit.release("-", **how)
    first = output.read_bytes()
    pipe(TEXT.encode())
    anonkit.release("-", **how)
    assert output.read_bytes() == first
    pipe(TEXT.replace("20,", "21,", 1).encode())
    with pytest.raises(ParameterError, match="made of other rows"):
        anonkit.release("-", **how)


def test_what_is_no_pipe_or_no_format_is_refused(read: Any, pipe: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A format must be named, and one that is a folder cannot come through a pipe; nor can anything without a pipe."""
    pipe(b"")
    with pytest.raises(ParameterError, match="standard input"):
        read("-")
    with pytest.raises(ParameterError, match="folder"):
        read("-", format="delta")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(SourceError, match="nothing comes through"):
        read("-", format="csv")


@pytest.mark.parametrize(
    ("raw", "form", "says"),
    [
        (b"", "csv", "standard input is empty"),
        (b"age,zip\n31,MARK\n42", "csv", "line 3 of standard input has 1 cell"),
        (b"age,zip\n31,MARK\n42,\xff\xfe\n", "csv", "standard input is not UTF-8"),
        (gzip.compress(b"age,zip\n31,MARK\n" * 99)[:40], "csv", "standard input is not a whole gzip file"),
        (b"MARK", "parquet", "standard input is not a readable Parquet table"),
        (b"MARK,MARK", "excel", "standard input is not a readable workbook"),
        (b"MARK,MARK", "arrow", "standard input is not a whole file"),
        (b"MARK,MARK" * 99, "sav", "standard input cannot be read to its end"),
        (b'{"age": 31, "zip": "MARK"}\n{"age": ', "jsonl", "standard input"),
    ],
    ids=["empty", "cell", "bytes", "gzip", "parquet", "excel", "arrow", "sav", "jsonl"],
)
def test_a_table_that_was_lost_midway_is_reported_without_its_cells(
    read: Any, pipe: Any, scratch: Path, raw: bytes, form: str, says: str
) -> None:
    """The message describes the format, by the name of the pipe and not of its private copy; the copy is gone."""
    pipe(raw)
    with pytest.raises(SourceError, match=says) as refused:
        read("-", format=form)

    assert "MARK" not in repr(vars(refused.value)) + str(refused.value)
    assert str(scratch) not in str(refused.value)


def test_the_encoding_of_the_policy_is_that_of_the_pipe(read: Any, pipe: Any) -> None:
    """As of a file."""
    pipe("age,q\n31,é\n".encode("cp1252"))

    assert read("-", Policy(encoding="cp1252"), format="csv").to_pydict() == {"age": [31], "q": ["é"]}


def _waiting(tmp_path: Path, *before: str) -> tuple[subprocess.Popen[bytes], Path]:
    """Start a release whose pipe gives half a table and then nothing; return it when its copy has begun."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "anonkit", "release", "-", str(tmp_path / "out.parquet"), "--format", "csv", *before],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(scratch)},
    )
    assert process.stdin is not None
    process.stdin.write(TEXT.encode() * 40_000)
    process.stdin.flush()
    while not any(path.stat().st_size for path in scratch.rglob("input")):
        assert process.poll() is None
        time.sleep(0.05)
    return process, scratch


@pytest.mark.slow
def test_an_interrupted_pipe_leaves_neither_copy_nor_release(tmp_path: Path) -> None:
    """Ctrl-C while rows come: exit code 130, no file of a release, and no private file."""
    process, scratch = _waiting(tmp_path, "--k", "3")
    copies = list(scratch.rglob("input"))
    modes = {path.stat().st_mode & 0o777 for path in copies}, {path.parent.stat().st_mode & 0o777 for path in copies}
    process.send_signal(signal.SIGINT)
    process.communicate()

    assert modes == ({0o600}, {0o700})
    assert process.returncode == 130
    assert list(scratch.rglob("*")) == []
    assert [path.name for path in tmp_path.iterdir()] == ["scratch"]


@pytest.mark.slow
def test_what_a_killed_run_left_is_deleted_by_the_next(tmp_path: Path) -> None:
    """SIGKILL leaves the copy, which nobody else may read; the next run of the same user sweeps it."""
    process, scratch = _waiting(tmp_path, "--k", "3")
    process.kill()
    process.communicate()
    assert list(scratch.rglob("input"))
    path = tmp_path / "in.csv"
    path.write_text(TEXT, encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", "anonkit", "init", str(path), "-o", "-", "--quiet"],
        env={**os.environ, "TMPDIR": str(scratch)},
        check=True,
        capture_output=True,
    )

    assert list(scratch.rglob("*")) == []


def everything(folder: Path) -> list[Path]:
    """Return all files and folders below a folder."""
    return sorted(folder.rglob("*"))


def test_spilled_rows_are_private_and_deleted(temporary: Path, tmp_path: Path) -> None:
    """Everything an engine puts on disk is below one folder of mode 0700, and gone when the engine is closed."""
    with patch("anonkit.engines.local.local_engine._IN_MEMORY", 1 << 12), LocalEngine() as engine:
        source = engine.scan(pa.table({"a": np.arange(50_000)}), Policy())
        (folder,) = temporary.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert folder.stat().st_uid == os.geteuid()
        assert any(path.suffix == ".parquet" for path in everything(folder))
        before = everything(temporary)
        engine.write(source, tmp_path / "x.parquet", metadata={}, randomness=Randomness.seeded(1))
        assert everything(temporary) == before, "what a write needed is deleted at its end"
    assert everything(temporary) == []


def test_a_failed_write_leaves_no_rows_behind(temporary: Path, tmp_path: Path) -> None:
    """The files a shuffle deals rows into are deleted when the shuffle fails."""
    with patch("anonkit.engines.local.local_engine._IN_MEMORY", 1 << 12), LocalEngine() as engine:
        source = engine.scan(pa.table({"a": np.arange(50_000)}), Policy())
        before = everything(temporary)
        with (
            patch.object(pq.ParquetWriter, "write_table", side_effect=OSError(28, "No space left on device")),
            pytest.raises(EngineError, match="No space left") as kept,
        ):
            engine.write(source, tmp_path / "x.parquet", metadata={}, randomness=Randomness.seeded(1))
        assert everything(temporary) == before, f"though {kept} holds on to the frames of the write"


@pytest.mark.slow
def test_counting_spills_under_a_memory_cap(temporary: Path, tmp_path: Path) -> None:
    """More classes than the cap allows are counted on disk, in the private folder, with the right result."""
    n = 600_000
    rng = np.random.default_rng(5)
    first, second = rng.integers(0, 2**40, n), rng.integers(0, 3, n)
    first[: n // 3] = first[n // 3 : 2 * (n // 3)]
    texts = pa.array(np.char.add("some longer text ", first.astype(str)))
    pq.write_table(pa.table({"a": texts, "b": second}), tmp_path / "t.parquet")
    _, sizes = np.unique(np.stack([first, second]), axis=1, return_counts=True)
    values, counts = np.unique(sizes, return_counts=True)

    with patch("anonkit.engines.local.local_engine._CODES_IN_MEMORY", -1), LocalEngine(memory_limit="40MB") as engine:
        counted = engine.class_sizes(engine.scan(tmp_path / "t.parquet", Policy()), ["a", "b"], 2)
        (folder,) = temporary.iterdir()
        spilled = [path for path in everything(folder) if path.name != "owner.lock"]
    assert counted.histogram == tuple(zip(values.tolist(), counts.tolist(), strict=True))
    assert counted.rows_below_k == int(sizes[sizes < 2].sum())
    assert spilled, "the cap was not reached: the test shows nothing"
    assert everything(temporary) == []


@pytest.mark.slow
def test_a_large_table_with_many_pieces_is_written_as_a_small_one(tmp_path: Path) -> None:
    """Dealt into many files or sorted at once: one file, bit for bit the same rows in the same order."""
    n = 30_000
    table = pa.table(
        {
            "row": np.arange(n),
            "text": [f"text {at % 50}" for at in range(n)],
            "unique": [f"text {at}" for at in range(n)],
            "level": pa.array([["high", "low", None][at % 3] for at in range(n)]).dictionary_encode(),
        }
    )
    files = []
    for in_memory in (1 << 30, 1 << 16):
        with patch("anonkit.engines.local.local_engine._IN_MEMORY", in_memory), LocalEngine() as engine:
            files.append(tmp_path / f"{in_memory}.parquet")
            engine.write(engine.scan(table, Policy()), files[-1], metadata={"a": "b"}, randomness=Randomness.seeded(2))
    small, large = map(pq.read_table, files)
    assert pq.read_metadata(files[1]).num_row_groups > 10
    assert large.schema.equals(small.schema, check_metadata=True)
    assert large.to_pydict() == small.to_pydict()
    assert small.column("row").to_pylist() != list(range(n))
