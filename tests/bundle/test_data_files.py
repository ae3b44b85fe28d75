"""The processes that read the files of a folder of data, and the division of the files among them.

The data of a release, in one file or in a folder of them.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from part_workers import Elsewhere

import anonkit
from anonkit.bundle import data_files
from anonkit.bundle.data_files import (
    count_rows,
    digest,
    digests_of,
    each_part,
    file_digest,
    is_data_folder,
    iter_batches,
    outline_of,
    parts_of,
    read_by,
    read_rows,
    read_schema,
    runs_of,
    workers_for,
    workers_of,
)
from anonkit.bundle.release_place import Place
from anonkit.checks.validation import validate
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import ParameterError

N, PART = 1_000, 300


def _release(
    output: Path, method: str = "ppnb", *, part_rows: int | None = PART, force: bool = False
) -> anonkit.Release:
    given = {"ppnb": {"p_keep": 0.5}, "mondrian": {"k": 5}, "dp-forest": {"epsilon": 2.0}}[method]
    return anonkit.release(
        bank_customers(N, seed=1),
        method=method,
        policy=bank_customers_policy(),
        output=output,
        part_rows=part_rows,
        seed=3,
        ledger=None,
        force=force,
        **given,
    )


def _failed(path: Path) -> set[str]:
    return {check.name for check in validate(path).checks if not check.passed}


@pytest.mark.quick_cases("ppnb")
@pytest.mark.parametrize("method", ["ppnb", "mondrian", "dp-forest"])
def test_a_folder_holds_the_rows_of_the_file_in_its_order(method: str, tmp_path: Path) -> None:
    """Under one seed: the same table, whatever it is cut into; everything reads it."""
    whole = _release(tmp_path / "whole.parquet", method, part_rows=None)
    parted = _release(tmp_path / "parted.parquet", method)
    folder = tmp_path / "parted.parquet"

    assert parted.to_arrow().equals(whole.to_arrow())
    assert parted.to_arrow().schema == whole.to_arrow().schema
    n_rows = whole.to_arrow().num_rows
    assert [count_rows(part) for part in parts_of(folder)] == [300] * (n_rows // 300) + [n_rows % 300]
    assert pq.read_table(folder).num_rows == n_rows
    assert _failed(folder) == _failed(tmp_path / "whole.parquet") == {"randomness"}
    assert anonkit.load(folder).place == anonkit.load(f"{folder}/").place == Place.of(folder)
    assert read_schema(folder).metadata == read_schema(parts_of(folder)[-1]).metadata


def test_the_digest_is_what_common_tools_print(tmp_path: Path) -> None:
    """SHA-256 of the lines of sha256sum; the descriptor names it and every file."""
    _release(tmp_path / "x.parquet")
    folder = tmp_path / "x.parquet"
    command = "sha256sum *.parquet | sha256sum"
    said = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, check=True).stdout
    assert said.split()[0] == digest(folder)
    (data,) = [
        one for one in json.loads((tmp_path / "x.datapackage.json").read_text())["resources"] if one["name"] == "data"
    ]
    assert data["hash"] == f"sha256:{digest(folder)}"
    assert data["path"] == [f"x.parquet/part-{at:05d}.parquet" for at in range(4)]


@pytest.mark.parametrize("change", ["changed", "gone", "added", "added below"])
def test_a_changed_folder_does_not_validate(change: str, tmp_path: Path) -> None:
    """A part that was changed, taken away or added is seen."""
    _release(tmp_path / "x.parquet")
    folder = tmp_path / "x.parquet"
    part = parts_of(folder)[1]
    if change == "changed":
        pq.write_table(pq.read_table(part, partitioning=None).slice(1), part)
    elif change == "gone":
        part.unlink()
    elif change == "added":
        shutil.copy(part, folder / "more.parquet")
    else:
        (folder / "k=1").mkdir()
        shutil.copy(part, folder / "k=1" / "0.parquet")
    assert "hash:data" in _failed(folder)


@pytest.mark.slow
def test_a_file_and_a_folder_replace_each_other(tmp_path: Path) -> None:
    """With --force: nothing of the old release is left, and nothing beside the new one."""
    output = tmp_path / "x.parquet"
    for part_rows in (None, PART, 400, None, PART):
        release = _release(output, part_rows=part_rows, force=True)
        assert release.to_arrow().num_rows == N
        assert is_data_folder(output) == (part_rows is not None)
        assert len(parts_of(output)) == (1 if part_rows is None else -(-N // part_rows))
        assert _failed(output) == {"randomness"}
    with pytest.raises(ParameterError, match="exists"):
        _release(output)
    assert sorted(path.suffixes[-1] for path in tmp_path.iterdir()) == [".html", ".json", ".json", ".json", ".parquet"]


def test_a_folder_is_copied_whole(tmp_path: Path) -> None:
    """`save` under another name: the descriptor names the new files."""
    copy = _release(tmp_path / "x.parquet").save(tmp_path / "to" / "y.parquet")
    assert copy.to_arrow().num_rows == N
    assert _failed(tmp_path / "to" / "y.parquet") == {"randomness"}
    assert '"y.parquet/part-00003.parquet"' in (tmp_path / "to" / "y.datapackage.json").read_text()


@pytest.mark.filterwarnings("ignore::anonkit.consumers.naive_bayes.ReconstructionWarning")
def test_consumers_read_a_folder(tmp_path: Path) -> None:
    """A reconstructed model is that of the file."""
    from anonkit.consumers.naive_bayes import NaiveBayes

    models = []
    for name, part_rows in (("whole", None), ("parted", PART)):
        _release(tmp_path / f"{name}.parquet", part_rows=part_rows)
        models.append(NaiveBayes.from_release(tmp_path / f"{name}.parquet"))
    table = bank_customers(50, seed=2)
    one, other = (model.predict_proba(table) for model in models)
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_a_release_without_rows_is_a_folder_too(tmp_path: Path) -> None:
    """The folder has one file, with names and types."""
    anonkit.release(
        bank_customers(10, seed=1).slice(0, 0),
        method="ppnb",
        p_keep=0.5,
        policy=bank_customers_policy(),
        output=tmp_path / "x.parquet",
        part_rows=5,
        ledger=None,
    )
    assert [path.name for path in parts_of(tmp_path / "x.parquet")] == ["part-00000.parquet"]
    assert read_rows(tmp_path / "x.parquet").num_rows == 0
    assert list(iter_batches(tmp_path / "x.parquet", batch_rows=10)) == []


def test_parts_need_a_place_and_rows() -> None:
    """A release in memory is one file; a part holds a row at least."""
    table = pa.table({"a": ["x"] * 20})
    for part_rows, why in ((10, "in memory is one file"), (0, "must be an integer in")):
        with pytest.raises(ParameterError, match=why):
            anonkit.release(table, k=5, part_rows=part_rows)


@pytest.mark.slow
def test_batches_of_a_wide_table_have_fewer_rows(tmp_path: Path) -> None:
    """A reader of a release holds a bounded number of cells; all rows come, and narrow tables are read as before."""
    for columns, most in ((64, 1 << 16), (600, (1 << 22) // 600)):
        table = pa.table({f"c{at}": np.zeros(66_000, dtype=np.int8) for at in range(columns)})
        pq.write_table(table, tmp_path / "x.parquet")
        sizes = [batch.num_rows for batch in iter_batches(tmp_path / "x.parquet", batch_rows=1 << 16)]
        assert (max(sizes), sum(sizes)) == (most, 66_000)


def test_a_block_opens_a_file_once_for_hash_footer_and_rows(tmp_path: Path) -> None:
    """Even where it is gone after the first of them; more files than may be open are opened anew."""
    paths = [tmp_path / f"{at}.parquet" for at in range(data_files._MOST_OPEN + 1)]
    for at, path in enumerate(paths):
        pq.write_table(pa.table({"x": [at]}), path)
    expected = [data_files.file_digest(path) for path in paths]

    with data_files.opened_once(), data_files.opened_once():
        assert [data_files.file_digest(path) for path in paths] == expected
        assert [data_files.count_rows(path) for path in paths] == [1] * len(paths)
        paths[0].unlink()
        assert data_files.read_schema(paths[0]).names == ["x"]
        assert [batch.to_pydict() for batch in data_files.iter_batches(paths[0], batch_rows=9)] == [{"x": [0]}]
        assert data_files.file_digest(paths[0]) == expected[0]

    with pytest.raises(FileNotFoundError):
        data_files.read_schema(paths[0])


def test_an_outline_has_the_footer_and_no_row(tmp_path: Path) -> None:
    """Schema, rows and size are those of the file; whoever reads a row fails, and finds no empty table."""
    whole, hollow = tmp_path / "whole.parquet", tmp_path / "hollow.parquet"
    pq.write_table(pa.table({"id": range(1_000), "name": [f"secret {at}" for at in range(1_000)]}), whole)
    outline = outline_of(whole)
    outline.write(hollow)
    assert outline.sha256 == file_digest(whole)
    assert hollow.stat().st_size == whole.stat().st_size
    assert pq.read_schema(hollow).equals(pq.read_schema(whole))
    assert pq.read_metadata(hollow).num_rows == 1_000
    with pytest.raises((OSError, pa.ArrowException)):
        pq.read_table(hollow)
    with pytest.raises(FileExistsError):
        outline.write(whole)


@pytest.mark.parametrize("n_parts", [1, 2, 5, 7])
@pytest.mark.parametrize("runs", [1, 2, 3, 10])
def test_runs_are_neighbours_nearly_equal_in_number(n_parts: int, runs: int) -> None:
    """Every file is in one run, in order; none is empty."""
    parts = [Path(str(at)) for at in range(n_parts)]
    divided = runs_of(parts, runs)

    assert [part for run in divided for part in run] == parts
    sizes = [len(run) for run in divided]
    assert len(sizes) == min(n_parts, runs)
    assert max(sizes) - min(sizes) <= 1


def test_workers_read_while_they_are_requested_to(tmp_path: Path) -> None:
    """Several files, and nothing before or after, whatever happens."""
    parts = [tmp_path / "a", tmp_path / "b"]
    workers = Elsewhere()
    with read_by(workers):
        assert workers_for(parts) is workers
        assert workers_for(parts[:1]) is None
        with read_by(None):
            assert each_part(str, parts) == [str(part) for part in parts]
        assert workers.calls == []
        assert each_part(str, parts) == [str(part) for part in parts]
        assert workers.calls == [2]
    assert workers_for(parts) is None


def test_a_failure_ends_the_reading_of_workers() -> None:
    """Nobody reads any more when the requested data was not had."""
    with pytest.raises(KeyError), read_by(Elsewhere()):
        raise KeyError
    assert workers_for([Path("a"), Path("b")]) is None


def test_only_an_engine_with_workers_has_some() -> None:
    """An engine of any other kind has no workers."""

    class Engine:
        workers = Elsewhere()

        def shared_folder(self) -> Path:
            raise AssertionError("nobody asks")

    assert workers_of(Engine()) is Engine.workers
    assert workers_of(object()) is None


def test_hashes_are_those_of_one_machine(tmp_path: Path) -> None:
    """Of a folder as a whole, and of its files by name; files beside it are read here."""
    data = tmp_path / "out.parquet"
    data.mkdir()
    for at in range(3):
        (data / f"part-{at:05d}.parquet").write_bytes(bytes([at]))
    (tmp_path / "out.report.json").write_bytes(b"{}")
    files = {path.name: path for path in (*sorted(data.iterdir()), tmp_path / "out.report.json")}
    workers = Elsewhere()
    with read_by(workers):
        by_name = digests_of(files)
        together = digest(data)
    assert by_name == {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
    assert workers.calls == [3, 3]
    assert together == digest(data)
