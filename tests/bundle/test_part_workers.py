"""The processes that read the files of a folder of data, and the division of the files among them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from part_workers import Elsewhere

from anonkit.bundle.data_files import digest, digests_of
from anonkit.bundle.part_workers import each_part, read_by, runs_of, workers_for, workers_of


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
