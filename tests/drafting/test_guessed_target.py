"""The target that nobody names: taken where it is evidently a harmless class label, and every file says *guessed*."""

from __future__ import annotations

import datetime
import json
import random
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import anonkit
from anonkit.cli import anonkit as commands
from anonkit.cli.boundary import run
from anonkit.drafting.policy_draft import draft_policy
from anonkit.errors import ChoiceError
from anonkit.policy.declaration import Policy

ROWS = 400
DAY = datetime.date(1950, 1, 1)


def people(**last: Any) -> pa.Table:
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


def drawn(*values: Any, seed: int = 3) -> list[Any]:
    """Cells drawn evenly from a few values."""
    r = random.Random(seed)
    return [r.choice(values) for _ in range(ROWS)]


LABELS: dict[str, list[Any]] = {
    "income": drawn("<=50K", ">50K"),
    "class": drawn("unacc", "acc", "good", "vgood"),
    "Class": drawn(2, 4),
    "y": drawn("yes", "no"),
    "churn": drawn(True, False),
    "default": drawn(0, 1),
    "default.payment.next.month": drawn(0, 1),
    "rating": drawn(1, 2, 3, 4, 5),
    "outcome": drawn("approved", "refused", None),
    "survived": drawn(0.0, 1.0),
}
NO_LABELS: dict[str, tuple[list[Any], str]] = {
    "born": ([DAY + datetime.timedelta(days=37 * at) for at in range(ROWS)], "people|dates"),
    "seen": ([DAY + datetime.timedelta(days=at % 5) for at in range(ROWS)], "dates"),
    "month": (drawn("2024-01", "2024-02", "2024-03"), "dates"),
    "since": (drawn(1999, 2000, 2001), "dates"),
    "lon": ([round(13 + at / 997, 5) for at in range(ROWS)], "places"),
    "zip": (drawn("10115", "20095", "80331"), "places"),
    "area_code": (drawn(10115, 20095, 80331), "places"),
    "home": (drawn("Germany", "France", "Poland"), "places"),
    "employer": (drawn("Acme", "Globex"), "people"),
    "group": (drawn("single", "married", "divorced"), "people"),
    "g": (drawn("f", "m"), "people"),
    "spending": ([at % 57 * 7 for at in range(ROWS)], "20 different"),
    "label": ([*drawn("a", "b")[:-9], *["c"] * 9], "fewer than 10 rows"),
    "same": (["x"] * ROWS, "two different"),
    "contact": ([f"{at}@example.org" for at in range(ROWS)], "identifier"),
    "remark": (
        drawn("it went well and the customer said thanks", "the customer wants to be called back soon"),
        "texts",
    ),
}
SECRETS: dict[str, list[Any]] = {
    "illness": drawn("flu", "none", "cold"),
    "salary": [20_000 + 13 * at for at in range(ROWS)],
    "wage": drawn("low", "high"),
    "pay": drawn("low", "high"),
    "income": [20_000 + 13 * at for at in range(ROWS)],
    "result": drawn("hiv", "flu", "asthma"),
    "religion": drawn("a", "b"),
    "party": drawn("x", "y"),
    "union_member": drawn("yes", "no"),
    "is_convicted": drawn("yes", "no"),
}


def target_entry(release: anonkit.Release) -> dict[str, Any] | None:
    """The entry of the target in the report."""
    return next((column for column in release.report["columns"] if column["role"] == "target"), None)


@pytest.mark.quick_cases("y", "survived", "default")
@pytest.mark.parametrize("name", LABELS)
def test_an_evident_class_label_is_guessed_and_every_file_says_so(name: str) -> None:
    """It is released unchanged, and nowhere called declared."""
    release = anonkit.release(people(**{name: LABELS[name]}), method="mondrian", k=10, utility=False)

    entry = target_entry(release)
    assert entry is not None
    assert entry["name"] == name
    assert entry["declared"] is False
    assert "guessed" in entry["reason"]
    assert "declared" not in entry["reason"]
    assert any("guessed, released unchanged" in note for note in release.report["notes"])


@pytest.mark.quick_cases("home", "lon", "zip", "label", "group", "same")
@pytest.mark.parametrize("name", NO_LABELS)
def test_a_last_column_that_is_no_evident_label_is_no_target(name: str) -> None:
    """Dates, places, people, numbers, rare classes and texts are quasi-identifiers; a note says why."""
    cells, why = NO_LABELS[name]
    release = anonkit.release(people(**{name: cells}), method="mondrian", k=10, utility=False)

    assert target_entry(release) is None
    (note,) = [note for note in release.report["notes"] if note.startswith("No target was guessed")]
    assert repr(name) in note
    assert any(word in note for word in why.split("|")), note


@pytest.mark.quick_cases("illness", "pay", "religion", "party")
@pytest.mark.parametrize("name", SECRETS)
def test_a_last_column_that_looks_like_a_secret_is_pointed_out(name: str) -> None:
    """Health, religion, politics, crime, unions and pay: the line gives both ways to declare it."""
    release = anonkit.release(people(**{name: SECRETS[name]}), method="mondrian", k=10, utility=False)

    assert target_entry(release) is None
    line = f"looks like a secret: --sensitive {name} or --target {name}."
    assert any(line in note for note in release.report["notes"])


@pytest.mark.quick_cases("datafly", "mdav")
@pytest.mark.parametrize("method", ["rfka", "mondrian", "datafly", "incognito", "mdav"])
def test_without_a_guess_methods_go_on_without_a_target(method: str) -> None:
    """As with --no-target: the same columns are released."""
    table = people(illness=SECRETS["illness"])
    parameters: dict[str, Any] = {"trees": 10} if method == "rfka" else {}
    release = anonkit.release(table, method=method, k=10, utility=False, **parameters)
    asked = anonkit.release(table, method=method, k=10, utility=False, no_target=True, **parameters)

    assert target_entry(release) is None
    assert [c["action"] for c in release.report["columns"]] == [c["action"] for c in asked.report["columns"]]


@pytest.mark.parametrize(
    ("method", "parameters"), [("greedy-hamdist", {"k": 10}), ("rfka", {"k": 10, "preset": "paper", "trees": 10})]
)
def test_a_method_that_needs_a_target_asks_for_it(method: str, parameters: dict[str, Any]) -> None:
    """Exit code 2, from Python too; both ways are in the hint."""
    with pytest.raises(ChoiceError) as refused:
        anonkit.release(people(illness=SECRETS["illness"]), method=method, utility=False, **parameters)

    assert refused.value.exit_code == 2
    assert "target" in str(refused.value)


def test_only_the_last_column_without_a_role_is_looked_at() -> None:
    """One that is taken for an identifier is not passed over for the column before it; one with a role is."""
    identified = people(y=LABELS["y"], contact=NO_LABELS["contact"][0])
    assert target_entry(anonkit.release(identified, method="mondrian", k=10, utility=False)) is None

    given = people(y=LABELS["y"], note=drawn("a", "b"))
    release = anonkit.release(given, method="mondrian", k=10, insensitive=["note"], utility=False)
    entry = target_entry(release)
    assert entry is not None
    assert (entry["name"], entry["declared"]) == ("y", False)


def test_a_class_is_held_by_ten_people_where_a_unit_is_declared() -> None:
    """Twenty rows of two people are no class."""
    rare = [*drawn("a", "b")[:-20], *["c"] * 20]
    table = people(person=[at // 10 for at in range(ROWS)], y=rare)

    rows = anonkit.release(table.drop_columns("person"), method="mondrian", k=10, utility=False)
    by_people = anonkit.release(table, method="mondrian", k=2, unit="person", utility=False)
    assert target_entry(rows) is not None
    assert target_entry(by_people) is None
    assert any("people" in note for note in by_people.report["notes"])


@pytest.mark.slow
def test_a_declared_target_is_declared_whatever_it_is() -> None:
    """No guess is made where somebody says it, nor where there shall be none."""
    table = people(illness=SECRETS["illness"])
    entry = target_entry(anonkit.release(table, method="mondrian", k=10, target="illness", utility=False))
    assert entry is not None
    assert entry["declared"] is True
    assert entry["reason"] == "declared target"

    none = anonkit.release(people(y=LABELS["y"]), method="mondrian", k=10, no_target=True, utility=False)
    assert target_entry(none) is None


@pytest.mark.quick_cases("breast*")
@pytest.mark.parametrize(
    ("file", "target"),
    [("car_evaluation.csv", "class"), ("breast_cancer_wisconsin.csv", "Class"), ("adult_test.csv", "income")],
)
def test_the_labels_of_well_known_tables_are_guessed(real_tables: Path, file: str, target: str) -> None:
    """`anonkit release --method rfka --k 10` on Car, Breast Cancer and Adult goes on."""
    release = anonkit.release(real_tables / file, method="rfka", k=10, trees=10, utility=False)

    entry = target_entry(release)
    assert entry is not None
    assert (entry["name"], entry["declared"], entry["action"]) == (target, False, "kept")


def _says_it_once(capsys: pytest.CaptureFixture[str], quiet: list[str]) -> None:
    """On one of both streams."""
    shown = capsys.readouterr()
    told, other = (shown.err, shown.out) if quiet else (shown.out, shown.err)
    assert len(re.findall("Target.*y.* guessed.*released unchanged", told)) == 1
    assert "guessed" not in other


@pytest.mark.quick_cases("quiet0")
@pytest.mark.parametrize("quiet", [[], ["-q"]])
def test_the_terminal_says_guessed_also_when_it_is_quiet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], quiet: list[str]
) -> None:
    """Once: on stdout, or with -q on stderr; never *declared*; a second batch of the same recoding says it too."""
    source, out = tmp_path / "in.csv", tmp_path / "out.parquet"
    pyarrow.csv.write_csv(people(y=LABELS["y"]), source)

    released = ["release", "--method", "mondrian", "--k", "10", "--no-ledger", *quiet, str(source), str(out)]
    assert run(commands, released, "anonkit") == 0
    _says_it_once(capsys, quiet)
    page = (tmp_path / "out.report.html").read_text()
    assert "guessed, released unchanged" in page
    assert "declared target" not in page

    arguments = ["apply", str(tmp_path / "out.params.json"), str(source), str(tmp_path / "next.parquet"), *quiet]
    assert run(commands, [*arguments, "--no-ledger"], "anonkit") == 0
    _says_it_once(capsys, quiet)
    (entry,) = [
        column
        for column in json.loads((tmp_path / "next.report.json").read_text())["columns"]
        if column["role"] == "target"
    ]
    assert entry["declared"] is False


@pytest.mark.slow
@pytest.mark.parametrize("before", ["hours", None])
def test_a_guess_that_differs_from_the_last_release_of_the_dataset_is_asked_about(
    tmp_path: Path, before: str | None
) -> None:
    """Exit code 2: a named target, or none, was there before; naming one goes on."""
    table, ledger = people(y=LABELS["y"]), tmp_path / "ledger"
    how: dict[str, Any] = {"method": "mondrian", "k": 10, "utility": False, "dataset": "d", "ledger": ledger}
    how["accept_joint_k"] = 1
    anonkit.release(table, **how, **({"no_target": True} if before is None else {"target": before}))

    with pytest.raises(ChoiceError) as refused:
        anonkit.release(table, **how)
    assert refused.value.exit_code == 2
    assert "'y' would be guessed" in refused.value.message

    anonkit.release(table, **how, target="y")
    anonkit.release(table, **how)  # the guess is now the same


@pytest.mark.parametrize(
    ("method", "parameters"),
    [("ppnb", {"p_keep": 0.5}), ("trr", {}), ("errph", {"p_keep": 0.5, "bins": 4, "label": "clear"})],
)
def test_methods_that_publish_the_label_need_a_declared_one(method: str, parameters: dict[str, Any]) -> None:
    """No column is taken by its place where its label leaves unchanged; --no-target is an answer, but for ppnb."""
    policy = Policy.from_dict(
        {"columns": {"age": {"bounds": [0, 100]}, "hours": {"bounds": [0, 100]}, "y": {"categories": ["yes", "no"]}}}
    )
    table = people(y=LABELS["y"]).drop_columns("sex")
    with pytest.raises(ChoiceError) as refused:
        anonkit.release(table, method=method, policy=policy, **parameters)
    assert refused.value.exit_code == 2

    released = anonkit.release(table, method=method, policy=policy, target="y", **parameters)
    entry = target_entry(released)
    assert entry is not None
    assert entry["declared"] is True


def test_under_central_privacy_the_target_is_the_last_column_by_its_place() -> None:
    """No label leaves unchanged there, and no cell may decide: secrets too, by the public rule alone."""
    policy = Policy.from_dict({"columns": {"age": {"bounds": [0, 100]}, "hours": {"bounds": [0, 100]}}})
    table = people(illness=SECRETS["illness"]).drop_columns("sex")
    release = anonkit.release(table, method="dp-forest", epsilon=4.0, policy=policy, domains_from_data=True)

    entry = target_entry(release)
    assert entry is not None
    assert (entry["name"], entry["declared"]) == ("illness", False)
    assert not any("released unchanged" in note for note in release.report["notes"])


@pytest.mark.parametrize(("name", "is_target"), [("y", True), ("illness", False)])
def test_a_draft_takes_the_target_by_the_same_rule(name: str, is_target: bool) -> None:
    """And says what a target means: it is released unchanged."""
    cells = LABELS[name] if is_target else SECRETS[name]
    draft = draft_policy(people(**{name: cells}))

    assert ('\nrole = "target"' in draft) is is_target
    if is_target:
        assert "guessed" in draft
        assert "released unchanged" in draft
    else:
        assert "looks like a secret" in " ".join(draft.replace("\n#", " ").split())


def test_a_guess_of_a_release_is_known_again_as_one_when_it_is_validated(tmp_path: Path) -> None:
    """The new keys are no strangers to the checks."""
    out = tmp_path / "out.parquet"
    anonkit.release(people(y=LABELS["y"]), method="mondrian", k=10, output=out, utility=False)

    validation = anonkit.validate(out)
    assert validation.passed, [check for check in validation.checks if not check.passed]
