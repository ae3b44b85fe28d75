"""Cells that were not read as they are meant, and risk against a population: sentences, with counts and without."""

from __future__ import annotations

from typing import Any

import pytest

from anonkit.report.lost_cells import LOST_CELLS, lost_cells, population_rows, population_sentences

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
