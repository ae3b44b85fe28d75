# SPDX-License-Identifier: Apache-2.0
"""Blocks of a report as rows of text: nothing is lost, however a method nests it.

Cells that were not read as they are meant, and risk against a population: sentences, with counts and without.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.report.block_words import (
    LOST_CELLS,
    budget_tables,
    column_row,
    lost_cells,
    measures,
    population_rows,
    population_sentences,
    row_counts,
)
from anonkit.report.wording import number

OWNER: dict[str, Any] = {
    "cells_among_numbers": {"age": {"no_numbers": 3, "cells": 60}},
    "cells_in_another_form": {"wage": {"numbers": 57, "cells": 60}},
    "cells_not_as_declared": {"city": {"outside": 40, "filled": 50}, "sex": {"outside": 0, "filled": 60}},
    "points_between_figures": ["price"],
}


def test_every_column_has_its_sentence() -> None:
    """And none that lost nothing."""
    sentences = list(lost_cells(OWNER, counted=True))
    assert [sentence.split("'")[1] for sentence in sentences] == ["age", "wage", "city", "price"]
    assert "3 of 60 cells (5%)" in sentences[0]
    assert "80% of them" in sentences[2]
    assert set(OWNER) == set(LOST_CELLS)


def test_without_counts_there_is_no_figure_of_the_source() -> None:
    """The same columns, and no number but those of the hint."""
    plain = " ".join(lost_cells(OWNER, counted=False)).replace("900", "").replace("1.234", "")
    assert not any(letter.isdigit() for letter in plain)
    assert list(lost_cells({}, counted=True)) == []


FILE: dict[str, Any] = {
    "basis": "file",
    "estimates": {
        "rows": 1_000, "unmatched_classes": 2, "k_map": 7, "k_map_required": 5,
        "journalist": {"max": 1 / 7, "mean": 0.05}, "marketer": 0.04, "delta_presence": {"max": 0.5, "mean": 0.1},
    },
}  # fmt: skip


def test_a_population_file_is_counted_by_somebody() -> None:
    """By the owner as a report states, or by whoever reads; k-map, what was asked, and what the file lacks."""
    first, second = population_sentences(FILE)
    assert first.startswith("The owner counted in a population file of 1,000 rows: at least 7 people")
    assert "(asked: 5)" in first
    assert "lacks 2 groups" in second
    assert next(population_sentences(FILE, by_owner=False)).startswith("Counted in")
    figures = dict(population_rows(FILE))
    assert figures["Fewest people of a group in the file (k-map)"] == "7"
    assert figures["Marketer, share found"] == "4%"


@pytest.mark.parametrize("block", [None, {}])
def test_nothing_is_said_of_no_population(block: Any) -> None:
    """Neither in words nor in figures."""
    assert list(population_sentences(block)) == []
    assert population_rows(block) == []


def test_a_file_of_others_has_no_k_map() -> None:
    """One sentence, and the figures that there are."""
    nobody = {"basis": "file", "estimates": {"rows": 5, "unmatched_classes": 3, "k_map": None}}
    (sentence,) = population_sentences(nobody)
    assert "nobody of any group" in sentence
    assert len(population_rows(nobody)) == 3


leaves = st.none() | st.booleans() | st.integers(-999, 999) | st.floats(0, 1) | st.text("abc", min_size=1, max_size=5)
keys = st.text("klmno", min_size=1, max_size=4)
blocks = st.dictionaries(
    keys,
    st.recursive(
        leaves,
        lambda inner: st.dictionaries(keys, inner, min_size=1, max_size=3) | st.lists(inner, min_size=1, max_size=3),
        max_leaves=10,
    ),
    max_size=4,
)


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for one in value.values() for leaf in _leaves(one)]
    if isinstance(value, list):
        return [leaf for one in value for leaf in _leaves(one)]
    return [value]


@settings(deadline=None)
@given(block=blocks)
def test_every_leaf_of_a_block_is_shown(block: dict[str, Any]) -> None:
    """Anything that a method puts into a block is in one of the rows."""
    rows = list(measures(block))
    shown = " ".join(text for row in rows for text in (row["name"], row["value"], row["note"]))

    assert all(number(leaf) in shown for leaf in _leaves(block))


def test_a_measure_has_its_interval_baseline_and_protocol() -> None:
    """The parts of a value are beside it."""
    block = {"auc": {"value": 0.87, "ci": [0.86, 0.88], "baseline": 0.91, "protocol": "held out", "folds": 5}}

    (row,) = measures(block)

    assert row == {
        "name": "AUC",
        "value": "0.87",
        "is_text": False,
        "interval": "0.86–0.88",
        "baseline": "0.91",
        "note": "protocol: held out; folds: 5",
    }


def test_a_note_to_several_figures_is_said_once() -> None:
    """Texts beside a group of figures are its notes, written out at the first."""
    rows = list(measures({"prediction": {"model": "forest", "auc": 0.9, "accuracy": 0.8}, "other": 1}))

    assert [row["note"] for row in rows] == ["model: forest", "as above", ""]


def test_records_of_one_name_are_all_shown() -> None:
    """A list of blocks keeps each of them, named or numbered."""
    rows = list(measures([{"name": "a", "n": 1}, {"name": "a", "n": 2}, {"n": 3}]))

    assert [row["value"] for row in rows] == ["1", "2", "3"]


def test_suppression_is_on_one_line() -> None:
    """Number, share and limit of the suppressed rows are read together; other counts follow."""
    rows = {
        "dropped_missing": 2,
        "in": 100,
        "suppressed": 3,
        "suppressed_fraction": 0.03,
        "suppression_limit": 0.05,
        "out": 95,
    }

    assert row_counts(rows) == [
        ("Rows read", "100"),
        ("Rows left out (suppressed)", "3 (3%), at most 5% allowed"),
        ("Rows released", "95"),
        ("Rows left out for missing values", "2"),
    ]


def test_counts_the_promise_covers_are_not_zero() -> None:
    """A count that is not published is stated as covered, never shown as none."""
    assert row_counts({"in": None, "out": 7})[0] == ("Rows read", "not published: the guarantee protects this number")


def test_a_column_shows_what_its_method_adds() -> None:
    """Keys nobody foresaw are facts; epsilon is rounded up; details that repeat the action are left out."""
    row = column_row(
        {
            "name": "a",
            "role": "quasi_identifier",
            "action": "randomized",
            "detail": "full",
            "epsilon": 1.0986122886681098,
            "p_keep": 0.5,
        }
    )

    assert row["role"] == "quasi-identifier"
    assert row["detail"] is None
    assert row["facts"] == [("ε", "1.09862"), ("true value kept with probability", "0.5")]


def test_a_sensitive_target_has_both_roles() -> None:
    """That a target is sensitive is part of its role."""
    assert (
        column_row({"name": "a", "role": "target", "sensitive": True, "action": "kept"})["role"] == "target, sensitive"
    )


def test_no_budget_no_tables() -> None:
    """A release that spends nothing has no budget to show; an unbounded one has."""
    empty = {"epsilon": None, "delta": None, "per_level": [], "per_attribute": []}

    assert budget_tables(empty) is None
    assert budget_tables({**empty, "epsilon": "inf"}) == {"facts": [("ε", "∞")], "tables": []}


def test_expenses_with_different_keys_share_a_table() -> None:
    """Every key of any record has its column; a record without it has a dash."""
    budget = {"epsilon": 1, "per_level": [{"level": 0, "epsilon": 0.5}, {"level": 1, "epsilon": 0.5, "for": "leaf"}]}

    found = budget_tables(budget)

    assert found is not None
    caption, headers, rows = found["tables"][0]
    assert caption == "Budget by level"
    assert headers == ["Level", "ε", "For"]
    assert [[text for text, _ in row] for row in rows] == [["0", "0.5", "–"], ["1", "0.5", "leaf"]]
