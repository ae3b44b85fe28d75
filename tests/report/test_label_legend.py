# SPDX-License-Identifier: Apache-2.0
"""The legend of labels: every form that a release shows is explained, and none that it does not show."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anonkit.report.page import label_legend

MEANINGS = {
    "[30, 40)": "from 30 up to 40, without 40",
    "< 28": "below 28",
    ">= 39": "39 or more",
    "clerk|nurse|pilot": "one of clerk, nurse or pilot; which one is not shown",
    "not pilot|clerk": "any value but pilot and clerk",
    "*": "any value: the cell shows nothing",
    "missing": "the source has no value",
}


@given(st.lists(st.sampled_from(sorted(MEANINGS)), unique=True))
def test_what_is_shown_is_explained_and_nothing_else(labels: list[str]) -> None:
    """One line a form; columns that are kept or dropped have no labels."""
    kept = {"name": "kept", "action": "kept", "values": ["< 1", "a|b"]}
    legend = label_legend([{"name": "a", "action": "generalized", "values": labels}, kept, {"action": "dropped"}])

    assert dict(legend) == {label: MEANINGS[label] for label in labels}


def test_parts_of_a_label_are_explained_too() -> None:
    """Intervals beside missing, rare values together, and the number of a label that two groups share."""
    values = ["< 20|[30, 40)", "a|other", "nurse (2)", None]
    legend = dict(label_legend([{"action": "generalized", "values": values}]))

    assert legend["< 20"] == "below 20"
    assert legend["[30, 40)"] == "from 30 up to 40, without 40"
    assert legend["< 20|[30, 40)"] == "one of < 20 or [30, 40); which one is not shown"
    assert legend["other"] == "a value that is not listed"
    assert legend["nurse (2)"] == "the number tells apart groups that would have the same label"
    assert legend["(empty)"] == "the source has no value"


def test_a_short_example_is_taken_before_a_long_one() -> None:
    """Sets of fifty values are no example that is read."""
    long = "|".join(f"value {at}" for at in range(50))
    assert [label for label, _ in label_legend([{"action": "generalized", "values": [long, "a|b"]}])] == ["a|b"]
