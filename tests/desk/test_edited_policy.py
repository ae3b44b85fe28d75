"""A policy that is edited in the page keeps everything that nobody touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from anonkit.desk.edited_policy import EditedPolicy, read_tree, taken_over, tree_text, write_tree
from anonkit.errors import PolicyError
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy

TEXT = """# mine
dataset = "people"  # name
[columns]
"a.b" = { role = "quasi_identifier" }   # dotted

[columns.'<b>&"']   # hostile
role = "target"
sensitive = true
# categories = ["x"]
"""


def test_comments_order_and_other_keys_stay() -> None:
    """One role is another, and no other letter."""
    edited = EditedPolicy.read(TEXT).with_roles({"a.b": "identifier"})
    assert edited.text == TEXT.replace('"quasi_identifier"', '"identifier"')
    assert EditedPolicy.read(TEXT).with_roles({"a.b": "quasi_identifier"}).text == TEXT


def test_a_role_is_one_of_the_policy() -> None:
    """A target may be a secret too; anything else is refused."""
    edited = EditedPolicy.read(TEXT).with_roles({'<b>&"': "target", "a.b": "sensitive"})
    assert "sensitive = true" not in edited.text
    assert EditedPolicy.read(TEXT).with_roles({'<b>&"': "target, sensitive"}).text == TEXT
    for role in ("king", "", "target, king", "quasi_identifier\n[x]"):
        with pytest.raises(PolicyError):
            EditedPolicy.read(TEXT).with_roles({"a.b": role})


@pytest.mark.parametrize("name", ["new", "a.b.c", "", "]", '"', "\u202ename", "\n", "[columns.x]", "é", "'''"])
def test_any_name_of_a_column_stays_a_name(name: str) -> None:
    """Names come from the table: none can write a key of its own."""
    edited = EditedPolicy.read("").with_names(["id", name]).with_domain(name, {"bounds": [0, 9]})
    policy = Policy.from_dict(EditedPolicy.read(edited.text)._document().unwrap())
    assert list(policy.columns) == ["id", name]
    assert policy.column(name).bounds == (0, 9)
    assert policy.column("id").role is Role.IDENTIFIER


def test_a_key_is_taken_away_by_none() -> None:
    """And what is not there stays so."""
    edited = EditedPolicy.read(TEXT).with_domain("a.b", {"bounds": [1, 2], "ladder": None})
    assert edited.with_domain("a.b", {"bounds": None}).columns() == EditedPolicy.read(TEXT).columns()


def test_recipients_and_one_row_a_person() -> None:
    """Said, and taken back."""
    edited = EditedPolicy.read(TEXT).with_recipients(["Ada & Co"]).with_one_row_a_person(one_row=True)
    policy = Policy.from_dict(edited._document().unwrap())
    assert policy.publication.recipients == ("Ada & Co",)
    assert policy.independent_rows
    back = edited.with_recipients([]).with_one_row_a_person(one_row=False)
    assert not Policy.from_dict(back._document().unwrap()).independent_rows
    assert "Ada" not in back.text


def test_a_policy_is_taken_over_with_its_files(tmp_path: Path) -> None:
    """Its hierarchy is copied byte for byte, its ledger is where it was, and the file stays as it is."""
    given, folder = tmp_path / "given" / "policy.toml", tmp_path / "deep" / "out"
    given.parent.mkdir()
    tree = "caf\xe9,drink\ntea,drink\n".encode("latin-1")
    (given.parent / "tree.csv").write_bytes(tree)
    text = (
        'encoding = "cp1252"\nledger = "own.ledger"\n[columns]\nwhat = { role = "sensitive", tree = "tree.csv" } # x\n'
    )
    given.write_text(text, encoding="utf-8")
    folder.mkdir(parents=True)
    (folder / "policy.toml").write_text(taken_over(given, folder), encoding="utf-8")
    before, after = Policy.load(given), Policy.load(folder / "policy.toml")

    assert after.column("what").tree == before.column("what").tree
    assert (folder / "trees" / "column-0-1.csv").read_bytes() == tree
    assert "# x" in (folder / "policy.toml").read_text(encoding="utf-8")
    assert given.read_text(encoding="utf-8") == text
    assert after.bookkeeping.ledger is not None
    assert Path(str(after.bookkeeping.ledger)).resolve() == Path(str(before.bookkeeping.ledger)).resolve()
    (given.parent / "tree.csv").unlink()
    with pytest.raises(PolicyError, match="tree file"):
        taken_over(given, folder)


def test_a_hierarchy_is_written_beside_the_one_before(tmp_path: Path) -> None:
    """An undone step still names it."""
    rows = [["flu", "respiratory", "any"], ['"x", y', "other", "any"]]
    assert write_tree(tmp_path, 3, tree_text(rows)) == "trees/column-3-1.csv"
    assert write_tree(tmp_path, 3, "a,b\n") == "trees/column-3-2.csv"
    assert read_tree((tmp_path / "trees" / "column-3-1.csv").read_text(encoding="utf-8")) == rows
    for text in ("", "a\nb", "a,b\nc", 'a,"b'):
        with pytest.raises(PolicyError):
            read_tree(text)
