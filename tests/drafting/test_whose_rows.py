"""The question of whose the rows are, and its answer: command line, Python, drafts, batches, and engines.

The detection of identifiers of persons that occur in several rows.
"""

from __future__ import annotations

import datetime
import json
import random
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest
from kinds_of_columns import ENGLISH
from whose_rows.tables import PEOPLE

import anonkit
from anonkit.cli import anonkit as command
from anonkit.cli.boundary import run
from anonkit.cli.summary import release_text
from anonkit.drafting.identifying.street_addresses import IdentifierKind
from anonkit.drafting.policy_draft import draft_policy
from anonkit.drafting.profiling import judge_undeclared, profiles_of
from anonkit.drafting.whose_rows import RepeatingIdentifier, repeating_identifiers
from anonkit.engines import Local, open_engine
from anonkit.errors import ChoiceError, PolicyError
from anonkit.policy.declaration import Policy
from anonkit.protocols import Engine


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """One engine for all tables."""
    with open_engine("local") as opened:
        yield opened


def visits(**columns: list[object]) -> pa.Table:
    """Twelve visits of each person."""
    return pa.table({name: [value for value in values for _ in range(12)] for name, values in columns.items()})


def test_keys_addresses_and_names_with_a_birth_date_repeat(engine: Engine) -> None:
    """An e-mail address is one identifier; given name, family name and date of birth are one together."""
    r = random.Random(3)
    born = [datetime.date(1940, 1, 1) + datetime.timedelta(days=r.randrange(20_000)) for _ in range(200)]
    table = visits(
        Vorname=[r.choice(ENGLISH) for _ in born],
        Nachname=[
            r.choice("VWKLT") + r.choice("aeiou") + r.choice("rlnst") + r.choice(["mann", "er", "sen"]) for _ in born
        ],
        Geburtsdatum=born,
        contact=[f"p{at}@example.org" for at in range(200)],
        ward=[r.randrange(6) for _ in born],
    )
    source = engine.scan(table, Policy())
    found = repeating_identifiers(judge_undeclared(source, table.column_names, engine).profiles.values())

    assert found == [
        RepeatingIdentifier(columns=("contact",), kind=IdentifierKind.EMAIL),
        RepeatingIdentifier(columns=("Vorname", "Nachname", "Geburtsdatum"), kind=IdentifierKind.PERSON_NAME),
    ]


def test_a_declared_identifier_counts_by_its_name(engine: Engine) -> None:
    """Integers from 1 to 200 look like measurements; declared as an identifier they are a key that repeats."""
    table = visits(member=list(range(1, 201)), once=["x"] * 200)
    source = engine.scan(table, Policy())
    profiles = profiles_of(source, ["member"], engine)

    assert [each.kind for each in repeating_identifiers(profiles, declared={"member"})] == [IdentifierKind.KEY]


def test_what_occurs_in_one_row_each_does_not_repeat(engine: Engine) -> None:
    """Row numbers identify the person no better than the row does."""
    source = engine.scan(pa.table({"row": list(range(300))}), Policy())
    (profile,) = profiles_of(source, ["row"], engine)

    assert profile.by_cells is not None
    assert profile.by_cells.rule == "row_numbers"
    assert repeating_identifiers([profile]) == []


VISITS = PEOPLE["visits, account declared"](np.random.default_rng(4)).rows
ROLES: Mapping[str, Any] = {"identifiers": ["konto"], "target": "outcome"}
RECODED = ["birth_year", "sex", "zip", "month"]


def candidates(release: anonkit.Release) -> dict[str, int]:
    """Fewest different values of each candidate, by its columns."""
    found = release.report["guarantee"]["parameters"].get("candidates", [])
    return {",".join(each["columns"]): each["values"] for each in found}


def few_people(n_people: int = 6) -> pa.Table:
    """Six people with fifty rows each."""
    rows = range(50 * n_people)
    return pa.table(
        {
            "who": [f"p{at % n_people}" for at in rows],
            "age": [20 + at % 7 for at in rows],
            "y": ["yn"[at // 7 % 2] for at in rows],
        }
    )


@pytest.mark.parametrize("method", ["rfka", "mondrian", "datafly", "incognito", "mdav", "greedy-hamdist"])
def test_what_no_recoding_reaches_is_a_choice_of_the_owner(method: str, tmp_path: Path) -> None:
    """Six people make no class of ten: exit code 2, the column named, both answers in the hint; nothing is written."""
    output = tmp_path / "out.parquet"
    with pytest.raises(ChoiceError, match="10 different values of 'who'") as asked:
        anonkit.release(few_people(), method=method, k=10, identifiers=["who"], target="y", output=output, ledger=None)
    assert asked.value.exit_code == 2
    assert 'unit="none"' in str(asked.value.hint)
    assert not output.exists()
    anonkit.release(few_people(), method=method, k=10, identifiers=["who"], target="y", unit="none", ledger=None)


@pytest.mark.slow
def test_the_command_line_asks_and_takes_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first lines have the question; `--unit none` and `--unit A,B` answer; the exit code of a choice is 2."""
    csv.write_csv(VISITS, tmp_path / "visits.csv")
    csv.write_csv(few_people(), tmp_path / "few.csv")

    def released(*more: str, source: str = "visits.csv", name: str = "out", code: int = 0) -> str:
        arguments = ["release", "--k", "10", "--method", "mondrian", "--no-ledger", *more]
        done = run(command, [*arguments, str(tmp_path / source), str(tmp_path / f"{name}.parquet")], "anonkit")
        said = capsys.readouterr()
        assert done == code, said.err
        return " ".join(said.out.split())

    words = released("--identifier", "konto", "--target", "outcome")
    assert "different values of konto. k = 10 counts rows and these values. Is each of these a person?" in words
    assert "--unit konto says so; --unit none says that rows are independent." in words
    told = released("--identifier", "konto", "--target", "outcome", "--unit", "none", name="none")
    assert "Rows are independent, as the owner declares: no person has several." in told
    released("--unit", "konto,sex", "--target", "outcome", name="two")
    report = anonkit.load(tmp_path / "two.parquet").report
    assert report["guarantee"]["unit"] == "one value of column 'konto, sex'"
    dropped = [column["name"] for column in report["columns"] if column["action"] == "dropped"]
    assert {"konto", "sex", "konto, sex"} <= set(dropped)
    assert anonkit.validate(tmp_path / "two.parquet").passed
    released("--identifier", "who", "--target", "y", source="few.csv", name="few", code=2)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rfka", "mondrian"])
def test_the_next_batch_is_counted_alike(method: str, tmp_path: Path) -> None:
    """Every class of it holds ten different values too; a batch without the column is refused, and the word is kept."""
    anonkit.release(VISITS, method=method, k=10, output=tmp_path / "a.parquet", ledger=None, utility=False, **ROLES)
    batch = VISITS.slice(0, 1500)
    after = anonkit.apply(
        tmp_path / "a.parquet", batch, output=tmp_path / "b.parquet", max_suppression=0.2, ledger=None
    )
    assert candidates(after)["konto"] >= 10
    assert anonkit.validate(tmp_path / "b.parquet").passed
    with pytest.raises(PolicyError, match="column 'konto' is not in the table"):
        anonkit.apply(tmp_path / "a.parquet", batch.drop_columns(["konto"]), ledger=None)

    anonkit.release(
        VISITS, method=method, k=10, unit="none", output=tmp_path / "c.parquet", ledger=None, utility=False, **ROLES
    )
    again = anonkit.apply(tmp_path / "c.parquet", batch, max_suppression=0.2, ledger=None)
    assert candidates(again) == {}
    assert again.report["guarantee"]["parameters"]["independent_rows"] is True


def test_a_batch_that_no_recoding_reaches_is_a_choice(tmp_path: Path) -> None:
    """The batch of three people is no batch of ten."""
    anonkit.release(VISITS, method="mondrian", k=10, output=tmp_path / "a.parquet", ledger=None, utility=False, **ROLES)
    few = VISITS.filter(pa.compute.is_in(VISITS["konto"], pa.array(VISITS["konto"].unique().to_pylist()[:3])))
    with pytest.raises(ChoiceError, match="10 different values of 'konto'"):
        anonkit.apply(tmp_path / "a.parquet", few, max_suppression=0.5, ledger=None)


def test_a_large_table_is_searched_on_a_sample_and_counted_whole() -> None:
    """The sample's claim about few rows is counted on all of them."""
    release = anonkit.release(
        VISITS, method="rfka", k=10, ledger=None, utility=False, search_rows=1_000, max_suppression=0.2, **ROLES
    )
    assert "sample" in release.report["search"]
    assert candidates(release)["konto"] >= 10


def test_rows_without_a_value_stay_and_count_for_nobody() -> None:
    """No row is left out because it does not say whose it is."""
    gaps = [None if at % 3 == 0 else key for at, key in enumerate(VISITS["konto"].to_pylist())]
    table = VISITS.set_column(0, "konto", pa.array(gaps, pa.string()))
    release = anonkit.release(table, method="mondrian", k=10, ledger=None, utility=False, **ROLES)
    assert release.report["rows"]["out"] == table.num_rows
    assert candidates(release)["konto"] >= 10


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("roles", [ROLES, {"unit": ["konto", "sex"], "target": "outcome"}])
def test_spark_counts_alike(roles: Mapping[str, Any], tmp_path: Path) -> None:
    """The same release on either engine, gaps among the keys, and of a unit of two columns."""
    gaps = [None if at % 5 == 0 else key for at, key in enumerate(VISITS["konto"].to_pylist())]
    csv.write_csv(VISITS.set_column(0, "konto", pa.array(gaps, pa.string())), tmp_path / "visits.csv")
    made = [
        anonkit.release(
            tmp_path / "visits.csv", method="mondrian", k=10, engine=engine, ledger=None, utility=False, seed=3,
            **roles,
        )
        for engine in (Local(), "spark")
    ]  # fmt: skip
    blocks = ["guarantee", "rows", "disclosure_risk", "columns"]
    one, other = (json.dumps([release.report[block] for block in blocks]) for release in made)
    assert one == other


@pytest.mark.slow
def test_a_draft_lists_several_candidates_and_chooses_none() -> None:
    """Released by its draft, the table is counted by the same columns as without one."""
    table = VISITS.rename_columns(["account_id", *VISITS.column_names[1:]])
    contact = pa.array([f"h{hash_of(key) % 40}@example.org" for key in table["account_id"].to_pylist()])
    table = table.append_column("contact", contact).select([*table.column_names[:-1], "contact", "outcome"])
    text = draft_policy(table)
    said = " ".join(text.replace("#", " ").split())
    assert "Whose are the rows? Each of these may be a person who has several: account_id; contact." in said
    policy = Policy.from_dict(tomllib.loads(text))
    assert policy.unit is None
    drafted = anonkit.release(table, method="mondrian", k=5, policy=policy, ledger=None, utility=False)
    plain = anonkit.release(table, method="mondrian", k=5, target="outcome", ledger=None, utility=False)
    assert set(candidates(drafted)) == set(candidates(plain)) == {"account_id", "contact"}
    assert min(candidates(plain).values()) >= 5


def hash_of(key: str) -> int:
    """A number of a key, the same in every run."""
    return sum(at * ord(letter) for at, letter in enumerate(key, 1))


@pytest.mark.slow
def test_rows_in_runs_of_one_person_are_asked_about_and_not_refused() -> None:
    """No column says whose they are: independent columns would give hardly a row a twin, and all have some."""
    random, n = np.random.default_rng(7), 300
    person = np.repeat(np.arange(n), 8)
    table = pa.table(
        {
            "birth_year": random.integers(1930, 2010, n)[person],
            "zip": [f"{code}" for code in random.integers(100, 400, n)[person]],
            "sex": random.choice(["f", "m"], n)[person],
            "job": random.choice([f"job {at}" for at in range(20)], n)[person],
            "y": random.choice(["no", "yes"], person.size),
        }
    )
    release = anonkit.release(table, method="mondrian", k=10, target="y", ledger=None, utility=False)
    assert release.report["guarantee"]["parameters"]["rows_in_runs"] is True
    assert "Rows seem to come in runs of one person: which column says whose they are?" in " ".join(
        release_text(release).split()
    )
    once = table.filter(pa.array(np.arange(person.size) % 8 == 0))
    plain = anonkit.release(once, method="mondrian", k=10, target="y", ledger=None, utility=False)
    assert "rows_in_runs" not in plain.report["guarantee"]["parameters"]
    told = anonkit.release(table, method="mondrian", k=10, target="y", unit="none", ledger=None, utility=False)
    assert "rows_in_runs" not in told.report["guarantee"]["parameters"]


@pytest.mark.parametrize(("method", "parameters"), [("dp-nb", {"epsilon": 1.0}), ("rr", {"epsilon": 4.0})])
def test_under_noise_an_identifier_asks_and_no_cell_decides(method: str, parameters: Mapping[str, Any]) -> None:
    """One row is protected: stated if a declared identifier raises the question, and not if the policy answers it."""
    columns = {
        "konto": {"role": "identifier"},
        "birth_year": {"bounds": [1930, 2015]},
        "sex": {"categories": ["f", "m"]},
        "zip": {"role": "identifier"},
        "month": {"bounds": [1, 12]},
        "outcome": {"role": "target", "categories": ["better", "same"]},
    }

    def persons(**more: Any) -> list[str]:
        policy = Policy.from_dict({"columns": columns, **more})
        release = anonkit.release(VISITS, method=method, policy=policy, ledger=None, utility=False, **parameters)
        text = " ".join(release_text(release).split())
        named = [column["name"] for column in release.report["columns"] if column.get("may_be_person")]
        assert ("One row is protected, not one person with several rows." in text) == bool(named)
        assert "candidates" not in release.report["guarantee"]["parameters"]
        return named

    assert persons() == ["konto", "zip"]
    assert persons(unit="none") == []
