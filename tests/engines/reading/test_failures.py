"""Every failure is one of ours, names column, line, row or rule, and leads to no cell of the table."""

from __future__ import annotations

import errno
import gzip
import os
import re
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonkit.engines import LocalEngine
from anonkit.engines.reading.failures import FOREIGN, shielded, shielded_iterator
from anonkit.errors import AnonkitError, EngineError, SourceError
from anonkit.policy.column_declarations import Column, ColumnType
from anonkit.policy.declaration import Policy
from anonkit.randomness import Randomness

PLANTED = "-".join(["a", "private", "cell"])  # so that no line of code in a traceback holds it
ROWS = f"{PLANTED},{PLANTED}\n" * 3


def shown(error: BaseException) -> str:
    """Return everything an error shows: its text, attributes, chain and traceback, without the locals of frames."""
    seen: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or one in seen:
            continue
        seen.append(one)
        waiting += [one.__cause__, one.__context__]
    told = [str(one) + repr(one) + repr(one.args) + repr(vars(one)) for one in seen]
    return "\n".join([*told, *traceback.format_exception(error)])


def refusal(call: Callable[[], Any], kind: type[AnonkitError] = SourceError) -> AnonkitError:
    """Return the error a call must raise, when it shows no planted cell and hides no other error behind it."""
    with pytest.raises(kind) as caught:
        call()
    error = caught.value
    assert PLANTED not in shown(error)
    assert error.__cause__ is None
    assert error.__context__ is None
    return error


@pytest.fixture(params=["memory", "disk"])
def engine(request: pytest.FixtureRequest) -> Iterator[LocalEngine]:
    """An engine that holds tables in memory, and one that spills and counts in DuckDB."""
    small = {"memory": (1 << 30, 1 << 30), "disk": (16, -1)}[request.param]
    with (
        patch("anonkit.engines.local.local_engine._IN_MEMORY", small[0]),
        patch("anonkit.engines.local.local_engine._CODES_IN_MEMORY", small[1]),
        LocalEngine() as opened,
    ):
        yield opened


def read_all(engine: LocalEngine, data: Any, policy: Policy | None = None) -> None:
    """Scan a table and read every cell of it."""
    source = engine.scan(data, policy or Policy())
    for _ in source.batches():
        pass


TEXT_FAILURES: dict[str, tuple[str, bytes, str]] = {
    "ragged row": (
        "t.csv",
        f"a,b\n{ROWS}{PLANTED},1,2\n".encode(),
        "line 5 of .* has 3 cells where the header has 2",
    ),
    "short row": (
        "t.csv",
        f"a,b\n{ROWS}{PLANTED}\n".encode(),
        "line 5 of .* has 1 cell where the header has 2",
    ),
    "open quote": ("t.csv", f'a,b\n{ROWS}1,"{PLANTED}\n{ROWS}'.encode(), "line 5 of .* has a quote that is never"),
    "open quote in a middle cell": ("t.csv", f'a,b\n"{PLANTED},1\n{ROWS}'.encode(), "line 2 .* has a quote"),
    "open quotes that pair up": ("t.csv", f'a,b\n1,"{PLANTED}\n2,"{PLANTED}\n'.encode(), "line 2 .* has a quote"),
    "open quote in the header": ("t.csv", f'"a,b\n{ROWS}'.encode(), "header of .* has a quote"),
    "Latin-1": ("t.csv", f"a,b\n{ROWS}Müller,{PLANTED}\n".encode("latin1"), "is not UTF-8 text"),
    "Latin-1 in the header": ("t.csv", f"a,größe\n{ROWS}".encode("latin1"), "is not UTF-8 text"),
    "UTF-16": ("t.csv", f"a,b\n{ROWS}".encode("utf-16"), "is not UTF-8 text"),
    "UTF-16 without a mark": ("t.csv", f"a,b\n{ROWS}".encode("utf-16-le"), "is not UTF-8 text"),
    "binary": ("t.csv", PLANTED.encode() + bytes(range(256)) * 9, "is not UTF-8 text"),
    "Parquet by another name": ("t.csv", b"PAR1\x15\x04\x15\x00" + PLANTED.encode(), "is not UTF-8 text"),
    "nothing": ("t.csv", b"", "is empty"),
    "blank lines": ("t.csv", b"\n\n\n", "is empty"),
    "no header but cells": ("t.csv", (f"{PLANTED},{PLANTED}\n" * 2).encode(), "columns 1 and 2 have the same name"),
    "a name twice": ("t.csv", f"a,b,a\n1,2,{PLANTED}\n".encode(), "columns 1 and 3 have the same name"),
    "no name": ("t.csv", f"a,,b\n1,2,{PLANTED}\n".encode(), "column 2 has no name"),
    "gzip cut off": ("t.csv.gz", gzip.compress(f"a,b\n{ROWS * 99}".encode())[:-9], "is not a whole gzip file"),
    "gzip in name only": ("t.csv.gz", f"a,b\n{ROWS}".encode(), "is not a whole gzip file"),
    "zstd cut off": (
        "t.csv.zst",
        bytes(pa.Codec("zstd").compress(f"a,b\n{ROWS * 99}{os.urandom(999).hex()},1\n".encode(), asbytes=True))[:-9],
        "is not a whole zstd file",
    ),
    "zstd in name only": ("t.jsonl.zst", PLANTED.encode(), "is not a whole zstd file"),
    "JSON: no object": ("t.jsonl", f'{{"a":1}}\n{PLANTED}\n'.encode(), "row 2 of .* is not an object of plain values"),
    "JSON: an array": ("t.json", f'[{{"a":"{PLANTED}"}}]'.encode(), "row 1 of .* is not an object"),
    "JSON: null in place of the first object": ("t.jsonl", b'null\n{"a":1}\n', "from row 1 on is not an object"),
    "JSON: null in place of another object": ("t.jsonl", b'{"a":1}\n null\n', "from row 1 on is not an object"),
    "JSON: null behind an object": ("t.jsonl", b'{"a":1} null\n', "from row 1 on is not an object"),
    "JSON: cut off": ("t.jsonl", f'{{"a":1}}\n{{"a":"{PLANTED}'.encode(), "row 2 of .* is not an object"),
    "JSON: types mixed": (
        "t.jsonl",
        f'{{"a":1}}\n{{"a":2}}\n{{"a":"{PLANTED}"}}\n'.encode(),
        "row 3 of .*: column 'a' changes from number to string",
    ),
    "JSON: nested": (
        "t.jsonl",
        f'{{"a":{{"b":"{PLANTED}"}}}}\n'.encode(),
        "column 'a' holds values of type list, struct",
    ),
    "JSON: a key twice": ("t.jsonl", f'{{"a":1,"a":"{PLANTED}"}}\n'.encode(), "row 1 of .* is not an object"),
    "JSON: Latin-1": ("t.jsonl", f'{{"a":"Müller {PLANTED}"}}\n'.encode("latin1"), "is not UTF-8"),
    "JSON: blank key": ("t.jsonl", f'{{"":"{PLANTED}"}}\n'.encode(), "column 1 has no name"),
    "JSON: no keys": ("t.jsonl", b"{}\n{}\n", "the table has no columns"),
    "Parquet cut off": ("t.parquet", b"PAR1" + PLANTED.encode() * 9, "is not a readable Parquet table"),
    "unknown format": ("t.xlsx", b"PK\x03\x04" + PLANTED.encode(), "the format of .* is not known by its name"),
    "no ending": ("table", PLANTED.encode(), "the format of .* is not known by its name"),
}


@pytest.mark.parametrize("failure", TEXT_FAILURES)
def test_a_file_that_is_no_table_is_refused(engine: LocalEngine, tmp_path: Path, failure: str) -> None:
    """The message names the file and where in it, or the rule."""
    name, content, words = TEXT_FAILURES[failure]
    path = tmp_path / name
    path.write_bytes(content)
    error = refusal(lambda: read_all(engine, path))
    assert re.search(words, error.message), error.message


@pytest.mark.parametrize("kind", [ColumnType.INTEGER, ColumnType.NUMBER, ColumnType.BOOLEAN, ColumnType.DATE])
def test_a_cell_of_another_type_is_not_quoted(engine: LocalEngine, tmp_path: Path, kind: ColumnType) -> None:
    """The message names column, row and type."""
    path = tmp_path / "t.csv"
    path.write_text(f"a,b\n{ROWS}")
    policy = Policy(columns={"b": Column(name="b", type=kind)})
    assert (
        f"column 'b': the cell in row 1 is not of type {kind}"
        in refusal(lambda: read_all(engine, path, policy)).message
    )


class _Pretender:
    """Something that claims to be a table, and is not."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise ValueError(PLANTED)


def _broken_stream() -> pa.RecordBatchReader:
    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"a": [PLANTED]})
        raise ValueError(PLANTED)

    return pa.RecordBatchReader.from_batches(pa.schema([("a", pa.string())]), batches())


def _not_utf8() -> pa.Table:
    raw = PLANTED.encode() + b"\xff"
    offsets = pa.py_buffer(np.array([0, len(raw)], dtype=np.int32))
    return pa.table({"a": pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(raw)])})


FRAMES: dict[str, tuple[Callable[[], Any], str]] = {
    "pandas: types mixed": (lambda: pd.DataFrame({"a": [1, PLANTED]}), "column 'a' mixes types"),
    "pandas: lists": (lambda: pd.DataFrame({"a": [[PLANTED]]}), "column 'a' holds values of type list, struct or map"),
    "pandas: bytes": (lambda: pd.DataFrame({"a": [PLANTED.encode()]}), "column 'a' holds values of type binary"),
    "pandas: objects": (lambda: pd.DataFrame({"a": [SimpleNamespace(a=PLANTED)]}), "column 'a' mixes types"),
    "pandas: half a character": (
        lambda: pd.DataFrame({"a": [PLANTED + "\ud800"]}, dtype=object),
        "column 'a' mixes types",
    ),
    "pandas: large integers": (lambda: pd.DataFrame({"a": [2**80]}), "column 'a' mixes types"),
    "pandas: periods": (lambda: pd.DataFrame({"a": pd.period_range("2024", periods=2)}), "type pandas.period"),
    "pandas: a name twice": (lambda: pd.DataFrame([[1, PLANTED]], columns=["a", "a"]), "columns 1 and 2 have the same"),
    "pandas: numbered columns": (lambda: pd.DataFrame([[PLANTED]]), "the name of column 1 is not a text"),
    "pandas: no columns": (lambda: pd.DataFrame(index=[PLANTED]), "the table has no columns"),
    "Polars: lists": (lambda: pl.DataFrame({"a": [[PLANTED]]}), "column 'a' holds values of type list, struct or map"),
    "Polars: objects": (lambda: pl.DataFrame({"a": pl.Series([object()], dtype=pl.Object)}), "column 'a' holds values"),
    "Arrow: struct": (
        lambda: pa.table({"a": [{PLANTED: PLANTED}]}),
        "column 'a' holds values of type list, struct or map",
    ),
    "Arrow: binary": (lambda: pa.table({"a": [PLANTED.encode()]}), "column 'a' holds values of type binary"),
    "Arrow: a name twice": (
        lambda: pa.Table.from_arrays([pa.array([PLANTED])] * 2, names=["a", "a"]),
        "columns 1 and 2",
    ),
    "Arrow: not UTF-8": (_not_utf8, "column 'a' holds cells that are not of type string"),
    "Arrow: long decimals": (lambda: pa.table({"a": pa.array([1], pa.decimal256(50))}), "values of type decimal256"),
    "Arrow: time of day in a date": (lambda: pa.table({"a": pa.array([1], pa.date64())}), "column 'a' holds cells"),
    "Arrow: months": (lambda: pa.table({"a": pa.array([(1, 2, 3)], pa.month_day_nano_interval())}), "column 'a' holds"),
    "a stream that breaks": (_broken_stream, "cannot be read through the Arrow interface"),
    "a pretender": (_Pretender, "cannot be read through the Arrow interface"),
    "a list": (lambda: [PLANTED], "a list is not a table"),
    "an array": (lambda: np.array([PLANTED]), "a ndarray is not a table"),
}


@pytest.mark.parametrize("failure", FRAMES)
def test_a_frame_that_is_no_table_is_refused(engine: LocalEngine, failure: str) -> None:
    """The message names the column, and its type or the rule."""
    make, words = FRAMES[failure]
    assert words in refusal(lambda: read_all(engine, make())).message


def test_a_damaged_parquet_file_is_refused_by_every_verb(engine: LocalEngine, tmp_path: Path) -> None:
    """Damage inside the data is found when it is read, and reported without the data."""
    path = tmp_path / "t.parquet"
    column = pa.array([f"{PLANTED} {at}" for at in range(50_000)])
    pq.write_table(pa.table({"a": column}), path, compression="none", use_dictionary=False)
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 4 : len(raw) // 2] = bytes(len(raw) // 2 - len(raw) // 4)
    path.write_bytes(raw)
    source = engine.scan(path, Policy())
    for verb in (
        lambda: list(source.batches()),
        lambda: engine.encode(source, ["a"]),
        lambda: engine.write(source, tmp_path / "out.parquet", metadata={}, randomness=None),
    ):
        refusal(verb)
    refusal(lambda: engine.class_sizes(source, ["a"], 2), AnonkitError)
    refusal(lambda: engine.count_sets(source, [("a",)]), AnonkitError)
    assert not (tmp_path / "out.parquet").exists()


def test_folders_that_are_no_table_are_refused(engine: LocalEngine, tmp_path: Path) -> None:
    """No file, a file of another kind, other keys, other types, or a subfolder without a key."""
    good = pa.table({"a": [1]})
    empty, mixed, keys, types = (tmp_path / name for name in ("empty", "mixed", "keys", "types"))
    for folder in (empty, mixed, keys / "k=1", keys / f"other={PLANTED}", types):
        folder.mkdir(parents=True)
    (empty / "_SUCCESS").touch()
    for place in (
        mixed / "a.parquet",
        keys / "k=1" / "a.parquet",
        keys / f"other={PLANTED}" / "a.parquet",
        types / "a.parquet",
    ):
        pq.write_table(good, place)
    (mixed / "notes.txt").write_text(PLANTED)
    pq.write_table(pa.table({"a": [PLANTED]}), types / "b.parquet")

    assert "holds no Parquet file" in refusal(lambda: read_all(engine, empty)).message
    assert "notes.txt' is not a readable Parquet table" in refusal(lambda: read_all(engine, mixed)).message
    assert "are partitioned by different keys" in refusal(lambda: read_all(engine, keys)).message
    assert "column 'a' has types that do not fit together" in refusal(lambda: read_all(engine, types)).message


def test_a_path_that_leads_nowhere_is_refused(engine: LocalEngine) -> None:
    """A missing file, and what cannot be a path at all."""
    assert "does not exist" in refusal(lambda: read_all(engine, "nowhere.csv")).message
    refusal(lambda: read_all(engine, "no\0where.csv"))


def test_a_file_that_cannot_be_written_leaves_nothing(engine: LocalEngine, tmp_path: Path) -> None:
    """No folder, or a disk that fills up: the message names the path, and no half file stays."""
    source = engine.scan(pa.table({"a": [PLANTED] * 9}), Policy())
    path = tmp_path / "out.parquet"
    for randomness in (None, Randomness.seeded(1)):
        gone = tmp_path / "gone" / "out.parquet"
        error = refusal(lambda: engine.write(source, gone, metadata={}, randomness=randomness), EngineError)  # noqa: B023
        assert f"cannot write {str(gone)!r}" in error.message
        with patch.object(pq.ParquetWriter, "write_table", side_effect=OSError(28, "No space left", PLANTED)):
            error = refusal(lambda: engine.write(source, path, metadata={}, randomness=randomness), EngineError)  # noqa: B023
        assert "No space left" in error.message
        assert list(tmp_path.iterdir()) == []


def test_failures_of_duckdb_are_not_passed_on(tmp_path: Path) -> None:
    """SQL's message about a cell is replaced, and the engine can count again."""
    import duckdb

    with patch("anonkit.engines.local.local_engine._CODES_IN_MEMORY", -1), LocalEngine() as engine:
        source = engine.scan(pa.table({"a": [PLANTED]}), Policy())
        for kind, words in (
            (duckdb.ConversionException, "counting rows failed"),
            (duckdb.OutOfMemoryException, "memory"),
        ):
            with patch("anonkit.engines.local.spilling_counts._read", side_effect=kind(PLANTED)):
                assert words in refusal(lambda: engine.class_sizes(source, ["a"], 1), EngineError).message
        assert engine.class_sizes(source, ["a"], 1).classes == 1


def test_a_closed_engine_says_so(tmp_path: Path) -> None:
    """A table that was in the engine's private files cannot be read after it was closed."""
    with patch("anonkit.engines.local.local_engine._IN_MEMORY", 16), LocalEngine() as engine:
        source = engine.scan(pa.table({"a": [PLANTED] * 999}), Policy())
    assert "private files cannot be read" in refusal(lambda: list(source.batches()), EngineError).message


def test_a_shield_passes_our_own_errors_and_programming_errors() -> None:
    """Only what libraries raise over data is replaced."""

    def fail(error: BaseException) -> Any:
        raise error

    ours = EngineError("ours")
    for kept in (ours, AssertionError("bug"), KeyboardInterrupt()):
        with pytest.raises(type(kept)) as caught:
            shielded(lambda: fail(kept), lambda _: SourceError("replaced"))  # noqa: B023
        assert caught.value is kept
    for kind in FOREIGN:
        with pytest.raises(SourceError, match="replaced") as refused:
            list(shielded_iterator(map(fail, [kind(PLANTED)]), lambda _: SourceError("replaced")))
        assert PLANTED not in shown(refused.value)


@pytest.mark.parametrize(
    ("foreign", "raised"),
    [
        (pa.ArrowMemoryError(PLANTED), MemoryError()),
        (OSError(errno.EMFILE, PLANTED), OSError(errno.EMFILE, os.strerror(errno.EMFILE))),
        (OSError(errno.ENOMEM, PLANTED, PLANTED), OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))),
        (
            pa.ArrowException(f"Unknown error: Failed to launch worker thread: {PLANTED}"),
            OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)),
        ),
    ],
)
def test_what_the_machine_lacks_is_no_fault_of_the_file(foreign: Exception, raised: Exception) -> None:
    """A file that could not be read for want of memory, threads or descriptors is not called damaged."""

    def fail() -> None:
        raise foreign

    with pytest.raises(type(raised)) as caught:
        shielded(fail, lambda _: SourceError("it is damaged"))
    assert caught.value.args == raised.args
    assert PLANTED not in shown(caught.value)


@pytest.mark.parametrize(
    ("cells", "kind", "advice"),
    [
        (pa.array([1], pa.decimal256(50, 2)), "decimal256", "cast it to decimal128 of up to 38 digits, or to float64"),
        (pa.array([pa.MonthDayNano([1, 2, 3])]), "month_day_nano_interval", "cast it to a duration, or"),
        (pa.array([b"0" * 16], pa.uuid()), "arrow.uuid", "cast it to text: str() of each value"),
        (pd.arrays.IntervalArray.from_tuples([(0, 1)]), "pandas.interval", r'cast it to text: frame["…"].astype(str)'),
        (pd.PeriodIndex(["2020-01"], freq="M"), "pandas.period", r'cast it to text: frame["…"].astype(str), or'),
    ],
)
def test_types_that_are_refused_say_what_to_cast_them_to(cells: Any, kind: str, advice: str) -> None:
    """By the name that their users know them by."""
    table = pa.table({"a": cells}) if isinstance(cells, pa.Array) else pd.DataFrame({"a": cells})
    with pytest.raises(SourceError) as refused:
        LocalEngine().scan(table, Policy())
    assert refused.value.message == f"column 'a' holds values of type {kind}"
    assert (refused.value.hint or "").startswith(advice)
