"""Releases of dates, moments and times: k is counted, the next batch is recoded row by row, and Spark says the same."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.engines import Local, Spark
from anonkit.errors import GuaranteeError, PolicyError
from anonkit.policy.declaration import Policy

POLICY: dict[str, Any] = {
    "columns": {
        "born": {"type": "date", "format": "%d.%m.%Y", "levels": ["month", "quarter", "year", "decade"]},
        "came": {"type": "datetime", "zone": "Europe/Berlin", "levels": ["day", "month", "year"]},
        "clock": {"type": "time", "levels": ["hour", "part"]},
        "y": {"role": "target"},
    }
}
"""The owner's declaration of a text file."""
METHODS = ("rfka", "mondrian", "datafly", "incognito", "greedy-hamdist")


def rows(n_rows: int, first_year: int = 2009) -> pa.Table:
    """Texts as a German office writes them, some of them missing."""
    born = [date(first_year, 1, 1) + timedelta(days=9 * at) for at in range(n_rows)]
    came = [datetime(2021, 1, 1, 23, 30) + timedelta(hours=5 * at) for at in range(n_rows)]
    return pa.table(
        {
            "born": [None if day.day == 1 else f"{day:%d.%m.%Y}" for day in born],
            "came": [f"{moment.isoformat()}Z" for moment in came],
            "clock": [str(time(at % 24, at % 60)) for at in range(n_rows)],
            "y": ["old" if day.year < first_year + 5 else "young" for day in born],
        }
    )


def release(table: Any, method: str, path: Path, **asked: Any) -> anonkit.Release:
    """A release under the policy above."""
    limits = {} if method == "mondrian" else {"max_suppression": 0.1}
    policy = Policy.from_dict(asked.pop("policy", POLICY))
    kept = {"k": 8, "output": path, "ledger": None, **limits, **asked}
    return anonkit.release(table, method=method, policy=policy, **kept)


def smallest_class(path: Path) -> int:
    """The smallest group of rows of a file that share all but the target, counted here."""
    table = pq.read_table(path).drop_columns(["y"])
    return min(Counter(tuple(row.items()) for row in table.to_pylist()).values())


@pytest.mark.quick_cases("incognito")
@pytest.mark.parametrize("method", METHODS)
def test_dates_are_released_by_parts_of_the_calendar(method: str, tmp_path: Path) -> None:
    """k rows share every combination in the file, the release validates, and no finer date is left in any file."""
    path = tmp_path / "out.parquet"
    pcsv.write_csv(rows(500), tmp_path / "in.csv")
    release(tmp_path / "in.csv", method, path)
    assert smallest_class(path) >= 8
    assert anonkit.validate(path).passed
    told = "".join(file.read_text() for file in tmp_path.glob("out.*.json"))
    assert "10.01.2009" not in told
    assert "2009-01-10" not in told


@pytest.mark.quick_cases("rfka")
@pytest.mark.parametrize("method", ["rfka", "mondrian", "datafly"])
def test_the_next_batch_is_recoded_though_its_dates_are_others(method: str, tmp_path: Path) -> None:
    """Years before and after those of the first batch, the years 1 and 9999: never a failure, never a finer part."""
    release(rows(500), method, tmp_path / "a.parquet")
    for first_year in (1, 1899, 2015, 9970):
        table = rows(400, first_year) if first_year > 999 else rows(400, 1900)
        if first_year == 1:
            table = table.set_column(0, "born", pa.array(["01.02.0001"] * 200 + ["31.12.9999"] * 200))
        out = tmp_path / f"{first_year}.parquet"
        anonkit.apply(tmp_path / "a.params.json", table, output=out, max_suppression=0.9, ledger=None)
        assert smallest_class(out) >= 8
        assert anonkit.validate(out).passed


def test_what_one_row_shows_does_not_depend_on_the_others(tmp_path: Path) -> None:
    """Published labels are a function of the row: the same rows, applied alone or beside others, show the same."""
    first = release(rows(500), "datafly", tmp_path / "a.parquet")
    recoding = anonkit.load(tmp_path / "a.parquet").params["recoding"]
    assert recoding["kind"] == "global"
    twice = pa.concat_tables([rows(500), rows(500)])
    again = anonkit.apply(tmp_path / "a.params.json", twice, output=tmp_path / "b.parquet", ledger=None).to_arrow()
    once = Counter(map(str, first.to_arrow().to_pylist()))
    assert {row: n // 2 for row, n in Counter(map(str, again.to_pylist())).items()}.keys() >= once.keys()


def test_what_cannot_be_read_refuses_the_table_or_is_missing(tmp_path: Path) -> None:
    """As declared, or more than one in twenty; the refusal counts cells and quotes none."""
    table = rows(200)
    torn = table.set_column(0, "born", pa.array(["31.02.2010", "03/04/2010", *table["born"].to_pylist()[2:]]))
    for given, kind, counts in (("refuse", PolicyError, "2 cells"), (None, GuaranteeError, "200 of 200 cells")):
        told = torn if given else table.set_column(0, "born", pa.array(["31.02.2010"] * 200))
        born = {**POLICY["columns"]["born"], **({"outside": given} if given else {})}
        with pytest.raises(kind, match=f"'born' has {counts} that are no date") as refused:
            release(told, "rfka", tmp_path / "a.parquet", policy={"columns": {**POLICY["columns"], "born": born}})
        assert "31.02" not in str(refused.value)
    release(torn, "rfka", tmp_path / "accepted.parquet")
    born = {**POLICY["columns"]["born"], "outside": "missing"}
    policy = {"columns": {**POLICY["columns"], "born": born}}
    release(torn, "rfka", tmp_path / "a.parquet", policy=policy)
    assert anonkit.validate(tmp_path / "a.parquet").passed


def test_a_column_of_another_type_is_refused_without_a_look_at_its_cells(tmp_path: Path) -> None:
    """A day is no time of day."""
    policy = {"columns": {"born": {"type": "time"}, "y": {"role": "target"}}}
    with pytest.raises(PolicyError, match="declared a time but its cells are of another type"):
        release(
            pa.table({"born": [date(2020, 1, 1)] * 9, "y": ["a"] * 9}), "rfka", tmp_path / "a.parquet", policy=policy
        )


@pytest.mark.slow
def test_bounds_clamp_dates_as_they_clamp_numbers(tmp_path: Path) -> None:
    """The year 9999 that means missing is the last year of the bounds; `missing_values` makes it missing."""
    days = [date(9999, 12, 31)] * 30 + [date(2019, 5, at % 28 + 1) for at in range(60)] + [date(1800, 1, 1)] * 30
    table = pa.table({"born": days, "y": ["a", "b"] * 60})
    spec = {"type": "date", "levels": ["year"], "bounds": ["2018-01-01", "2021-12-31"], "outside": "clamp"}
    shown = {}
    for name, extra in (("clamped", {}), ("missing", {"missing_values": ["9999-12-31"]})):
        policy = {"columns": {"born": spec, "y": {"role": "target"}}, **extra}
        out = release(table, "datafly", tmp_path / f"{name}.parquet", policy=policy).to_arrow()
        shown[name] = set(out["born"].to_pylist())
    assert shown == {"clamped": {"2018", "2019", "2021"}, "missing": {"2018", "2019", None}}


@pytest.mark.quick_cases("kind1")
@pytest.mark.parametrize("kind", [pa.timestamp("ns"), pa.timestamp("us", "America/New_York"), pa.date64()])
def test_typed_columns_are_taken_as_the_texts_they_would_be(kind: pa.DataType, tmp_path: Path) -> None:
    """Parquet's moments of any unit and zone, and its days, by the same rule; nanoseconds are no refusal."""
    moments = [datetime(2020, 1, 1) + timedelta(days=at) for at in range(200)]
    values = pa.array(moments, pa.timestamp("us", "UTC")).cast(pa.timestamp("us")).cast(pa.int64())
    if kind == pa.date64():
        array = values.cast(pa.timestamp("us")).cast(pa.date32()).cast(kind)
    else:
        array = pa.array([v.as_py() * (1000 if kind.unit == "ns" else 1) + 1 for v in values], pa.int64()).cast(kind)
    pq.write_table(pa.table({"came": array, "y": ["a", "b"] * 100}), tmp_path / "in.parquet")
    spec = {"type": "datetime", "levels": ["month"]}
    policy = {"columns": {"came": spec, "y": {"role": "target"}}}
    out = release(tmp_path / "in.parquet", "datafly", tmp_path / "a.parquet", policy=policy)
    assert set(out.to_arrow()["came"].to_pylist()) == {f"2020-{month:02}" for month in range(1, 8)}


@pytest.mark.slow
def test_spark_gives_the_same_release(spark: Any, tmp_path: Path) -> None:
    """The same batch functions read the same cells on executors."""
    pcsv.write_csv(rows(300), tmp_path / "in.csv")
    params = []
    for engine in ("local", "spark"):
        out = tmp_path / f"{engine}.parquet"
        chosen = Spark() if engine == "spark" else Local()
        release(tmp_path / "in.csv", "mondrian", out, engine=chosen)
        params.append(json.loads((tmp_path / f"{engine}.params.json").read_text())["recoding"])
        assert smallest_class(out) >= 8
    assert params[0] == params[1]
    shown = [sorted(map(str, pq.read_table(tmp_path / f"{name}.parquet").to_pylist())) for name in ("local", "spark")]
    assert shown[0] == shown[1]
