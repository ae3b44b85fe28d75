"""Diversity inside classes, from counts of pairs: whatever the parts and the numbers of the classes.

Records in classes of one target value, and the number expected of a target without meaning.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.checks.disclosure import measure
from anonkit.checks.diversity import UniformClasses, diversity_of, published_worst, worst_of
from anonkit.datasets import bank_customers

ROWS = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["x", "y", None])), min_size=1, max_size=6)


def counted(rows: list[tuple[str, str | None]]) -> UniformClasses:
    """Count a table of one quasi-identifier and a target."""
    table = pa.table(
        {"q": pa.array([q for q, _ in rows], pa.string()), "t": pa.array([t for _, t in rows], pa.string())}
    )
    found = measure(table, ["q"], target="t").uniform
    assert found is not None
    return found


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
    assert counted([]).share == 0.0


@pytest.mark.quick_cases("sensitive1")
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


TABLES = st.lists(
    st.dictionaries(st.integers(0, 8), st.integers(1, 30), min_size=1, max_size=9), min_size=1, max_size=12
)
"""A class each: the counts of its values."""


def _pairs(table: list[dict[int, int]]) -> tuple[np.ndarray[Any, Any], ...]:
    """Return classes, values with dense codes, and counts."""
    classes, values, counts = np.array(
        [(at, value, n) for at, counts in enumerate(table) for value, n in sorted(counts.items())]
    ).T
    return classes, np.unique(values, return_inverse=True)[1], counts.astype(float)


@given(TABLES, st.booleans())
def test_distances_are_those_of_their_definitions(table: list[dict[int, int]], ordered: bool) -> None:
    """t from whole distributions, value by value."""
    classes, values, counts = _pairs(table)
    dense = np.zeros((len(table), values.max() + 1))
    dense[classes, values] = counts
    apart = dense / dense.sum(axis=1, keepdims=True) - dense.sum(axis=0) / dense.sum()
    steps = max(dense.shape[1] - 1, 1)
    t = np.abs(np.cumsum(apart, axis=1)).sum(axis=1) / steps if ordered else np.abs(apart).sum(axis=1) / 2

    assert diversity_of(classes, values, counts, ordered)["t"] == pytest.approx(t.max(), abs=1e-12)


@given(TABLES, st.booleans(), st.randoms(use_true_random=False))
def test_parts_and_numbers_of_classes_do_not_matter(table: list[dict[int, int]], ordered: bool, draw: Any) -> None:
    """To the last bit: the figures before and after writing are compared for equality."""
    whole = diversity_of(*_pairs(table), ordered)
    draw.shuffle(table)
    classes, values, counts = _pairs(table)
    cuts = sorted(draw.sample(range(1, len(table)), draw.randrange(len(table)))) if len(table) > 1 else []
    edges = np.searchsorted(classes, [0, *cuts, len(table)])
    holders = np.bincount(classes, counts)[classes]
    parts = [(classes[a:b], values[a:b], counts[a:b], holders[a:b]) for a, b in pairwise(edges)]

    assert published_worst(worst_of(parts, np.bincount(values, counts), ordered)) == whole


@pytest.mark.slow
def test_many_values_are_no_matrix() -> None:
    """A million values in a hundred thousand classes: a hundred billion cells, if there were a matrix."""
    n = 1_000_000
    classes, values = np.arange(n) // 10, np.random.default_rng(1).permutation(n)
    found = diversity_of(classes, values, np.ones(n), ordered=True)

    assert found["l"] == 10
    assert 0.1 < found["t"] < 0.5
