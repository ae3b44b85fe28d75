# SPDX-License-Identifier: Apache-2.0
"""Profiles of columns: the same from codes as from a pass over the table; which columns look like identifiers.

Columns nobody declared: those that look like identifiers leave no trace in a release, and everybody is informed.
"""

from __future__ import annotations

import datetime
import json
import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kinds_of_columns import IDENTIFIERS

import anonkit
from anonkit.cli import anonkit as commands
from anonkit.cli.boundary import run
from anonkit.drafting.policy_draft import draft_policy
from anonkit.drafting.profiling import ColumnProfile, ValueKind, profile_columns
from anonkit.engines import open_engine
from anonkit.errors import PolicyError
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy
from anonkit.protocols import Engine

ROWS = 300
MARK = "Xqvwj"


def table(**more: Any) -> pa.Table:
    """A small table of people, with more columns before the class label."""
    r = random.Random(5)
    return pa.table(
        {
            "age": [r.randrange(20, 70) for _ in range(ROWS)],
            "sex": [r.choice("FM") for _ in range(ROWS)],
            **more,
            "ill": [r.choice(["yes", "no"]) for _ in range(ROWS)],
        }
    )


def marked_columns() -> dict[str, list[str]]:
    """Columns that identify, each cell with a mark that must not be found again."""
    return {
        "contact": [f"{MARK}{at}@example.org" for at in range(ROWS)],
        "who": [f"{name} {MARK}" for name in ["Anna", "Peter", "Maria", "José", "Hans", "Olga", "Ali", "Eva"] * 38][
            :ROWS
        ],
        "site": [f"https://example.org/{MARK}/{at}" for at in range(ROWS)],
        "remark": [f"{MARK} was seen on day {at} by the nurse" for at in range(ROWS)],
    }


FAMILIES: dict[str, dict[str, Any]] = {
    "mondrian": {"k": 5},
    "rfka": {"k": 5},
    "greedy-hamdist": {"k": 5},
    "rr": {"epsilon": 4.0, "domains_from_data": True},
    "ppnb": {"p_keep": 0.5, "domains_from_data": True},
    "dp-nb": {"epsilon": 4.0, "domains_from_data": True},
    "dp-forest": {"epsilon": 4.0, "domains_from_data": True},
}


@pytest.mark.quick_cases("rfka")
@pytest.mark.parametrize("method", FAMILIES)
def test_identifiers_nobody_declared_are_in_no_file(tmp_path: Path, method: str) -> None:
    """E-mail addresses, names, web addresses and remarks: no cell, and no word of one, is in a file of the release."""
    out = tmp_path / "out.parquet"
    options = {name: value for name, value in FAMILIES[method].items() if name != "k"}
    release = anonkit.release(
        table(**marked_columns()),
        method=method,
        output=out,
        target="ill",
        **({"k": 5} if "k" in FAMILIES[method] else {}),
        **options,
    )

    taken = {each["name"]: each for each in release.report["columns"] if each.get("taken_for") == "identifier"}
    assert set(taken) == set(marked_columns())
    assert {each["action"] for each in taken.values()} == {"dropped"}
    assert [taken[name]["rule"] for name in marked_columns()] == ["email", "personal_name", "url", "free_text"]
    assert not set(marked_columns()) & set(release.to_arrow().column_names)
    for file in tmp_path.iterdir():
        assert MARK.encode() not in file.read_bytes(), file.name
    notes = " ".join(release.report["notes"])
    assert all(f'{name} = {{ role = "quasi_identifier" }}' in notes for name in marked_columns())
    assert "insensitive" not in notes


@pytest.mark.parametrize("kind", ["e-mail", "card as a whole number", "row numbers", "Chinese names"])
def test_kinds_of_identifiers_are_not_released(kind: str) -> None:
    """By a k-anonymous method, without a policy."""
    name, rule, values = IDENTIFIERS[kind]
    release = anonkit.release(table(**{name: values(random.Random(1))}), method="mondrian", k=5)

    assert name not in release.to_arrow().column_names
    assert [each["rule"] for each in release.report["columns"] if each["name"] == name] == [rule]


@pytest.mark.parametrize(
    "declared", [{"role": "quasi_identifier"}, {"role": "insensitive"}, {"role": "sensitive"}, {"tree": [["a", "*"]]}]
)
def test_a_declared_column_is_never_judged(declared: dict[str, Any]) -> None:
    """A role or a domain settles what a column is, whatever its cells look like."""
    policy = Policy.from_dict({"columns": {"who": declared}})

    assert policy.declares("who")
    if "role" in declared:
        names = [f"Anna Nr{at % 3}" for at in range(ROWS)]
        release = anonkit.release(table(who=names), method="mondrian", k=5, policy=policy)
        assert not any("taken_for" in each for each in release.report["columns"])


def test_a_type_alone_declares_nothing() -> None:
    """A declared cell type or missing mark does not declare that a column names nobody."""
    policy = Policy.from_dict({"columns": {"contact": {"type": "string", "missing": "category"}}})
    release = anonkit.release(table(**marked_columns()), method="mondrian", k=5, policy=policy)

    assert "contact" not in release.to_arrow().column_names


def test_without_domains_from_data_nothing_is_judged_under_differential_privacy() -> None:
    """A column without a domain is refused by its name, whatever its cells: the refusal discloses none."""
    policy = Policy.from_dict(
        {
            "columns": {
                "age": {"role": "quasi_identifier", "bounds": [0, 100]},
                "sex": {"role": "quasi_identifier", "categories": ["F", "M"]},
                "ill": {"role": "target", "categories": ["no", "yes"]},
            }
        }
    )
    refusals = []
    for cells in ([f"p{at}@example.org" for at in range(ROWS)], ["a", "b", "c"] * 100):
        with pytest.raises(PolicyError) as refusal:
            anonkit.release(table(contact=cells), method="dp-nb", epsilon=1.0, policy=policy)
        refusals.append(str(refusal.value))
    assert refusals[0] == refusals[1]


@pytest.mark.parametrize("method", ["rr", "dp-nb", "dp-forest"])
def test_the_claim_says_that_identifiers_were_found_by_their_cells(tmp_path: Path, method: str) -> None:
    """Under differential privacy what is left out because of cells is a condition: in statement, report and params."""
    release = anonkit.release(table(**marked_columns()), method=method, epsilon=4.0, domains_from_data=True)

    promise = release.report["guarantee"]
    assert promise["statement"].startswith("CONDITIONAL")
    assert promise["parameters"]["identifiers_from_data"] == ["contact", "who", "site", "remark"]
    for texts in (promise["assumptions"], release.params["conditions"]):
        assert any("contact, who, site, remark" in text and "by their cells" in text for text in texts)


def test_no_target_is_taken_beside_a_last_column_that_identifies() -> None:
    """A trailing e-mail address is not taken for the class label, nor is the column before it; a note says why."""
    plain = table(y=[["yes", "no"][at % 2] for at in range(ROWS)]).drop_columns("ill")
    rows = plain.append_column("contact", [[f"p{at}@example.org" for at in range(ROWS)]])
    release = anonkit.release(rows, method="rfka", k=5, trees=10)

    assert "contact" not in release.to_arrow().column_names
    assert not any(column["role"] == "target" for column in release.report["columns"])
    assert any("the last column, 'contact', looks like an identifier" in note for note in release.report["notes"])


def test_nearly_unique_measurements_stay_and_are_pointed_out() -> None:
    """An income to the cent is generalized, not dropped, and the note says how to declare it an identifier."""
    r = random.Random(2)
    release = anonkit.release(
        table(income=[round(r.lognormvariate(10, 1), 2) for _ in range(ROWS)]), method="mondrian", k=5
    )

    assert "income" in release.to_arrow().column_names
    assert any('income = { role = "identifier" }' in note for note in release.report["notes"])


def test_under_differential_privacy_no_note_shows_how_unique_a_column_is() -> None:
    """Only what the conditions of the claim name is said of the cells: a measurement is not pointed out."""
    r = random.Random(2)
    rows = table(income=[round(r.lognormvariate(10, 1), 2) for _ in range(ROWS)])
    release = anonkit.release(rows, method="dp-nb", epsilon=1.0, domains_from_data=True)

    assert not any("income" in note for note in release.report["notes"])


def test_init_and_release_agree() -> None:
    """The draft gives the role of an identifier, or of the unit, to the columns that a release leaves out."""
    rows = table(
        **marked_columns(), patient_id=[at // 3 for at in range(ROWS)], income=[at * 17.31 for at in range(ROWS)]
    )
    policy = Policy.from_dict(tomllib.loads(draft_policy(rows)))
    release = anonkit.release(rows, method="mondrian", k=5)

    taken = {each["name"] for each in release.report["columns"] if "taken_for" in each}
    assert set(policy.names(Role.IDENTIFIER, Role.UNIT)) == taken
    assert any('patient_id = { role = "unit" }' in note for note in release.report["notes"])


def test_the_next_batch_is_not_judged_again(tmp_path: Path) -> None:
    """An identifier of the first batch stays one in the params: the same recoding fits the next batch."""
    out = tmp_path / "out.parquet"
    anonkit.release(table(**marked_columns()), method="rfka", k=5, output=out)
    again = anonkit.apply(tmp_path / "out.params.json", table(**marked_columns()))

    assert not set(marked_columns()) & set(again.to_arrow().column_names)


def test_one_command_on_an_awkward_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The terminal names each column that was left out and why; `validate` passes."""
    r = random.Random(4)
    columns = {IDENTIFIERS[kind][0]: IDENTIFIERS[kind][2](r) for kind in ("e-mail", "phone, Germany", "card", "UUID")}
    source, out = tmp_path / "in.jsonl", tmp_path / "out.parquet"
    source.write_text("".join(json.dumps(row, default=str) + "\n" for row in table(**columns).to_pylist()))

    assert run(commands, ["release", "--k", "5", "--no-ledger", str(source), str(out)], "anonkit") == 0
    told = capsys.readouterr().err
    assert all(f"Column '{name}' looks like an identifier" in told for name in columns)
    assert run(commands, ["validate", str(out)], "anonkit") == 0


CELLS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.string(): st.text(st.characters(codec="utf-8"), max_size=4),
    pa.int64(): st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 30),
    pa.float64(): st.floats(),
    pa.bool_(): st.booleans(),
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)),
}


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """One engine for all tables."""
    with open_engine("local") as opened:
        yield opened


def profile(engine: Engine, name: str, values: pa.Array | list[Any]) -> ColumnProfile:
    """The profile of a table's only column."""
    (found,) = profile_columns(engine, engine.scan(pa.table({name: values}), Policy()))
    return found


@given(data=st.data(), kind=st.sampled_from(list(CELLS)), categorical=st.booleans())
def test_codes_and_a_pass_over_the_table_give_one_profile(
    engine: Engine, data: st.DataObject, kind: pa.DataType, categorical: bool
) -> None:
    """The profile of a column does not depend on the pass; only text cells are read closer by the second."""
    values = pa.array(data.draw(st.lists(st.none() | CELLS[kind], max_size=40)), kind)
    if categorical and kind == pa.string():
        values = values.dictionary_encode()
    source = engine.scan(pa.table({"x": values}), Policy())

    (passed,) = profile_columns(engine, source)
    coded = ColumnProfile.of_codes(engine.encode(source, ["x"])[0])
    assert (passed.filled, passed.distinct, passed.verdict) == (coded.filled, coded.distinct, coded.verdict)
    assert passed.kind is coded.kind or passed.markers or not coded.filled


@pytest.mark.parametrize(
    "name",
    [
        *("id", "ID", "customerId", "Customer ID", "patient_id", "ssn", "SSN_number", "passportNumber", "IBAN"),
        *("name", "First name", "last_name", "e-mail", "email_2", "Phone.No", "Vorname", "姓名", "手机号"),
    ],
)
def test_names_of_identifiers_are_known(engine: Engine, name: str) -> None:
    """Columns named like identifiers look like them, in any spelling, even without a single value."""
    assert profile(engine, name, ["a", "b", "a"]).identifier_reason == "its name says so"
    assert profile(engine, name, pa.nulls(3, pa.string())).identifier_reason == "its name says so"


@pytest.mark.parametrize(
    "name",
    [
        *("age", "paid", "valid", "covid", "account_balance", "phone_calls"),
        *("product_name", "country name", "id_type", "zip"),
    ],
)
def test_other_names_are_not(engine: Engine, name: str) -> None:
    """A word that only sounds like one, or names a group, does not make an identifier."""
    assert profile(engine, name, ["a", "b", "a"]).identifier_reason is None


def test_a_name_with_few_values_is_a_code(engine: Engine) -> None:
    """An `id` with a handful of values in hundreds of rows distinguishes groups."""
    assert profile(engine, "id", [1, 2, 3, 4, 5] * 40).identifier_reason is None


@pytest.mark.parametrize(
    ("values", "looks"),
    [
        ([f"text {i}" for i in range(100)], True),
        ([f"text {i % 80}" for i in range(100)], False),
        (list(range(100)), True),
        ([314_159 + 4_001 * i for i in range(100)], True),
        ([i * i for i in range(100)], False),
        ([i / 7 for i in range(100)], False),
        ([datetime.date(2000, 1, 1) + datetime.timedelta(i) for i in range(100)], False),
        ([f"text {i}" for i in range(9)], False),
    ],
    ids=["texts", "repeated texts", "running", "one length", "amounts", "fractions", "dates", "too few rows"],
)
def test_unique_texts_and_numberings_look_like_identifiers(engine: Engine, values: list[Any], looks: bool) -> None:
    """Unique texts, running numbers and codes of one length do, measured quantities do not."""
    assert (profile(engine, "x", values).identifier_reason is not None) == looks


def test_numberings_need_many_values(engine: Engine) -> None:
    """`Sample code number` is an identifier when most rows have their own, a code otherwise; a zip code never is."""
    many, few = [i * i for i in range(60)] * 2, [1, 4, 9, 16] * 30

    assert profile(engine, "Sample_code_number", many).identifier_reason is not None
    assert profile(engine, "Sample_code_number", few).identifier_reason is None
    assert profile(engine, "zip_code", many).identifier_reason is None


def test_a_unit_is_a_number_that_repeats(engine: Engine) -> None:
    """Numbers of people with several rows may be the unit; names and numbers that do not repeat are not."""
    twice = [f"{i}" for i in range(30)] * 2

    assert profile(engine, "customer_id", twice).may_be_unit
    assert not profile(engine, "customer_id", twice[:30]).may_be_unit
    assert not profile(engine, "name", twice).may_be_unit


@pytest.mark.parametrize(
    ("cells", "markers", "mostly"),
    [
        (["1", "2.5", "-3", "?", None], ("?",), False),
        (["1", "2", "NA", "-"], ("-", "NA"), False),
        ([*map(str, range(30)), "secret"], (), True),
        ([*map(str, range(30)), "secret", "?"], (), True),
        (["1", "2"], (), False),
        (["?", "red"], (), False),
        (["?", None], (), False),
        (["01234", "02345", "?"], (), False),
    ],
)
def test_texts_among_numbers_are_noticed(
    engine: Engine, cells: list[str | None], markers: tuple[str, ...], mostly: bool
) -> None:
    """Common marks of missing values among numbers are named, other texts are not; zip codes are no numbers."""
    for values in (pa.array(cells), pa.array(cells).dictionary_encode()):
        found = profile(engine, "x", values)

        assert (found.markers, found.mostly_numbers) == (markers, mostly)
        assert found.kind is (ValueKind.FRACTIONAL if markers else ValueKind.TEXT)


def test_a_profile_shows_no_value(engine: Engine) -> None:
    """The repr of a profile, even of a column with one value, does not hold it."""
    assert "987654" not in repr(profile(engine, "x", [987_654] * 3))
    assert "secret" not in repr(profile(engine, "x", ["secret", *map(str, range(30))]))
