"""No name is a pattern: releases of odd names beside each other are killed, finished and read each by itself."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import anonkit
from anonkit.bundle import atomic
from anonkit.bundle.atomic import Staging, finish, recover
from anonkit.checks.disclosure import measure
from anonkit.checks.table_scans import columns_of

LETTERS = st.sampled_from("ab1[]*?!-{}~\\'\"$#%&; .,é\u202e\n")
STEMS = st.text(LETTERS, min_size=1, max_size=8).filter(lambda name: name.strip(".") and len(os.fsencode(name)) < 60)
NAMED = ["data[12]", "data1", "data*", "data?", "[!a]", "**", "data{1,2}", "~", "-f", "a\\[b", "k", "k.anonkit-1-aa"]


class _Killed(BaseException):
    """The process is gone at this moment."""


@contextlib.contextmanager
def _killed_at(stop: int) -> Iterator[None]:
    """Let the n-th rename, replacement or sync be the last thing that the process does."""
    calls, real = 0, {name: getattr(os, name) for name in ("replace", "rename", "fsync", "unlink")}

    def counted(name: str) -> Any:
        def call(*args: Any, **settings: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls > stop:
                raise _Killed
            return real[name](*args, **settings)

        return call

    with pytest.MonkeyPatch.context() as patched:
        for name in real:
            patched.setattr(os, name, counted(name))
        with contextlib.suppress(_Killed):
            yield


def _put(folder: Path, stem: str, content: str) -> None:
    staging = Staging(folder, stem)
    for suffix in (".parquet", ".params.json"):
        (staging.folder / f"{stem}{suffix}").write_text(content)
    staging.commit([f"{stem}.params.json", f"{stem}.parquet"], absent=[f"{stem}.signature.json"])


def _contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


@given(st.lists(STEMS | st.sampled_from(NAMED), min_size=2, max_size=2, unique=True), st.integers(0, 16))
@example(["data[12]", "data1"], 9)
@example(["data*", "data"], 9)
@example(["[!a]", "b"], 9)
@example(["k", "k.anonkit-1-aa"], 9)
@example(["k", "k.anonkit-1-0000000a"], 3)
def test_a_killed_change_is_finished_under_any_name_and_no_other_is_touched(stems: list[str], stop: int) -> None:
    """One generation is there after recovery, and what a neighbour with a similar name prepares stays."""
    killed, neighbour = stems
    with TemporaryDirectory() as made:
        folder = Path(made)
        _put(folder, killed, "old")
        (folder / f"{killed}.signature.json").write_text("old")
        beside = Staging(folder, neighbour)
        (beside.folder / "x").write_text("at work")
        at_work = set(atomic._OWN)
        with _killed_at(stop):
            _put(folder, killed, "new")
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(atomic, "_OWN", at_work)
            finish(folder, killed)
            recover(folder, killed)
        assert (beside.folder / "x").read_text() == "at work"
        beside.discard()
        old = {f"{killed}.{suffix}": "old" for suffix in ("parquet", "params.json", "signature.json")}
        new = {f"{killed}.{suffix}": "new" for suffix in ("parquet", "params.json")}
        assert _contents(folder) in (old, new)
        assert {path.name for path in folder.iterdir()} in (set(old), set(new))


@given(STEMS | st.sampled_from(NAMED))
@example("data[12]")
@example("a\\[b")
@example("~")
def test_a_table_is_counted_by_its_own_name(stem: str) -> None:
    """A name with brackets finds no other file: classes of a table are those of its file, and of a folder, too."""
    with TemporaryDirectory() as made:
        path = Path(made) / stem / f"{stem}.parquet"
        path.parent.mkdir()
        for other in ("data1", "data2", "a", "b", "aa", "x"):
            pq.write_table(pa.table({"other": [1]}), path.with_name(f"{other}.parquet"))
        pq.write_table(pa.table({"age": [1, 1, 2, 2, 2]}), path)
        assert columns_of(path) == ["age"]
        assert measure(path, ["age"]).k == 2
        folder = path.with_name(f"{stem}.folder.parquet")
        folder.mkdir()
        pq.write_table(pa.table({"age": [1, 1, 1]}), folder / "part-00000.parquet")
        assert measure(folder, ["age"]).k == 3


@pytest.mark.quick_cases("k.anonkit-1-aa", "-f")
@pytest.mark.parametrize("stem", NAMED)
def test_a_release_of_an_odd_name_is_made_replaced_and_validated(tmp_path: Path, stem: str) -> None:
    """From the command's first step to its last a name is a name."""
    table = pa.table({"age": [20, 20, 20, 30, 30, 30] * 5, "sex": ["f", "m"] * 15})
    for other in ("data1", "data2", "a", "b", "x"):
        pq.write_table(pa.table({"other": [1]}), tmp_path / f"{other}.parquet")
    output = tmp_path / f"{stem}.parquet"
    for _ in range(2):
        anonkit.release(table, method="mondrian", k=3, output=output, ledger=None, force=True)
        assert anonkit.validate(output).passed
    assert not [path.name for path in tmp_path.iterdir() if ".anonkit-" in path.name.removeprefix(f"{stem}")]
