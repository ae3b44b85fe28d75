"""Columns of dates, moments and times in a policy: what may be declared, what is refused, and their public bins.

Dates whose domain a table gives: bounds at the ends of months and years that enough people reach.
"""

from __future__ import annotations

import tomllib
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.auditing.epsilon_audit import lower_bound
from anonkit.domains.dates_and_times import CalendarKind
from anonkit.domains.named_parts import place
from anonkit.dp_trees.release.private_searches import DeltaMethod
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.errors import PolicyError
from anonkit.methods import make_method
from anonkit.policy.calendar_columns import Calendar, StatedCalendar, within_days
from anonkit.policy.column_declarations import Column, ColumnType
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import CategoricalAttribute, public_attribute
from anonkit.randomness import Randomness
from anonkit.report.block_words import lost_cells

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


def column(**spec: Any) -> Column:
    """A column as a policy file declares it."""
    return Policy.from_dict({"columns": {"born": spec}}).column("born")


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        ({"levels": ["month"]}, "levels is for dates"),
        ({"type": "integer", "format": "%Y"}, "format is for dates"),
        ({"type": "date", "levels": ["month"], "tree": [["a", "b"]]}, "not beside tree"),
        ({"type": "date", "levels": ["year", "month"]}, "finest first"),
        ({"type": "date", "levels": ["hour"]}, "levels of a date"),
        ({"type": "date", "levels": []}, "levels of a date"),
        ({"type": "date", "format": "%d.%m.%g"}, "not known"),
        ({"type": "date", "format": ["%d.%m.%Y", 5]}, "list of texts"),
        ({"type": "date", "format": []}, "lists none"),
        ({"type": "date", "zone": "Mars/Olympus"}, "time zone"),
        ({"type": "date", "zone": "../etc/passwd"}, "time zone"),
        ({"type": "time", "zone": "UTC"}, "without its day"),
        ({"type": "date", "bounds": [2020, 2024]}, "bounds of a date"),
        ({"type": "date", "bounds": ["2020-01-01"]}, "first, last"),
        ({"type": "date", "bounds": ["2024-01-01", "2020-01-01"]}, "first < last"),
        ({"type": "date", "bounds": ["2020-01-01", "2020-13-01"]}, "bounds of a date"),
        ({"type": "date", "bounds": ["2020-01-01T00:00", "2021-01-01T00:00"]}, "bounds of a date"),
        ({"type": "datetime", "bounds": ["2020-01-01T00:00Z", "2021-01-01T00:00Z"]}, "bounds of a datetime"),
        ({"type": "time", "bounds": ["08:00+02:00", "18:00"]}, "bounds of a time"),
        ({"type": "date", "ladder": [5]}, "for numbers"),
        ({"type": "date", "outside": "clamp"}, "for bounds"),
        ({"type": "date", "missing": "first"}, "categories or bounds"),
    ],
)
def test_what_cannot_be_meant_is_refused(spec: dict[str, Any], rule: str) -> None:
    """Keys beside the wrong type, wrong orders of levels, formats that are none, offsets in bounds, too many bins."""
    with pytest.raises(PolicyError, match=rule):
        column(**spec)


def test_bounds_may_be_days_of_toml_or_texts() -> None:
    """TOML has dates and times of its own; the last day of a column of moments is a whole day."""
    raw = tomllib.loads('type = "datetime"\nbounds = [2020-01-01, 2020-12-31]')
    assert column(**raw) == column(type="datetime", bounds=["2020-01-01", "2020-12-31"])
    calendar = column(**raw).calendar
    assert calendar is not None
    assert calendar.bounds == (datetime(2020, 1, 1), datetime(2020, 12, 31, 23, 59, 59, 999_999))
    assert column(type="time", bounds=["08:00", "18:00"]).bins is not None


@given(
    first=st.dates(min_value=date(1701, 1, 1), max_value=date(2200, 1, 1)),
    days=st.integers(1, 1500),
    level=st.sampled_from(["day", "month", "quarter", "year"]),
)
def test_public_bins_are_the_periods_of_pandas_between_the_bounds(first: date, days: int, level: str) -> None:
    """A function of the bounds alone, in order, none missing, every day of the range in its own."""
    last = first + timedelta(days=days)
    calendar = Calendar(kind=CalendarKind.DATE, levels=(level,), bounds=(first, last))
    assert calendar.bins is not None
    periods = pd.period_range(first, last, freq={"day": "D", "month": "M", "quarter": "Q", "year": "Y"}[level])
    assert [label.replace("-Q", "Q") for label in calendar.bins.labels] == list(map(str, periods))
    assert calendar.bins.tree == ()
    each = [first + timedelta(days=at) for at in range(0, days + 1, max(days // 20, 1))]
    bins = calendar.bin_of(np.array([place(day) for day in each], dtype=np.int64))
    index = pd.PeriodIndex(pd.to_datetime(pd.Series(each)), freq=periods.freqstr)
    assert bins.tolist() == periods.get_indexer(index).tolist()


@pytest.mark.parametrize(
    ("spec", "finest", "n_bins", "depth"),
    [
        ({"type": "date", "bounds": ["2020-01-01", "2020-02-28"]}, "2020-01-01", 59, 5),
        ({"type": "date", "bounds": ["2020-01-01", "2024-12-31"]}, "2020-01", 60, 4),
        ({"type": "date", "bounds": ["1930-01-01", "2024-12-31"]}, "1930s", 10, 1),
        ({"type": "datetime", "bounds": ["2020-01-01", "2020-01-02"]}, "2020-01-01T00", 48, 6),
        ({"type": "time"}, "00:00-00:59", 24, 2),
        ({"type": "time", "levels": ["part"]}, "00:00-05:59", 4, 1),
    ],
)
def test_without_levels_the_finest_of_at_most_64_bins_are_public(
    spec: dict[str, Any], finest: str, n_bins: int, depth: int
) -> None:
    """Decided by the bounds and by nothing that is in the table; the coarser levels are their hierarchy."""
    attribute = public_attribute(column(**spec))
    assert isinstance(attribute, CategoricalAttribute)
    assert (attribute.domain.values[0], len(attribute.domain.values)) == (finest, n_bins)
    assert attribute.domain.has_missing
    assert {len(path) for path in attribute.tree} == (set() if depth == 1 else {depth})


def test_more_bins_than_anybody_can_count_are_refused_where_they_are_needed() -> None:
    """Under differential privacy, before any data; k-anonymity does not need them."""
    declared = column(type="date", levels=["day", "year"], bounds=["1950-01-01", "2020-01-01"])
    with pytest.raises(PolicyError, match="more than 2000 public bins of a day"):
        public_attribute(declared)


def test_differential_privacy_needs_bounds_of_dates() -> None:
    """The refusal says which."""
    with pytest.raises(PolicyError, match="declare the bounds of its dates") as refused:
        public_attribute(column(type="date"))
    assert "bounds = [" in str(refused.value.hint)


@pytest.mark.parametrize(
    "spec",
    [
        {"type": "date", "format": "%d.%m.%Y", "levels": ["month", "year"]},
        {"type": "datetime", "zone": "Europe/Berlin", "bounds": ["2020-01-01", "2021-01-01"]},
        {"type": "time", "bounds": ["08:00", "18:30"]},
        {"type": "date"},
    ],
)
def test_a_declaration_comes_back_from_the_params(spec: dict[str, Any]) -> None:
    """`anonkit apply` reads the next batch by what the params say."""
    calendar = column(**spec).calendar
    assert calendar is not None
    again = Calendar.of(StatedCalendar.from_params(calendar.stated.to_params()), "column 'born'")
    assert again.stated == calendar.stated
    assert (again.reader, again.parts, again.bounds) == (calendar.reader, calendar.parts, calendar.bounds)


def test_a_column_made_in_python_has_a_calendar_as_one_of_a_file_has() -> None:
    """Moments and times of themselves; dates with the value, since their type alone was there before it."""
    assert Column(name="born", type=ColumnType.TIME).calendar == column(type="time").calendar
    dates = Calendar(kind=CalendarKind.DATE)
    assert Column(name="born", type=ColumnType.DATE, calendar=dates).calendar == column(type="date").calendar
    assert Column(name="born", type=ColumnType.DATE).named_parts is None
    listed = Column(name="born", type=ColumnType.DATE, calendar=dates, categories=("2020-01-01",))
    assert listed.named_parts is None
