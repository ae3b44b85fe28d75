# SPDX-License-Identifier: Apache-2.0
"""Drafted policies: valid for any table, with the roles an owner expects, and without what few rows hold."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.datasets import bank_customers
from anonkit.drafting.policy_draft import draft_policy
from anonkit.engines import open_engine
from anonkit.errors import PolicyError
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.protocols import Engine

MARK = "Xq7Wj"

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(str.strip) | st.sampled_from(
    [*("id", "name", "email", "income", "diagnosis"), *("a.b", 'a"b', "a\nb", "#", "[x]", "{x}", "\x7f", "'''", "é")]
)
CELLS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.string(): st.text(st.characters(codec="utf-8"), max_size=5) | st.sampled_from([*'?1"\x7f', "2.5", "\n#"]),
    pa.int64(): st.integers(-(2**63), 2**63 - 1) | st.integers(0, 5),
    pa.float64(): st.floats(),
    pa.bool_(): st.booleans(),
    pa.date32(): st.dates(),
    pa.time64("us"): st.times(),
    pa.null(): st.none(),
}


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """One engine for all tables."""
    with open_engine("local") as opened:
        yield opened


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Tables of any names and types, each value repeated so that some are common."""
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    rows, copies = draw(st.integers(0, 6)), draw(st.sampled_from([1, 12]))
    columns = []
    for _ in names:
        kind = draw(st.sampled_from(list(CELLS)))
        cells = pa.array(draw(st.lists(st.none() | CELLS[kind], min_size=rows, max_size=rows)) * copies, kind)
        columns.append(cells.dictionary_encode() if kind == pa.string() and draw(st.booleans()) else cells)
    return pa.table(columns, names=names)


def parse(text: str) -> Policy:
    """The policy a draft represents."""
    return Policy.from_dict(tomllib.loads(text))


def prose(text: str) -> str:
    """The draft with its comments unwrapped."""
    return text.replace("\n# ", " ")


def uncommented(text: str) -> str:
    """The draft with the offered categories taken over."""
    lines, inside = [], False
    for line in text.splitlines():
        inside = inside or (line.startswith('# categories = ["') and "..." not in line)
        lines.append(line.removeprefix("# ") if inside else line)
        inside = inside and not line.endswith("]")
    return "\n".join(lines)


# --- any table -------------------------------------------------------------------------------------------------


@given(table=tables(), data=st.data())
def test_any_table_gives_a_valid_policy(engine: Engine, table: pa.Table, data: st.DataObject) -> None:
    """A draft is TOML without invisible characters and declares all columns in order, with the target requested."""
    target = data.draw(st.none() | st.sampled_from(table.column_names))
    text = draft_policy(table, target=target, engine=engine)

    policy = parse(text)
    assert list(policy.columns) == table.column_names
    assert policy.resolve(table.column_names, target_use=TargetUse.AS_DECLARED) == policy
    assert policy.target == target or target is None
    assert all(line.isprintable() for line in text.split("\n"))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(table=tables())
def test_offered_categories_can_be_taken_over(engine: Engine, table: pa.Table) -> None:
    """Uncommenting the offered categories gives a valid policy whose categories are in the table ten times."""
    policy = parse(uncommented(draft_policy(table, engine=engine)))

    for name, column in policy.columns.items():
        cells = [str(cell).lower() if isinstance(cell, bool) else str(cell) for cell in table[name].to_pylist()]
        assert all(cells.count(category) >= 10 for category in column.categories or ())


@settings(max_examples=60, deadline=None)
@given(rare=st.lists(st.integers(1, 9), min_size=1, max_size=5), rows=st.integers(60, 200), data=st.data())
def test_rare_values_are_never_in_a_draft(engine: Engine, rare: list[int], rows: int, data: st.DataObject) -> None:
    """Planted values that fewer than ten rows hold are not in the text, whatever the column is or is named."""
    common = data.draw(st.lists(st.sampled_from(["a", "b", "?", "12", ""]), min_size=1, max_size=4))
    planted = [f"{MARK}{i}" for i, count in enumerate(rare) for _ in range(count)]
    cells = pa.array(planted + [common[i % len(common)] for i in range(rows)])
    known = st.sampled_from(["x", "id", "name", "sample_code", "diagnosis", "income"])
    names = data.draw(st.lists(known, min_size=2, unique=True))
    table = pa.table({name: cells if i % 2 else cells.dictionary_encode() for i, name in enumerate(names)})

    assert MARK not in draft_policy(table, target=data.draw(st.none() | st.sampled_from(names)), engine=engine)


@given(
    cells=st.lists(st.integers(0, 5), min_size=1, max_size=200),
    scale=st.integers(2, 1000),
    shift=st.integers(-(10**6), 10**6),
)
def test_a_draft_does_not_depend_on_how_large_numbers_are(
    engine: Engine, cells: list[int], scale: int, shift: int
) -> None:
    """Scaled and shifted numbers, whole or not, give the same text: no minimum, maximum or other value is in it."""
    label = ["yes"] * len(cells)
    texts = {
        draft_policy(pa.table({"x": x, "y": y, "label": label}), engine=engine)
        for x, y in (
            (cells, [float(cell) for cell in cells]),
            ([scale * cell + shift for cell in cells], [scale * cell + shift + 0.5 for cell in cells]),
        )
    }
    assert len(texts) == 1


# --- what is shown ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("others", "least"), [(50, 10), (9_000, 10), (19_000, 20)])
def test_a_value_is_shown_from_ten_rows_and_a_thousandth_of_all(engine: Engine, others: int, least: int) -> None:
    """One row fewer than max(10, 0.1 %), and the value is not in the draft."""
    enough, too_few = (
        draft_policy(pa.table({"x": [MARK] * rows + ["other"] * others, "y": ["n"] * (rows + others)}), engine=engine)
        for rows in (least, least - 1)
    )

    assert MARK in enough
    assert MARK not in too_few


def test_what_one_person_holds_in_many_rows_is_not_shown(engine: Engine) -> None:
    """With a column that looks like the unit, ten people must hold a value, not ten rows."""
    people = [f"p{i // 12}" for i in range(1200)]
    table = pa.table({"patient_id": people, "drug": [MARK] * 12 + ["other"] * 1188, "y": ["n"] * 1200})

    text = draft_policy(table, engine=engine)
    assert parse(text).unit == "patient_id"
    assert MARK not in text
    assert '"other"' in text


def test_categories_that_no_row_has_are_not_shown(engine: Engine) -> None:
    """A dictionary column may carry values of rows that were filtered out."""
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 30, pa.int32()), pa.array(["a", "b", MARK]))

    assert MARK not in draft_policy(pa.table({"x": column, "y": column}), engine=engine)


def test_long_lists_are_left_out(engine: Engine) -> None:
    """Sixty-one categories are not listed, sixty are."""
    for categories, shown in ((60, True), (61, False)):
        table = pa.table({"x": [f"c{i}" for i in range(categories)] * 20, "y": ["n"] * 20 * categories})
        assert ('"c7"' in draft_policy(table, engine=engine)) == shown


def test_lines_are_short(engine: Engine) -> None:
    """Lists of categories and notes are broken into lines an editor shows whole."""
    table = pa.table({"income": [f"category {i} & more" for i in range(40)] * 20, "y": ["n"] * 800})

    assert max(map(len, draft_policy(table, engine=engine).splitlines())) <= 120


# --- roles and hints -------------------------------------------------------------------------------------------


def test_roles_of_a_customer_table(engine: Engine) -> None:
    """The number is an identifier, the class the target, everything else a quasi-identifier."""
    policy = parse(draft_policy(bank_customers(2_000, customer_id=True), engine=engine))

    assert policy.names(Role.IDENTIFIER) == ("customer_id",)
    assert policy.target == "customer_value"
    assert len(policy.quasi_identifiers) == 10


def test_a_number_that_repeats_is_the_unit(engine: Engine) -> None:
    """Several rows a customer: k must count people, and the draft says so."""
    text = draft_policy(bank_customers(2_000, rows_per_customer=4), engine=engine)

    assert parse(text).unit == "customer_id"
    assert "k counts people" in prose(text)


def test_one_unit_at_most(engine: Engine) -> None:
    """Of two numbers that repeat the first is the unit, the other an identifier with a hint."""
    numbers = [f"{i}" for i in range(50)] * 2
    text = draft_policy(pa.table({"patient_id": numbers, "ssn": numbers, "y": ["n"] * 100}), engine=engine)

    policy = parse(text)
    assert (policy.unit, policy.names(Role.IDENTIFIER)) == ("patient_id", ("ssn",))
    assert 'role = "unit" makes k count people' in prose(text)


def test_the_target_is_the_last_column_where_it_is_evidently_a_label(engine: Engine) -> None:
    """Not a secret, not the column before an e-mail address; a named column is taken."""
    label, secret = pa.array(["y", "n"] * 20), pa.array(["a", "b"] * 20)
    table = pa.table({"age": list(range(40)), "churn": label})

    assert parse(draft_policy(table, engine=engine)).target == "churn"
    assert parse(draft_policy(table, target="age", engine=engine)).target == "age"
    for name, cells in (("illness", secret), ("email", secret)):
        assert parse(draft_policy(table.append_column(name, cells), engine=engine)).target is None


def test_an_identifier_as_target_is_questioned(engine: Engine) -> None:
    """The owner's choice is kept, with a remark."""
    text = draft_policy(pa.table({"age": [1, 2], "email": ["a", "b"]}), target="email", engine=engine)

    assert parse(text).target == "email"
    assert "is it the right column?" in prose(text)


def test_a_table_of_identifiers_has_no_target(engine: Engine) -> None:
    """Nothing that names people is made the released class label."""
    policy = parse(draft_policy(pa.table({"name": ["a", "b"], "email": ["a", "b"]}), engine=engine))

    assert policy.target is None
    assert policy.names(Role.IDENTIFIER) == ("name", "email")


def test_an_unknown_target_is_refused_with_the_closest_name(engine: Engine) -> None:
    """The error names columns, no cell."""
    with pytest.raises(PolicyError, match="'incom' is not in the table") as refusal:
        draft_policy(pa.table({"income": [MARK]}), target="incom", engine=engine)

    assert refusal.value.hint == "did you mean 'income'?"
    assert MARK not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "hinted"), [("diagnosis", True), ("AnnualIncome", True), ("religion", True), ("colour", False)]
)
def test_sensitive_candidates_are_pointed_out(engine: Engine, name: str, hinted: bool) -> None:
    """By name, as a hint: the role stays the cautious one; a target can be made sensitive by uncommenting a line."""
    table = pa.table({name: ["a", "b"], "y": ["a", "b"]})
    as_column, as_target = draft_policy(table, engine=engine), draft_policy(table, target=name, engine=engine)

    assert ('role = "sensitive"' in prose(as_column)) == hinted
    assert parse(as_column).column(name).role is Role.QUASI_IDENTIFIER
    assert parse(as_target.replace("# sensitive = true", "sensitive = true")).column(name).is_sensitive == hinted


def test_every_released_column_has_a_domain_to_fill_in(engine: Engine) -> None:
    """Numbers get a bounds line, other columns a categories line, both commented out; a date has neither."""
    text = draft_policy(bank_customers(500, customer_id=True), engine=engine)

    sections = dict(re.findall(r"\[columns\.(\w+)\]\n(.*?)(?=\n\n|\Z)", text, re.DOTALL))
    assert "= [" not in sections.pop("customer_id")
    codes = [body for body in sections.values() if '# type = "category"' in body]
    assert all(
        ("# bounds = [" in body) != ("# categories = [" in body) for body in sections.values() if body not in codes
    )
    assert "# bounds = [" in sections["age"]
    assert all(column.bounds is None and column.categories is None for column in parse(text).columns.values())


def test_a_mark_among_numbers_becomes_a_missing_value(engine: Engine, tmp_path: Path) -> None:
    """A numeric column spoilt by `?` is read as numbers under its own draft."""
    path = tmp_path / "ward 7.csv"
    pacsv.write_csv(pa.table({"size": ["1", "2", "?", "30"] * 5, "y": ["a", "b"] * 10}), path)

    text = draft_policy(path, engine=engine)
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    policy = Policy.load(tmp_path / "policy.toml")
    assert policy.missing_values == ("", "?")
    assert policy.dataset == "ward 7"
    assert engine.scan(path, policy).schema.field("size").type == pa.int64()


def test_texts_among_numbers_are_mentioned_not_quoted(engine: Engine) -> None:
    """A column of numbers with some odd texts is pointed at; the texts stay where they are."""
    cells = [*map(str, range(200)), MARK]
    text = draft_policy(pa.table({"size": cells, "y": ["a"] * 201}), engine=engine)

    assert "Most cells are numbers" in prose(text)
    assert MARK not in text


@pytest.mark.parametrize(("words", "quoted"), [(1, False), (44, True)])
def test_texts_among_numbers_are_proposed_as_missing_at_any_share(engine: Engine, words: int, quoted: bool) -> None:
    """One cell of 400 and 11 %: the line to write is proposed, with the text itself where many rows hold it."""
    cells = [MARK] * words + [str(at) for at in range(400 - words)]
    text = prose(draft_policy(pa.table({"size": cells, "y": ["a", "b"] * 200}), engine=engine))

    assert f'missing_values = ["", "{MARK if quoted else "TEXT"}"]' in text
    assert (MARK in text) == quoted


@pytest.mark.parametrize("count", [1, 44])
def test_a_letter_for_missing_is_proposed_at_any_share(engine: Engine, count: int) -> None:
    """`N` among numbers is listed in the draft, whatever its share; in a column of Y and N it is none."""
    cells = ["N"] * count + [str(at) for at in range(400 - count)]
    table = pa.table({"size": cells, "smokes": ["Y", "N"] * 200, "y": ["a", "b"] * 200})
    text = draft_policy(table, engine=engine)

    assert parse(text).missing_values == ("", "N")
    assert 'Does "N" mean missing?' not in prose(text)


@pytest.mark.parametrize(
    ("cells", "codes"),
    [([0, 1] * 100, True), ([1, 2, 3, 4, 5] * 40, True), (list(range(20)) * 10, False), ([0.5, 1.5] * 100, False)],
)
def test_few_integers_are_proposed_as_categories(engine: Engine, cells: list[float], codes: bool) -> None:
    """As comments, with the reason: the draft as it is changes nothing, and uncommented it is a policy."""
    table = pa.table({"grade": cells, "y": ["a", "b"] * 100})
    text = draft_policy(table, engine=engine)

    assert ('# type = "category"' in text) == codes
    assert ("small set of whole numbers" in prose(text)) == codes
    assert parse(text).column("grade").type is None
    if codes:
        assert parse(text.replace('# type = "category"', 'type = "category"')).column("grade").compares_texts
        listed = (
            parse(re.sub(r"# (categories = \[[^\n.]*\])\n# bounds", r"\1\n# bounds", text)).column("grade").categories
        )
        assert listed == tuple(str(cell) for cell in sorted(set(cells)))


def test_an_engine_that_was_given_stays_open(engine: Engine) -> None:
    """Only an engine made for the draft is closed after it; the text is the same."""
    table = bank_customers(300)

    assert draft_policy(table, engine=engine) == draft_policy(table) == draft_policy(table, engine=engine)


def test_progress_is_reported_as_shares(engine: Engine) -> None:
    """Every step reports shares from 0 up to less than 1, ascending."""
    told: dict[str, list[float]] = {}
    draft_policy(
        bank_customers(50), engine=engine, progress=lambda step, share: told.setdefault(step, []).append(share)
    )

    assert told
    assert all(shares == sorted(shares) and 0 <= shares[0] <= shares[-1] < 1 for shares in told.values())


# --- real tables -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_draft_for_adult(engine: Engine, real_tables: Path) -> None:
    """Fourteen quasi-identifiers and the income; `?` raises a question; the rare categories of Adult are not shown."""
    text = draft_policy(real_tables / "adult.csv.gz", engine=engine)

    policy = parse(text)
    assert policy.target == "income"
    assert len(policy.quasi_identifiers) == 14
    assert 'Does "?" mean missing?' in prose(text)
    assert "Mexico" in text
    rare = ("Holand-Netherlands", "Never-worked", "Without-pay", "Armed-Forces", "Married-AF-spouse")
    assert not any(category in text for category in rare)


def test_the_draft_for_breast_cancer(engine: Engine, real_tables: Path) -> None:
    """The sample number repeats and is the unit; `?` among the numbers is a missing value; the classes are listed."""
    text = draft_policy(real_tables / "breast_cancer_wisconsin.csv", engine=engine)

    policy = parse(uncommented(text))
    assert policy.unit == "Sample_code_number"
    assert policy.missing_values == ("", "?")
    assert policy.column("Class").categories == ("2", "4")
