# SPDX-License-Identifier: Apache-2.0
"""Records in classes of one target value, and the number expected of a target without meaning."""

from __future__ import annotations

from collections import defaultdict
from itertools import permutations
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.checks.table_scans import combined
from anonkit.checks.uniform_classes import UniformClasses, uniform_classes
from anonkit.datasets import bank_customers

ROWS = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["x", "y", None])), min_size=1, max_size=6)


def counted(rows: list[tuple[str, str | None]]) -> UniformClasses:
    """Count a table of one quasi-identifier and a target."""
    table = pa.table({"q": [q for q, _ in rows], "t": pa.array([t for _, t in rows], pa.string())})
    with combined(table, ["q", "t"]) as lines:
        return uniform_classes(lines, ["q"], "t")


def share_by_hand(rows: list[tuple[str, str | None]]) -> float:
    """The share of rows whose class has one value, in plain Python."""
    values = defaultdict(set)
    for q, t in rows:
        values[q].add(t)
    return sum(len(values[q]) == 1 for q, _ in rows) / len(rows)


@given(rows=ROWS)
def test_the_share_and_its_base_rate_are_those_of_an_enumeration(rows: list[tuple[str, str | None]]) -> None:
    """The expected share is the mean over every way to deal the target values out to the rows."""
    observed = counted(rows)
    targets = [t for _, t in rows]
    dealt = [share_by_hand([(q, t) for (q, _), t in zip(rows, order, strict=True)]) for order in permutations(targets)]

    assert observed.share == pytest.approx(share_by_hand(rows))
    assert observed.expected_share == pytest.approx(sum(dealt) / len(dealt))
    assert observed.commonest_value == pytest.approx(max(targets.count(value) for value in targets) / len(targets))


def test_an_empty_table_shows_nothing() -> None:
    """No record, no share."""
    table = pa.table({"q": pa.array([], pa.string()), "t": pa.array([], pa.string())})
    with combined(table, ["q", "t"]) as lines:
        assert uniform_classes(lines, ["q"], "t").share == 0.0


@pytest.mark.untraced
@pytest.mark.parametrize("sensitive", [(), ("income",)])
def test_every_k_anonymous_report_has_the_share(tmp_path: Path, sensitive: tuple[str, ...]) -> None:
    """Every k-anonymous report has the share, also for a target that is not declared sensitive."""
    output = tmp_path / "out.parquet"
    release = anonkit.release(
        bank_customers(400, seed=1), method="mondrian", k=5, target="income", sensitive=sensitive, output=output
    )
    stated = release.report["disclosure_risk"]["uniform_classes"]
    by_hand = defaultdict(list)
    rows = release.to_arrow().to_pylist()
    names = [name for name in release.report["guarantee"]["parameters"]["quasi_identifiers"] if name in rows[0]]
    for row in rows:
        by_hand[tuple(row[name] for name in names)].append(row["income"])

    assert stated["target"] == "income"
    assert stated["share"] == sum(len(c) for c in by_hand.values() if len(set(c)) == 1) / len(rows)
    assert anonkit.validate(output).passed
    page = (tmp_path / "out.report.html").read_text(encoding="utf-8")
    assert "in classes of one value" in page
