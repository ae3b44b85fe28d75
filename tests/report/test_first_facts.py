# SPDX-License-Identifier: Apache-2.0
"""The first facts of a release: the topics, their order, and the same sentences on terminal and page."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report.test_page import REPORTS, Report, _k_anonymous, _page

from anonkit.cli.summary import report_text
from anonkit.report.first_facts import first_facts, guessed_target, shortened, text_of

ORDER = ("Table", "Target", "Whose rows", "Promise", "Risk", "Secrets", "Usefulness", "Recipients", "Files")
FILES = ("out.parquet", "out.params.json")


def texts(report: Report, label: str) -> list[str]:
    """The sentences of a topic."""
    return [text_of(one) for topic in first_facts(report, FILES) if topic.label == label for one in topic.sentences]


def with_target(**target: Any) -> Report:
    """A report whose target has some entries of its own."""
    report = _k_anonymous()
    next(column for column in report["columns"] if column["role"] == "target").update(target)
    return report


@pytest.mark.parametrize("kind", REPORTS)
def test_the_order_is_one_on_terminal_and_page(kind: str) -> None:
    """Each sentence is on both, in the order of the topics."""
    report = REPORTS[kind]()
    page, terminal = ("".join(shown.split()) for shown in (_page(report).text, report_text(report)))
    topics = first_facts(report)

    labels = [topic.label for topic in topics]
    assert labels == [label for label in ORDER if label in labels]
    assert {"Table", "Target", "Whose rows", "Promise", "Risk", "Usefulness"} <= set(labels)
    for shown in (page, terminal):
        at = 0
        for topic in topics:
            for sentence in topic.sentences:
                at = shown.index("".join(text_of(sentence).split()), at)


def test_the_columns_of_the_table_are_counted() -> None:
    """A unit that is made of several columns is in no source: it is none of the columns, and is not named."""
    report = _k_anonymous()
    parts = [{"name": name, "role": "identifier", "action": "dropped"} for name in ("house no", "born")]
    made = {"name": "house no, born", "role": "unit", "action": "dropped"}
    before = texts(report, "Table")
    after = texts({**report, "columns": [*report["columns"], *parts, made]}, "Table")

    assert before[1].startswith("13 of 15 columns")
    assert after[1].startswith("13 of 17 columns")
    assert after[-1].endswith("house no, born.")
    assert after[-1].count("house no") == 1


def test_dropped_columns_are_named_and_identifiers_apart() -> None:
    """Rows and columns in and out come first."""
    told = texts(_k_anonymous(), "Table")

    assert told[0] == "980 of 1,000 rows are released; left out: 20 (2%) in too small groups."
    assert told[1].startswith("13 of 15 columns are released: age, ")
    assert told[2:] == ["Dropped: occupation.", "Left out as identifiers: name."]


def test_columns_that_the_method_adds_are_none_of_the_source() -> None:
    """A column of counts is in no source: it is named apart, and not counted among the columns of the table."""
    report = _k_anonymous()
    made = {"name": "count", "role": "insensitive", "action": "synthesized", "reason": "noisy count of the rows"}
    before, after = texts(report, "Table"), texts({**report, "columns": [*report["columns"], made]}, "Table")

    assert after[1] == before[1]
    assert after[2] == "Added: count."


def test_a_guessed_target_is_never_called_declared() -> None:
    """The origin of the target is stated; a guess is stated even if no other fact is."""
    guessed, declared, unsaid = with_target(declared=False), with_target(declared=True), with_target()

    assert texts(guessed, "Target")[0] == (
        "income was guessed to be the column to predict, released unchanged. Nobody declared it."
    )
    assert text_of(guessed_target(guessed) or []).startswith("Target: income was guessed")
    assert texts(declared, "Target")[0] == "income is the column to predict, as declared. It is released unchanged."
    assert texts(unsaid, "Target")[0] == "income is the column to predict. It is released unchanged."
    assert guessed_target(declared) is guessed_target(unsaid) is None


def test_columns_released_unchanged_are_named() -> None:
    """Beside the target: what is sensitive or insensitive, and what looks like an identifier."""
    report = _k_anonymous()
    report["columns"].append(
        {"name": "note", "role": "insensitive", "action": "kept", "sensitive": False, "released_as_is": True}
    )

    assert texts(report, "Target")[1:] == [
        "Released unchanged too: illness, note.",
        "Released as they are on the owner's word, though their cells look like identifiers: note.",
    ]


def test_usefulness_is_beside_guessing() -> None:
    """Each score has what guessing reaches."""
    scores = {"auc": 0.87, "accuracy": 0.84, "majority": 0.76, "ci": {"auc": [0.86, 0.88]}}
    report = _k_anonymous(details={"utility": {"prediction_of_target": scores}})

    assert texts(report, "Usefulness") == [
        "Models of the released rows predict income with AUC 0.87 (0.86 to 0.88); guessing has 0.5.",
        "They are right for 84% of the rows; always saying the commonest class is right for 76%.",
    ]
    numeric = {"r2": 0.4, "mae": 3.5, "of_mean": {"r2": 0.0, "mae": 5.25}}
    report = _k_anonymous(details={"utility": {"prediction_of_target": numeric}})
    assert texts(report, "Usefulness") == [
        "Models of the released rows predict income with R² 0.4; always the mean has 0.",
        "Their mean error is 3.5; that of the mean is 5.25.",
    ]
    report = _k_anonymous(details={"utility": {"prediction_of_target": "not measured"}})
    assert texts(report, "Usefulness") == ["How well the target can be predicted: not measured."]


def _report_of(names: list[str], n_secrets: int) -> Report:
    """A report with more columns, and with secrets of which each has details."""
    report = _k_anonymous()
    columns = [{"name": name, "role": "quasi_identifier", "action": "generalized"} for name in names]
    told = {"value": "a", "highest_confidence": 0.7, "lift": 1.5, "base_rate": 0.4, "share_above_half": 0.2}
    secrets = [f"secret {at}" for at in range(n_secrets)]
    report["guarantee"]["parameters"]["sensitive"] = secrets
    report["disclosure_risk"]["by_value"] = {name: [told] for name in secrets}
    return {**report, "columns": [*report["columns"], *columns]}


@given(
    names=st.lists(st.text("ab, (", min_size=1, max_size=9), unique=True, max_size=40),
    n_secrets=st.integers(0, 6),
    declared=st.booleans(),
)
def test_a_short_text_leaves_out_nothing_that_must_not_be_overlooked(
    names: list[str], n_secrets: int, declared: bool
) -> None:
    """Each step is shorter or as long, has every topic and every stressed sentence whole, and counts what it cuts."""
    report = _report_of(names, n_secrets)
    next(column for column in report["columns"] if column["role"] == "target").update(declared=declared)
    topics = first_facts(report, FILES)
    bad = [sentence for topic in topics for sentence in topic.sentences if any(phrase.is_bad for phrase in sentence)]
    n_before = None
    for short in shortened(topics):
        sentences = [sentence for topic in short for sentence in topic.sentences]
        assert [topic.label for topic in short] == [topic.label for topic in topics]
        assert all(topic.sentences for topic in short)
        assert [one for one in sentences if any(phrase.is_bad for phrase in one)] == bad
        assert n_before is None or len(sentences) <= n_before
        n_before = len(sentences)
    assert short != topics


def test_a_long_list_of_columns_is_cut_with_a_count() -> None:
    """Twelve names and how many more there are; what is behind the list stays."""
    report = _report_of([f"x{at}" for at in range(20)], 0)
    whole, cut, *_ = shortened(first_facts(report, FILES))
    listed, short = (text_of(topics[0].sentences[1]) for topics in (whole, cut))
    assert listed.startswith(short[: short.index(" and ")])
    assert short.endswith(" and 21 more.")
    assert len([phrase for phrase in cut[0].sentences[1] if phrase.is_name]) == 12
