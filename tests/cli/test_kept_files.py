# SPDX-License-Identifier: Apache-2.0
"""A command never overwrites a file that it reads, even with --force: a release had replaced its source."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

OPTIONS = ("--method", "mondrian", "--k", "3", "--identifier", "name", "--force")


@pytest.fixture
def parquet(table: Path) -> Path:
    """The small table as a Parquet file, alone in its folder."""
    pd.read_csv(table).to_parquet(table.with_suffix(".parquet"))
    table.unlink()
    return table.with_suffix(".parquet")


def refused(ran: Any, read: Path, before: bytes) -> None:
    """The command says in one line why it does nothing, and what is read stays."""
    assert ran.code == 2, ran.err
    assert "is read" in ran.err or "would be read" in ran.err
    assert "Traceback" not in ran.err
    assert read.read_bytes() == before


@pytest.mark.parametrize("way", ["by its name", "through a link", "through a folder's link", "from a folder", "dry"])
def test_a_release_never_takes_the_place_of_its_source(cli: Any, parquet: Path, way: str) -> None:
    """The release is refused for any spelling of the two names, and before anything is read."""
    before, source, output = parquet.read_bytes(), parquet, parquet
    more: tuple[str, ...] = ()
    if way == "through a link":
        source = parquet.with_name("link.parquet")
        source.symlink_to(parquet.name)
    elif way == "through a folder's link":
        (parquet.parent / "there").symlink_to(parquet.parent)
        output = parquet.parent / "there" / parquet.name
    elif way == "from a folder":
        source = parquet.parent
    elif way == "dry":
        more = ("--dry-run",)
    refused(cli("release", source, output, *OPTIONS, *more), parquet, before)
    assert not [name for name in os.listdir(parquet.parent) if name.startswith(".anonkit-staging")]


@pytest.mark.parametrize("odd", ["loop", "no\0name", "n" * 300])
def test_a_name_that_is_no_file_is_refused_by_whoever_reads_it(cli: Any, table: Path, odd: str) -> None:
    """A link to itself, a name with a zero byte and one that is too long are refused in one line, as before."""
    source = table.with_name(odd)
    if odd == "loop":
        source.symlink_to(source)
    ran = cli("release", source, table.with_name("out.parquet"), *OPTIONS)
    assert ran.code in (2, 3), ran.err
    assert "Traceback" not in ran.err
    assert "internal" not in ran.err


def test_a_folder_of_data_never_takes_the_place_of_the_folder_it_comes_from(cli: Any, parquet: Path) -> None:
    """A folder of parts is replaced whole: also with a source that lies in it."""
    folder = parquet.parent / "parts.parquet"
    folder.mkdir()
    shutil.move(parquet, folder / "part-00000.parquet")
    read = folder / "part-00000.parquet"
    before = read.read_bytes()
    for source in (folder, read, f"{folder}/*.parquet"):
        refused(cli("release", source, folder, *OPTIONS, "--part-rows", "20"), read, before)


def test_a_release_is_not_put_among_the_files_of_its_source(cli: Any, parquet: Path) -> None:
    """A folder is read whole: the next time the release would be rows of its own source."""
    before = parquet.read_bytes()
    refused(cli("release", parquet.parent, parquet.parent / "new.parquet", *OPTIONS), parquet, before)
    assert cli("release", f"{parquet.parent}/in*.parquet", parquet.parent / "new.parquet", *OPTIONS).code == 0


@pytest.mark.parametrize(
    ("pattern", "more"),
    [
        ("*.parquet", ()),
        ("{folder}/[i-n]*", ()),
        ("{folder}/../*/*.parquet", ()),
        ("**/*.parquet", ()),
        ("{folder}/**", ()),
        ("**/part-*.parquet", ("--part-rows", "20")),
        ("*.p*", ("--dry-run",)),
    ],
)
def test_a_release_is_not_put_where_a_pattern_would_find_it(
    cli: Any, parquet: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, more: tuple[str, ...]
) -> None:
    """The next run would read the release as rows of its own source."""
    monkeypatch.chdir(parquet.parent)
    (parquet.parent / "within").mkdir()
    shutil.copy(parquet, parquet.parent / "within" / "part-00000.parquet")
    before = parquet.read_bytes()
    source = pattern.format(folder=parquet.parent)
    ran = cli("release", source, "new.parquet", *OPTIONS, *more)
    refused(ran, parquet, before)
    assert source in ran.err
    assert not list(parquet.parent.glob("new*"))


@pytest.mark.quick_cases("i*")
@pytest.mark.parametrize("pattern", ["[!n]*.parquet", "within/*.parquet", "*/*.parquet", "i*", "[iw]*"])
def test_a_pattern_that_would_not_find_the_release_is_no_hindrance(
    cli: Any, parquet: Path, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    """A release may be beside its source, in the folder above it, and under a name that another one begins with."""
    monkeypatch.chdir(parquet.parent)
    (parquet.parent / "within").mkdir()
    shutil.copy(parquet, parquet.parent / "within" / "part-00000.parquet")
    assert cli("release", pattern, "new.parquet", *OPTIONS).code == 0


@pytest.mark.slow
def test_a_name_of_one_file_is_no_pattern(cli: Any, parquet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file whose very name has wildcards in it goes first, and represents itself alone; so does a folder's."""
    folder = parquet.parent / "in[out]*"
    folder.mkdir()
    named = folder / "p[ae]rt.parquet"
    parquet.rename(named)
    monkeypatch.chdir(folder)
    for source in (named, named.name):
        assert cli("release", source, "part.parquet", *OPTIONS).code == 0
    refused(cli("release", "p*t.parquet", "pt.parquet", *OPTIONS), named, named.read_bytes())


def test_an_address_of_a_file_is_its_file(cli: Any, table: Path) -> None:
    """The database is one file, whatever it is called."""
    import sqlite3

    place = table.with_name("people.parquet")
    with sqlite3.connect(place) as connection:
        pd.read_csv(table).to_sql("people", connection, index=False)
    connection.close()
    refused(cli("release", f"sqlite:///{place}?table=people", place, *OPTIONS), place, place.read_bytes())


@pytest.mark.slow
def test_a_batch_is_not_replaced_by_what_is_made_of_it(cli: Any, released: Path, table: Path) -> None:
    """`apply` writes a release as well."""
    batch = table.with_name("next.parquet")
    pd.read_csv(table).to_parquet(batch)
    refused(cli("apply", released, batch, batch, "--force"), batch, batch.read_bytes())


def test_a_recipe_keeps_its_tables(cli: Any, table: Path) -> None:
    """Each of several, under the names that are in the recipe."""
    visits = table.with_name("visits.parquet")
    people = pd.read_csv(table)
    pd.DataFrame({"who": people["name"], "days": range(len(people))}).to_parquet(visits)
    recipe = table.with_name("recipe.toml")
    recipe.write_text(
        'method = "mondrian"\noutput = "visits.parquet"\n[tables.people]\nsource = "in.csv"\nkey = "name"\n'
        '[tables.visits]\nsource = "visits.parquet"\nof = "people"\nkey = "who"\n[parameters]\nk = 3\n'
    )
    refused(cli("run", recipe, "--force"), visits, visits.read_bytes())


@pytest.mark.parametrize("command", ["init", "compare"])
def test_a_page_is_not_written_over_the_table_that_it_tells_of(cli: Any, table: Path, command: str) -> None:
    """--force replaces an earlier page."""
    more = ("--target", "income", "--methods", "mondrian", "--k", "3") if command == "compare" else ()
    refused(cli(command, table, *more, "--output", table, "--force"), table, table.read_bytes())


def test_predictions_are_not_written_over_the_table_that_was_asked_about(cli: Any, table: Path) -> None:
    """Nor over a file of the release that they come from."""
    output = table.with_name("noisy.parquet")
    declared = table.with_name("policy.toml")
    declared.write_text(
        '[columns]\nname = { role = "identifier" }\nage = { bounds = [20, 60] }\nzip = { bounds = [100, 105] }\n'
        'sex = { categories = ["F", "M"] }\nillness = { role = "insensitive" }\n'
        'income = { role = "target", categories = ["low", "high"] }\n'
    )
    ran = cli("release", table, output, "--method", "rr", "--epsilon", "8", "--policy", declared)
    assert ran.code == 0, ran.err
    test = table.with_name("test.parquet")
    pd.read_csv(table).to_parquet(test)
    asked = ("reconstruct", output, "--test", test, "--force")
    refused(cli(*asked, "--predictions", test), test, test.read_bytes())
    refused(cli(*asked, "--predictions", output), output, output.read_bytes())
    params = output.with_name("noisy.params.json")
    refused(cli(*asked, "--model", params), params, params.read_bytes())
    absent = output.with_name("noisy.signature.json")
    ran = cli(*asked, "--model", absent)
    assert ran.code == 2
    assert "read whole" not in ran.err
    assert not absent.exists()


@pytest.mark.parametrize("way", ["one name", "a relative path", "a folder's link", "one within the other"])
def test_two_outputs_of_one_command_are_two_files(cli: Any, table: Path, monkeypatch: Any, way: str) -> None:
    """One of both was lost, but reported as written; forced or not, nothing is written now."""
    monkeypatch.chdir(table.parent)
    Path("there").symlink_to(table.parent)
    declared = table.with_name("policy.toml")
    left = "".join(f'{name} = {{ role = "insensitive" }}\n' for name in ("name", "zip", "illness", "income"))
    declared.write_text(
        f'[columns]\nsex = {{ role = "target", categories = ["F", "M"] }}\nage = {{ bounds = [20, 60] }}\n{left}'
    )
    ran = cli("release", table, "out.parquet", "--method", "dp-marginals", "--epsilon", "8", "--policy", declared)
    assert ran.code == 0, ran.err
    one = Path("one.parquet")
    other = {
        "one name": one,
        "a relative path": Path(f"../{table.parent.name}/one.parquet"),
        "a folder's link": Path("there/one.parquet"),
        "one within the other": one / "two.parquet",
    }[way]
    for names in (("--draw", "--model"), ("--model", "--draw"), ("--predictions", "--draw")):
        ran = cli("reconstruct", "out.parquet", "--test", table, "--force", names[0], one, names[1], other)
        assert (ran.code, "written" in ran.err, ran.out) == (2, True, ""), ran.err
        assert not one.exists()


@pytest.mark.quick_cases("out.params.json")
@pytest.mark.parametrize("lost", ["out.parquet", "out.params.json", "own/owner.report.json", "own/out.dossier.html"])
def test_a_release_never_takes_the_place_of_its_ledger(cli: Any, table: Path, quick: Any, lost: str) -> None:
    """The loss was booked in a file that the release, or the owner's report, then replaced."""
    ledger, out = table.parent / lost, table.with_name("out.parquet")
    ledger.parent.mkdir(exist_ok=True)
    owned = ("--owner-report", table.parent / "own")
    for force in ((), ("--force",)):
        ran = cli("release", table, out, *quick, *owned, "--ledger", ledger, *force)
        assert (ran.code, "is not written over" in ran.err) == (2, True), ran.err
        assert not ledger.exists()
    assert cli("release", table, out, *quick, *owned, "--ledger", table.with_name("ledger")).code == 0


def test_a_page_never_takes_the_place_of_the_ledger_that_is_charged(cli: Any, table: Path) -> None:
    """A page at the path of the ledger would destroy the charges of its comparison."""
    page = table.with_name("page.html")
    ran = cli("compare", table, "--target", "income", "--methods", "rr", "--epsilon", "1", "--charge", page,
              "--output", page, "--force")  # fmt: skip
    assert (ran.code, "is not written over" in ran.err) == (2, True), ran.err
    assert not page.exists()
