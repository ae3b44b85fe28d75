"""The memory of a reading process in the benchmarks of sources is its own, for any starting process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.source_memory import write_csv
from benchmarks.sources import read

HELD = 600 << 20


@pytest.mark.slow
def test_the_memory_of_a_reader_is_not_that_of_its_parent(tmp_path: Path) -> None:
    """A parent that holds 600 MB starts one that reads a few rows."""
    write_csv(tmp_path / "in.csv", 100)
    text = (tmp_path / "in.csv").read_text().replace("age,zip", "id,age")
    (tmp_path / "in.csv").write_text(text)
    held = bytearray(b"x") * HELD

    live = read(str(tmp_path / "in.csv"), tmp_path)["peak"]
    piped = subprocess.run(
        [sys.executable, "-c", "from benchmarks.source_memory import own_peak; print(own_peak())"],
        cwd=Path(__file__).parents[1] / "recipes", capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert len(held) == HELD
    assert live < 500
    assert int(piped.stdout) < 500
