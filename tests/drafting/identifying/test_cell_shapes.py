"""Forms of cells that identify: addresses of people and machines are matched, measures and times are not."""

from __future__ import annotations

import pytest

from anonkit.drafting.identifying.cell_shapes import SHAPES, is_quantity


def rules_of(text: str) -> set[str]:
    """The rules whose form a cell has."""
    return {shape.rule for shape in SHAPES if shape.matches(text)}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("anna.miller@example.org", "email"),
        ("https://example.org/people/7", "url"),
        ("DE89370400440532013000", "iban"),
    ],
)
def test_a_form_is_matched_by_its_rule(text: str, rule: str) -> None:
    """And no longer with a wrong check digit, where it has one."""
    assert rule in rules_of(text)
    if rule == "iban":
        assert rule not in rules_of(text.replace("89", "88", 1))


@pytest.mark.parametrize("text", ["flu", "12:30:10", "married", "3.5", "2020-01-31", "-"])
def test_everyday_cells_have_no_such_form(text: str) -> None:
    """Words, times, numbers and dates."""
    assert rules_of(text) == set()


@pytest.mark.parametrize("text", ["3.5", "1,200", "€ 30", "80 kg", "120/80", "2020-01-31", "12:30", "20-29", "<5"])
def test_measures_are_quantities(text: str) -> None:
    """Amounts with or without a unit, intervals, dates and times."""
    assert is_quantity(text)


@pytest.mark.parametrize("text", ["A-1234", "29-20", "flu", "", "080 kg x"])
def test_codes_and_words_are_none(text: str) -> None:
    """An interval ascends."""
    assert not is_quantity(text)


def test_every_rule_needs_a_share_of_the_values() -> None:
    """In (0, 1], and at least one value."""
    assert all(0 < shape.share <= 1 and shape.values >= 1 for shape in SHAPES)
