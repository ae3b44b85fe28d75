"""Tables larger than memory: raw rows are in a private folder, for as long as they are needed."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonkit.engines import LocalEngine
from anonkit.errors import EngineError
from anonkit.policy.declaration import Policy
from anonkit.randomness import Randomness


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
