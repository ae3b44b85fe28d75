# SPDX-License-Identifier: Apache-2.0
"""Single values that reach a person are found in whatever is around them; harmless ones are not.

Columns that a release shows as they are: looked at whatever their role, refused where they identify.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.checks.shown_columns import CLEAR_CHECK as CHECK
from anonkit.cli import anonkit as commands
from anonkit.cli.boundary import run
from anonkit.drafting.clear_columns import has_contact, is_written_text, words_on_published
from anonkit.errors import ChoiceError, GuaranteeError, ParameterError, PolicyError
from anonkit.policy.declaration import Policy

ROWS = 400
MARK = "Xqvwj"
GIVEN = ["Anna", "Peter", "Maria", "Hans", "Olga", "Laura", "Jan", "Eva"]
FAMILY = ["Smith", "Jones", "Meyer", "Novak", "Rossi", "Garcia", "Dubois", "Jensen", "Olsen", "Kovacs"]


def shuffled(values: Any, seed: int = 1) -> list[Any]:
    """The same values in another order."""
    out = list(values)
    random.Random(seed).shuffle(out)
    return out


IDENTIFYING: dict[str, tuple[list[Any], str]] = {
    "e-mail": ([f"{MARK}{at}@example.org" for at in range(ROWS)], "e-mail"),
    "names": ([f"{GIVEN[at % 8]} {FAMILY[at // 8 % 10]}{'s' * (at // 80)}" for at in range(ROWS)], "names"),
    "national numbers": ([f"{100 + at:03}-{10 + at % 80:02}-{1000 + 7 * at:04}" for at in range(ROWS)], "persons"),
    "keys": ([f"{random.Random(at).getrandbits(128):032x}" for at in range(ROWS)], "hashes"),
    "free text": ([f"{MARK} came in on day {at} and was sent home at once" for at in range(ROWS)], "free text"),
    "row numbers": (shuffled(range(1, ROWS + 1)), "number the rows"),
    "row numbers as texts": (shuffled(f"{at:05}" for at in range(ROWS)), "number the rows"),
}


def table(**last: Any) -> pa.Table:
    """A small table of people, with a column of its own at the end."""
    r = random.Random(7)
    return pa.table(
        {
            "age": [r.randrange(20, 70) for _ in range(ROWS)],
            "sex": [r.choice("FM") for _ in range(ROWS)],
            "hours": [r.randrange(10, 60, 5) for _ in range(ROWS)],
            **last,
        }
    )


def released(data: object, **how: Any) -> anonkit.Release:
    """A release by mondrian."""
    return anonkit.release(data, method="mondrian", k=5, utility=False, **how)


def entry_of(release: anonkit.Release, name: str) -> dict[str, Any]:
    """The entry of a column in the report."""
    return next(column for column in release.report["columns"] if column["name"] == name)


@pytest.fixture(params=["target", "sensitive", "insensitive"])
def role(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Each role under which a column is released as it is."""
    return {"target": "x"} if request.param == "target" else {request.param: ["x"]}


@pytest.mark.parametrize("kind", IDENTIFYING)
def test_cells_that_identify_are_not_released_as_they_are(kind: str, role: dict[str, Any]) -> None:
    """For any declared role: exit code 1, the message names the column and the form, and no cell."""
    cells, words = IDENTIFYING[kind]
    with pytest.raises(GuaranteeError) as refused:
        released(table(x=cells), **role)

    assert refused.value.exit_code == 1
    assert "'x'" in refused.value.message
    assert words in refused.value.message
    assert MARK not in str(refused.value)
    assert "insensitive" not in str(refused.value)


@pytest.mark.parametrize("method", ["rfka", "mondrian", "datafly", "incognito", "mdav", "greedy-hamdist"])
def test_every_k_anonymous_method_refuses_them(method: str) -> None:
    """One path looks for all."""
    parameters: dict[str, Any] = {"trees": 5} if method == "rfka" else {}
    data = table(x=IDENTIFYING["e-mail"][0], y=["yes", "no"] * (ROWS // 2))
    with pytest.raises(GuaranteeError, match="e-mail"):
        anonkit.release(data, method=method, k=5, target="y", insensitive=["x"], utility=False, **parameters)


@pytest.mark.quick_cases("names")
@pytest.mark.parametrize("kind", IDENTIFYING)
def test_the_owner_may_release_them_and_every_file_says_so(tmp_path: Path, kind: str) -> None:
    """By `release_as_is`: report and page state it, and the release validates."""
    cells, words = IDENTIFYING[kind]
    out = tmp_path / "out.parquet"
    release = released(table(x=cells), insensitive=["x"], release_as_is=["x"], output=out)

    assert entry_of(release, "x")["released_as_is"] is True
    assert words in entry_of(release, "x")["reason"]
    assert "released_as_is" not in entry_of(release, "age")
    assert any(
        note.startswith("Column 'x' is released as it is on the owner's word") for note in release.report["notes"]
    )
    assert "owner" in re.sub(r"\s+", " ", (tmp_path / "out.report.html").read_text())
    validation = anonkit.validate(out)
    assert validation.passed, [check for check in validation.checks if not check.passed]
    assert any(note.startswith("Column 'x' is released as it is on the owner's word") for note in validation.notes)


def test_a_declaration_of_its_cells_does_not_switch_the_look_off() -> None:
    """Nor do categories, nor a type; the key of the policy does."""
    cells = IDENTIFYING["names"][0]
    declared = {"role": "insensitive", "categories": sorted(set(cells)), "type": "text"}
    with pytest.raises(GuaranteeError, match="names"):
        released(table(x=cells), policy=Policy.from_dict({"columns": {"x": declared}}))

    policy = Policy.from_dict({"columns": {"x": {**declared, "release_as_is": True}}})
    assert entry_of(released(table(x=cells), policy=policy), "x")["released_as_is"] is True

    numbered = Policy.from_dict({"columns": {"x": {"role": "insensitive", "bounds": [0, ROWS + 1]}}})
    with pytest.raises(GuaranteeError, match="number the rows"):
        released(table(x=IDENTIFYING["row numbers"][0]), policy=numbered)


def test_what_is_nearly_unique_or_follows_from_others_is_said_and_not_refused(tmp_path: Path) -> None:
    """A price nearly nobody shares, a birth year beside an age: notes of release and validation alike."""
    r = random.Random(5)
    data = table(price=[round(r.uniform(1, 1e6), 2) for _ in range(ROWS)])
    data = data.append_column("birth_year", pa.array([2024 - age for age in data.column("age").to_pylist()]))
    out = tmp_path / "out.parquet"
    release = released(data, insensitive=["price", "birth_year"], no_target=True, output=out)

    said = [note for note in release.report["notes"] if " is released as it is" in note]
    assert any("'price'" in note and "value of their own" in note for note in said)
    assert any("'birth_year'" in note and "'age'" in note for note in said)
    assert "released_as_is" not in entry_of(release, "price")
    validation = anonkit.validate(out)
    assert validation.passed
    assert set(said) <= set(validation.notes)


@pytest.mark.slow
def test_a_plain_table_is_looked_at_as_a_release_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`validate` refuses what `release` refuses and passes what it passes, from Python and on the command line."""
    r = random.Random(5)
    gaps = shuffled([at * 3 for at in range(ROWS)])  # no row numbers: every third number
    harmless = table(x=gaps, price=[round(r.uniform(1, 1e6), 2) for _ in range(ROWS)])
    plain = released(harmless, insensitive=["x", "price"], no_target=True).to_arrow()
    known = ["age", "sex", "hours"]
    known = [name for name in known if name in plain.column_names]
    passed = anonkit.validate(plain, quasi_identifiers=known, k=5)
    assert passed.passed
    assert any("'price'" in note for note in passed.notes)

    for kind, (cells, words) in IDENTIFYING.items():
        column = pa.array(cells[: plain.num_rows])
        bare = plain.set_column(plain.column_names.index("x"), "x", column)
        validation = anonkit.validate(bare, quasi_identifiers=known, k=5)
        assert [check.name for check in validation.checks if not check.passed] == [CHECK], kind
        assert any("'x'" in note and words in note for note in validation.notes)
        assert not any(MARK in note for note in validation.notes)
        assert anonkit.validate(bare, quasi_identifiers=known, k=5, release_as_is=["x"]).passed

    file = tmp_path / "bare.csv"
    pyarrow.csv.write_csv(
        plain.set_column(plain.column_names.index("x"), "x", pa.array(IDENTIFYING["e-mail"][0][: plain.num_rows])), file
    )
    arguments = ["validate", str(file), "--qi", ",".join(known), "--k", "5"]
    assert run(commands, arguments, "anonkit") == 1
    assert "'x' is released as it is" in capsys.readouterr().err
    assert run(commands, [*arguments, "--release-as-is", "x"], "anonkit") == 0
    assert run(commands, [*arguments, "--release-as-is", "nothing"], "anonkit") == 2


def test_a_release_without_the_word_of_its_owner_does_not_validate(tmp_path: Path) -> None:
    """A report that leaves the owner's word out is refused: the cells are looked at again."""
    out = tmp_path / "out.parquet"
    released(table(x=IDENTIFYING["e-mail"][0]), insensitive=["x"], release_as_is=["x"], output=out)
    place = tmp_path / "out.report.json"
    report = json.loads(place.read_text())
    for column in report["columns"]:
        column.pop("released_as_is", None)
    place.write_text(json.dumps(report))

    failed = {check.name for check in anonkit.validate(out).checks if not check.passed}
    assert CHECK in failed
    with pytest.raises(ParameterError):
        anonkit.validate(out, release_as_is=["x"])


def test_rows_that_were_left_out_do_not_hide_row_numbers() -> None:
    """A few gaps are there after suppression: the file is looked at as the source is."""
    numbers = shuffled(at for at in range(ROWS + 20) if at % 21)
    with pytest.raises(GuaranteeError, match="number the rows"):
        released(table(x=numbers[:ROWS]), insensitive=["x"])


@pytest.mark.parametrize("given", [{}, {"x": "quasi_identifier"}, {"x": "identifier"}])
def test_release_as_is_is_for_columns_that_are_released_as_they_are(given: dict[str, str]) -> None:
    """No role, or that of a protected column, contradicts it: the error requires a choice."""
    columns = {name: {"role": role_} for name, role_ in given.items()}
    policy = Policy.from_dict({"columns": columns})
    with pytest.raises(PolicyError) as refused:
        released(table(x=IDENTIFYING["e-mail"][0]), policy=policy, release_as_is=["x"])
    if "identifier" not in given.values():
        assert isinstance(refused.value, ChoiceError)


def test_under_local_methods_the_clear_columns_alone_are_looked_at() -> None:
    """A label that is published as it is, not one that is randomized; nor a column beside it."""
    labels = IDENTIFYING["names"][0]
    columns = {
        "age": {"bounds": [0, 100]},
        "mail": {"role": "insensitive"},
        "x": {"role": "target", "categories": sorted(set(labels))},
    }
    policy = Policy.from_dict({"columns": columns})
    data = table(x=labels).drop_columns(["sex", "hours"]).append_column("mail", pa.array(IDENTIFYING["e-mail"][0]))
    clear: dict[str, Any] = {"method": "errph", "p_keep": 0.5, "bins": 4, "label": "clear", "policy": policy}
    with pytest.raises(GuaranteeError, match="'x'"):
        anonkit.release(data, **clear)

    allowed = anonkit.release(data, **clear, release_as_is=["x"])
    assert entry_of(allowed, "x")["released_as_is"] is True
    anonkit.release(data, **{**clear, "label": "randomize"})


def test_under_central_privacy_no_cell_is_looked_at() -> None:
    """Nothing leaves as it is there."""
    labels = IDENTIFYING["names"][0]
    columns = {"age": {"bounds": [0, 100]}, "x": {"role": "target", "categories": sorted(set(labels))}}
    data = table(x=labels).drop_columns(["sex", "hours"])
    release = anonkit.release(data, method="dp-marginals", epsilon=4.0, policy=Policy.from_dict({"columns": columns}))

    assert not any("as it is" in note for note in release.report["notes"])
    assert CHECK not in {check["name"] for check in release.report["verification"]["checks"]}


@pytest.mark.slow
def test_the_next_batch_is_looked_at_too(tmp_path: Path) -> None:
    """`apply` refuses cells that the first batch did not have, and keeps the owner's word on those that it had."""
    plain, mails = shuffled(["a", "b"] * (ROWS // 2)), IDENTIFYING["e-mail"][0]
    released(table(x=plain), insensitive=["x"], no_target=True, output=tmp_path / "first.parquet", ledger=None)
    with pytest.raises(GuaranteeError, match="e-mail"):
        anonkit.apply(tmp_path / "first.params.json", table(x=mails), max_suppression=0.5)
    allowed = anonkit.apply(tmp_path / "first.params.json", table(x=mails), max_suppression=0.5, release_as_is=["x"])
    assert entry_of(allowed, "x")["released_as_is"] is True

    released(
        table(x=mails),
        insensitive=["x"],
        release_as_is=["x"],
        no_target=True,
        output=tmp_path / "second.parquet",
        ledger=None,
    )
    again = anonkit.apply(tmp_path / "second.params.json", table(x=mails), max_suppression=0.5)
    assert entry_of(again, "x")["released_as_is"] is True


@pytest.mark.slow
def test_row_numbers_of_a_large_table_are_seen_in_its_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a sample the numbers have gaps, as many as rows were left out of it."""
    from anonkit.drafting import profiling

    monkeypatch.setattr(profiling, "_LOOKED_AT", 100)
    monkeypatch.setattr(profiling, "is_too_large", lambda source, engine: True)
    with pytest.raises(GuaranteeError, match="number the rows"):
        released(table(x=IDENTIFYING["row numbers"][0]), insensitive=["x"])
    released(table(x=shuffled(at * 3 for at in range(ROWS))), insensitive=["x"])


def test_an_exported_or_rewritten_file_is_judged_by_its_cells(tmp_path: Path) -> None:
    """Categories, truth values and missing cells of a Parquet file are read as a release reads them."""
    data = pa.table(
        {
            "q": ["a"] * 40,
            "mail": pa.array([f"{MARK}{at}@example.org" for at in range(40)]).dictionary_encode(),
            "yes": [True, None] * 20,
            "born": pa.array([None, *[18_000 + 3 * at for at in range(39)]], pa.date32()),
        }
    )
    pq.write_table(data, tmp_path / "bare.parquet")
    validation = anonkit.validate(tmp_path / "bare.parquet", quasi_identifiers=["q"], k=5)

    assert not validation.passed
    assert [note.split("'")[1] for note in validation.notes] == ["mail", "born"]


@pytest.mark.slow
def test_spark_looks_as_this_machine_does(spark: Any, tmp_path: Path) -> None:
    """The guess of a target and the look at columns in clear are the same on both engines."""
    data = table(x=IDENTIFYING["row numbers"][0], churn=["yes", "no"] * (ROWS // 2))
    pq.write_table(data, tmp_path / "in.parquet")
    with pytest.raises(GuaranteeError, match="number the rows"):
        released(tmp_path / "in.parquet", engine="spark", insensitive=["x"])

    given: dict[str, Any] = {"insensitive": ["x"], "release_as_is": ["x"]}
    here, there = (released(tmp_path / "in.parquet", engine=engine, **given) for engine in ("local", "spark"))
    assert here.report["columns"] == there.report["columns"]
    assert here.report["notes"] == there.report["notes"]
    assert entry_of(there, "churn")["declared"] is False


CONTACTS = (
    "anna.schmidt@example.org",
    "0171 2345678",
    "+49 (0)30 1234567",
    "030/1234567-8",
    "DE89 3704 0044 0532 0130 00",
    "DE89370400440532013000",
)
HARMLESS = (
    "2020-01-01", "01.02.2020", "0123456789", "01067", "1,234,567.89", "06-12 months", "0-4", "10:30-11:45", "n/a",
    "ICD A00-B99", "Married-civ-spouse", "0.5 to 0.75", "@home", "00-19", "1990-1999", "DE00370400440532013000", "1/2",
    "08/15", "05 06 07",
)  # fmt: skip
WORDS = st.text("abcdefghij klmno", max_size=30)


@given(contact=st.sampled_from(CONTACTS), before=WORDS, after=WORDS)
def test_a_contact_is_found_in_a_text(contact: str, before: str, after: str) -> None:
    """A contact is found at any place of the text."""
    assert has_contact(f"{before} {contact} {after}")


@pytest.mark.parametrize("value", HARMLESS)
def test_what_reaches_nobody_is_passed(value: str) -> None:
    """Dates, ranges, codes, quantities."""
    assert not has_contact(value)
    assert not is_written_text(value)


@given(st.lists(st.sampled_from([*CONTACTS, *HARMLESS, "said that " * 12])))
def test_values_are_counted_and_never_quoted(values: list[str]) -> None:
    """The words have the column and numbers alone."""
    words = words_on_published("remark", values)
    assert (words is None) == all(value in HARMLESS for value in values)
    assert words is None or not any(value in words for value in [*CONTACTS, "said that"])


def test_a_release_that_publishes_a_telephone_number_says_so() -> None:
    """A remark that k rows share is a category of its column, whole; who hands the table out reads a note of it."""
    remarks = ["none", "late", "call back on 0171 2345678", "moved"]
    table = pa.table({"remark": remarks * 60, "age": list(range(20, 60)) * 6, "paid": ["yes", "no", "no"] * 80})
    policy = {"columns": {"remark": {"role": "quasi_identifier"}, "paid": {"role": "insensitive"}}}
    made = anonkit.release(table, method="mondrian", k=2, policy=policy, unit="none", ledger=None)
    assert any("0171" in str(cell) for cell in made.to_arrow().column("remark").to_pylist())
    (note,) = [note for note in made.report["notes"] if "'remark'" in note]
    assert "1 with an e-mail address, a telephone number or a bank account" in note
    assert "0171" not in note
