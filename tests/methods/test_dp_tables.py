"""`dp-tables`: what is requested, its budget, the figures and their intervals, its promise under audit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonkit
from anonkit.auditing.epsilon_audit import lower_bound
from anonkit.consumers import aggregate_tables
from anonkit.engines import open_engine
from anonkit.errors import ParameterError, PolicyError
from anonkit.mechanisms.accounting import LARGEST_EPSILON
from anonkit.mechanisms.exact_samplers import UniformStream, noisy_counts
from anonkit.methods.dp_tables import DPTables
from anonkit.pipeline.recipe import run_recipe
from anonkit.policy.column_declarations import Column, Missing, Role
from anonkit.policy.declaration import Policy
from anonkit.published.aggregates import OTHER
from anonkit.randomness import Randomness

POLICY = Policy(
    columns={
        "age": Column(name="age", bounds=(17.0, 90.0)),
        "sex": Column(name="sex", categories=("f", "m", "x")),
        "ward": Column(name="ward", categories=("north", "south"), missing=Missing.FIRST),
        "days": Column(name="days", bounds=(-2.0, 40.0), missing=Missing.FIRST),
        "name": Column(name="name", role=Role.IDENTIFIER),
        "ill": Column(name="ill", role=Role.TARGET, categories=("yes", "no")),
    }
)
LINES = (
    "age, sex", "sex", "mean(days) by ward", "sum(days)", "stay = mean(age) by sex, ward weight 2", "sum(age)",
    "quantile(age, 0.25, 0.5, 0.75) by ill", "count", "median(days)",
)  # fmt: skip


def people(n: int, seed: int = 0) -> pa.Table:
    """Some people; a few cells are missing or outside what is declared."""
    rng = np.random.default_rng(seed)
    age = np.round(rng.normal(50, 15, n))
    return pa.table(
        {
            "name": [f"person {at}" for at in range(n)],
            "age": pa.array(age, mask=rng.random(n) < 0.05),
            "sex": pa.array(rng.choice(["f", "m", "?"], n, p=[0.5, 0.45, 0.05])),
            "ward": pa.array(rng.choice(["north", "south"], n)),
            "days": pa.array(rng.gamma(2.0, 4.0, n)),
            "ill": pa.array(rng.choice(["yes", "no"], n)),
        }
    )


def released(table: pa.Table, lines: tuple[str, ...] = LINES, **more: Any) -> Any:
    """A release in memory, and its tables as rows of the tidy table."""
    options = {"epsilon": 1.0, "seed": 1, "ledger": None, **more}
    return anonkit.release(table, method="dp-tables", policy=POLICY, aggregate=lines, **options)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.01, LARGEST_EPSILON), st.sampled_from(["add-or-remove", "replace"]))
def test_the_measurements_share_epsilon_and_never_exceed_it(epsilon: float, adjacency: str) -> None:
    """Five lines for nine tables, whole units of 2**-52 a step, close to what was requested."""
    method = DPTables(epsilon=epsilon, adjacency=adjacency, aggregate=LINES)
    promise = method.guarantee(POLICY)
    assert 0.999 * epsilon < promise.epsilon <= epsilon
    assert [draw.name for draw in method.account(POLICY).draws] == [
        "counts by age x sex", "sum and count of days by ward", "sum and count of age by sex x ward",
        "histogram of age by ill", "histogram of days",
    ]  # fmt: skip


def test_figures_are_those_of_the_table_but_for_the_noise() -> None:
    """At a large epsilon counts, sums, means and quantiles are nearly the true ones; groups of nobody are there."""
    table = people(2000)
    release = released(table, epsilon=LARGEST_EPSILON)
    lines = release.to_pandas().set_index(["table", "statistic"]).sort_index()
    frame = table.to_pandas()
    sexes = lines.loc[("count by sex", "count")].set_index("sex")["value"]
    assert sexes.round().to_dict() == {
        "f": (frame.sex == "f").sum(), "m": (frame.sex == "m").sum(), "x": 0.0, OTHER: (frame.sex == "?").sum()
    }  # fmt: skip
    assert lines.loc[("sum(days)", "sum"), "value"].item() == pytest.approx(frame.days.clip(-2, 40).sum(), rel=5e-3)
    stay = lines.loc[("stay", "mean")].set_index(["sex", "ward"])["value"]
    true = frame.assign(age=frame.age.clip(17, 90)).groupby(["sex", "ward"])["age"].mean()
    assert stay[("f", "north")] == pytest.approx(true[("f", "north")], abs=0.5)
    median = lines.loc[("quantile(age, 0.25, 0.5, 0.75) by ill", "quantile 0.5")].set_index("ill")["value"]
    assert median["yes"] == pytest.approx(frame[frame.ill == "yes"]["age"].median(), abs=1)
    assert (lines["low"] <= lines["high"]).all()
    assert release.report["rows"]["out"] == len(lines)


def test_quantiles_ascend_and_intervals_hold_them() -> None:
    """For any noise: quantiles of one histogram are in order, each within its interval and the bounds."""
    for seed in range(8):
        lines = released(people(30, seed), ("quantile(age, 0.1, 0.5, 0.9) by sex",), epsilon=0.3, seed=seed).to_pandas()
        told = lines.dropna(subset=["value"])
        assert told.groupby("sex", observed=True)["value"].is_monotonic_increasing.all()
        assert ((told["low"] <= told["value"]) & (told["value"] <= told["high"])).all()
        assert lines["low"].min() >= 16
        assert lines["high"].max() <= 90


@pytest.mark.slow
def test_intervals_hold_the_true_figures_as_often_as_they_say() -> None:
    """Of 250 draws at 90 %: at least 86 % of the intervals of counts, sums, means and quantiles hold the truth."""
    hits: dict[str, list[bool]] = {}
    table = people(300, 3)
    frame = table.to_pandas()
    frame = frame.assign(age=frame.age.clip(17, 90))
    by = frame.groupby("ill")["age"]
    true = {("count", ill): (frame.ill == ill).sum() for ill in ("yes", "no")}
    true |= {("mean", ill): by.mean()[ill] for ill in ("yes", "no")} | {
        ("sum", ill): by.sum()[ill] for ill in by.groups
    }
    ages = frame.dropna(subset=["age"]).groupby("ill")["age"]
    lower = ages.apply(lambda own: np.quantile(own, 0.4, method="inverted_cdf"))
    asked = ("c = count by ill", "m = mean(age) by ill", "q = quantile(age, 0.4) by ill")
    method = DPTables(epsilon=0.5, confidence=90, aggregate=asked)
    engine = open_engine("local")
    source = engine.scan(table, POLICY)
    for seed in range(250):
        draft = method.release(source, POLICY, engine=engine, rng=Randomness.seeded(seed))
        lines = pa.Table.from_batches(draft.data.batches()).to_pandas()
        for line in lines.itertuples():
            if line.ill == OTHER or (line.table == "m" and line.statistic == "count"):
                continue
            truth = lower[line.ill] if line.table == "q" else true[(line.statistic, line.ill)]
            hits.setdefault(line.statistic, []).append(line.low - 1e-9 <= truth <= line.high + 1e-9)
    engine.close()
    assert {statistic: np.mean(found) >= 0.86 for statistic, found in hits.items()} == dict.fromkeys(hits, True)
    assert np.mean(hits["count"]) < 0.95


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_an_audit_of_a_row_finds_most_of_epsilon_and_no_more(epsilon: float) -> None:
    """A row more or less in counts, halves and a histogram: the likelihood ratio shows 0.7 of epsilon, and not more.

    Each of 50,000 columns is a release of its own: the numbers that the row moves, with the planned rates.
    """
    method = DPTables(epsilon=epsilon, aggregate=("sex", "mean(age)", "median(days)"))
    plan, draws = method.plan(POLICY), method.account(POLICY).draws
    grid = plan.measurements[1].grid
    assert grid is not None
    moves = [[1], [grid.steps // 3, grid.steps - grid.steps // 3], [1]]

    def ratios(more: int) -> np.ndarray:  # type: ignore[type-arg]
        total, words = np.zeros(50_000), UniformStream(Randomness.seeded(more))
        for own, draw in zip(moves, draws, strict=True):
            for move in own:
                noise = noisy_counts(np.full(50_000, more * move), draw.rate, words).astype(np.float64)
                total += (np.abs(noise) - np.abs(noise - move)) * (draw.rate / 2**52)
        return total

    found = lower_bound(ratios(0), ratios(1))
    assert 0.7 * epsilon <= found.lower_bound <= epsilon


def test_rows_of_a_unit_are_bounded_and_paid_for() -> None:
    """Two rows a person, replaced: every rate is a quarter, and rows beyond are not counted."""
    policy = POLICY.with_roles(unit="name")
    one, four = (
        DPTables(epsilon=1.0, aggregate=LINES, rows_per_unit=rows, adjacency=adjacency).account(policy)
        for rows, adjacency in ((1, "add-or-remove"), (2, "replace"))
    )
    assert four.draws[0].rate == pytest.approx(one.draws[0].rate / 4, rel=1e-9)
    table = people(100).set_column(0, "name", pa.array(["a"] * 60 + ["b"] * 40))
    release = anonkit.release(
        table, method="dp-tables", policy=policy, epsilon=LARGEST_EPSILON, rows_per_unit=2, seed=1, ledger=None,
        aggregate=("count", "mean(days)"),
    )  # fmt: skip
    lines = release.to_pandas()
    assert lines[lines["table"] == "count"]["value"].item() == pytest.approx(4, abs=2)
    with pytest.raises(ParameterError, match="rows_per_unit needs a unit column"):
        DPTables(epsilon=1.0, rows_per_unit=2).guarantee(POLICY)


def test_a_receiver_reads_table_by_table(tmp_path: Path) -> None:
    """Frames with groups and intervals; what is no release of aggregates is refused, and so is learning from one."""
    place = tmp_path / "out.parquet"
    released(people(200), output=place, seed=None)
    frames = aggregate_tables(place)
    assert list(frames) == list(dict.fromkeys(released(people(5)).to_pandas()["table"]))
    assert list(frames["count by sex"].columns) == ["sex", "count", "count_low", "count_high"]
    assert frames["count by sex"]["count"].dtype == np.int64
    assert frames["count by age, sex"]["count"].sum() == frames["count"]["count"].item()
    assert list(frames["quantile(age, 0.25, 0.5, 0.75) by ill"].columns)[1:4] == ["0.25", "0.25_low", "0.25_high"]
    assert anonkit.validate(place).passed
    with pytest.raises(ParameterError, match="published tables and no rows"):
        anonkit.reconstruct(place)
    with pytest.raises(ParameterError, match="published figures and no rows of people"):
        anonkit.audit(place, people(200))
    other = tmp_path / "rows.parquet"
    anonkit.release(people(200), method="dp-nb", epsilon=1.0, policy=POLICY, output=other, ledger=None, seed=1)
    with pytest.raises(ParameterError, match="holds no aggregates"):
        aggregate_tables(other)


def test_it_is_not_compared_with_methods_that_publish_rows() -> None:
    """`compare` says so in one line, before anything is released."""
    with pytest.raises(ParameterError, match="publishes tables"):
        anonkit.compare(people(200), target="ill", methods=["dp-nb", "dp-tables"], policy=POLICY)


def test_policy_and_recipe_list_tables(tmp_path: Path) -> None:
    """`[aggregates]` of a recipe and of a policy, by name; the method's own parameters go before the policy's."""
    columns = "[policy.columns]\nsex = { categories = ['f', 'm'] }\nill = { categories = ['yes', 'no'] }\n"
    text = f"method = 'dp-tables'\ninput = 'in.parquet'\noutput = 'out.parquet'\n{columns}[parameters]\nepsilon = 1\n"
    table = people(50).select(["sex", "ill"])
    pa.parquet.write_table(table, tmp_path / "in.parquet")
    for more, names in (
        ("[aggregates]\npatients = 'sex'\n", ["patients"]),
        ("[policy.aggregates]\n'all of them' = 'count'\n", ["all of them"]),
        ("", ["count by ill", "count by sex"]),
    ):
        (tmp_path / "recipe.toml").write_text(text + more)
        release = run_recipe(tmp_path / "recipe.toml", force=True)
        assert [table["name"] for table in release.params["tables"]] == names
    (tmp_path / "recipe.toml").write_text(text + "[aggregates]\npatients = 3\n")
    with pytest.raises(PolicyError, match="table of texts"):
        run_recipe(tmp_path / "recipe.toml", force=True)


@pytest.mark.parametrize("given", [3, True, {"x": "age"}, ["age", 3], 1.5, "age"])
def test_aggregates_that_are_no_list_of_texts_are_refused(given: Any) -> None:
    """Values of any other type: a mapping is no list of its keys."""
    with pytest.raises(ParameterError, match="aggregate must be a list of texts"):
        DPTables(epsilon=1.0, aggregate=given)


def test_a_mistyped_column_of_an_aggregate_is_told_the_closest_one() -> None:
    """Before the table is opened, and of a policy without columns that it has none."""
    with pytest.raises(PolicyError, match="'wrad' of an aggregate is not in the table") as refused:
        DPTables(epsilon=1.0, aggregate=("age, wrad",)).guarantee(POLICY)
    assert refused.value.hint == "did you mean 'ward'?"
    with pytest.raises(PolicyError, match="'wrad' of an aggregate is not in the table") as refused:
        DPTables(epsilon=1.0, aggregate=("wrad",)).guarantee(Policy())
    assert "anonkit init" in str(refused.value.hint)


@pytest.mark.parametrize(("declared", "step"), [({"type": "integer"}, 1.0), ({"step": 3}, 3.0), ({"step": 0.5}, 0.5)])
def test_quantiles_of_whole_numbers_are_among_them(declared: dict[str, Any], step: float) -> None:
    """For any bounds: places between two values of the column are none, and validate reads the same ones."""
    table = pa.table({"n": pa.array(np.arange(60) % 7 * step), "odd": pa.array(np.arange(60) % 7 * step + 0.4 * step)})
    column = {"bounds": [0, 6 * step], "missing": "first", **declared}
    policy = {"columns": {"n": column, "odd": column}}
    lines = ("quantile(n, 0.1, 0.2, 0.5, 0.8)", "sum(n)", "quantile(odd, 0.5)", "sum(odd)")
    release = anonkit.release(
        table, method="dp-tables", policy=policy, aggregate=lines, epsilon=1.0, seed=3, ledger=None
    )
    shown = release.to_pandas()
    quantiles = shown[shown["statistic"].str.startswith("quantile")]
    assert (quantiles[["value", "low", "high"]] % step == 0).all(axis=None)
    loud = anonkit.release(table, method="dp-tables", policy=policy, aggregate=lines, epsilon=40.0, seed=3, ledger=None)
    sums = loud.to_pandas().set_index("table")["value"]
    assert sums["sum(odd)"] == pytest.approx(sums["sum(n)"], abs=step)  # a cell that is no value is the nearest
