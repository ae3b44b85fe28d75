"""The share of a column that may lie outside its domain under k-anonymity: every source, method and next batch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.errors import GuaranteeError, PolicyError
from anonkit.policy.column_declarations import Column, Outside
from anonkit.policy.declaration import Policy

N = 200
ALLOWED = N // 20
DECLARED = {
    "bounds": "age = { bounds = [0, 99] }",
    "categories": 'age = { categories = ["1", "2", "3", "4"] }',
    "tree": 'age = { tree = [["1", "odd"], ["2", "even"], ["3", "odd"], ["4", "even"]] }',
    "dates": 'age = { type = "date", format = "%d.%m.%Y" }',
    "dates within bounds": 'age = { type = "date", format = "%d.%m.%Y", bounds = ["2000-01-01", "2020-12-31"] }',
}
GOOD = {
    "bounds": ["1", "20", "30", "40"],
    "categories": ["1", "2", "3", "4"],
    "tree": ["1", "2", "3", "4"],
    "dates": ["01.02.2003", "02.02.2003", "03.02.2003", "04.02.2003"],
    "dates within bounds": ["01.02.2003", "02.02.2003", "03.02.2003", "04.02.2003"],
}
BAD = {
    "bounds": ["500", "many"],
    "categories": ["9", "many"],
    "tree": ["9"],
    "dates": ["2003-02-01"],
    "dates within bounds": ["01.02.1999", "2003-02-01"],
}
CASES = [(kind, bad) for kind, cells in BAD.items() for bad in cells]


def _cells(kind: str, bad: str, n_bad: int) -> list[str]:
    good = GOOD[kind]
    return [bad] * n_bad + [good[at % len(good)] for at in range(N - n_bad)]


def _policy(folder: Path, column: str) -> Path:
    path = folder / "policy.toml"
    path.write_text(f'[columns]\n{column}\npay = {{ role = "insensitive" }}\n', encoding="utf-8")
    return path


def _frame(cells: list[str]) -> dict[str, list[str]]:
    return {"age": cells, "pay": ["low", "high"] * (len(cells) // 2)}


def _csv(cells: list[str], folder: Path) -> Path:
    pd.DataFrame(_frame(cells)).to_csv(folder / "in.csv", index=False)
    return folder / "in.csv"


def _json_lines(cells: list[str], folder: Path) -> Path:
    pd.DataFrame(_frame(cells)).to_json(folder / "in.jsonl", orient="records", lines=True)
    return folder / "in.jsonl"


def _parquet(cells: list[str], folder: Path) -> Path:
    pq.write_table(pa.table(_frame(cells)), folder / "in.parquet")
    return folder / "in.parquet"


def _stored(cells: list[str], folder: Path) -> str:
    frame = pd.DataFrame(_frame(cells))
    with contextlib.closing(duckdb.connect(str(folder / "in.duckdb"))) as base:
        base.register("frame", frame)
        base.execute("CREATE TABLE people AS SELECT * FROM frame")
    return f"duckdb:///{folder / 'in.duckdb'}?table=people"


SOURCES: dict[str, Callable[[list[str], Path], Any]] = {
    "CSV": _csv,
    "JSON Lines": _json_lines,
    "Parquet": _parquet,
    "pandas": lambda cells, folder: pd.DataFrame(_frame(cells)),
    "pandas category": lambda cells, folder: pd.DataFrame(_frame(cells)).astype({"age": "category"}),
    "DuckDB": _stored,
}


def _released(source: Any, policy: Path, **given: Any) -> anonkit.Release:
    return anonkit.release(
        source, **{"method": "mondrian", "k": 2, "policy": policy, "seed": 1, "ledger": None, "utility": False, **given}
    )


LIGHT = [("CSV", *case) for case in CASES] + [(source, "bounds", "many") for source in SOURCES if source != "CSV"]
ALL = [(source, *case) for case in CASES for source in SOURCES]


@pytest.mark.quick_cases(
    "CSV-bounds-many", "CSV-categories-9", "CSV-dates-2003-02-01", "CSV-tree-9", "JSON Lines-*", "pandas category-*"
)
@pytest.mark.parametrize(
    ("source", "kind", "bad"), [pytest.param(*one, marks=() if one in LIGHT else pytest.mark.slow) for one in ALL]
)
def test_more_than_the_accepted_share_refuses_the_table(source: str, kind: str, bad: str, tmp_path: Path) -> None:
    """One in twenty is read as declared, and one cell more is refused with the counts and the remedy, never a cell."""
    policy = _policy(tmp_path, DECLARED[kind])
    made = _released(SOURCES[source](_cells(kind, bad, ALLOWED), tmp_path), policy)
    assert made.owner["cells_not_as_declared"] == {"age": {"outside": ALLOWED}}
    with contextlib.suppress(FileNotFoundError):
        (tmp_path / "in.duckdb").unlink()
    with pytest.raises(GuaranteeError, match=rf"column 'age' has {ALLOWED + 1} of {N} cells") as caught:
        _released(SOURCES[source](_cells(kind, bad, ALLOWED + 1), tmp_path), policy)
    assert (caught.value.exit_code, bad in str(caught.value)) == (1, False)
    assert 'outside = "' in str(caught.value.hint)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "bad"), CASES)
def test_spark_refuses_the_same(kind: str, bad: str, spark: Any, tmp_path: Path) -> None:
    """A file that Spark reads."""
    policy = _policy(tmp_path, DECLARED[kind])
    _released(_parquet(_cells(kind, bad, ALLOWED), tmp_path), policy, engine="spark")
    with pytest.raises(GuaranteeError, match=f"{ALLOWED + 1} of {N} cells"):
        _released(_parquet(_cells(kind, bad, ALLOWED + 1), tmp_path), policy, engine="spark")


@pytest.mark.parametrize("method", ["rfka", "datafly", "incognito", "mdav"])
def test_every_method_refuses_it(method: str, tmp_path: Path) -> None:
    """It is the table that is refused, before any method sees it."""
    with pytest.raises(GuaranteeError, match="11 of 200 cells outside its declared bounds"):
        _released(_csv(_cells("bounds", "500", 11), tmp_path), _policy(tmp_path, DECLARED["bounds"]), method=method)


@pytest.mark.quick_cases("*clamp*")
@pytest.mark.parametrize("said", ['outside = "clamp"', 'outside = "missing"', "accept_outside = 1"])
def test_the_column_may_say_that_all_are_read_so(said: str, tmp_path: Path) -> None:
    """Then no share is too large; the next batch is read alike."""
    policy = _policy(tmp_path, f"age = {{ bounds = [0, 99], {said} }}")
    source = _csv(_cells("bounds", "500", N // 2), tmp_path)
    made = _released(source, policy, output=tmp_path / "out.parquet")
    assert made.owner["cells_not_as_declared"] == {"age": {"outside": N // 2}}
    again = anonkit.apply(tmp_path / "out.parquet", source, ledger=None, seed=1)
    assert again.report["rows"]["out"] == N


@pytest.mark.slow
def test_the_next_batch_has_the_same_limit(tmp_path: Path) -> None:
    """Read by the params of the release; the share that the column declares goes with them."""
    policy = _policy(tmp_path, "age = { bounds = [0, 99], accept_outside = 0.1 }")
    made = _released(_csv(_cells("bounds", "500", 20), tmp_path), policy, output=tmp_path / "out.parquet")
    assert made.params["columns"][0]["accept_outside"] == 0.1
    anonkit.apply(tmp_path / "out.parquet", _csv(_cells("bounds", "500", 20), tmp_path), ledger=None, seed=1)
    with pytest.raises(GuaranteeError, match="21 of 200 cells"):
        anonkit.apply(tmp_path / "out.parquet", _csv(_cells("bounds", "500", 21), tmp_path), ledger=None, seed=1)


def test_a_class_that_is_not_declared_is_missing(tmp_path: Path) -> None:
    """Of numbers too, in a column that is released as it is."""
    policy = Policy(
        columns={"age": Column(name="age"), "pay": Column(name="pay", role="target", categories=("0", "1"))}
    )
    table = pa.table({"age": np.arange(N) % 4, "pay": [7, *([0, 1] * (N // 2))[1:]]})
    made = _released(table, policy)  # type: ignore[arg-type]
    assert sorted(map(str, set(made.to_arrow().column("pay").to_pylist()))) == ["0", "1", "None"]


def test_a_refusal_that_is_declared_stays_one(tmp_path: Path) -> None:
    """One cell is enough, and it is the policy's."""
    for kind in ("bounds", "categories"):
        policy = _policy(tmp_path, DECLARED[kind].replace(" }", ', outside = "refuse" }'))
        with pytest.raises(PolicyError, match="column 'age' has 1 cells outside"):
            _released(_csv(_cells(kind, BAD[kind][0], 1), tmp_path), policy)


@given(st.integers(1, 40), st.integers(0, 40), st.floats(0, 1))
def test_the_share_is_of_the_filled_cells(n_good: int, n_bad: int, share: float) -> None:
    """Missing cells are no evidence for a declaration."""
    policy = Policy(columns={"age": Column(name="age", bounds=(0, 9), accept_outside=share)})
    n_rows = n_good + n_bad + 50
    table = pa.table({"age": [5] * n_good + [99] * n_bad + [None] * 50})
    accepted = n_bad / (n_good + n_bad) <= share
    outcome: type[Exception] | None = None
    try:
        assert _released(table, policy).report["rows"]["in"] == n_rows  # type: ignore[arg-type]
    except GuaranteeError as refused:
        outcome = type(refused) if "that are accepted" in str(refused) else None
    assert (outcome is None) == accepted


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"bounds": (0, 9), "accept_outside": 2}, "from 0 to 1"),
        ({"bounds": (0, 9), "accept_outside": True}, "from 0 to 1"),
        ({"bounds": (0, 9), "accept_outside": "5 %"}, "from 0 to 1"),
        ({"bounds": (0, 9), "accept_outside": 0.1, "outside": Outside.CLAMP}, "exclude each other"),
        ({"accept_outside": 0.1}, "needs declared categories or bounds"),
    ],
)
def test_what_says_nothing_is_refused(given: dict[str, Any], why: str) -> None:
    """When the policy is read."""
    with pytest.raises(PolicyError, match=why):
        Column(name="age", **given)


def test_the_limit_is_on_places_too() -> None:
    """Pairs of coordinates beyond the box; what is no coordinate refuses the table, as ever."""
    home = {"latitude": "lat", "longitude": "lon", "box": [48.0, 11.0, 49.0, 12.0]}
    policy = Policy.from_dict({"columns": {"pay": {"role": "insensitive"}}, "places": {"home": home}})

    def table(n_bad: int) -> pa.Table:
        latitudes = [60.0] * n_bad + [48.1] * (N - n_bad)
        return pa.table({"lat": latitudes, "lon": [11.5] * N, "pay": ["low", "high"] * (N // 2)})

    made = _released(table(ALLOWED), policy)  # type: ignore[arg-type]
    assert made.owner["cells_not_as_declared"] == {"home": {"outside": ALLOWED}}
    with pytest.raises(GuaranteeError, match=f"place 'home' has {ALLOWED + 1} of {N} pairs of coordinates beyond"):
        _released(table(ALLOWED + 1), policy)  # type: ignore[arg-type]
