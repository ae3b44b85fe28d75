# SPDX-License-Identifier: Apache-2.0
"""Forgeries of what a report says of the risk in a population: refused by its classes, or by the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from checks.forgeries import Files, forged
from checks.forging import at

import anonkit
from anonkit.checks.population_counts import wrong_block
from anonkit.errors import ParameterError, ReleaseFormatError

PATH = ("disclosure_risk", "population")


def people(n_rows: int) -> pa.Table:
    """Return people of two sexes, of forty ages."""
    return pa.table(
        {
            "age": [20 + at * 7 % 40 for at in range(n_rows)],
            "sex": ["fm"[at // 3 % 2] for at in range(n_rows)],
            "ill": ["ny"[at // 5 % 2] for at in range(n_rows)],
        }
    )


def made(folder: Path, table: pa.Table | None = None, more: dict[str, Any] | None = None, **known: Any) -> Files:
    """Return a release of some of them."""
    columns: dict[str, Any] = {
        **(more or {}),
        "age": {"role": "quasi_identifier"},
        "sex": {"role": "quasi_identifier"},
        "ill": {"role": "insensitive"},
    }
    out = folder / "out.parquet"
    anonkit.release(
        people(200) if table is None else table,
        method="mondrian", k=10, policy={"columns": columns}, no_target=True, output=out, ledger=None,
        utility=False, **known,
    )  # fmt: skip
    return Files.read(out)


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A release measured against a file."""
    return made(tmp_path_factory.mktemp("counted"), population=people(2000), k_map=20)


@pytest.fixture(scope="module")
def estimated(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A release with estimates for a population of a known size."""
    return made(tmp_path_factory.mktemp("estimated"), population_size=2000)


def refusals(found: anonkit.checks.requirements.Validation) -> set[str]:
    """Return the names of failed checks."""
    return {check.name for check in found.checks if not check.passed}


def wrong(files: Files) -> int:
    """Count what the block of a report says that cannot be."""
    risk = files.report["disclosure_risk"]
    sizes = [(each["size"], each["classes"]) for each in risk["class_sizes"]]
    return wrong_block(risk["population"], sizes, files.report["rows"]["in"], risk["classes"])


BY_CLASSES: dict[str, tuple[tuple[str | int, ...], Any]] = {
    "basis": (("basis",), "fraction"),
    "assumption": (("assumption",), "none"),
    "size": (("estimates", "population_size"), 4000),
    "size of texts": (("estimates", "population_size"), "2000"),
    "share": (("estimates", "sampling_fraction"), 0.01),
    "share of nothing": (("estimates", "sampling_fraction"), 0.0),
    "share of truth": (("estimates", "sampling_fraction"), True),
    "highest risk": (("estimates", "individual", "max"), 1e-6),
    "mean risk": (("estimates", "individual", "mean"), 1e-6),
    "people found": (("estimates", "individual", "sum"), 0.01),
    "a size": (("estimates", "by_size", 0, "size"), 400),
    "its classes": (("estimates", "by_size", 0, "classes"), 1000),
    "its risk": (("estimates", "by_size", 0, "risk"), 1e-6),
    "uniques": (("estimates", "uniques"), "none"),
    "a key": (("more",), "word"),
}


@pytest.mark.parametrize("forgery", BY_CLASSES)
def test_estimates_follow_from_the_classes(estimated: Files, forgery: str) -> None:
    """Each figure is worked out again from the sizes of the written classes."""
    path, to = BY_CLASSES[forgery]
    assert wrong(estimated) == 0
    forgery_of = estimated.copy()
    at("report", *PATH, *path, to=to)(forgery_of)
    assert wrong(forgery_of) > 0


WITHOUT_FILE: dict[str, tuple[tuple[str, ...], Any]] = {
    "rows": (("rows",), 30),
    "rows as text": (("rows",), "2000"),
    "k-map": (("k_map",), 50_000),
    "k-map of one": (("k_map",), 1),
    "k-map of nobody": (("k_map",), None),
    "k-map as text": (("k_map",), "20"),
    "asked above what was found": (("k_map_required",), 1000),
    "asked as text": (("k_map_required",), "20"),
    "classes lacking": (("unmatched_classes",), 1),
    "classes lacking as text": (("unmatched_classes",), "0"),
    "journalist": (("journalist", "max"), 1e-6),
    "journalist's mean": (("journalist", "mean"), 0.9),
    "journalist of truth": (("journalist", "mean"), True),
    "journalist of more": (("journalist", "least"), 0.01),
    "marketer": (("marketer",), 0.9),
    "largest presence": (("delta_presence", "max"), 1e-6),
    "presence above all": (("delta_presence", "max"), 1.5),
    "mean presence": (("delta_presence", "mean"), 0.0),
    "a key": (("more",), 1),
}


@pytest.mark.parametrize("forgery", WITHOUT_FILE)
def test_figures_of_a_file_agree_with_each_other(counted: Files, forgery: str) -> None:
    """Without the file what contradicts the classes or another figure is refused."""
    path, to = WITHOUT_FILE[forgery]
    assert wrong(counted) == 0
    forgery_of = counted.copy()
    at("report", *PATH, "estimates", *path, to=to)(forgery_of)
    assert wrong(forgery_of) > 0


def test_a_forged_release_is_refused(estimated: Files, counted: Files, tmp_path: Path) -> None:
    """Validation makes the check, of estimates and of figures of a file."""
    for files, path in ((estimated, ("individual", "max")), (counted, ("marketer",))):
        data = forged(files, at("report", *PATH, "estimates", *path, to=0.9), tmp_path)
        assert refusals(anonkit.validate(data)) == {"population"}


def test_figures_of_a_file_are_counted_in_it(counted: Files, tmp_path: Path) -> None:
    """Also those that agree with each other; the file is that of the owner where it has as many rows."""
    path = ("estimates", "delta_presence", "mean")
    data = forged(counted, at("report", *PATH, *path, to=lambda mean: mean * 0.99), tmp_path)
    assert anonkit.validate(data).passed
    assert refusals(anonkit.validate(data, population=people(2000))) == {"population_file"}


def test_what_was_asked_is_counted_anew(counted: Files, tmp_path: Path) -> None:
    """In the owner's file and in another one; without any it is said not to be evaluated, and nothing fails."""
    data = forged(counted, lambda files: None, tmp_path)
    bare = anonkit.validate(data)
    assert bare.passed
    assert any("not evaluated here" in note for note in bare.notes)
    assert {check.name: check.passed for check in anonkit.validate(data, population=people(2000)).checks}["k_map"]
    other = anonkit.validate(data, population=people(90))
    assert refusals(other) == {"k_map"}
    assert any("another number of rows" in note for note in other.notes)
    assert refusals(anonkit.validate(data, population=people(2000), k_map=1000)) == {"k_map"}
    nobody = pa.table({"age": [1], "sex": ["x"]})
    assert refusals(anonkit.validate(data, population=nobody)) == {"k_map"}
    with pytest.raises(ParameterError, match="quasi-identifiers of the release"):
        anonkit.validate(data, population=people(2000), quasi_identifiers=["age"])
    assert anonkit.validate(data, quasi_identifiers=["age"]).passed


def test_a_block_without_figures_is_damage(counted: Files, tmp_path: Path) -> None:
    """An unreadable block is refused as damage."""
    data = forged(counted, at("report", *PATH, "estimates", to={}), tmp_path)
    with pytest.raises(ReleaseFormatError):
        anonkit.validate(data)


def test_nobody_of_the_table_is_in_the_file(tmp_path: Path) -> None:
    """Then there is no figure but the number of classes, which has to be that of all."""
    files = made(tmp_path, population=pa.table({"age": [1], "sex": ["x"]}))
    (tmp_path / "forged").mkdir()
    assert anonkit.validate(forged(files, lambda files: None, tmp_path / "forged")).passed
    data = forged(files, at("report", *PATH, "estimates", "unmatched_classes", to=0), tmp_path / "forged")
    assert refusals(anonkit.validate(data)) == {"population"}


@pytest.mark.parametrize("basis", ["table", "file"])
def test_a_plain_table_against_a_population(tmp_path: Path, basis: str) -> None:
    """Cells are compared as they are; with single rows the models for unique people have something to say."""
    import pyarrow.csv

    table, everybody = people(30), people(600)
    if basis == "file":
        for name, each in (("table", table), ("everybody", everybody)):
            pyarrow.csv.write_csv(each, tmp_path / f"{name}.csv")
        sources: tuple[Any, Any] = (tmp_path / "table.csv", tmp_path / "everybody.csv")
    else:
        sources = (table, everybody)
    found = anonkit.validate(sources[0], quasi_identifiers=["age", "sex"], population=sources[1], k_map=2)
    assert found.passed
    assert found.population is not None
    pairs = list(zip(everybody["age"].to_pylist(), everybody["sex"].to_pylist(), strict=True))
    assert found.population["estimates"]["k_map"] == min(map(pairs.count, pairs[:30]))
    assert found.population["estimates"]["rows"] == 600
    guessed = anonkit.validate(sources[0], quasi_identifiers=["age", "sex"], sampling_fraction=0.05)
    assert guessed.population is not None
    assert set(guessed.population["estimates"]["uniques"]) == {"pitman", "zayatz", "snb", "rule"}
    assert found.to_dict()["disclosure_risk"]["population"] == found.population
    whole = anonkit.validate(
        sources[0], quasi_identifiers=[], k=1, population=str(sources[1]) if basis == "file" else sources[1]
    )
    assert whole.population is not None
    assert whole.population["estimates"]["k_map"] == 600


def test_drawn_rows_are_no_simple_sample(tmp_path: Path) -> None:
    """Classes of rows that coins drew are not looked for in a population."""
    from checks import drawn_tables

    out = tmp_path / "out.parquet"
    anonkit.release(drawn_tables.people(), policy=drawn_tables.POLICY, output=out, **drawn_tables.EASY)
    with pytest.raises(ParameterError, match="no simple random sample"):
        anonkit.validate(out, sampling_fraction=0.1)


def test_estimates_that_a_reader_asks_for(tmp_path: Path) -> None:
    """If people are counted a size gives no share; without a k-map nothing is left unevaluated."""
    out = tmp_path / "out.parquet"
    made(tmp_path, population=people(2000))
    assert not any("not evaluated" in note for note in anonkit.validate(out).notes)
    found = anonkit.validate(out, population_size=2000)
    assert found.passed
    assert found.population is not None
    assert found.population["estimates"]["sampling_fraction"] == 0.1
    (tmp_path / "who").mkdir()
    table = people(200).append_column("who", pa.array([f"p{at % 100}" for at in range(200)]))
    made(tmp_path / "who", table, {"who": {"role": "unit"}}, sampling_fraction=0.1)
    with pytest.raises(ParameterError, match="people are counted"):
        anonkit.validate(tmp_path / "who" / "out.parquet", population_size=2000)


def test_a_release_that_states_nothing_is_counted_in_a_file(tmp_path: Path) -> None:
    """A reader may require what its owner did not."""
    made(tmp_path)
    data = tmp_path / "out.parquet"
    assert anonkit.validate(data, population=people(2000), k_map=2).passed
    assert refusals(anonkit.validate(data, population=people(2000), k_map=1000)) == {"k_map"}
