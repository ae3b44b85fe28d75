"""A policy that is edited in the page keeps everything that nobody touched.

The session as files: numbered steps that stay, undo and redo, and a look that nothing takes back.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from anonkit.desk import session_files
from anonkit.desk.decided_release import Decisions
from anonkit.desk.session_files import EditedPolicy, Session, read_tree, taken_over, tree_text, write_tree
from anonkit.errors import EngineError, PolicyError
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy

POLICY = """# the owner's own words
dataset = "people"   # and more of them

[columns]
age = { role = "quasi_identifier", bounds = [0, 120] }  # whole years
"""


def opened(folder: Path) -> Session:
    """Open a session with a recipe that says which method is decided."""
    return Session(folder, lambda decisions: f'method = "{decisions.method}"\n')


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """A session of one step."""
    session = opened(tmp_path / "out")
    session.record("began", policy=POLICY)
    yield session
    session.close()


def held(session: Session) -> tuple[str, str]:
    """The contents of policy.toml and recipe.toml."""
    return tuple((session.folder / name).read_text(encoding="utf-8") for name in ("policy.toml", "recipe.toml"))  # type: ignore[return-value]


def test_undo_and_redo_go_through_the_steps(session: Session) -> None:
    """The files are those of the step that holds; a new step after an undo leaves the undone ones in the history."""
    session.record("roles", policy=EditedPolicy.read(POLICY).with_roles({"age": "insensitive"}).text)
    session.record("promise", decisions=Decisions(approach="classes", method="datafly", parameters={"k": 5}))
    assert session.undo()
    assert "insensitive" in held(session)[0]
    assert held(session)[1] == 'method = ""\n'
    assert session.undo()
    assert held(session)[0] == POLICY
    assert not session.undo()
    assert session.redo()
    assert session.redo()
    assert not session.redo()
    assert held(session)[1] == 'method = "datafly"\n'
    session.undo()
    session.record("another promise", decisions=Decisions(approach="classes", method="rfka", parameters={"k": 9}))
    assert [step.did for step in session.steps] == ["began", "roles", "promise", "another promise"]
    session.undo()
    assert session.redone is not None
    assert session.redone.did == "another promise"


def test_a_session_goes_on_where_it_was(session: Session) -> None:
    """By its files alone: the steps, the current step, the decisions."""
    decisions = Decisions(approach="noise", receiver="anyone", sample=0.1, method="dp-nb", parameters={"epsilon": 0.5})
    session.record("promise", decisions=decisions)
    session.record("roles", policy=EditedPolicy.read(POLICY).with_roles({"age": "target"}).text)
    session.undo()
    session.close()
    again = opened(session.folder)
    again.take_edited()

    assert again.step.decisions == decisions
    assert [step.number for step in again.steps] == [1, 2, 3]
    assert again.redone is not None
    assert held(again)[0] == POLICY
    again.close()


def test_a_policy_that_was_edited_beside_the_desk_holds(session: Session) -> None:
    """As one more step; one that is no policy is refused."""
    session.close()
    (session.folder / "policy.toml").write_text(POLICY.replace("120", "99"), encoding="utf-8")
    again = opened(session.folder)
    again.take_edited()
    assert Policy.from_dict(EditedPolicy.read(again.step.policy)._document().unwrap()).column("age").bounds == (0, 99)
    assert again.step.did == "policy.toml was edited beside the desk"
    again.close()
    (session.folder / "policy.toml").write_text("age =", encoding="utf-8")
    broken = opened(session.folder)
    with pytest.raises(PolicyError):
        broken.take_edited()
    broken.close()


def test_what_is_no_policy_is_no_step(session: Session) -> None:
    """Nothing is written, and the step before holds."""
    for text in ("age = ", 'columns = { age = { role = "king" } }', 'colour = "red"'):
        with pytest.raises(PolicyError):
            session.record("broken", policy=text)
    assert len(session.steps) == 1
    assert held(session)[0] == POLICY
    assert sorted(path.name for path in (session.folder / "history").iterdir()) == ["0001.toml", "current", "lock"]


def test_no_undo_takes_a_look_back(session: Session) -> None:
    """The policy says it from then on, also that of the steps before, and after the desk was opened again."""
    assert not session.looked
    session.record("looked at the private table", looks=True)
    assert Policy.load(session.folder / "policy.toml").looked_at_table
    session.undo()
    assert session.looked
    assert Policy.load(session.folder / "policy.toml").looked_at_table
    session.record("roles", policy=POLICY)
    assert Policy.load(session.folder / "policy.toml").looked_at_table
    session.close()
    again = opened(session.folder)
    again.take_edited()
    assert again.looked
    assert len(again.steps) == 3
    (again.folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    again.take_edited()
    assert Policy.load(session.folder / "policy.toml").looked_at_table
    assert "# the owner's own words" in held(again)[0]
    again.close()


@pytest.mark.parametrize("then", ["noise", "undecided"])
def test_no_undo_takes_back_that_classes_showed_the_table(session: Session, then: str) -> None:
    """Classes show the table: noise that is chosen after them says so."""
    session.record("first question: classes", decisions=Decisions(approach="classes"))
    assert not session.looked
    assert not Policy.load(session.folder / "policy.toml").looked_at_table
    session.undo()
    session.record("first question again", decisions=Decisions(approach=then))
    assert session.looked
    assert Policy.load(session.folder / "policy.toml").looked_at_table
    session.undo()
    session.redo()
    assert Policy.load(session.folder / "policy.toml").looked_at_table
    session.close()
    again = opened(session.folder)
    again.take_edited()
    assert again.looked
    assert Policy.load(session.folder / "policy.toml").looked_at_table
    again.close()


def test_every_file_is_the_owners_alone(session: Session) -> None:
    """A drafted policy describes the table."""
    session.record("looked", looks=True)
    for path in session.folder.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_two_desks_do_not_work_in_one_folder(session: Session) -> None:
    """The second is refused until the first has ended."""
    with pytest.raises(EngineError, match="another desk"):
        opened(session.folder)
    session.close()
    opened(session.folder).close()


@pytest.mark.parametrize("at", range(4))
def test_a_full_disk_leaves_the_step_before(session: Session, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """If any file of a step cannot be written the step before can be opened again, and nothing is half-written."""
    written = session_files.write_private
    calls = iter(range(100))

    def full(path: Path, text: str, encoding: str = "ascii") -> None:
        if next(calls) == at:
            raise OSError(28, os.strerror(28))
        written(path, text, encoding=encoding)

    monkeypatch.setattr(session_files, "write_private", full)
    with pytest.raises(EngineError, match="No space left"):
        session.record("promise", decisions=Decisions(approach="classes", method="rfka", parameters={"k": 9}))
    monkeypatch.undo()
    session.close()
    again = opened(session.folder)
    again.take_edited()
    assert again.step.did in ("began", "promise")
    assert held(again) == (again.step.policy, f'method = "{again.step.decisions.method}"\n')
    again.close()


@pytest.mark.parametrize("text", ["", "number = 1", 'number = "x"', "decisions = 3"])
def test_a_damaged_history_is_refused(session: Session, text: str) -> None:
    """With the name of the file, and no traceback."""
    session.close()
    (session.folder / "history" / "0001.toml").write_text(text, encoding="utf-8")
    with pytest.raises(PolicyError, match="no step"):
        opened(session.folder)


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
