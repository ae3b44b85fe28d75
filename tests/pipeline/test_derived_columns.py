"""Releases that show intervals as bounds: each reader finds what it finds in a release of labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.auditing.release_audit import audit
from anonkit.bundle.bound_columns import labelled_rows
from anonkit.bundle.data_files import read_schema
from anonkit.bundle.release_place import DATA
from anonkit.cli import anonkit as command
from anonkit.cli.boundary import run
from anonkit.datasets import bank_customers
from anonkit.errors import ParameterError, PolicyError, ReleaseFormatError
from anonkit.pipeline.exporting import export, validate_export
from anonkit.pipeline.recipe import Recipe
from anonkit.pipeline.stored_dossier import stored_dossier
from anonkit.policy.declaration import Missing, Policy

TABLE = bank_customers(300, seed=5).select(["age", "income", "deposit", "loan", "customer_value"])
BATCH = bank_customers(300, seed=6).select(TABLE.column_names)
NAMES = ["age_low", "age_high", "income", "deposit_low", "deposit_high", "loan_low", "loan_high", "customer_value"]


def ask(output: Path | None, table: Any = TABLE, *, cells: str = "bounds", **more: Any) -> anonkit.Release:
    """Request a release; a method without chance in its search, so that two of a table differ in their order alone."""
    asked = {"method": "mondrian", "k": 5, "target": "customer_value", "ledger": None, **more}
    return anonkit.release(table, output=output, cells=cells, **asked)


def rows(table: pa.Table) -> list[str]:
    """Rows without their order."""
    return sorted(map(str, table.to_pylist()))


def rounded(figures: Any) -> Any:
    """Figures without the last digits, which depend on the order in which rows are added up."""
    return json.loads(json.dumps(figures), parse_float=lambda text: round(float(text), 9))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> dict[str, anonkit.Release]:
    """One release of either form."""
    folder = tmp_path_factory.mktemp("both")
    return {cells: ask(folder / f"{cells}.parquet", cells=cells, emit=["croissant"]) for cells in ("labels", "bounds")}


@pytest.mark.slow
def test_the_rows_are_those_of_labels_in_other_words(both: dict[str, anonkit.Release]) -> None:
    """Two columns of numbers replace the labels; read back, the rows are the same, and so is the report."""
    labels, bounds = both["labels"], both["bounds"]
    assert bounds.to_arrow().column_names == NAMES
    assert {field.type for field in bounds.to_arrow().schema if field.name.endswith(("_low", "_high"))} == {pa.int64()}
    assert rows(labelled_rows(bounds)) == rows(labels.to_arrow()) == rows(labelled_rows(labels))
    assert bounds.params["recoding"] == labels.params["recoding"]
    assert "bounds" not in labels.params
    for block in ("disclosure_risk", "columns", "rows", "guarantee"):
        assert bounds.report[block] == labels.report[block]
    assert [note for note in bounds.report["notes"] if note not in labels.report["notes"]] == [
        "Intervals are written as their lowest and highest value: age as age_low and age_high; deposit as deposit_low "
        "and deposit_high; loan as loan_low and loan_high."
    ]


def test_catalogues_describe_the_columns_of_the_file(both: dict[str, anonkit.Release]) -> None:
    """Data Package and Croissant name the numbers, with their types."""
    place = both["bounds"].place
    assert place is not None
    described = json.loads(place.file(".datapackage.json").read_text())["resources"][0]["schema"]["fields"]
    assert [one["name"] for one in described] == NAMES
    assert {one["type"] for one in described if one["name"].endswith("_low")} == {"integer"}
    croissant = json.loads(place.file(".croissant.json").read_text())
    assert [one["name"] for one in croissant["recordSet"][0]["field"]] == NAMES
    assert anonkit.validate(both["bounds"]).passed


@pytest.mark.slow
def test_an_audit_finds_the_same(both: dict[str, anonkit.Release]) -> None:
    """Attacks work on the labels that the numbers represent, in the same rows."""
    bounds = both["bounds"]
    pq.write_table(labelled_rows(bounds), sink := pa.BufferOutputStream())
    params = {key: value for key, value in bounds.params.items() if key != "bounds"}
    labels = anonkit.Release(params=params, report=bounds.report, contents={DATA: sink.getvalue().to_pybytes()})
    assert labels.to_arrow().column_names == TABLE.column_names
    found = [audit(release, TABLE, attacks=50).to_dict() for release in (bounds, labels)]
    assert found[0] == found[1]


def test_the_dossier_of_a_stored_release_measures_the_same(both: dict[str, anonkit.Release]) -> None:
    """The owner's figures are those of the labels."""
    found = {name: dict(stored_dossier(release, TABLE).figures) for name, release in both.items()}
    changes = {name: figures.pop("column_changes") for name, figures in found.items()}
    assert found["bounds"] == found["labels"]
    assert rounded(changes["bounds"]) == rounded(changes["labels"])
    assert "distance" in str(changes["bounds"])


@pytest.mark.quick_cases("bounds")
@pytest.mark.parametrize("earlier", ["labels", "bounds"])
def test_the_next_batch_is_recoded_alike(both: dict[str, anonkit.Release], earlier: str, tmp_path: Path) -> None:
    """Either form recodes the next batch, which is shown as requested, and validates."""
    place = both[earlier].place
    assert place is not None
    made = {
        cells: anonkit.apply(
            place.file(".params.json"),
            BATCH,
            output=tmp_path / f"{cells}.parquet",
            cells=cells,
            max_suppression=0.5,
            ledger=None,
        )
        for cells in ("labels", "bounds")
    }
    assert made["bounds"].to_arrow().column_names == NAMES
    assert rows(labelled_rows(made["bounds"])) == rows(made["labels"].to_arrow())
    assert anonkit.validate(made["bounds"]).passed


@pytest.mark.slow
def test_it_is_handed_back_when_it_is_asked_again(tmp_path: Path) -> None:
    """The same request finds its release; one with labels is another."""
    output = tmp_path / "out.parquet"
    assert not ask(output, ledger=tmp_path / "l.sqlite").reused
    assert ask(output, ledger=tmp_path / "l.sqlite").reused
    with pytest.raises(ParameterError, match="exists"):
        ask(output, cells="labels", ledger=tmp_path / "l.sqlite")


@pytest.mark.slow
def test_in_memory_in_parts_and_of_people(tmp_path: Path) -> None:
    """A release in memory and one of several files show bounds too; people are counted as they are of labels."""
    held = ask(None)
    assert held.to_arrow().column_names == NAMES
    assert anonkit.validate(held.save(tmp_path / "held.parquet")).passed
    table = TABLE.append_column("who", pa.array([f"p{number // 2}" for number in range(TABLE.num_rows)]))
    parts = ask(tmp_path / "parts.parquet", table, unit="who", part_rows=100)
    assert (tmp_path / "parts.parquet").is_dir()
    assert "age_low" in parts.to_arrow().column_names
    assert anonkit.validate(parts).passed


@pytest.mark.slow
def test_a_recipe_says_it(tmp_path: Path) -> None:
    """`cells` is a key of a recipe, a word of two."""
    pyarrow.csv.write_csv(TABLE, tmp_path / "in.csv")
    text = 'method = "mondrian"\ninput = "in.csv"\noutput = "out.parquet"\ncells = {}\n[policy.columns]\n'
    text += 'customer_value = { role = "target" }\n[parameters]\nk = 5\n'
    (tmp_path / "r.toml").write_text(text.replace("{}", '"bounds"', 1))
    assert "age_high" in Recipe.load(tmp_path / "r.toml").run().to_arrow().column_names
    (tmp_path / "r.toml").write_text(text.replace("{}", "2", 1))
    with pytest.raises(PolicyError, match="cells must be a text"):
        Recipe.load(tmp_path / "r.toml")
    (tmp_path / "r.toml").write_text(text.replace("{}", '"ends"', 1))
    with pytest.raises(ParameterError, match="must be one of labels, bounds"):
        Recipe.load(tmp_path / "r.toml")


def test_what_cannot_be_shown_so_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    """Methods that generalize nothing, and names that are taken."""
    with pytest.raises(ParameterError, match="this method generalizes none"):
        anonkit.release(
            TABLE, method="rr", epsilon=1.0, domains_from_data=True, output=tmp_path / "a.parquet", cells="bounds"
        )
    taken = TABLE.rename_columns(["age", "income", "deposit", "age_low", "customer_value"])
    with pytest.raises(ParameterError, match="there is a column 'age_low'"):
        ask(tmp_path / "a.parquet", taken)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_missing_cells_stay_apart_or_are_refused(tmp_path: Path) -> None:
    """With missing cells a release either shows every label as a pair of its own, or is refused; without it passes."""
    holes = pc.if_else(pa.array([at % 4 == 0 for at in range(TABLE.num_rows)]), None, TABLE.column("age"))
    table = TABLE.set_column(0, "age", holes)
    with pytest.raises(ParameterError, match="column 'age' cannot be shown as bounds"):
        ask(tmp_path / "a.parquet", table)
    apart = ask(tmp_path / "b.parquet", table, policy=Policy(missing=Missing.DROP))
    assert anonkit.validate(apart).passed


def test_numbers_of_no_interval_are_not_read(tmp_path: Path) -> None:
    """A changed file is no release to an audit; a file without the columns is none either."""
    release = ask(tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    at = table.column_names.index("age_low")
    pq.write_table(table.set_column(at, "age_low", pa.array([1] * table.num_rows)), tmp_path / "out.parquet")
    with pytest.raises(ReleaseFormatError, match=r"column 'age' has [0-9]+ rows with bounds of no interval"):
        audit(release, TABLE, attacks=50)
    pq.write_table(table.drop_columns(["age_low"]), tmp_path / "out.parquet")
    with pytest.raises(ReleaseFormatError, match="no columns 'age_low' and 'age_high'"):
        audit(release, TABLE, attacks=50)


def test_an_export_holds_the_numbers(both: dict[str, anonkit.Release], tmp_path: Path) -> None:
    """The file's own columns are exported, and compared."""
    place = both["bounds"].place
    assert place is not None
    export(place.file(".parquet"), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines()[0].replace('"', "") == ",".join(NAMES)
    assert validate_export(tmp_path / "out.csv", place.file(".parquet")).passed


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_spark_writes_the_same(both: dict[str, anonkit.Release], tmp_path: Path) -> None:
    """Bounds do not depend on the engine."""
    pq.write_table(TABLE, tmp_path / "in.parquet")
    release = ask(tmp_path / "out.parquet", tmp_path / "in.parquet", engine="spark")
    assert rows(release.to_arrow()) == rows(both["bounds"].to_arrow())


@pytest.mark.slow
def test_a_place_for_missing_that_no_row_has_is_in_nobodys_way(tmp_path: Path) -> None:
    """A recoding found on a sample has room for missing: bounds are refused for what rows show alone."""
    release = ask(tmp_path / "out.parquet", search_rows=150)
    assert any(axis["missing"] for axis in release.params["recoding"]["axes"] if axis["kind"] == "intervals")
    assert anonkit.validate(release).passed
    batch = anonkit.apply(
        tmp_path / "out.parquet", BATCH.slice(0, 15), output=tmp_path / "next.parquet", cells="bounds", ledger=None,
        max_suppression=0.9,
    )  # fmt: skip
    assert batch.params["recoding"]["merged"]  # 15 people are in more than three boxes
    assert anonkit.validate(batch).passed


@pytest.mark.slow
def test_the_commands_say_and_read_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`release`, `apply`, `validate` and `audit`; a method that generalizes nothing is wrong usage."""
    pyarrow.csv.write_csv(TABLE, tmp_path / "in.csv")
    source, out, more = (str(tmp_path / name) for name in ("in.csv", "out.parquet", "next.parquet"))
    how = ["--cells", "bounds", "--no-ledger", "--quiet"]
    given = ["--method", "mondrian", "--k", "5", "--target", "customer_value"]
    assert run(command, ["release", *given, *how, source, out], "anonkit") == 0
    assert run(command, ["apply", out, source, more, *how], "anonkit") == 0
    assert read_schema(Path(more)).names == read_schema(Path(out)).names == NAMES
    assert run(command, ["validate", more], "anonkit") == 0
    assert run(command, ["audit", out, "--original", source, "--attacks", "20"], "anonkit") == 0
    capsys.readouterr()
    given = ["--method", "rr", "--epsilon", "1", "--domains-from-data"]
    assert run(command, ["release", *given, *how, source, str(tmp_path / "rr.parquet")], "anonkit") == 2
    assert "leave --cells out" in capsys.readouterr().err
