"""Columns drawn from noisy counts: cells, descriptions, entries of the report."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from anonkit.domains.attribute_domains import Categories, Grid
from anonkit.dp_trees.release.synthesized import column_entries
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.published.released_cells import cells_of_codes

GRID = Grid(lower=0.0, upper=4.0, cells=4, has_missing=True)
WORDS = Categories(values=("u", "v"), has_missing=True)
POLICY = Policy(
    columns={
        "id": Column(name="id", role=Role.IDENTIFIER),
        "n": Column(name="n", bounds=(0.0, 4.0)),
        "note": Column(name="note", role=Role.INSENSITIVE),
        "w": Column(name="w", categories=("u", "v")),
    }
)


def test_codes_become_middles_of_bins_words_and_gaps() -> None:
    """The last code is missing, in numbers as in categories."""
    assert cells_of_codes(np.array([0, 3, 4]), GRID).to_pylist() == [0.5, 3.5, None]
    words = cells_of_codes(np.array([1, 0, 2]), WORDS)
    assert words.to_pylist() == ["v", "u", None]
    assert pa.types.is_dictionary(words.type)


def test_the_report_names_what_was_drawn_and_what_was_not_and_why() -> None:
    """Identifiers never, other columns because nothing was counted of them; the count of cells last."""
    entries = column_entries(POLICY, {"n": 5, "w": 3}, ["n", "w", "count"])
    assert [(one["name"], one["action"]) for one in entries] == [
        ("id", "dropped"),
        ("n", "synthesized"),
        ("note", "dropped"),
        ("w", "synthesized"),
        ("count", "synthesized"),
    ]
    assert entries[0]["reason"] == "identifiers are never released"
    assert "only what is synthesized" in entries[2]["reason"]
    assert [one.get("released_values") for one in entries] == [None, 5, None, 3, None]
