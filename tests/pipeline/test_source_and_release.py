"""Columns before and after, against distances and shares worked out in another way.

Example rows of a source with what became of them: true where they belong together, and for the owner alone.
"""

from __future__ import annotations

import datetime
from collections import Counter
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

import anonkit
from anonkit.engines import LocalEngine
from anonkit.errors import ParameterError
from anonkit.ledger.intersection_check import SourceRows
from anonkit.pipeline.source_and_release import FEWEST, MOST_BARS, BeforeAndAfter, _range_labels, _ranges, example_rows
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.randomness import Randomness
from tests.pipeline.test_dossier import DECLARED, FAMILIES, ONCE, WHO, people


@pytest.mark.quick_cases("dp-nb")
@pytest.mark.parametrize("method", ["datafly", "dp-nb"])
def test_examples_show_what_the_release_shows(method: str) -> None:
    """A recoded row has a row in the release that looks like it, or is said to be left out; noise has no such rows."""
    spec, parameters = FAMILIES[method]
    declared = Policy.from_dict(spec)
    release = anonkit.release(people(), method=method, policy=declared, ledger=None, utility=False, **parameters)
    with closing(LocalEngine()) as engine:
        policy = declared.resolve(people().column_names)
        rows = SourceRows(table=engine.scan(people(), policy), engine=engine, policy=policy)
        shown = example_rows(rows, release.to_arrow(), release.params, Randomness.seeded(1), 60)

    assert all("who" not in row for row in shown["before"])
    assert len(shown["before"]) == 60
    if method == "dp-nb":
        assert shown["corresponds"] is False
        assert len(shown["after"]) == min(60, release.to_arrow().num_rows)
        return
    names = [name for name in release.to_arrow().column_names if name not in ("sum", "label")]
    there = Counter(tuple(row[name] for name in names) for row in release.to_arrow().to_pylist())
    told = Counter(tuple(row[name] for name in names) for row in shown["after"] if row is not None)
    assert told == there
    assert shown["after"].count(None) == 60 - release.to_arrow().num_rows


def test_examples_stand_on_the_page_and_nowhere_else(tmp_path: Path) -> None:
    """They are cells of people: in the page when they are requested, never in the JSON."""
    anonkit.release(
        people(), method="mondrian", k=3, policy=Policy.from_dict(DECLARED), output=tmp_path / "out" / "x.parquet",
        owner_report=tmp_path / "own", examples=60, ledger=None,
    )  # fmt: skip

    assert ONCE in (tmp_path / "own" / "x.dossier.html").read_text(encoding="utf-8")
    assert WHO not in (tmp_path / "own" / "x.dossier.html").read_text(encoding="utf-8")
    assert ONCE not in (tmp_path / "own" / "owner.report.json").read_text(encoding="utf-8")
    with pytest.raises(ParameterError, match="example rows are only in the dossier"):
        anonkit.release(people(), policy=Policy.from_dict(DECLARED), examples=3, ledger=None)


def change(source: pa.Array, released: pa.Array | None, **params: Any) -> dict[str, Any]:
    """The report's change of a column `x` of a table."""
    tables = pa.table({"x": source}), pa.table({} if released is None else {"x": released})
    column = {"name": "x", "role": "quasi_identifier", "action": "dropped" if released is None else "kept"}
    policy = Policy(columns={"x": Column(name="x", role=Role.QUASI_IDENTIFIER)})
    (found,) = BeforeAndAfter(source=tables[0], released=tables[1], params=params, policy=policy).changes([column])
    return found


@given(
    before=st.lists(st.integers(-50, 200), min_size=1, max_size=60),
    after=st.lists(st.floats(-60, 210), min_size=1, max_size=60),
)
def test_numbers_are_compared_by_their_wasserstein_distance(before: list[int], after: list[float]) -> None:
    """The distance is that of scipy, every number is in one range, and no edge of a range is a number of few rows."""
    found = change(pa.array(before), pa.array(after))

    assert found["distance"]["value"] == pytest.approx(wasserstein_distance(before, after), abs=1e-9)
    assert sum(bar["before"] for bar in found["bars"]) == pytest.approx(1)
    assert sum(bar["after"] for bar in found["bars"]) == pytest.approx(1)
    assert len(found["bars"]) <= MOST_BARS + 1
    assert found["mean"]["before"] == pytest.approx(sum(before) / len(before))


@given(
    before=st.lists(st.none() | st.sampled_from("abcde"), min_size=1, max_size=40),
    after=st.lists(st.none() | st.sampled_from("abcdefg"), min_size=1, max_size=40),
)
def test_values_are_compared_by_total_variation(before: list[str | None], after: list[str | None]) -> None:
    """Half the sum of the differences of all shares, missing among them; the bars hold all rows."""
    found = change(pa.array(before, pa.string()), pa.array(after, pa.string()))

    first, second = Counter(before), Counter(after)
    expected = (
        sum(abs(Fraction(first[v], len(before)) - Fraction(second[v], len(after))) for v in {*before, *after}) / 2
    )
    assert found["distance"]["value"] == pytest.approx(float(expected))
    assert sum(bar["before"] for bar in found["bars"]) == pytest.approx(1)
    assert sum(bar["after"] for bar in found["bars"]) == pytest.approx(1)


@given(rare=st.lists(st.integers(1, FEWEST - 1), min_size=1, max_size=6))
def test_a_rare_value_that_is_not_public_is_not_named(rare: list[int]) -> None:
    """Fewer than ten rows, neither declared nor released: counted among the others."""
    cells = ["common"] * FEWEST + [f"secret {at}" for at, n_rows in enumerate(rare) for _ in range(n_rows)]

    found = change(pa.array(cells), None)

    assert "secret" not in str(found)
    assert [bar.get("others") for bar in found["bars"]] == [None, len(rare)]


def test_whole_numbers_are_in_ranges_by_their_first_and_last() -> None:
    """A released number that is no whole one counts where it is nearest to; dates are in ranges of days."""
    found = change(pa.array([10, 11, 12, 13] * 25), pa.array([9.6, 11.4, 12.2, 13.1] * 25))
    days = change(pa.array([datetime.date(2020, 1, 1), datetime.date(2020, 6, 1)]), None)

    assert found["distance"]["value"] == pytest.approx(0.275)
    assert [(bar["label"], bar["before"], bar["after"]) for bar in found["bars"]] == [
        ("below 11", 0.25, 0.25), ("11", 0.25, 0.25), ("12", 0.25, 0.25), ("13 or more", 0.25, 0.25),
    ]  # fmt: skip
    assert days["bars"][0]["label"].startswith("before 20")
    assert days["bars"][-1]["label"].endswith("or later")


@pytest.mark.parametrize("where", ["columns", "attributes"])
@given(cells=st.integers(2, 30), numbers=st.lists(st.integers(0, 60), min_size=1, max_size=60))
def test_numbers_told_by_the_middles_of_cells_are_in_ranges_of_whole_cells(
    where: str, cells: int, numbers: list[int]
) -> None:
    """A release that moves every number to the middle of its cell and does nothing else has the bars of its source."""
    width = Fraction(60, cells)
    middles = [float((min(number // width, cells - 1) + Fraction(1, 2)) * width) for number in numbers]
    domain = {"bounds": [0, 60], "cells": cells, "has_missing": False}

    found = change(pa.array(numbers), pa.array(middles), **{where: [{"name": "x", "domain": domain}]})

    assert [bar["before"] for bar in found["bars"]] == [bar["after"] for bar in found["bars"]]
    assert len(found["bars"]) <= MOST_BARS + 1


def test_cells_of_integers_are_named_by_their_first_and_last() -> None:
    """Cells that end between two integers hold integers: nobody reads `2.5 to below 4.5` of years of school."""
    domain = {"bounds": [0.5, 8.5], "cells": 4, "has_missing": False}
    numbers = np.repeat(np.arange(1, 9), 25)
    shown = pa.array((numbers + 1) // 2 * 2)

    middles = change(pa.array(numbers), shown, columns=[{"name": "x", "domain": {**domain, "bounds": [1, 9]}}])
    found = _ranges(pa.array(numbers), shown, np.array([2.5, 4.5, 6.5]))

    assert [bar["label"] for bar in found["bars"]] == ["below 3", "3 to 4", "5 to 6", "7 or more"]
    assert [bar["before"] for bar in found["bars"]] == [bar["after"] for bar in found["bars"]]
    assert not any("below" in bar["label"] for bar in middles["bars"][1:])


def test_numbers_that_are_kept_are_in_round_ranges() -> None:
    """A domain without cells, as a k-anonymous release declares it, divides nothing."""
    domain = {"bounds": [0, 60], "has_missing": False}
    numbers = pa.array(range(60))

    found = change(numbers, numbers, columns=[{"name": "x", "domain": domain}])

    assert found == change(numbers, numbers)


def test_a_row_that_answers_another_column_is_no_missing_cell() -> None:
    """If each row answers one attribute, shares are of the answers of that attribute."""
    tables = (
        pa.table({"x": ["a", "a", "b", None]}),
        pa.table({"x": ["a", None, "b", None], "asked": ["x", "y", "x", "y"]}),
    )
    policy = Policy(columns={"x": Column(name="x")})
    params = {"asked_column": "asked", "attributes": [{"name": "x"}, {"name": "y"}]}

    (found,) = BeforeAndAfter(source=tables[0], released=tables[1], params=params, policy=policy).changes(
        [{"name": "x", "role": "quasi_identifier", "action": "randomized"}]
    )

    assert found["after"] == {"rows": 2, "missing": 0, "values": 2}
    assert found["before"] == {"rows": 4, "missing": 1, "values": 2}


def test_texts_that_are_numbers_are_compared_with_numbers() -> None:
    """A column read cell by cell holds texts; what is no number is missing."""
    found = change(pa.array(["1", " 2.5 ", "1e1", "x", None]), pa.array([1.0, 2.5, 10.0, None, None]))

    assert found["before"]["missing"] == 1
    assert found["distance"]["value"] == pytest.approx(0)
    assert found["bars"][-1] == {"label": None, "before": 0.4, "after": 0.4}


def test_what_names_a_person_is_counted_and_never_shown() -> None:
    """Identifiers and units have no bars."""
    policy = Policy(columns={"x": Column(name="x", role=Role.IDENTIFIER)})
    table = pa.table({"x": ["Ann"] * 20})
    compared = BeforeAndAfter(source=table, released=pa.table({}), params={}, policy=policy)

    (found,) = compared.changes([{"name": "x", "role": "identifier", "action": "dropped"}])

    assert found == {
        "name": "x", "role": "identifier", "action": "dropped", "before": {"rows": 20, "missing": 0, "values": 1},
    }  # fmt: skip


@given(start=st.floats(-1e6, 1e6), width=st.floats(1e-3, 1e6), cells=st.integers(2, 8))
def test_a_range_is_named_to_a_hundredth_of_its_width(start: float, width: float, cells: int) -> None:
    """No name is longer than a reader needs, and none represents two ranges."""
    starts = start + width * np.arange(cells)
    labels = _range_labels(starts, is_date=False, whole=False)
    told = [float(label.split(" to below ")[0].replace(",", "")) for label in labels[1:-1]]
    assert np.allclose(told, starts[:-1], rtol=1e-9, atol=width / 100)
    assert len(set(told)) == cells - 1


def test_cells_of_sixteenths_have_short_names() -> None:
    """Sixteen cells of a public range begin at sixteenths, which nobody reads to the fourth digit."""
    assert _range_labels(np.array([104667.1875, 197049.375]), is_date=False, whole=False) == [
        "below 104,667", "104,667 to below 197,049", "197,049 or more",
    ]  # fmt: skip
    assert _range_labels(np.array([21.5625, 30.6875]), is_date=False, whole=False)[1] == "21.56 to below 30.69"
