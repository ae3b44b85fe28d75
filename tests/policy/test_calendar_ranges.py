"""Dates whose domain a table gives: bounds at the ends of months and years that enough people reach."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.auditing.epsilon_audit import lower_bound
from anonkit.domains.calendar_parts import CalendarKind
from anonkit.dp_trees.release.private_domains import DeltaMethod
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.errors import PolicyError
from anonkit.methods import make_method
from anonkit.policy.calendar_columns import Calendar
from anonkit.policy.calendar_ranges import within_days
from anonkit.policy.column_declarations import Column
from anonkit.policy.declaration import Policy
from anonkit.randomness import Randomness
from anonkit.report.lost_cells import lost_cells

N = 1_500
FIRST = date(2019, 1, 9)
TARGET = {"y": {"role": "target", "categories": ["no", "yes"]}}


def visits(spread: int = 1_400, odd: tuple[date, ...] = ()) -> list[date]:
    """Days without a common one, and some far away."""
    days = [FIRST + timedelta(days=int(day)) for day in np.random.default_rng(3).integers(0, spread, N - len(odd))]
    return [*days, *odd]


def table(days: list[Any]) -> pa.Table:
    """Rows with a date of the column's own type."""
    rng = np.random.default_rng(4)
    return pa.table({"day": days, "job": rng.choice(["a", "b"], N), "y": rng.choice(["no", "yes"], N)})


def as_csv(rows: pa.Table, folder: Path) -> Path:
    """Write CSV, whose columns have no types."""
    pc.write_csv(rows, folder / "in.csv")
    return folder / "in.csv"


def as_parquet(rows: pa.Table, folder: Path) -> Path:
    """Write Parquet."""
    pq.write_table(rows, folder / "in.parquet")
    return folder / "in.parquet"


def moments(rows: pa.Table) -> pa.Table:
    """Give each day a time."""
    at = [datetime(one.year, one.month, one.day, 9, 30) for one in rows.column("day").to_pylist()]
    return rows.set_column(0, "day", pa.array(at))


SOURCES: dict[str, tuple[Any, dict[str, Any]]] = {
    "arrow": (lambda rows, folder: rows, {}),
    "moments": (lambda rows, folder: moments(rows), {}),
    "pandas": (lambda rows, folder: moments(rows).to_pandas(), {}),
    "parquet": (as_parquet, {}),
    "csv, declared": (as_csv, {"day": {"type": "date"}}),
    "csv": (as_csv, {}),
}


@pytest.mark.quick_cases("csv", "parquet", "pandas")
@pytest.mark.parametrize("source", SOURCES)
def test_dates_of_every_source_get_months_that_enough_people_reach(source: str, tmp_path: Path) -> None:
    """No date is missing, where all were: no day has ten people. Ten are in the outermost months, or beyond."""
    odd = (date(1901, 1, 1), *[date(2031, 12, 24)] * 3)
    write, columns = SOURCES[source]
    policy = Policy.from_dict({"columns": {**TARGET, **columns}})
    release = anonkit.release(
        write(table(visits(odd=odd)), tmp_path), method="dp-nb", policy=policy, epsilon=4.0, domains_from_data=True,
        ledger=None, seed=1,
    )  # fmt: skip
    shown = release.to_pandas()["day"]
    assert shown.isna().mean() < 0.01
    bounds = release.params["binned"]["day"]["calendar"]["bounds"]
    assert [bound[:10] for bound in bounds] == ["2019-01-01", "2022-11-30"]
    days = visits(odd=odd)
    assert sum(day <= date(2019, 1, 31) for day in days) >= 10
    assert sum(day >= date(2022, 11, 1) for day in days) >= 10
    assert set(shown.dropna().str.len()) == {7}
    assert "of dates: in or beyond the first and the last part" in release.params["conditions"][0]


@pytest.mark.parametrize("method", ["dp-nb", "dp-marginals", "dp-forest", "dp-tree"])
def test_with_a_delta_bounds_of_dates_are_found_by_the_draws_of_numbers(method: str, tmp_path: Path) -> None:
    """Two tables of public cells, which need no threshold; they are charged, and the release validates."""
    path = tmp_path / "out.parquet"
    release = anonkit.release(
        table(visits()), method=method, policy=Policy.from_dict({"columns": TARGET}), epsilon=4.0, delta=1e-6,
        domains_from_data=True, ledger=None, output=path,
    )  # fmt: skip
    shown = release.to_pandas()["day"]
    assert shown.isna().mean() < 0.02
    searched = [line["purpose"] for line in release.params["accounting"] if line["purpose"].endswith(" day")]
    assert searched[:2] == ["sizes of day", "bounds of day"]
    assert "categories of day" not in searched
    assert "conditions" not in release.params
    first, last = release.params["binned"]["day"]["calendar"]["bounds"]
    assert first.endswith("-01")
    assert date.fromisoformat(first) <= FIRST + timedelta(days=60)
    assert date.fromisoformat(last) >= FIRST + timedelta(days=1_340)
    assert (date.fromisoformat(last) + timedelta(days=1)).day == 1
    assert anonkit.validate(path).passed


def test_randomized_answers_have_the_same_months(tmp_path: Path) -> None:
    """Local methods take the bins for categories as ever."""
    release = anonkit.release(
        table(visits()), method="rr", policy=Policy.from_dict({"columns": TARGET}), epsilon=4.0, domains_from_data=True,
        ledger=None, seed=1,
    )  # fmt: skip
    assert release.to_pandas()["day"].dropna().str.match(r"\d{4}-\d\d$").all()


@pytest.mark.parametrize(
    ("first", "last", "levels", "bounds", "level"),
    [
        ("2020-03-05", "2020-03-29", None, ("2020-03-05", "2020-03-29"), "day"),
        ("2020-03-05", "2021-11-02", None, ("2020-03-01", "2021-11-30"), "month"),
        ("2011-03-05", "2021-11-02", None, ("2011-01-01", "2021-12-31"), "quarter"),
        ("1931-03-05", "2021-11-02", None, ("1930-01-01", "2029-12-31"), "decade"),
        ("1971-03-05", "2021-11-02", None, ("1971-01-01", "2021-12-31"), "year"),
        ("2011-03-05", "2021-11-02", ("day", "year"), ("2011-01-01", "2021-12-31"), "year"),
        ("2020-03-05", "2021-11-02", ("year",), ("2020-01-01", "2021-12-31"), "year"),
        ("0001-01-01", "9999-12-31", ("day",), ("0001-01-01", "9999-12-31"), "decade"),
    ],
)
def test_bounds_are_the_ends_of_parts(
    first: str, last: str, levels: tuple[str, ...] | None, bounds: tuple[str, str], level: str
) -> None:
    """As fine as the range allows, or as declared where that is no more than 2000 bins."""
    start = date(1970, 1, 1)
    days = [(date.fromisoformat(day) - start).days for day in (first, last)]
    calendar = Calendar(kind=CalendarKind.DATE, levels=levels)
    found = within_days(Column(name="day"), calendar, *days)
    assert found is not None
    assert found.calendar is not None
    assert found.calendar.bounds is not None
    assert tuple(bound.isoformat() for bound in found.calendar.bounds) == bounds
    assert found.calendar.bin_levels[0] == level
    assert within_days(Column(name="day"), calendar, days[0], days[0]) is None


def test_what_cannot_have_bounds_has_categories_as_before() -> None:
    """Few people; texts of which one is no day; texts that are compared as such; and one part alone."""
    few = table(visits()).slice(0, 15)
    with pytest.raises(PolicyError):
        anonkit.release(
            few.select(["day", "y"]), method="dp-nb", policy=Policy.from_dict({"columns": {**TARGET, "day": {}}}),
            epsilon=1.0, domains_from_data=True, ledger=None,
        )  # fmt: skip
    common = [f"2020-0{1 + at % 3}-01" for at in range(N - 1)]
    for days, column in (([*common, "unknown"], {}), ([*common, "2020-01-01"], {"type": "text"})):
        release = anonkit.release(
            table(days), method="dp-nb", policy=Policy.from_dict({"columns": {**TARGET, "day": column}}), epsilon=4.0,
            domains_from_data=True, ledger=None, seed=1,
        )  # fmt: skip
        assert set(release.to_pandas()["day"].dropna()) <= set(common)


def test_the_owner_reads_of_a_column_that_is_mostly_outside() -> None:
    """With its share; a column of which less than half is lost has a count alone."""
    lost = [f"unlike any other {at}" if at % 10 else "common" for at in range(N)]
    kept = ["common" if at % 10 else f"unlike any other {at}" for at in range(N)]
    rows = table(lost).append_column("kept", pa.array(kept))
    columns = {name: {"role": "quasi_identifier"} for name in ("day", "kept")}
    release = anonkit.release(
        rows, method="dp-nb", policy=Policy.from_dict({"columns": {**TARGET, **columns}}), epsilon=4.0,
        domains_from_data=True, ledger=None, seed=1,
    )  # fmt: skip
    assert release.owner["cells_not_as_declared"] == {
        "day": {"outside": 1350, "filled": 1500},
        "kept": {"outside": 150},
    }
    said = [*lost_cells(release.owner, counted=True)]
    assert "90% of them. Hardly anything of the column is released" in said[0]
    assert "of them" not in said[1]
    assert not any("%" in text for text in lost_cells(release.owner, counted=False))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_audit_of_the_bounds_of_dates_stays_below_the_claim() -> None:
    """Forty people in one month, with and without ten rows of one person four centuries later; bounds are the outcome.

    Clopper-Pearson limits at alpha 1e-3. Bounds that are read without noise tell the person at once.
    """
    near, far = [FIRST + timedelta(days=day % 28) for day in range(40)], [date(2440, 5, 5)] * 10
    policy = Policy.from_dict({"columns": {"who": {"role": "unit"}, **TARGET, "day": {"type": "date"}}})
    method = make_method("dp-nb", {"epsilon": 4.0, "delta": 1e-6, "rows_per_unit": 10})
    assert isinstance(method, DeltaMethod)
    claim = 4.0 / 4  # what the search may spend
    engine, samples, seen = LocalEngine(), [], []
    for seed, more in enumerate((far, [])):
        days = [*near, *more]
        who = [f"p{at}" for at in range(len(near))] + ["one"] * len(more)
        rows = pa.table({"who": who, "day": days, "y": ["no", "yes"] * (len(days) // 2)})
        source, rng = engine.scan(rows, policy), Randomness.seeded(seed)
        found = [method.with_found_domains(policy, source, engine, rng.child(f"run {run}")) for run in range(2_000)]
        calendars = [one.columns["day"].calendar for one in found]
        bounds = [None if own is None else own.bounds for own in calendars]
        samples.append(np.array(["none" if own is None else str(own[1])[:2] for own in bounds]))
        seen.append(samples[-1])
    assert lower_bound(samples[0], samples[1]).lower_bound <= claim
    assert len(np.unique(seen[0])) > 1
