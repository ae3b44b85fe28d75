"""Standard input: read once, the same as a file of its format, and what goes wrong with a pipe."""

from __future__ import annotations

import gzip
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.errors import ParameterError, SourceError
from anonkit.policy.declaration import Policy

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
