"""Several tables in a recipe: what is declared, refused, joined, promised and released."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.datasets import hospital_patients, hospital_visits
from anonkit.errors import AnonkitError, GuaranteeError, ParameterError, PolicyError
from anonkit.ledger.account import Account
from anonkit.pipeline.recipe import Recipe

TABLES = """
[tables.people]
source = "people.csv"
key = "person_id"
[tables.visits]
source = "visits.csv"
of = "people"
key = "patient"
{more}
[policy]
dataset = "hospital"
[policy.columns]
readmitted = {{ role = "target" }}
[parameters]
"""
HEAD = 'method = "rfka"\noutput = "out.parquet"\n'
RFKA = "k = 4\ntrees = 10\nmax_suppression = 0.1\n"
DOMAINS = """
age = { role = "quasi_identifier", bounds = [18, 98] }
sex = { role = "quasi_identifier", categories = ["f", "m"] }
region = { role = "quasi_identifier", categories = ["north", "south", "east", "west", "islands", "abroad"] }
ward = { role = "quasi_identifier", categories = ["cardiology", "surgery", "maternity", "eyes", "emergency"] }
month = { role = "quasi_identifier", bounds = [1, 13] }
days = { role = "quasi_identifier", bounds = [1, 21] }
readmitted = { role = "target", categories = ["yes", "no"] }
"""


def hospital(folder: Path, n: int = 300) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Write simulated patients and visits as CSV; return them."""
    people, visits = hospital_patients(n, 3).to_pandas(), hospital_visits(n, 3).to_pandas()
    people = people.rename(columns={"patient_id": "person_id"})
    people.to_csv(folder / "people.csv", index=False)
    visits.to_csv(folder / "visits.csv", index=False)
    return people, visits


def recipe(folder: Path, *, head: str = HEAD, more: str = "", end: str = RFKA) -> Recipe:
    """Write and load a recipe for the two tables."""
    path = folder / "recipe.toml"
    path.write_text(head + TABLES.format(more=more) + end)
    return Recipe.load(path)


def private(head: str, method: str = "dp-nb") -> str:
    """Return a recipe under differential privacy."""
    text = head + f'method = "{method}"\noutput = "out.parquet"\n' + TABLES.format(more='orphans = "drop"')
    return text.replace('readmitted = { role = "target" }\n', DOMAINS) + "epsilon = 2\n"


def every_byte(folder: Path) -> str:
    """Return all text of a release, the cells of its data among it."""
    sidecars = [path.read_text() for path in folder.glob("out.*") if path.suffix != ".parquet"]
    return "\n".join([*sidecars, pq.read_table(folder / "out.parquet").to_pandas().to_csv()])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tables.people]\nsource='a.csv'\nkey='id'", "needs one table of people, and one"),
        ("[tables.a]\nsource='a.csv'\nkey='i'\n[tables.b]\nsource='b.csv'\nkey='i'", "needs one table of people"),
        (
            "[tables.a]\nsource='a.csv'\nkey='i'\n[tables.b]\nsource='b'\nkey='i'\nof='a'\n[tables.c]\nof='a'",
            "one can be",
        ),
        ("[tables.a]\nsource='a.csv'\nkey='i'\n[tables.b]\nsource='b.csv'\nkey='i'\nof='aa'", "did you mean 'a'"),
        ("[tables.a]\nsource='a.csv'\nkeys='i'\n[tables.b]\nsource='b.csv'\nkey='i'\nof='a'", "did you mean 'key'"),
        ("[tables.a]\nsource='a.csv'\n[tables.b]\nsource='b.csv'\nkey='i'\nof='a'", "needs a key"),
        ("[tables.a]\nsource='a.csv'\nkey=['i','i']\n[tables.b]\nsource='b.csv'\nkey='i'\nof='a'", "different columns"),
        (
            "[tables.a]\nsource='a.csv'\nkey=['i','j']\n[tables.b]\nsource='b.csv'\nkey='i'\nof='a'",
            "numbers of columns",
        ),
        ("[tables.a]\nkey='i'\n[tables.b]\nsource='b.csv'\nkey='i'\nof='a'", "either source or simulate"),
        (
            "[tables.a]\nsource='a'\nkey='i'\norphans='drop'\n[tables.b]\nsource='b'\nkey='i'\nof='a'",
            "is for the table",
        ),
        ("[tables.a]\nsource='a'\nkey='i'\n[tables.b]\nsource='b'\nkey='i'\nof='a'\norphans='keep'", "unknown value"),
        ("[tables.'a.b']\nsource='a'\nkey='i'\n[tables.b]\nsource='b'\nkey='i'\nof='a.b'", "no dot"),
        ("tables = 3", "must be a table"),
        ("input='a.csv'\nrows_per_person = 3", "is for several tables"),
        ("whole_person = 1\n[tables.a]\nsource='a'\nkey='i'\n[tables.b]\nsource='b'\nkey='i'\nof='a'", "true or false"),
        ("[tables.a]\nsimulate={table='patient'}\nkey='i'\n[tables.b]\nsource='b'\nkey='i'\nof='a'", "mean 'patients'"),
        ("[tables.a]\nsimulate={peopl=3}\nkey='i'\n[tables.b]\nsource='b'\nkey='i'\nof='a'", "did you mean 'people'"),
    ],
)
def test_a_mistake_in_the_tables_is_named(tmp_path: Path, text: str, said: str) -> None:
    """Unknown keys get the nearest name; two tables of visits, no key, no table of people are refused with a hint."""
    path = tmp_path / "recipe.toml"
    path.write_text(HEAD + text)
    with pytest.raises(AnonkitError) as caught:
        Recipe.load(path)

    assert said in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize("method", ["incognito", "datafly", "greedy-hamdist", "ppnb", "rr", "edprf", "dp-tree"])
def test_methods_that_are_not_covered_are_refused_by_name(tmp_path: Path, method: str) -> None:
    """The hint names those that are."""
    with pytest.raises(ParameterError, match="does not release several tables") as caught:
        recipe(tmp_path, head=HEAD.replace("rfka", method), end="")

    assert caught.value.hint == "covered: mondrian, rfka, dp-nb, dp-forest, dp-marginals, dp-tables"


def test_whole_sets_are_shared_and_no_key_is_anywhere(tmp_path: Path) -> None:
    """By default k people have each whole set of rows; neither a key nor its column is in a file; it validates."""
    people, _ = hospital(tmp_path)
    release = recipe(tmp_path, head="rows_per_person = 3\n" + HEAD).run()
    text = every_byte(tmp_path)
    checks = {check["name"]: check["observed"] for check in release.report["verification"]["checks"]}

    assert checks["k_anonymity_whole_sets"] >= 4
    assert release.report["guarantee"]["unit"] == "one value of column 'person_id', with all its rows together"
    assert not [key for key in people["person_id"] if key in text or key.encode().hex() in text]
    assert "person_id" not in pq.read_schema(tmp_path / "out.parquet").names
    assert release.report["rows"]["beyond_rows_per_person"] > 0
    assert anonkit.validate(tmp_path / "out.parquet").passed


@pytest.mark.slow
def test_it_is_reused_rehearsed_and_told_to_the_owner_alone(tmp_path: Path) -> None:
    """Requested again it is handed back; a dry run writes nothing; how the tables fit together is in no file."""
    people, visits = hospital(tmp_path)
    visits = pd.concat([visits, visits.head(3).assign(patient="nobody")])
    visits.to_csv(tmp_path / "visits.csv", index=False)
    asked = recipe(tmp_path, more='orphans = "drop"')
    rehearsed = asked.run(dry_run=True)
    assert not (tmp_path / "out.parquet").exists()
    release = asked.run()
    before = (tmp_path / "out.parquet").read_bytes()
    again = asked.run()

    assert rehearsed.owner["joined_tables"] == release.owner["joined_tables"]
    assert release.owner["joined_tables"] == {
        "people": 300,
        "people_without_a_key": 0,
        "people_with_the_key_of_another": 0,
        "people_without_rows": len(set(people["person_id"]) - set(visits["patient"])),
        "rows": len(visits),
        "rows_without_a_key": 0,
        "rows_of_nobody": 3,
    }
    assert again.reused
    assert (tmp_path / "out.parquet").read_bytes() == before
    assert "joined_tables" not in every_byte(tmp_path)
    visits.iloc[:-4].to_csv(tmp_path / "visits.csv", index=False)
    with pytest.raises(ParameterError):
        asked.run()


def adversary(folder: Path) -> tuple[int, int]:
    """Write 64 people with two visits whose pair of wards only one of each has; return people and wards."""
    wards = [chr(97 + at) for at in range(8)]
    people = [{"person_id": f"p{n:02}", "sex": "f"} for n in range(64)]
    visits = [
        {"patient": f"p{8 * one + other:02}", "ward": ward, "readmitted": "yn"[wards.index(ward) % 2]}
        for one in range(8)
        for other in range(8)
        for ward in (wards[one], wards[other])
    ]
    pd.DataFrame(people).to_csv(folder / "people.csv", index=False)
    pd.DataFrame(visits).to_csv(folder / "visits.csv", index=False)
    return 64, 8


@pytest.mark.quick_cases("rfka")
@pytest.mark.parametrize("method", ["rfka", "mondrian"])
def test_an_adversary_who_knows_two_rows_is_stopped_or_told_of(tmp_path: Path, method: str) -> None:
    """A ward is shared by 15 people, a pair of wards by two at most: one reading says so, the other repairs it."""
    adversary(tmp_path)
    end = "k = 4\n" + ("trees = 10\n" if method == "rfka" else "")
    head = HEAD.replace("rfka", method)
    alone = Account(ledger=None)  # what both show together is not the matter here
    weak = recipe(tmp_path, head="whole_person = false\n" + head.replace("out.", "weak."), end=end).run(account=alone)
    strong = recipe(tmp_path, head=head, end=end).run(account=alone)
    visits = pd.read_csv(tmp_path / "visits.csv")

    def fewest(release: Any) -> int:
        """Return the fewest people whose two visits show one pair of labels, by what the release shows of a ward."""
        if "ward" not in release.to_pandas().columns:
            return 64
        label = labels_of(release)
        pairs = (
            visits.assign(shown=visits["ward"].map(label)).groupby("patient")["shown"].agg(lambda s: tuple(sorted(s)))
        )
        return min(Counter(pairs).values())

    assert fewest(weak) < 4
    assert "only one row of a person is taken to be known" in weak.report["guarantee"]["statement"]
    assert fewest(strong) >= 4
    assert {c["name"]: c["passed"] for c in strong.report["verification"]["checks"]}["k_anonymity_whole_sets"]


def labels_of(release: Any) -> dict[str, str]:
    """Return what a release shows of each ward: the released label whose members it is among."""
    shown = set(release.to_pandas()["ward"])
    wards = [chr(97 + at) for at in range(8)]

    def members(label: str) -> set[str]:
        if label == "*":
            return set(wards)
        named = set(label.removeprefix("not ").split("|"))
        return set(wards) - named if label.startswith("not ") else named

    return {
        ward: min((label for label in shown if ward in members(label)), key=lambda one: len(members(one)))
        for ward in wards
    }


@pytest.mark.slow
def test_diversity_is_not_promised_of_whole_sets(tmp_path: Path) -> None:
    """l with whole sets is refused with the way out; with one row known it is counted."""
    hospital(tmp_path)
    sensitive = RFKA + "l = 1\n[policy.columns.days]\nrole = 'sensitive'\n"
    with pytest.raises(PolicyError, match="not covered where k holds for a person's whole set"):
        recipe(tmp_path, end=sensitive).run()
    release = recipe(tmp_path, head="whole_person = false\n" + HEAD, end=sensitive).run()

    assert release.report["disclosure_risk"]["l_diversity"]["days"]["l"] >= 1


def test_whole_sets_of_a_table_too_large_to_be_held_are_refused(tmp_path: Path) -> None:
    """Beyond what the engine may hold nothing is claimed of whole sets: the hint names the weaker reading."""
    hospital(tmp_path)
    with pytest.raises(GuaranteeError, match="whole sets of rows") as caught:
        recipe(tmp_path, head="search_rows = 100\n" + HEAD).run()

    assert "whole_person = false" in str(caught.value.hint)


def test_another_role_for_a_key_or_another_unit_is_refused(tmp_path: Path) -> None:
    """The key says whose a row is: it can be nothing else, and nothing else can be that."""
    hospital(tmp_path, 60)
    for line, said in (("person_id", "is a key"), ("sex", "is the unit, and so is the key")):
        role = "unit" if line == "sex" else "insensitive"
        with pytest.raises(PolicyError, match=said):
            recipe(tmp_path, end=RFKA + f"[policy.columns.{line}]\nrole = '{role}'\n")


@pytest.mark.parametrize("method", ["dp-nb", "dp-forest", "dp-marginals"])
def test_differential_privacy_is_of_people_with_the_rows_that_are_used(tmp_path: Path, method: str) -> None:
    """Epsilon is that of a person with three rows; people of one key, missing keys and orphans refuse nothing."""
    people, visits = hospital(tmp_path, 200)
    people = pd.concat([people, people.head(2), people.head(1).assign(person_id=None)])
    people.to_csv(tmp_path / "people.csv", index=False)
    pd.concat([visits, visits.head(2).assign(patient=["nobody", None])]).to_csv(tmp_path / "visits.csv", index=False)
    (tmp_path / "r.toml").write_text(private("rows_per_person = 3\n", method))
    release = Recipe.load(tmp_path / "r.toml").run()
    promise = release.report["guarantee"]

    assert promise["parameters"]["rows_per_unit"] == 3
    assert promise["parameters"]["unit_column"] == "person_id"
    assert release.report["budget"]["epsilon"] <= 2
    assert release.owner["joined_tables"]["people_with_the_key_of_another"] == 2
    assert "joined_tables" not in json.dumps([dict(release.report), dict(release.params)])
    assert anonkit.validate(tmp_path / "out.parquet").passed


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("rows_per_person = 3\n", ""), "needs rows_per_person"),
        (('orphans = "drop"', ""), "cannot be refused under differential privacy"),
        (("epsilon = 2", "epsilon = 2\nrows_per_unit = 2"), "are two numbers"),
        (("rows_per_person = 3\n", "rows_per_person = 3\ndomains_from_data = true\n"), "is for one table"),
    ],
)
def test_what_differential_privacy_needs_is_asked_for_before_a_row_is_read(
    tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    """No bound on a person's rows, orphans that would refuse, two bounds, domains from the tables: refused unread."""
    (tmp_path / "r.toml").write_text(private("rows_per_person = 3\n").replace(*change))
    with pytest.raises(AnonkitError, match=said):
        Recipe.load(tmp_path / "r.toml").run()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "is_countable"),
    [("", False), ("whole_person = false\nrows_per_person = 2\n", False), ("whole_person = false\n", True)],
)
def test_what_two_releases_show_together_is_counted_only_where_all_rows_are_shown(
    tmp_path: Path, head: str, is_countable: bool
) -> None:
    """Rows drawn in secret are in nobody's count: a second release of the tables is refused then, unless accepted."""
    hospital(tmp_path, 200)
    charged = Account(ledger=tmp_path / "ledger.db")
    recipe(tmp_path, head=head + HEAD).run(account=charged)
    text = (tmp_path / "recipe.toml").read_text().replace("out.parquet", "second.parquet").replace("k = 4", "k = 2")
    (tmp_path / "second.toml").write_text(text)
    try:
        Recipe.load(tmp_path / "second.toml").run(account=charged)
        said = "released"
    except GuaranteeError as error:
        said = error.message

    assert ("cannot be counted" in said) != is_countable
