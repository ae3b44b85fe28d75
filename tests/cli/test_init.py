# SPDX-License-Identifier: Apache-2.0
"""`anonkit init`: a policy drafted from a table, or no file; with `--ask` eight questions, which options answer too."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from anonkit.cli.init import GivenAnswers
from anonkit.cli.outcome import WrongUsage
from anonkit.drafting.owner_answers import GuessedRoles, OwnerAnswers
from anonkit.errors import ChoiceError, PolicyError
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import without_domain


def test_a_policy_is_drafted(cli: Any, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`init` writes a policy that loads, shows it with `-o -`, and touches no file without --force."""
    monkeypatch.chdir(table.parent)
    ran = cli("init", table)

    assert ran.code == 0
    assert "anonkit release --policy policy.toml" in ran.out
    draft = (table.parent / "policy.toml").read_text(encoding="utf-8")
    assert set(Policy.load("policy.toml").columns) == {"name", "age", "zip", "sex", "illness", "income"}
    assert cli("init", table, "-o", "-").out == draft
    assert cli("init", table).code == 2
    assert cli("init", table, "--force", "--target", "illness", "--quiet").out == ""
    assert Policy.load("policy.toml").target == "illness"
    document = cli("init", table, "-o", "other.toml", "--json").document
    assert document["file"] == "other.toml"
    assert document["policy"] == draft
    assert sorted(path.name for path in table.parent.iterdir()) == ["in.csv", "other.toml", "policy.toml"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("absent.csv",), 3), (("in.csv", "--target", "nobody"), 3), (("in.csv", "-o", "no/such/folder.toml"), 3)],
)
def test_a_draft_that_cannot_be_made_leaves_no_file(
    cli: Any, table: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int
) -> None:
    """Exit code 3 and nothing written."""
    monkeypatch.chdir(table.parent)
    ran = cli("init", *arguments)

    assert ran.code == code
    assert ran.err.startswith("Error: ")
    assert [path.name for path in table.parent.iterdir()] == ["in.csv"]


GUESSED = GuessedRoles(
    roles={"name": Role.IDENTIFIER, "age": Role.QUASI_IDENTIFIER, "illness": Role.QUASI_IDENTIFIER, "a,b": Role.TARGET},
    secrets=["illness"],
    persons=["name"],
)


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of sixty people, in the folder of the test."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "people.csv"
    rows = [f"p{at},{20 + at % 40},{'flu' if at % 3 else 'none'},{'yes' if at % 2 else 'no'}" for at in range(60)]
    path.write_text("\n".join(["patient_name,age,illness,outcome", *rows]) + "\n", encoding="utf-8")
    return path


def asked(typed: str, **given: Any) -> tuple[OwnerAnswers, str]:
    """Return the answers of somebody who types, and what was requested."""
    with CliRunner().isolation(input=typed) as streams:
        return GivenAnswers(**given).ask(GUESSED), streams[1].getvalue().decode()


def test_eight_questions_with_what_was_guessed_as_defaults() -> None:
    """A user who agrees with everything types Enter eight times."""
    answers, shown = asked("\n" * 8)

    assert [f"{number}. " in shown for number in range(1, 9)] == [True] * 8
    assert answers == OwnerAnswers(identifiers=("name",), sensitive=("illness",), target="a,b")


def test_a_wrong_answer_is_asked_again() -> None:
    """With what is wrong of it, and no other question repeated."""
    answers, shown = asked("everybody\nanyone\n\nname\nilnes\nillness\nage,illness\nage\nage\n2\n0.05\nsurvey\n")

    assert "is none of anyone, named, secure" in shown
    assert "'ilnes' is not in the table" in shown
    assert "one column is predicted" in shown
    assert "is no share between 0 and 1" in shown
    assert answers == OwnerAnswers(
        recipient="anyone",
        identifiers=("name",),
        sensitive=("illness",),
        target="age",
        keep=("age",),
        sample=0.05,
        dataset="survey",
    )


def test_a_question_that_an_option_answers_is_not_asked() -> None:
    """Nor is any with --yes; a name with a comma is quoted as in CSV."""
    answers, shown = asked("", recipient="secure", unit="name", identifier="none", target='"a,b"', yes=True)

    assert shown == ""
    assert (answers.recipient, answers.unit, answers.identifiers, answers.target) == ("secure", ("name",), (), "a,b")


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"recipient": "me"}, WrongUsage),
        ({"sensitive": "no such"}, PolicyError),
        ({"sample": "1.5"}, WrongUsage),
        ({"sample": "half"}, WrongUsage),
        ({"target": "age,illness"}, WrongUsage),
        ({"unit": "age", "sensitive": "age"}, PolicyError),
        ({"keep": "name"}, ChoiceError),
    ],
)
def test_an_option_that_is_no_answer_is_refused(given: dict[str, str], error: type[Exception]) -> None:
    """Without a terminal no question is repeated."""
    with pytest.raises(error):
        GivenAnswers(**given, yes=True).ask(GUESSED)


@pytest.mark.slow
def test_the_policy_holds_the_answers_and_the_last_line_is_a_command(cli: Any, people: Path) -> None:
    """The policy loads as it is; the command recommended for named recipients is k-anonymity."""
    ran = cli(
        "init", people.name, "--ask", "--yes", "--unit", "patient_name", "--sensitive", "illness", "--keep", "age",
        "--target", "outcome", "--dataset", "clinic",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    policy = Policy.load("policy.toml")

    assert shlex.split(ran.out.splitlines()[-1]) == [
        "anonkit", "release", "--k", "10", "--policy", "policy.toml", "people.csv", "OUT.parquet",
    ]  # fmt: skip
    roles = {name: policy.column(name).role for name in ("patient_name", "age", "illness", "outcome")}
    assert list(roles.values()) == [Role.UNIT, Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.TARGET]
    assert policy.column("age").keep
    assert policy.dataset == "clinic"
    assert cli("release", "--k", "3", "--no-utility", "--policy", "policy.toml", "people.csv", "out.parquet").code == 0


def test_for_anyone_noise_is_recommended(cli: Any, people: Path) -> None:
    """Noise leaves no column out, so that nothing has to be kept; a target that is secret says so."""
    ran = cli(
        "init", people.name, "--ask", "--yes", "--recipient", "anyone", "--keep", "age", "--sensitive", "outcome",
        "--target", "outcome", "--unit", "none", "--sample", "0.1", "--json",
    )  # fmt: skip
    draft = ran.document["policy"]

    assert ran.document["command"][2:4] == ["--epsilon", "1"]
    assert "keep = true" not in draft
    assert 'role = "target"\nsensitive = true' in draft
    assert 'unit = "none"   #' in draft
    assert Policy.load("policy.toml").column("outcome").is_sensitive


@pytest.mark.slow
def test_the_recommended_command_names_what_it_still_needs(cli: Any, people: Path) -> None:
    """Noise needs domains, which a draft leaves open: the columns are named, and with them the last line works."""
    ran = cli(
        "init", people.name, "--ask", "--yes", "--recipient", "anyone", "--unit", "none", "--identifier",
        "patient_name", "--target", "outcome",
    )  # fmt: skip
    assert "possible values of 3 columns: age, illness, outcome" in ran.out
    *_, command = ran.out.splitlines()
    words = [*shlex.split(command)[1:], "--dry-run"]
    refused = cli(*words)
    assert refused.code == 3
    assert "3 columns have no public domain" in refused.err

    policy = Path("policy.toml")
    draft = policy.read_text(encoding="utf-8").replace("# categories", "categories")
    policy.write_text(draft.replace("# bounds = [LOW, HIGH]", "bounds = [0, 120]"), encoding="utf-8")
    assert without_domain(Policy.load(policy)) == []
    assert cli(*words).code == 0


def test_questions_need_a_terminal_or_answers(cli: Any, people: Path) -> None:
    """Exit code 2, and nothing is written; so are answers without a question."""
    assert cli("init", people.name, "--ask").code == 2
    assert cli("init", people.name, "--recipient", "anyone").code == 2
    assert cli("init", people.name, "--yes").code == 2
    assert not Path("policy.toml").exists()
