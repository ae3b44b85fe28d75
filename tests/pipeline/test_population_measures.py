# SPDX-License-Identifier: Apache-2.0
"""Risk of a release in a population: figures of counting, refusals below K, and what cannot be looked at."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.checks.population_risk import SIMPLE_SAMPLE, WHOLE_POPULATION
from anonkit.checks.sameness import same_figure
from anonkit.errors import AnonkitError, GuaranteeError, ParameterError, PolicyError, SourceError
from anonkit.pipeline import population_measures
from anonkit.published.recoding import recoding_from_dict

POLICY: dict[str, Any] = {"columns": {name: {"role": "quasi_identifier"} for name in ("age", "sex", "place")}}
METHODS = ("mondrian", "incognito", "datafly")


def population(n_rows: int = 3000, seed: int = 3) -> pa.Table:
    """Return people, some of them without a place."""
    draw = np.random.default_rng(seed)
    places = [None if one == "z" else one for one in draw.choice(list("abcz"), n_rows).tolist()]
    return pa.table(
        {"age": draw.integers(18, 90, n_rows), "sex": draw.choice(["f", "m"], n_rows).tolist(), "place": places}
    )


def sample(people: pa.Table, n_rows: int = 300) -> pa.Table:
    """Return the first of them."""
    return people.slice(0, n_rows)


def released(table: pa.Table, **asked: Any) -> anonkit.Release:
    """Return a release in memory, or where it is requested."""
    how = {"method": "mondrian", "k": 5, "policy": POLICY, "no_target": True, "ledger": None, "utility": False, **asked}
    return anonkit.release(table, **how)


def block_of(release: anonkit.Release) -> dict[str, Any]:
    """Return what the report says of the population."""
    return dict(release.report["disclosure_risk"]["population"])


@pytest.mark.parametrize("method", METHODS)
def test_figures_are_those_of_counting(method: str, tmp_path: Path) -> None:
    """k-map, journalist, marketer and presence, as a brute force over labels finds them; validation finds them too."""
    people = population()
    release = released(sample(people), method=method, population=people, output=tmp_path / "out.parquet")
    labels, unknown = recoding_from_dict(release.params["recoding"]).apply(people.to_batches()[0])
    table = pq.read_table(tmp_path / "out.parquet")
    names = [name for name in labels if name in table.column_names]
    everybody = Counter(
        row
        for row, lost in zip(zip(*(labels[name].to_pylist() for name in names), strict=True), unknown, strict=True)
        if not lost
    )
    classes = Counter(zip(*(table.column(name).to_pylist() for name in names), strict=True))
    n = sum(classes.values())
    block = block_of(release)
    assert (block["basis"], block["assumption"]) == ("file", WHOLE_POPULATION)
    figures = block["estimates"]
    assert figures["rows"] == people.num_rows
    assert figures["unmatched_classes"] == 0
    assert figures["k_map"] == min(everybody[each] for each in classes)
    assert figures["journalist"]["max"] == pytest.approx(1 / figures["k_map"])
    assert figures["marketer"] == pytest.approx(sum(size / everybody[each] for each, size in classes.items()) / n)
    shares = {each: size / everybody[each] for each, size in classes.items()}
    assert figures["delta_presence"]["max"] == pytest.approx(max(shares.values()))
    assert figures["delta_presence"]["mean"] == pytest.approx(sum(classes[e] * s for e, s in shares.items()) / n)
    found = anonkit.validate(tmp_path / "out.parquet", population=people, k_map=2)
    assert found.passed
    assert found.population == {**block, "estimates": {**figures, "k_map_required": 2}}


def test_a_release_below_k_map_is_refused(tmp_path: Path) -> None:
    """With one line and a remedy; nothing is written, and nothing booked."""
    people, out = population(), tmp_path / "out.parquet"
    least = block_of(released(sample(people), method="datafly", population=people))["estimates"]["k_map"]
    kept = released(sample(people), method="datafly", population=people, k_map=least, output=out)
    assert block_of(kept)["estimates"]["k_map_required"] == least
    ledger, refused = tmp_path / "books.json", tmp_path / "refused"
    with pytest.raises(GuaranteeError, match=f"fewer than {least + 1} people in the population file") as failure:
        released(
            sample(people), method="datafly", population=people, k_map=least + 1, output=refused / "out.parquet",
            ledger=ledger,
        )  # fmt: skip
    assert "nothing was written" in str(failure.value.hint)
    assert not list(refused.glob("*")) if refused.exists() else True
    assert not ledger.exists() or not json.loads(ledger.read_text() or "{}").get("releases")


@pytest.mark.slow
def test_a_file_that_lacks_people_is_no_whole_population() -> None:
    """Classes that it lacks are counted, said and never named; with K required, the release is refused."""
    people = population()
    half = people.filter(pa.compute.greater(people.column("age"), 60))
    figures = block_of(released(sample(people), population=half))["estimates"]
    assert figures["unmatched_classes"] > 0
    with pytest.raises(GuaranteeError, match="of them nobody"):
        released(sample(people), population=half, k_map=2)
    strangers = pa.table({"age": [5], "sex": ["x"], "place": ["q"]})
    nobody = block_of(released(sample(people), population=strangers))["estimates"]
    assert nobody == {"rows": 1, "unmatched_classes": nobody["unmatched_classes"], "k_map": None}


def test_people_are_counted_where_they_are_declared(tmp_path: Path) -> None:
    """Presence is that of people, however many rows they have; validation has their numbers from the params."""
    people = population()
    few = sample(people).append_column("who", pa.array([f"p{at}" for at in range(300)]))
    twice = pa.concat_tables([few, few])
    policy = {"columns": {**POLICY["columns"], "who": {"role": "unit"}}}
    out = tmp_path / "out.parquet"
    release = released(twice, policy=policy, population=people, output=out)
    figures = block_of(release)["estimates"]
    assert figures["delta_presence"]["max"] <= 1
    assert figures["delta_presence"]["mean"] < 0.4
    assert anonkit.validate(out, population=people).passed
    with pytest.raises(ParameterError, match="people are counted"):
        released(twice, policy=policy, population_size=3000)
    released(twice, policy=policy, sampling_fraction=0.1, output=tmp_path / "share.parquet")
    assert anonkit.validate(tmp_path / "share.parquet").passed
    with pytest.raises(ParameterError, match="people are counted"):
        anonkit.validate(tmp_path / "share.parquet", population_size=3000)


@pytest.mark.parametrize("known", [{"population_size": 3000}, {"sampling_fraction": 0.1}])
def test_estimates_need_no_file(known: dict[str, Any], tmp_path: Path) -> None:
    """They follow from the class sizes and the share; unique rows are none by construction."""
    out = tmp_path / "out.parquet"
    block = block_of(released(sample(population()), output=out, **known))
    assert block["assumption"] == SIMPLE_SAMPLE
    assert block["estimates"]["sampling_fraction"] == pytest.approx(0.1)
    assert block["estimates"]["uniques"] == "0 by construction"
    individual = block["estimates"]["individual"]
    assert individual["max"] == max(each["risk"] for each in block["estimates"]["by_size"])
    assert 0.01 < individual["mean"] <= individual["max"] < 0.1 / 3
    found = anonkit.validate(out, **known)
    assert found.passed
    assert same_figure(found.population, block)


@pytest.mark.slow
@pytest.mark.parametrize("known", [{"population_size": 3000}, {"sampling_fraction": 0.1}])
def test_estimates_of_the_next_batch(known: dict[str, Any], tmp_path: Path) -> None:
    """From the classes of the batch alone, those that show coarser labels too; validated."""
    first, second = tmp_path / "first.parquet", tmp_path / "second.parquet"
    released(sample(population()), output=first)
    batch = anonkit.apply(first, sample(population(seed=9)), output=second, ledger=None, max_suppression=0.5, **known)
    assert block_of(batch)["estimates"]["sampling_fraction"] == 0.1
    assert sum(each["classes"] for each in block_of(batch)["estimates"]["by_size"]) > 1
    assert anonkit.validate(second).passed


@pytest.mark.slow
def test_a_file_of_the_population_of_the_next_batch(tmp_path: Path) -> None:
    """Counted as for a release where no label is coarser; below K nothing is written; with coarser labels refused."""
    people = population()
    first, second = tmp_path / "first.parquet", tmp_path / "second.parquet"
    released(sample(people, 1000), k=5, output=first)
    same = anonkit.apply(first, sample(people, 1000), output=second, ledger=None, population=people, k_map=5)
    assert block_of(same)["estimates"]["k_map"] >= 5
    assert anonkit.validate(second, population=people).passed
    with pytest.raises(GuaranteeError, match="people in the population file"):
        anonkit.apply(
            first, sample(people, 1000), output=tmp_path / "x.parquet", ledger=None, population=people, k_map=900
        )
    assert not (tmp_path / "x.parquet").exists()
    with pytest.raises(ParameterError, match="coarser labels"):
        anonkit.apply(first, sample(population(seed=9)), ledger=None, max_suppression=0.5, population=people)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mondrian", "rfka"])
def test_spark_says_the_same_of_the_population(spark: Any, method: str, tmp_path: Path) -> None:
    """A file, a share, keys of their own and weights: figures of the classes that Spark has written, validated."""
    people = population()
    table = sample(people, 600).append_column("w", pa.array(np.linspace(2.0, 9.0, 600)))
    keys = [{"columns": ["sex"], "k": 40}]
    columns = {**POLICY["columns"], "w": {"role": "weight"}}
    for known, file in (({"population": people}, people), ({"sampling_fraction": 0.2}, None), ({}, None)):
        out = tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet"
        policy = {"columns": columns, "keys": keys, "unit": "none"}
        release = released(table, method=method, policy=policy, output=out, engine="spark", **known)
        basis = "weights" if not known else "file" if file is not None else "fraction"
        assert block_of(release)["basis"] == basis
        assert release.report["guarantee"]["parameters"]["keys"] == keys
        found = anonkit.validate(out, population=file)
        assert found.passed, [check for check in found.checks if not check.passed]


def test_bounds_are_read_as_labels(tmp_path: Path) -> None:
    """A release with two numbers a label is looked for like one with labels."""
    people, out = population(), tmp_path / "out.parquet"
    figures = block_of(released(sample(people), cells="bounds", population=people, k_map=5, output=out))
    found = anonkit.validate(out, population=people)
    assert found.passed
    assert found.population is not None
    assert found.population["estimates"]["k_map"] == figures["estimates"]["k_map"]


def test_a_population_is_read_as_the_policy_declares(tmp_path: Path) -> None:
    """Bounds, categories and dates written in another form, in a file of text; the params alone say so to others."""
    rows = [f"{20 + at % 50},{'fm'[at % 2]},{1 + at % 28:02d}.03.{1950 + at % 40}" for at in range(2000)]
    (tmp_path / "people.csv").write_text("age,sex,born\n" + "\n".join(rows) + "\n200,q,01.01.1960\n")
    (tmp_path / "sample.csv").write_text("age,sex,born\n" + "\n".join(rows[:200]) + "\n")
    policy = {
        "columns": {
            "age": {"bounds": [25, 60], "outside": "clamp"},
            "sex": {"categories": ["f", "m"]},
            "born": {"type": "date", "format": "%d.%m.%Y"},
        }
    }
    out = tmp_path / "out.parquet"
    file = str(tmp_path / "people.csv")
    block = block_of(released(str(tmp_path / "sample.csv"), policy=policy, population=file, output=out))
    assert block["estimates"]["rows"] == 2001
    found = anonkit.validate(out, population=file)
    assert found.passed, [check for check in found.checks if not check.passed]
    assert found.population == block


def test_a_recipe_names_the_population(tmp_path: Path) -> None:
    """Relative to its folder; words of another kind are refused."""
    people = population()
    pyarrow.csv.write_csv(people, tmp_path / "people.csv")
    pyarrow.csv.write_csv(sample(people), tmp_path / "sample.csv")
    recipe = tmp_path / "recipe.toml"
    from anonkit.pipeline.recipe import run_recipe

    head = 'method = "mondrian"\ninput = "sample.csv"\noutput = "out.parquet"\nutility = false\n'
    tail = "[policy]\ntarget = false\n[parameters]\nk = 5\n"
    for line, words in (
        ("population = 3\n", "population must be a text"),
        ('sampling_fraction = "x"\n', "sampling_fraction must be a number"),
        ("population_size = 0\n", "whole number above 0"),
        ("k_map = 3\n", "counted in a file"),
        ('population = "people.csv"\nsampling_fraction = 0.1\n', "say the same thing"),
    ):
        recipe.write_text(head + line + tail)
        with pytest.raises(AnonkitError, match=words):
            run_recipe(recipe, ledger=None)
    recipe.write_text(head + 'population = "people.csv"\nk_map = 3\n[policy.columns]\nage = {}\n[parameters]\nk = 5\n')
    assert block_of(run_recipe(recipe, ledger=None))["estimates"]["k_map_required"] == 3


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ({"population_size": 10}, ParameterError, "smaller than the table"),
        ({"sampling_fraction": 2.0}, ParameterError, r"in \(0, 1\]"),
        ({"k_map": 5}, ParameterError, "counted in a file"),
        ({"population": population(), "k_map": 1}, ParameterError, "at least 2"),
        ({"population": population().drop_columns("sex")}, PolicyError, "'sex' is not in the population file"),
        (
            {"population": population().drop_columns("age").append_column("age", pa.array(["x"] * 3000))},
            SourceError,
            "one of numbers or dates in one file",
        ),
    ],
)
def test_what_cannot_be_looked_at_is_refused(asked: dict[str, Any], error: type[AnonkitError], words: str) -> None:
    """Before anything is drawn or written."""
    with pytest.raises(error, match=words):
        released(sample(population()), **asked)


def test_noise_has_no_classes() -> None:
    """A method that releases noisy rows is refused with a line of its own."""
    columns = {
        "age": {"role": "insensitive"},
        "sex": {"categories": ["f", "m"]},
        "place": {"categories": ["a", "b", "c"]},
    }
    with pytest.raises(ParameterError, match="that of the classes of a k-anonymous release"):
        anonkit.release(
            population(60), method="rr", epsilon=2.0, policy={"columns": columns}, target="sex", ledger=None,
            sampling_fraction=0.1,
        )  # fmt: skip


def test_two_counts_have_to_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recoding that puts people elsewhere than the published one is found by the recount."""
    people = population()
    true = population_measures.matched_classes
    monkeypatch.setattr(population_measures, "matched_classes", lambda rows, found: true(rows, found + 1))
    with pytest.raises(GuaranteeError, match="two counts"):
        released(sample(people), population=people)
