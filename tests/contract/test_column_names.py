"""A column may have any name: also those that counting needs for itself."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import anonkit

N = 120
CELLS = {
    "q": [at % 7 for at in range(N)],
    "r": ["abcde"[at * at % 5] for at in range(N)],
    "s": ["xyz"[at % 3] for at in range(N)],
    "t": ["no" if at % 4 else "yes" for at in range(N)],
    "u": [f"p{at // 2}" for at in range(N)],
}
NAMES = ("count", "n", "class", "rows", "size", "people", "set")


@pytest.mark.quick_cases("mondrian-rows")
@pytest.mark.parametrize("unit", [False, True], ids=["rows", "people"])
@pytest.mark.parametrize("method", ["mondrian", "rfka"])
def test_a_release_does_not_depend_on_what_columns_are_called(method: str, unit: bool, tmp_path: Path) -> None:
    """Each name in each role: the cells, rows and promise of the release are those of any other name."""

    def released(called: dict[str, str], out: Path) -> list[dict[str, object]]:
        table = pa.table({called[name]: cells for name, cells in CELLS.items()})
        whose = {"unit": called["u"]} if unit else {"identifiers": [called["u"]]}
        asked = {"k": 3, "l": 2}
        made = anonkit.release(
            table, method=method, target=called["t"], sensitive=[called["s"]], output=out, seed=3, ledger=None,
            utility=False, **whose, **asked,
        )  # fmt: skip
        role = {name: part for part, name in called.items()}
        rows = [{role[name]: cell for name, cell in row.items()} for row in made.to_arrow().to_pylist()]
        return sorted(rows, key=lambda row: str([row.get(part) for part in CELLS]))

    plain = released({name: f"my {name}" for name in CELLS}, tmp_path / "plain.parquet")
    order = list(CELLS)
    for turn in range(len(order)):
        called = {name: NAMES[(at + turn) % len(NAMES)] for at, name in enumerate(order)}
        assert released(called, tmp_path / f"{turn}.parquet") == plain, called
