"""The recoding of an earlier release: read from any of its files, refused when they were changed or have none.

Growing tables: people who are new are released, those who are known are not, and k is counted among the new.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pytest

import anonkit
from anonkit.errors import AnonkitError, GuaranteeError, LedgerError, ParameterError, ReleaseFormatError
from anonkit.ledger import Ledger
from anonkit.ledger.ledger_place import users_ledger
from anonkit.pipeline import earlier_batches
from anonkit.pipeline.earlier_batches import applied_recoding, batch_policy, earlier_recoding
from anonkit.policy.declaration import Policy


def visits(people: int, more: int = 0) -> pa.Table:
    """Return two visits of each of so many patients; `more`: a third one of the first of them."""
    who = [f"K{at * 7919 % 100_003:06d}" for at in range(people) for _ in range(2)] + [
        f"K{at * 7919 % 100_003:06d}" for at in range(more)
    ]
    return pa.table(
        {
            "patient": who,
            "age": [20 + random.Random(at).randrange(60) for at in range(len(who))],
            "ward": [f"w{random.Random(at).randrange(4)}" for at in range(len(who))],
            "illness": [f"i{random.Random(at).randrange(3)}" for at in range(len(who))],
        }
    )


def release(table: pa.Table, output: Path, **more: Any) -> anonkit.Release:
    """Release visits, five patients alike."""
    given: dict[str, Any] = {"method": "mondrian", "k": 5, "target": "illness", "unit": "patient", "dataset": "visits"}
    return anonkit.release(table, output=output, utility=False, **{**given, **more})


def test_a_table_that_grew_releases_its_new_people(tmp_path: Path) -> None:
    """Without it the release is refused, and says so; with it nobody who is known is in the second one."""
    release(visits(100), tmp_path / "a.parquet")
    with pytest.raises(GuaranteeError, match="the table has changed since release 1") as refused:
        release(visits(120), tmp_path / "b.parquet")
    assert "only_new=True" in str(refused.value.hint)
    made = release(visits(120, more=3), tmp_path / "b.parquet", only_new=True)
    assert made.to_arrow().num_rows == 40
    assert made.report["rows"]["in"] == 40
    assert made.owner["only_new"] == {
        "new_people": 20,
        "known_people": 100,
        "known_people_whose_rows_changed": 3,
        "rows_of_known_people": 203,
    }
    assert earlier_batches.NOTE in made.report["notes"]
    assert "known_people" not in (tmp_path / "b.report.json").read_text(encoding="utf-8")
    assert anonkit.validate(tmp_path / "b.parquet").passed
    third = release(visits(130), tmp_path / "c.parquet", only_new=True)
    assert third.to_arrow().num_rows == 20


@pytest.mark.slow
def test_rows_of_known_people_that_changed_are_counted_for_the_owner(tmp_path: Path) -> None:
    """Three have a visit more, one has another age."""
    release(visits(100), tmp_path / "a.parquet")
    table = pa.concat_tables([visits(100), visits(3).slice(0, 6).take([0, 2, 4]), visits(120).slice(200)])
    ages = table["age"].to_pylist()
    ages[50] += 1
    table = table.set_column(1, "age", pa.array(ages))
    made = release(table, tmp_path / "b.parquet", only_new=True)
    assert made.owner["only_new"]["known_people_whose_rows_changed"] == 4


def test_fewer_than_k_new_people_wait(tmp_path: Path) -> None:
    """Exit code 1, and how many are missing; the same table has none."""
    release(visits(100), tmp_path / "a.parquet")
    for people, missing in ((103, 2), (100, 5)):
        with pytest.raises(GuaranteeError, match="and k is 5") as refused:
            release(visits(people), tmp_path / "b.parquet", only_new=True)
        assert f"wait for {missing} more" in str(refused.value.hint)
        assert refused.value.exit_code == 1
    assert not (tmp_path / "b.parquet").exists()


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"unit": None}, "needs a column that says whose a row is"),
        ({"dataset": None}, "needs the name of the dataset"),
        ({"ledger": None}, "needs the ledger"),
        ({"only_new": False, "released_before": "a.csv"}, "goes with only_new=True"),
    ],
)
def test_what_it_needs_is_said(tmp_path: Path, more: dict[str, Any], why: str) -> None:
    """Wrong usage, exit code 2."""
    with pytest.raises(ParameterError, match=why):
        release(visits(100), tmp_path / "a.parquet", **{"only_new": True, **more})


def test_under_noise_losses_add_up_instead(tmp_path: Path) -> None:
    """Under noise the rows that are read would depend on other rows."""
    from anonkit.datasets import bank_customers, bank_customers_policy

    with pytest.raises(ParameterError, match="is for k-anonymous releases"):
        anonkit.release(
            bank_customers(50, seed=1), method="rr", epsilon=1.0, policy=bank_customers_policy(),
            output=tmp_path / "a.parquet", only_new=True,
        )  # fmt: skip


@pytest.mark.slow
def test_people_who_are_not_remembered_come_from_the_table_before(tmp_path: Path) -> None:
    """`released_before` names it; without it the release is refused."""
    policy = tmp_path / "policy.toml"
    policy.write_text("remember_people = false\n", encoding="utf-8")
    release(visits(100), tmp_path / "a.parquet", policy=policy)
    with pytest.raises(GuaranteeError, match="does not know who is in release 1") as refused:
        release(visits(120), tmp_path / "b.parquet", only_new=True)
    assert "released_before" in str(refused.value.hint)
    pc.write_csv(visits(100), tmp_path / "before.csv")
    made = release(visits(120), tmp_path / "b.parquet", only_new=True, released_before=tmp_path / "before.csv")
    assert made.to_arrow().num_rows == 40
    pc.write_csv(visits(100).rename_columns(["pid", "age", "ward", "illness"]), tmp_path / "other.csv")
    with pytest.raises(ParameterError, match="has no column 'patient'"):
        release(visits(130), tmp_path / "c.parquet", only_new=True, released_before=tmp_path / "other.csv")


@pytest.mark.slow
def test_several_columns_together_name_a_person(tmp_path: Path) -> None:
    """As a unit of two columns does everywhere."""

    def two(people: int) -> pa.Table:
        table = visits(people)
        parts = [
            [text[:3] for text in table["patient"].to_pylist()],
            [text[3:] for text in table["patient"].to_pylist()],
        ]
        return table.drop_columns(["patient"]).append_column("a", parts[:1]).append_column("b", parts[1:])

    release(two(100), tmp_path / "a.parquet", unit=["a", "b"])
    made = release(two(120), tmp_path / "b.parquet", unit=["a", "b"], only_new=True)
    assert made.to_arrow().num_rows == 40


def test_a_release_that_is_booked_meanwhile_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look at who is known and the booking: the same people would be in both."""
    release(visits(100), tmp_path / "a.parquet")
    inner = earlier_batches.with_new_people

    def late(*args: Any) -> Any:
        found = inner(*args)
        with monkeypatch.context() as patched:
            patched.setattr("anonkit.pipeline.release_path.with_new_people", inner)
            release(visits(120), tmp_path / "b.parquet", only_new=True)
        return found

    monkeypatch.setattr("anonkit.pipeline.release_path.with_new_people", late)
    with pytest.raises(LedgerError, match="was booked meanwhile"):
        release(visits(120), tmp_path / "c.parquet", only_new=True)
    assert [entry.number for entry in Ledger(users_ledger()).standing("visits").counted] == [1, 2]


def test_no_key_of_a_person_is_told(tmp_path: Path) -> None:
    """In no message of the way there."""
    release(visits(100), tmp_path / "a.parquet")
    with pytest.raises(AnonkitError) as refused:
        release(visits(102), tmp_path / "b.parquet", only_new=True)
    assert not [key for key in visits(102)["patient"].to_pylist() if key in json.dumps(str(refused.value))]


ROWS = pa.table({"age": [20 + at % 40 for at in range(80)], "zip": [at % 4 for at in range(80)]})


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A k-anonymous release on disk."""
    output = tmp_path_factory.mktemp("earlier") / "out.parquet"
    policy = Policy.from_dict({"dataset": "people"})
    anonkit.release(ROWS, method="mondrian", k=4, policy=policy, no_target=True, output=output, ledger=None)
    return output


def test_any_file_of_a_release_leads_to_its_recoding(released: Path) -> None:
    """The data, the params or the report; the ledger learns the dataset."""
    first = earlier_recoding(released)
    for name in ("out.params.json", "out.report.json"):
        assert earlier_recoding(released.with_name(name)) == first
    assert earlier_recoding(released, max_suppression=0.25).max_suppression == 0.25
    applied = applied_recoding(released, adopt=True)
    assert (applied.dataset, applied.adopt) == ("people", True)


def test_the_next_batch_is_of_other_people(released: Path) -> None:
    """Roles and types are those of the release; of a policy neither the dataset nor the budget is taken."""
    method = earlier_recoding(released)
    plain = batch_policy(method, None, None)
    assert set(plain.columns) >= {"age", "zip"}
    declared = Policy.from_dict({"dataset": "other", "budget": 3.0, "encoding": "latin-1"})
    batch = batch_policy(method, declared, None)
    assert batch.dataset is None
    assert batch.bookkeeping.budget is None
    assert batch.columns == plain.columns
    assert batch_policy(method, declared, "utf-8").encoding != batch.encoding


def test_changed_params_are_refused(released: Path, tmp_path: Path) -> None:
    """By the hash in the descriptor; and a file that has no recoding."""
    for file in released.parent.glob("out.*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    params = tmp_path / "out.params.json"
    params.write_text(params.read_text().replace('"k": 4', '"k": 2'))
    with pytest.raises(GuaranteeError):
        earlier_recoding(params)
    with pytest.raises(ReleaseFormatError):
        earlier_recoding(tmp_path / "absent.params.json")
