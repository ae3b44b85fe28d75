"""The owner's count of what may be the person, and what a receiver can still see of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from checks.forgeries import Edit, Files, forged
from checks.forging import at, both, checked, stated_anew
from hypothesis import given, settings
from hypothesis import strategies as st

import anonkit
from anonkit.checks.disclosure import fewest_values
from anonkit.errors import on_command_line
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.promises.promise_kinds import read_promise
from anonkit.report.first_facts import text_of
from anonkit.report.promise_words.class_words import ClassWords

CELL = st.sampled_from(["a", "b", None])
CHECK = "k_anonymity_candidate:who"


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty people with three rows each, of whom nobody says whose the rows are, by the file of their release."""
    rows = [
        {"who": f"p{person}", "age": 20 + person % 4, "ward": "ab"[person // 4 % 2], "y": "yn"[(person + visit) % 2]}
        for person in range(40)
        for visit in range(3)
    ]
    output = tmp_path_factory.mktemp("released") / "out.parquet"
    anonkit.release(
        pa.Table.from_pylist(rows), method="mondrian", k=3, identifiers=["who"], target="y", output=output, ledger=None
    )
    return output


@settings(max_examples=30)
@given(st.lists(st.tuples(CELL, CELL, st.sampled_from(["p", "q", "r", None])), max_size=14))
def test_it_counts_as_counting_by_hand_does(rows: list[tuple[str | None, ...]]) -> None:
    """The fewest different values of a combination, missing being one of a combination and none of the person."""
    of_classes: dict[tuple[str | None, ...], set[str | None]] = {}
    for *cells, who in rows:
        of_classes.setdefault(tuple(cells), set()).update({who} - {None})
    table = pa.table(
        {name: pa.array([row[at] for row in rows], pa.string()) for at, name in enumerate(("a", "b", "w"))}
    )

    assert fewest_values(table, ["a", "b"], "w") == min(map(len, of_classes.values()), default=0)
    assert fewest_values(table, [], "w") == len({row[2] for row in rows} - {None})


def test_the_report_states_what_the_owner_counted(released: Path) -> None:
    """The columns, and the fewest different values in a class; no receiver can repeat it, and validation says so."""
    report = anonkit.load(released).report
    (candidate,) = report["guarantee"]["parameters"]["candidates"]
    assert candidate["columns"] == ["who"]
    assert candidate["values"] >= 3
    assert "at least 3 different values of 'who'" in report["guarantee"]["statement"]
    assert "at least k different values of 'who'" in report["guarantee"]["formal"]
    (check,) = [check for check in report["verification"]["checks"] if check["name"] == CHECK]
    assert check == {"name": CHECK, "passed": True, "observed": candidate["values"], "required": 3}
    validation = anonkit.validate(released)
    assert validation.passed
    assert CHECK in validation.uncountable
    assert "who" not in anonkit.load(released).to_arrow().column_names


def test_the_page_asks_whether_it_is_a_person(released: Path) -> None:
    """In the sentence on whose rows they are, among the figures, and in a question to the reviewer."""
    report = anonkit.load(released).report
    words = ClassWords()
    told = [text_of(sentence) for sentence in words.whose(report["guarantee"])]
    assert told[-2].endswith("Is each of these a person?")
    assert on_command_line(told[-1]).startswith("--unit who says so; ")
    assert any("different values of who" in text for _, text in words.figures(report))
    questions = ["".join(phrase.text for phrase in question) for question in words.questions(report)]
    assert "No person has rows under several values of who." in questions
    assert words.unchecked(report["guarantee"], {"k_anonymity"}) == [CHECK]


def stated(to: Any) -> Edit:
    """State another number of different values, in promise and verification."""
    return both(
        stated_anew(at("report", "guarantee", "parameters", "candidates", 0, "values", to=to)),
        checked(CHECK, observed=to),
    )


def renamed(name: str) -> Edit:
    """Call the check of the verification otherwise."""

    def edit(files: Files) -> None:
        for check in files.report["verification"]["checks"]:
            if check["name"] == CHECK:
                check["name"] = name

    return edit


def without(files: Files) -> None:
    """Leave the candidates out of promise and verification."""
    del files.report["guarantee"]["parameters"]["candidates"]
    checks = files.report["verification"]["checks"]
    files.report["verification"]["checks"] = [check for check in checks if check["name"] != CHECK]


FORGERIES: dict[str, tuple[Edit, str]] = {
    "fewer values than k": (stated(2), "verification"),
    "more values in the promise": (
        stated_anew(at("report", "guarantee", "parameters", "candidates", 0, "values", to=39)),
        "whose_rows",
    ),
    "another k": (checked(CHECK, required=2), "whose_rows"),
    "another column": (
        stated_anew(at("report", "guarantee", "parameters", "candidates", 0, "columns", to=["age"])),
        "verification",
    ),
    "no candidates in the report": (stated_anew(without), "whose_rows"),
    "no candidates in the params": (lambda files: files.params.pop("candidates"), "whose_rows"),
    "independent after all": (
        stated_anew(at("report", "guarantee", "parameters", "independent_rows", to=True)),
        "whose_rows",
    ),
    "independent in the params": (at("params", "independent_rows", to=True), "whose_rows"),
    "a column that nobody declared": (
        both(
            stated_anew(at("report", "guarantee", "parameters", "candidates", 0, "columns", to=["whom"])),
            at("params", "candidates", to=[["whom"]]),
            renamed("k_anonymity_candidate:whom"),
        ),
        "whose_rows",
    ),
    "a column that is released": (
        both(
            stated_anew(at("report", "guarantee", "parameters", "candidates", 0, "columns", to=["age"])),
            at("params", "candidates", to=[["age"]]),
            renamed("k_anonymity_candidate:age"),
        ),
        "whose_rows",
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_files_that_contradict_each_other_about_the_person_are_refused(
    name: str, released: Path, tmp_path: Path
) -> None:
    """Only the owner can count; that the files say one thing everybody can see."""
    edit, check = FORGERIES[name]
    again = forged(Files.read(released), edit, tmp_path)
    assert check in {each.name for each in anonkit.validate(again).checks if not each.passed}


def test_independent_rows_are_said_by_every_file(tmp_path: Path) -> None:
    """The owner's word is an assumption of the promise, and anyone who takes it out of the params is refused."""
    rows = pa.table({"who": ["p", "p", "q", "q"] * 5, "age": [1, 2] * 10, "y": ["a", "b", "b", "a"] * 5})
    output = tmp_path / "out.parquet"
    anonkit.release(
        rows, method="mondrian", k=3, identifiers=["who"], unit="none", target="y", output=output, ledger=None
    )
    report = anonkit.load(output).report
    assert "candidates" not in report["guarantee"]["parameters"]
    assert "No person has several rows, as the owner declares." in report["guarantee"]["assumptions"]
    assert text_of(next(ClassWords().whose(report["guarantee"]))).startswith("Rows are independent")
    assert not any("Rows are counted, not people" in text for text in report["guarantee"]["not_protected"])
    assert anonkit.validate(output).passed
    promise = read_promise(report["guarantee"])
    assert isinstance(promise, KAnonymity)
    assert promise.independent_rows
    (tmp_path / "forged").mkdir()
    again = forged(Files.read(output), lambda files: files.params.pop("independent_rows"), tmp_path / "forged")
    assert "whose_rows" in {each.name for each in anonkit.validate(again).checks if not each.passed}
