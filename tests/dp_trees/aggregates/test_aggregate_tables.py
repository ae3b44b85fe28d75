"""Measurements of aggregates: which are made, what is read off them, and what no table can hold.

Sums of aggregates: a row adds no more to the measurements than it pays for.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.dp_trees.aggregate_tables import CellSums
from anonkit.errors import ParameterError, PolicyError
from anonkit.mechanisms.accounting import draw_epsilon, sensitivity_of
from anonkit.methods.dp_tables import DPTables
from anonkit.policy.column_declarations import Column
from anonkit.policy.declaration import Policy
from anonkit.published.aggregates import OTHER
from tests.methods.test_dp_tables import LINES, POLICY, people, released


def test_one_row_moves_no_measurement_by_more_than_it_pays_for() -> None:
    """All rows of a small domain, one by one: the sums of a row are at most the sensitivity, and one reaches it."""
    plan = DPTables(epsilon=1.0, aggregate=LINES).plan(POLICY)
    add, most = CellSums(plan), np.zeros(len(plan.measurements), dtype=np.int64)
    ages, sexes = [None, -5.0, 17.0, 33.3, 90.0, 1e300, float("nan")], ["f", "x", "?", None]
    rows = itertools.product(ages, sexes, ["north", None], [None, -2.0, 7.7, 40.0, 1e9], ["yes", "other", None])
    columns = dict(zip(("age", "sex", "ward", "days", "ill"), zip(*rows, strict=True), strict=True))
    batch = pa.RecordBatch.from_pydict(
        {
            name: pa.array(cells, pa.float64() if name in ("age", "days") else pa.string())
            for name, cells in columns.items()
        }
    )
    for at in range(batch.num_rows):
        own = [int(np.abs(sums).sum()) for sums in add.divided(add(batch.slice(at, 1), 0))]
        most = np.maximum(most, own)
    assert most.tolist() == [sensitivity_of(each.query) for each in plan.measurements]
    whole = add(batch, 0)
    parts = sum((add(batch.slice(at, 7), at) for at in range(0, batch.num_rows, 7)), np.zeros_like(whole))
    assert np.array_equal(whole, parts)


def test_weights_and_groups_decide_the_shares() -> None:
    """The root of the groups times the largest weight of the tables that are read off a measurement."""
    draws = DPTables(epsilon=1.0, aggregate=("sex", "ward weight 2", "sex, ward weight 0.5", "sum(age)")).account(
        POLICY
    )
    assert [sensitivity_of(draw.query) for draw in draws.draws] == [1, 9_000_000]
    shares = [draw_epsilon(draw) for draw in draws.draws]
    assert shares[0] / shares[1] == pytest.approx(2 * 8**0.5, rel=1e-6)


_LINES = st.builds(
    lambda what, by, weight: f"{what}{' by ' if by else ''}{', '.join(by)} weight {weight}",
    st.sampled_from(["count", "sum(n)", "mean(n)", "sum(m)", "mean(m)"]),
    st.permutations(["a", "b", "c", "n"]).flatmap(lambda by: st.integers(0, 3).map(lambda size: by[:size])),
    st.integers(1, 3),
)


@given(lines=st.lists(_LINES, min_size=1, max_size=12, unique_by=lambda line: line.split(" weight")[0]))
def test_what_is_measured_is_what_holds_all_else(lines: list[str]) -> None:
    """By the definition, pair by pair: no measurement contains another, each table is read off the smallest."""
    named = {
        name: Column(name=name, categories=("x", "y", "z")[:size]) for name, size in zip("abc", (1, 2, 3), strict=True)
    }
    numbers = {name: Column(name=name, bounds=(0, 9)) for name in "nm"}
    method = DPTables(epsilon=1.0, aggregate=tuple(f"t{at} = {line}" for at, line in enumerate(lines)), bins=2)
    plan = method.plan(Policy(columns=named | numbers))
    kinds = {"count": "counts", "sum": "sum", "mean": "halves"}
    asked = [(kinds[str(table.statistic)], table.of, {*table.by}) for table in plan.tables]
    made = [
        (str(each.kind), each.of and each.of.name, {column.name for column in each.by}) for each in plan.measurements
    ]

    def holds(one: Any, other: Any) -> bool:
        return one[0] in (other[0], {"sum": "halves"}.get(other[0])) and one[1] == other[1] and one[2] >= other[2]

    assert all(not holds(one, other) for one, other in itertools.permutations(made, 2))
    assert made == [one for at, one in enumerate(asked) if one in made and one not in asked[:at]]
    for table, own in zip(plan.tables, asked, strict=True):
        holders = [at for at, one in enumerate(made) if holds(one, own)]
        assert table.measured == min(holders, key=lambda at: (plan.measurements[at].cells, at))
    for at, each in enumerate(plan.measurements):
        assert each.weight == max(table.weight for table in plan.tables if table.measured == at)


def test_what_cannot_be_published_is_refused() -> None:
    """Unknown, hidden and unnumbered columns, names of the tidy table, two tables of one name, far too many cells."""
    for line, why in (
        ("color", "not in the table"), ("name", "not released"), ("mean(sex)", "no number"),
    ):  # fmt: skip
        with pytest.raises(PolicyError, match=why):
            DPTables(epsilon=1.0, aggregate=(line,)).guarantee(POLICY)
    for name, categories, why in (("value", ("a",), "tidy table"), ("group", (OTHER, "a"), "missing cells")):
        with pytest.raises(PolicyError, match=why):
            DPTables(epsilon=1.0).guarantee(Policy(columns={name: Column(name=name, categories=categories)}))
    with pytest.raises(PolicyError, match="no column is declared"):
        DPTables(epsilon=1.0).guarantee(Policy())
    with pytest.raises(ParameterError, match="two tables are called"):
        DPTables(epsilon=1.0, aggregate=("sex", "count by sex"))
    with pytest.raises(ParameterError, match="list of texts"):
        DPTables(epsilon=1.0, aggregate="sex")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="cells with noise"):
        DPTables(epsilon=1.0, aggregate=("age, days, sex",), bins=1024).guarantee(POLICY)


def test_tables_of_one_measurement_add_up() -> None:
    """Counts by one column are sums of those by two, as the count of all is; a sum is that of the groups of a mean."""
    lines = released(people(500)).to_pandas()

    def total(name: str, statistic: str) -> float:
        return float(lines[(lines["table"] == name) & (lines["statistic"] == statistic)]["value"].sum())

    counts = [total(f"count{by}", "count") for by in (" by age, sex", " by sex", "")]
    assert counts[0] == counts[1] == counts[2]
    assert total("sum(days)", "sum") == pytest.approx(total("mean(days) by ward", "sum"))
    assert total("sum(age)", "sum") == pytest.approx(total("stay", "sum"))
    means = lines[lines["table"] == "stay"].pivot(index=["sex", "ward"], columns="statistic", values="value")
    inside = means[(means["mean"] > 17) & (means["mean"] < 90) & (means["count"] > 0)]
    assert np.allclose(inside["mean"], inside["sum"] / inside["count"])
