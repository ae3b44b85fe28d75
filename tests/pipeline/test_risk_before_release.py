"""Risk before a release: figures of whole tables, of populations in files, and what cannot be looked at."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.engines import Local
from anonkit.errors import AnonkitError, ParameterError, PolicyError, SourceError
from anonkit.estimators.reidentification_risk import SampleClasses, by_rule
from anonkit.pipeline.risk_before_release import SIMPLE_SAMPLE, ClassCounts, risk

POLICY: dict[str, Any] = {"columns": {name: {"role": "quasi_identifier"} for name in ("age", "sex", "place")}}

people = st.tuples(st.integers(20, 24), st.sampled_from("fm"), st.sampled_from("abc"))


def _table(rows: list[tuple[int, str, str]]) -> pa.Table:
    ages, sexes, places = zip(*rows, strict=True)
    return pa.table({"age": list(ages), "sex": list(sexes), "place": list(places)})


@given(rows=st.lists(people, min_size=1, max_size=40), fraction=st.floats(0.01, 1))
def test_figures_of_a_table(rows: list[tuple[int, str, str]], fraction: float) -> None:
    """k, unique rows, the rule's estimate and the figures of every set are those of counting."""
    found = risk(_table(rows), policy=POLICY, sampling_fraction=fraction)
    classes = Counter(rows)
    uniques = list(classes.values()).count(1)
    assert (found.sample, found.classes) == ({"k": min(classes.values()), "uniques": uniques}, len(classes))
    sample = SampleClasses.of(Counter(classes.values()).items(), fraction)
    assert found.population["estimates"]["rule"] == by_rule(sample)
    assert found.population["individual"]["max"] <= 1
    for each in found.sets:
        places = [("age", "sex", "place").index(name) for name in each["columns"]]
        counted = Counter(tuple(row[at] for at in places) for row in rows)
        assert each["unique_rows"] == list(counted.values()).count(1)
        assert each["distinction"] == pytest.approx(len(counted) / len(rows))
    for made in found.coarsenings:
        assert made.uniques < found.sample["uniques"]
        if made.to == "left out":
            kept = [at for at, name in enumerate(("age", "sex", "place")) if name != made.column]
            sizes = Counter(tuple(row[at] for at in kept) for row in rows).values()
            assert (made.k, made.uniques) == (min(sizes), list(sizes).count(1))


@given(population=st.lists(people, min_size=1, max_size=60), data=st.data())
def test_a_file_of_the_population(population: list[tuple[int, str, str]], data: st.DataObject) -> None:
    """All figures of the file are those of counting, also how many classes it lacks."""
    taken = data.draw(st.sets(st.integers(0, len(population) - 1), min_size=1))
    rows = [population[at] for at in sorted(taken)]
    lost = data.draw(st.booleans())
    rows = [*rows, (99, "f", "a")] if lost else rows
    found = risk(_table(rows), policy=POLICY, population=_table(population))
    figures, small, large = found.population["file"], Counter(rows), Counter(population)
    met = {row: count for row, count in small.items() if row in large}
    n = sum(met.values())
    assert figures["rows"] == len(population)
    assert figures["uniques"] == list(large.values()).count(1)
    assert figures["unmatched_classes"] == int(lost)
    assert figures["k_map"] == min(large[row] for row in met)
    assert figures["marketer"] == pytest.approx(sum(count / large[row] for row, count in met.items()) / n)
    assert figures["delta_presence"]["max"] == pytest.approx(max(count / large[row] for row, count in met.items()))
    assert figures["journalist"]["max"] == pytest.approx(1 / figures["k_map"])
    assert found.population["assumption"] == (None if len(rows) > len(population) else SIMPLE_SAMPLE)


def test_a_file_of_other_people() -> None:
    """No class is met: counted, and nothing else is said of the file."""
    found = risk(_table([(20, "f", "a")]), policy=POLICY, population=_table([(70, "m", "b")] * 3))
    assert found.population["file"] == {"rows": 3, "uniques": 0, "unmatched_classes": 1, "k_map": None}


def test_nothing_is_known_of_the_population() -> None:
    """The table is counted, and no estimate made."""
    found = risk(_table([(20, "f", "a"), (21, "m", "b")]), policy=POLICY)
    assert found.population["basis"] == "none"
    assert found.population["assumption"] is None
    assert found.population["individual"] is None
    assert set(found.population["estimates"].values()) == {None}
    assert found.suda["dis"] is None
    assert found.suda["minimal_uniques"][0] == {"size": 1, "count": 6}


def test_classes_are_seen_before_sets_of_columns() -> None:
    """The figures are those of the result."""
    order: list[Any] = []
    table = _table([(20, "f", "a"), (20, "f", "a"), (21, "m", "b")])
    found = risk(table, policy=POLICY, seen=order.append, progress=lambda step, share: order.append(step))
    (counts,) = (each for each in order if isinstance(each, ClassCounts))
    assert (counts.k, counts.uniques) == (found.sample["k"], found.sample["uniques"]) == (1, 1)
    assert (counts.rows, counts.people, counts.classes) == (found.rows, found.people, found.classes)
    assert order.index(counts) < order.index("looking at sets of columns")


def test_a_size_is_a_fraction() -> None:
    """Ten of a hundred people are a tenth."""
    table = _table([(20 + at % 4, "fm"[at % 2], "abc"[at % 3]) for at in range(10)])
    by_size, by_share = (
        risk(table, policy=POLICY, **of) for of in ({"population_size": 100}, {"sampling_fraction": 0.1})
    )
    assert by_size.population["estimates"] == by_share.population["estimates"]
    assert (by_size.population["basis"], by_share.population["basis"]) == ("size", "fraction")


def test_people_are_counted_where_the_policy_names_them() -> None:
    """Rows of one person that differ from all others' make that person unique, however many they are."""
    table = pa.table({"who": ["p", "p", "q", "r"], "age": [20, 20, 30, 30]})
    found = risk(table, policy={"columns": {"who": {"role": "unit"}, "age": {"role": "quasi_identifier"}}})
    assert (found.counted, found.people, found.rows) == ("people", 3, 4)
    assert (found.sample, found.classes) == ({"k": 1, "uniques": 1}, 2)
    assert found.suda["minimal_uniques"] == [{"size": 1, "count": 1}]


def test_declared_bins_are_what_a_column_may_become() -> None:
    """Coarser levels are those of the policy, named by it."""
    columns = {**POLICY["columns"], "age": {"role": "quasi_identifier", "bounds": [0, 100], "ladder": [10, 50]}}
    rows = [(age, "f", "a") for age in range(20, 40)]
    found = risk(_table(rows), policy={"columns": columns})
    assert [(made.column, made.to, made.k, made.uniques) for made in found.coarsenings] in (
        [("age", "bins of 10", 10, 0)],
        [("age", "bins of 50", 20, 0)],
    )


@pytest.mark.parametrize(
    ("of", "kind", "words"),
    [
        ({"population_size": 5, "sampling_fraction": 0.1}, ParameterError, "the same thing"),
        ({"population_size": 1}, ParameterError, "smaller than the table"),
        ({"population_size": 0}, ParameterError, "at least 1"),
        ({"sampling_fraction": 0.0}, ParameterError, "must be in"),
        ({"sampling_fraction": 1.5}, ParameterError, "must be in"),
        ({"population": pa.table({"age": [20], "sexes": ["f"]})}, PolicyError, "'sex' is not in the population file"),
        (
            {"population": pa.table({"age": ["x"], "sex": ["f"], "place": ["a"]})},
            SourceError,
            "of texts in the other",
        ),
    ],
)
def test_what_contradicts_is_refused(of: dict[str, Any], kind: type[AnonkitError], words: str) -> None:
    """Two populations, one that is too small, one without the columns."""
    with pytest.raises(kind, match=words):
        risk(_table([(20, "f", "a"), (21, "m", "b")]), policy=POLICY, **of)


def test_a_table_without_rows_or_quasi_identifiers_is_refused() -> None:
    """Nothing can be said of it."""
    with pytest.raises(SourceError, match="has no rows"):
        risk(_table([(20, "f", "a")]).slice(0, 0), policy=POLICY)
    with pytest.raises(PolicyError, match="no column is a quasi-identifier"):
        risk(pa.table({"note": ["a", "b"]}), policy={"columns": {"note": {"role": "insensitive"}}})


def test_any_source(tmp_path: Path) -> None:
    """A database and a text file of one table give the same figures."""
    import sqlite3

    rows = [(20 + at % 7, "fm"[at % 2], "abc"[at % 3]) for at in range(30)]
    text = tmp_path / "people.csv"
    text.write_text("age,sex,place\n" + "\n".join(",".join(map(str, row)) for row in rows), encoding="utf-8")
    with sqlite3.connect(tmp_path / "people.sqlite") as base:
        base.execute("CREATE TABLE people (age INTEGER, sex TEXT, place TEXT)")
        base.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
    base.close()
    of_text, of_base, of_memory = (
        risk(source, policy=POLICY, sampling_fraction=0.2, engine=Local()).to_dict()
        for source in (text, f"sqlite:///{tmp_path}/people.sqlite?table=people", _table(rows))
    )
    assert of_text == of_base == of_memory


def test_places_of_the_population_are_read_from_its_coordinates() -> None:
    """A place has no column of its own: a file that lacks one of its coordinates is refused by its name."""
    pytest.importorskip("h3")
    policy = {
        "places": {"home": {"latitude": "lat", "longitude": "lon", "resolutions": [6, 5, 4]}},
        "columns": {"age": {"role": "quasi_identifier"}},
    }
    table = pa.table({"lat": [50.1, 50.2, 51.0], "lon": [8.1, 8.2, 9.0], "age": [20, 30, 40]})
    found = risk(table, policy=policy, population=table)
    assert found.population["file"]["unmatched_classes"] == 0
    with pytest.raises(PolicyError, match="'lon' is not in the population file"):
        risk(table, policy=policy, population=table.drop_columns("lon"))
