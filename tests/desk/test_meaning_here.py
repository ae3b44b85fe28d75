"""Table says whose rows are counted, and Promise what each parameter means for this table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from desk.visitor import Visitor

from anonkit.desk.background_jobs import Job
from anonkit.desk.decided_release import Decisions
from anonkit.desk.release_desk import Desk

AGE = '[columns]\nage = { role = "quasi_identifier" }\n'


@pytest.fixture
def decided(table: Path, tmp_path: Path) -> Iterator[Callable[..., Visitor]]:
    """A desk with a policy and decisions, without jobs."""
    opened: list[Desk] = []

    def at(policy: str, decisions: Decisions) -> Visitor:
        desk = Desk(str(table), tmp_path / "out")
        opened.append(desk)
        desk.session.record("answers", policy=policy, decisions=decisions)
        return Visitor(desk)

    yield at
    for desk in opened:
        desk.close()


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (AGE, "Nobody has said whose the rows are"),
        (f'unit = "none"\n{AGE}', "No person has several rows"),
        (f'{AGE}customer_id = {{ role = "unit" }}\n', "customer_id says whose a row is. People are counted"),
        (f'{AGE}customer_id = {{ role = "household" }}\n', "customer_id says whose a row is. Households are counted"),
    ],
)
def test_table_says_whose_the_rows_are(decided: Callable[..., Visitor], policy: str, words: str) -> None:
    """By the policy: people, households, rows, or that nobody has said it."""
    at = decided(policy, Decisions(approach="classes"))
    at.get("/table")
    assert words in at.words


@pytest.mark.parametrize("station", ["table", "roles"])
def test_a_number_of_a_person_that_repeats_is_named(decided: Callable[..., Visitor], station: str) -> None:
    """The column that may say whose the rows are, as long as nobody has said it."""
    at = decided(f'{AGE}customer_id = {{ role = "identifier" }}\n', Decisions(approach="classes"))
    column = {"name": "customer_id", "kind": "whole numbers", "rows": 1500, "missing": 0, "distinct": 837, "bars": []}
    column |= {"identifier": "its name says so", "nearly_unique": False, "counts": []}
    at.desk.jobs._of_kind["columns"] = Job(kind="columns", key=at.desk._key_of("columns"), parts=[column])
    at.get(f"/{station}")
    assert "customer_id has 837 values in 1,500 rows: if it says whose a row is, give it the role unit" in at.words


@pytest.mark.parametrize(
    ("decisions", "words"),
    [
        (
            Decisions(approach="classes", method="mondrian", parameters={"k": 10, "l": 2, "t": 0.3}),
            ["at least 10 rows that fit", "at least 2 different values", "than in the whole release by more than 0.3"],
        ),
        (
            Decisions(approach="noise", method="dp-forest", parameters={"epsilon": 1, "delta": 1e-6}),
            ["at most 2.7 times as high", "at most 1e-06, about one in 1,000,000"],
        ),
    ],
)
def test_promise_says_what_its_parameters_mean(
    decided: Callable[..., Visitor], decisions: Decisions, words: list[str]
) -> None:
    """Each of k, l, t, epsilon and delta in a sentence."""
    at = decided(AGE, decisions)
    at.get("/promise")
    assert [each for each in words if each not in at.words] == []


@pytest.mark.parametrize("station", ["table", "roles", "promise", "compare", "decide"])
def test_each_station_shows_command_python_and_recipe(decided: Callable[..., Visitor], station: str) -> None:
    """Of what is decided now."""
    at = decided(AGE, Decisions(approach="classes", method="rfka", parameters={"k": 7}))
    at.get(f"/{station}")
    for words in ("The same without the page", "In Python", "As a recipe", 'method = "rfka"', "k = 7"):
        assert words in at.words
