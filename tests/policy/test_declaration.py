"""Declarations of owners, and refusals of mistakes in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.errors import PolicyError
from anonkit.policy.column_declarations import Column, ColumnType, Missing, Outside, Role
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.policy.public_domains import public_domains

DOCUMENTED = """
dataset = "adult"
declared_by = "the data protection office"
missing_values = ["", "?"]
[columns]
name   = { role = "identifier" }
age    = { role = "quasi_identifier", bounds = [17, 90], ladder = [5, 10, 20] }
sex    = { role = "quasi_identifier", categories = ["Female", "Male"] }
zip    = { role = "quasi_identifier", tree = "zip.csv" }
income = { role = "target", categories = ["<=50K", ">50K"] }
illness = { role = "sensitive", missing = "drop" }
note   = { role = "insensitive" }
"""


@pytest.fixture
def documented(tmp_path: Path) -> Path:
    """The policy of the product page, with its tree file."""
    (tmp_path / "zip.csv").write_text("2541,25**,2***\n2542,25**,2***\n3011,30**,3***\n")
    path = tmp_path / "policy.toml"
    path.write_text(DOCUMENTED)
    return path


def test_the_documented_policy_loads(documented: Path) -> None:
    """Every key of the contract is understood."""
    policy = Policy.load(documented)

    assert policy.dataset == "adult"
    assert policy.quasi_identifiers == ("age", "sex", "zip")
    assert policy.target == "income"
    assert policy.sensitive == ("illness",)
    assert policy.column("age").ladder == (5, 10, 20)
    assert policy.column("age").bounds == (17, 90)
    assert policy.column("zip").tree == (
        ("2541", "25**", "2***"),
        ("2542", "25**", "2***"),
        ("3011", "30**", "3***"),
    )
    assert policy.missing_of("illness") is Missing.DROP
    assert policy.missing_of("age") is Missing.CATEGORY
    assert policy.missing_values == ("", "?")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("colums = {}", "unknown key 'colums'"),
        ("[columns]\nage = { rol = 'target' }", "unknown key 'rol'"),
        ("[columns]\nage = { role = 'quasi' }", "role has an unknown value"),
        ("[columns]\nage = { bounds = [90, 17] }", "low < high"),
        ("[columns]\nage = { bounds = [1, 2, 3] }", "[low, high]"),
        ("[columns]\nage = { bounds = ['a', 'b'] }", "list of numbers"),
        ("[columns]\nage = { ladder = [10, 5] }", "ascending"),
        ("[columns]\nage = { ladder = 'fine' }", "ladder must be"),
        ("[columns]\nsex = { categories = ['F', 'F'] }", "distinct"),
        ("[columns]\nsex = { categories = [] }", "must not be empty"),
        ("[columns]\nsex = { categories = [1, 2] }", "texts in quotes"),
        ("[columns]\nsex = { categories = ['F'], bounds = [0, 1] }", "exclude each other"),
        ("[columns]\nsex = { tree = 'none.csv' }", "does not exist"),
        ("[columns]\nsex = { tree = [['a', 'x'], ['b']] }", "same number of levels"),
        ("[columns]\nsex = { tree = [['a', 'x', 'p'], ['b', 'x', 'q']] }", "two different parents"),
        ("[columns]\nsex = { tree = [['a', 'x'], ['a', 'y']] }", "appears twice"),
        ("[columns]\nsex = { sensitive = true }", "sensitive = true"),
        ("[columns]\nsex = 3", "must be a table"),
        ("missing = 'keep'", "missing has an unknown value"),
        ("dataset = 3", "dataset must be a text"),
        ("this is not toml", "is not TOML"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, said: str) -> None:
    """Each mistake is refused with the column and the rule."""
    path = tmp_path / "policy.toml"
    path.write_text(text)

    with pytest.raises(PolicyError) as caught:
        Policy.load(path)

    assert said in str(caught.value)


def test_an_absent_file_points_at_init(tmp_path: Path) -> None:
    """A user without a policy gets the command that writes one."""
    with pytest.raises(PolicyError, match="anonkit init"):
        Policy.load(tmp_path / "policy.toml")


def test_undeclared_columns_are_quasi_identifiers_and_the_last_is_the_target() -> None:
    """Nothing declared means the cautious choice."""
    policy = Policy().resolve(["age", "sex", "income"])

    assert policy.quasi_identifiers == ("age", "sex")
    assert policy.target == "income"


def test_a_declared_column_that_is_not_there_is_refused_with_the_closest_name() -> None:
    """A misspelt identifier must not end up in the output as something else."""
    policy = Policy().with_roles(identifiers=["custmer_id"])

    with pytest.raises(PolicyError, match="did you mean 'customer_id'"):
        policy.resolve(["customer_id", "age", "income"])


def test_a_target_may_be_sensitive_too_and_no_other_two_roles_go_together() -> None:
    """Roles from the command line combine in one way only."""
    policy = Policy().with_roles(target="income", sensitive=["income"]).resolve(["age", "income"])
    assert (policy.target, policy.sensitive) == ("income", ("income",))

    with pytest.raises(PolicyError, match="two roles"):
        Policy().with_roles(target="income", identifiers=["income"])
    with pytest.raises(PolicyError, match="two roles"):
        Policy().with_roles(unit="who", sensitive=["who"])


def test_two_targets_are_refused() -> None:
    """A table has one target."""
    columns = {name: Column(name=name, role=Role.TARGET) for name in ("a", "b")}
    with pytest.raises(PolicyError, match="one at most"):
        Policy(columns=columns).resolve(["a", "b"])


@given(st.dictionaries(st.text(min_size=1), st.sampled_from(list(Role)), max_size=6), st.sampled_from(list(ColumnType)))
def test_roles_survive_resolution(roles: dict[str, Role], kind: ColumnType) -> None:
    """Resolving keeps what was declared, in table order, whatever the names are."""
    declared = {
        name: Column(name=name, role=role, type=kind)
        for name, role in roles.items()
        if role not in (Role.TARGET, Role.UNIT, Role.WEIGHT)
    }
    names = [*declared, "the last one"]
    policy = Policy(columns=declared).resolve(names)

    assert list(policy.columns) == names
    assert all(policy.column(name) == column for name, column in declared.items())
    assert policy.target == "the last one"


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.WEIGHT])  # which has no categories
def test_a_word_is_the_member_it_names(role: Role) -> None:
    """A role or type given in Python as a string is what a policy file makes of it: no rule passes it by."""
    named = Column(name="x", role=str(role), type="string", missing="category", outside="missing", categories=("a",))
    meant = Column(
        name="x",
        role=role,
        type=ColumnType.STRING,
        missing=Missing.CATEGORY,
        outside=Outside.MISSING,
        categories=("a",),
    )

    assert named.is_sensitive == meant.is_sensitive
    assert named.is_read_by_cell == meant.is_read_by_cell
    assert (type(named.role), type(named.type), named.outside) == (Role, ColumnType, Outside.MISSING)


def test_a_word_that_is_no_role_is_refused() -> None:
    """A misspelled role would be none, and the column would be released."""
    with pytest.raises(PolicyError, match="role has an unknown value") as raised:
        Column(name="x", role="identifer")
    assert raised.value.hint is not None
    assert "identifier" in raised.value.hint


@pytest.mark.parametrize("role", ["target", "unit"])
@pytest.mark.parametrize("value", [5, {"a": 1}, False, True, 0, b"a"])
def test_a_role_of_what_is_no_name_is_refused(role: str, value: Any) -> None:
    """A false one is not ignored beside a target that is declared; the hint says how there is none."""
    declared = Policy(columns={"y": Column(name="y", role=Role.TARGET)})
    with pytest.raises(PolicyError, match=f"{role} must be the name of a column") as refused:
        declared.with_roles(**{role: value})
    assert ("no_target=True" in str(refused.value.hint)) is (role == "target")


@pytest.mark.parametrize("value", [5, "name", b"name", [5], False, [["a"]]])
@pytest.mark.parametrize("role", ["identifiers", "sensitive", "insensitive", "quasi_identifiers"])
def test_a_role_of_what_are_no_names_is_refused(role: str, value: Any) -> None:
    """A text is no list of its letters."""
    with pytest.raises(PolicyError, match=f"{role} must be a list of names of columns"):
        Policy().with_roles(**{role: value})


def test_columns_may_come_from_any_iterable() -> None:
    """Once is enough."""
    assert Policy().with_roles(identifiers=iter(("a", "b"))).names(Role.IDENTIFIER) == ("a", "b")


def test_an_error_without_a_target_names_the_way_to_do_without() -> None:
    """Every method that needs a target names the remedy, with or without a table."""
    declared = Policy(columns={"x": Column(name="x", categories=("a", "b"))})
    for refuse in (lambda: declared.resolve(["x"]), lambda: public_domains(declared, target_required=True)):
        with pytest.raises(PolicyError, match="no column to predict is named") as refused:
            refuse()
        assert "no_target=True" in str(refused.value.hint)
        assert "dp-marginals" in str(refused.value.hint)


def test_several_units_name_a_person_together_and_none_of_them_is_released() -> None:
    """One column is made of their keys; they become identifiers, and a second resolution changes nothing."""
    names = ["given", "family", "age"]
    policy = Policy().with_roles(unit=["given", "family"]).resolve(names, target_use=TargetUse.AS_DECLARED)

    assert policy.unit == "given, family"
    assert policy.column("given, family").together == ("given", "family")
    assert policy.names(Role.IDENTIFIER) == ("given", "family")
    again = policy.resolve([*names, "given, family"], target_use=TargetUse.AS_DECLARED)
    assert again.columns == policy.columns


def test_a_unit_of_several_columns_may_not_be_called_like_a_column() -> None:
    """The keys would take its place."""
    with pytest.raises(PolicyError, match="is called as the unit of several columns would be"):
        Policy().with_roles(unit=["a", "b"]).resolve(["a", "b", "a, b"], target_use=TargetUse.AS_DECLARED)


def test_the_unit_none_says_that_rows_are_independent() -> None:
    """In a file and as an option, which takes the place of what the file says; a name again takes its place."""
    assert Policy.from_dict({"unit": "none"}).independent_rows
    declared = Policy.from_dict({"columns": {"who": {"role": "unit"}}}).with_roles(unit="none")
    assert declared.independent_rows
    assert declared.unit is None
    assert declared.column("who").role is Role.IDENTIFIER
    named = Policy.from_dict({"unit": "none"}).with_roles(unit="who")
    assert (named.unit, named.independent_rows) == ("who", False)
    assert Policy.from_dict({"unit": "none"}).with_roles().independent_rows


def test_a_unit_beside_independent_rows_is_refused() -> None:
    """One of the two is wrong, and so is any other word in that place."""
    with pytest.raises(PolicyError, match="rows are declared independent"):
        Policy.from_dict({"unit": "none", "columns": {"who": {"role": "unit"}}})
    with pytest.raises(PolicyError, match="unit must be"):
        Policy.from_dict({"unit": "who"})
    with pytest.raises(PolicyError, match="unit must be"):
        Policy().with_roles(unit=["who", "who"])


def test_a_policy_is_given_as_itself_by_its_document_or_by_its_file(tmp_path: Path) -> None:
    """All three say the same to anyone who takes a policy."""
    (tmp_path / "policy.toml").write_text('[columns]\nage = { role = "quasi_identifier" }\n')
    document = {"columns": {"age": {"role": "quasi_identifier"}}}
    made = Policy.from_dict(document)
    assert Policy.given(made) is made
    assert Policy.given(document) == Policy.given(tmp_path / "policy.toml") == Policy.given(f"{tmp_path}/policy.toml")


@pytest.mark.parametrize("wrong", [3, [1], b"policy.toml", {"columns": 3}, {"colums": {}}])
def test_what_is_no_policy_is_refused_in_one_line(wrong: Any) -> None:
    """By `release` too, before its table is looked at."""
    for take in (Policy.given, lambda policy: anonkit.release("nowhere.csv", method="rfka", k=5, policy=policy)):
        with pytest.raises(PolicyError, match="policy"):
            take(wrong)
