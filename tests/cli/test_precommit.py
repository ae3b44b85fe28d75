"""The pre-commit hooks: what they let through and what not."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
import yaml
from pages.blocks import blocks_of

import anonkit
from anonkit.cli.precommit import main


@pytest.fixture(scope="module")
def hook(repository: Path) -> re.Pattern[str]:
    """The names of files that pre-commit passes to the hook about tables."""
    hooks = yaml.safe_load((repository / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    return re.compile(next(each["files"] for each in hooks if each["id"] == "anonkit-no-raw-table"))


def test_recipes_and_policies_are_read(repository: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Every recipe of the repository passes; a broken one is named with its rule."""
    written = (repository / "recipes").rglob("*.toml")
    recipes = sorted(str(path) for path in written if path.parent.name != "harness")  # its list of tables is no recipe
    assert {"004-ppnb.toml", "adult.toml", "bank-rfka.toml"} <= {Path(one).name for one in recipes}
    assert main(["declarations", *recipes]) == 0
    broken = tmp_path / "policy.toml"
    broken.write_text('[columns]\nage = { role = "quasi" }\n')
    assert main(["declarations", str(broken)]) == 1
    assert "role has an unknown value" in capfd.readouterr().err
    broken.write_text('[experiment]\ntitle = "t"\n')
    assert main(["declarations", str(broken)]) == 1
    assert "needs data" in capfd.readouterr().err
    broken.write_text("not TOML at all")
    assert main(["declarations", str(broken)]) == 1


def test_a_table_needs_its_release(released: Path, table: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The data file of a release passes; raw tables, halves of a release and ledgers do not."""
    from anonkit.ledger import NAME

    assert main(["tables", str(released)]) == 0
    assert main(["tables", str(released), str(table)]) == 1
    assert "in.csv: is a table without a release" in capfd.readouterr().err
    assert main(["tables", str(released.with_name(NAME))]) == 1
    released.with_name("out.report.json").unlink()
    assert main(["tables", str(released)]) == 1


HELD = (
    "in.csv", "in.CSV", "in.csv.gz", "in.tsv", "in.jsonl.zst", "in.xlsx", "in.xls", "in.ods", "in.feather", "in.arrow",
    "in.orc", "in.avro", "in.sav", "in.dta", "in.sas7bdat", "in.rds", "in.pkl", "in.duckdb", "in.duckdb.wal",
    "people.db",    "ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm", "ledger.sqlite-journal",
    ".anonkit-ledger.sqlite.key", "ledger.sqlite.seen",
    "owner.report.json", "out.dossier.html",
)  # fmt: skip
FREE = ("README.md", "out.report.json", "out.report.html", "out.params.json", "policy.toml", "keys.txt", "data.py")


@pytest.mark.parametrize("name", HELD)
def test_a_raw_table_in_any_form_is_held(
    name: str, hook: re.Pattern[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """pre-commit hands the file to the hook by its name, and the hook refuses it."""
    assert hook.search(f"folder/{name}")
    assert main(["tables", str(tmp_path / name)]) == 1
    assert name in capfd.readouterr().err


@pytest.mark.parametrize("name", FREE)
def test_other_files_are_not_held(name: str, hook: re.Pattern[str]) -> None:
    """Files that are no table and no ledger are committed as ever."""
    assert not hook.search(f"folder/{name}")


def test_a_raw_table_under_the_name_of_a_release_is_held(
    released: Path, table: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The files of a release vouch for the table they were made with, and for no other that is in its place."""
    pq.write_table(csv.read_csv(table), released)
    assert main(["tables", str(released)]) == 1
    assert "is not the table of the release" in capfd.readouterr().err


@pytest.mark.slow
def test_the_parts_of_a_release_pass(table: Path, tmp_path: Path) -> None:
    """Every file of a folder of data belongs to its release; one that was slipped in makes all of them strange."""
    output = tmp_path / "folder" / "out.parquet"
    anonkit.release(table, method="mondrian", k=5, output=output, part_rows=10)
    parts = sorted(map(str, output.glob("*.parquet")))
    assert len(parts) > 1
    assert main(["tables", *parts]) == 0
    (output / "part-99999.parquet").write_bytes(Path(parts[0]).read_bytes())
    assert main(["tables", *parts]) == 1


def test_wrong_usage() -> None:
    """Exit code 2."""
    assert main([]) == 2
    assert main(["other", "x"]) == 2


def test_the_page_names_hooks_that_there_are(repository: Path) -> None:
    """The configuration of pre-commit.md is every hook that the repository has, with the package by its name."""
    (page,) = blocks_of("docs/how-to/pre-commit.md")
    (source,) = yaml.safe_load(page.text)["repos"]
    offered = yaml.safe_load((repository / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert source.keys() == {"repo", "hooks"}
    assert source["repo"] == "local"
    pinned = {"additional_dependencies": ["anonkit==0.2.0"]}
    assert source["hooks"] == [
        {**{key: value for key, value in hook.items() if key != "description"}, **pinned} for hook in offered
    ]
