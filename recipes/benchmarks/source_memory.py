"""Peak memory and time of reading sources that are copied first: CSV through standard input, a workbook at its limit.

Each source is written first and read in a process of its own, as `anonkit release` reads it: copied once, typed, and
passed over once. Run `python -m benchmarks.source_memory [ROWS]` from the folder `tests`; the workbook has Excel's
1,048,576 rows, and takes minutes to write.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import numpy as np

ROWS = 10_000_000
MOST_ROWS = 1_048_576
"""Of a sheet, the names of the columns among them."""
_NAMES = ("age", "zip", "sex", "hours", "score", "town", "born", "income")
_AT_ONCE = 200_000


def _text(rows: int, seed: int) -> str:
    random = np.random.default_rng(seed)
    age, zip_, hours = (
        random.integers(17, 91, rows),
        random.integers(10_000, 99_999, rows),
        random.integers(1, 99, rows),
    )
    score, town, year = random.random(rows), random.integers(0, 400, rows), random.integers(1930, 2005, rows)
    return "".join(
        f"{age[at]},{zip_[at]},{'fm'[at % 2]},{hours[at]},{score[at]:.6f},town {town[at]},{year[at]}-0{at % 9 + 1}-15,"
        f"{'low' if at % 3 else 'high'}\n"
        for at in range(rows)
    )


def write_csv(path: Path, rows: int) -> None:
    """Write a table as CSV, some rows at a time."""
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join(_NAMES) + "\n")
        block = _text(min(_AT_ONCE, rows), 0)
        for start in range(0, rows, _AT_ONCE):
            size = min(_AT_ONCE, rows - start)
            file.write(block if size == _AT_ONCE else _text(size, start))


def write_workbook(path: Path, rows: int) -> None:
    """Write a table of numbers, texts and days as a workbook, in constant memory."""
    import datetime

    import xlsxwriter

    with xlsxwriter.Workbook(str(path), {"constant_memory": True}) as book:
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        sheet = book.add_worksheet("People")
        sheet.write_row(0, 0, _NAMES)
        for at in range(1, rows):
            sheet.write_row(at, 0, (at % 73 + 17, at % 90_000 + 10_000, "fm"[at % 2], at % 98, at / 7))
            sheet.write_string(at, 5, f"town {at % 400}")
            sheet.write_datetime(at, 6, datetime.date(1930 + at % 75, at % 9 + 1, 15), day)
            sheet.write_string(at, 7, "low" if at % 3 else "high")


def own_peak() -> int:
    """Return the most memory that this program has held, in MB; `ru_maxrss` begins with what its parent had held."""
    found = re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text(encoding="utf-8"))
    assert found is not None
    return int(found[1]) // 1024


def read(place: str, form: str) -> dict[str, object]:
    """Read a source as a release does, and say what it took."""
    from anonkit.engines import open_engine
    from anonkit.engines.snapshots.addresses import source_at
    from anonkit.engines.snapshots.dispatch import snapshot
    from anonkit.policy.declaration import Policy

    begun = time.perf_counter()
    with closing(open_engine("local")) as engine, snapshot(source_at(place, format=form)) as stays:
        opened = stays.scan(engine, Policy())
        rows = sum(batch.num_rows for batch in opened.batches())
    return {
        "rows": rows,
        "seconds": round(time.perf_counter() - begun),
        "peak_mb": own_peak(),
    }


def main(rows: int) -> None:
    """Write both sources, read each in a process of its own, and show the figures."""
    with tempfile.TemporaryDirectory() as folder:
        for name, form, write, size in (
            ("in.csv", "csv", write_csv, rows),
            ("in.xlsx", "excel", write_workbook, min(rows, MOST_ROWS)),
        ):
            path = Path(folder) / name
            write(path, size)
            place = "-" if form == "csv" else str(path)
            with path.open("rb") as file:
                done = subprocess.run(
                    [sys.executable, "-m", "benchmarks.source_memory", "--read", place, form],
                    stdin=file,
                    capture_output=True,
                    check=True,
                )
            print(name, f"{path.stat().st_size >> 20} MiB", json.loads(done.stdout), flush=True)


if __name__ == "__main__":
    if "--read" in sys.argv:
        print(json.dumps(read(*sys.argv[2:4])))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
