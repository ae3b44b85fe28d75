"""When two documents say the same: types, rounding, counts, names that occur twice."""

from __future__ import annotations

import pytest

from anonkit.checks.sameness import counted, differing, named, none_of, repeated, same, same_figure


@pytest.mark.parametrize(
    ("left", "right"), [(1, True), (1, "1"), ([1], [1, 2]), ({"a": 1}, {"a": 1, "b": 2}), (1.0, 1.0 + 1e-15), (None, 0)]
)
def test_what_only_looks_alike_is_not_the_same(left: object, right: object) -> None:
    """A truth value is no number, a text no figure, and nothing is rounded unless it is a measure."""
    assert not same(left, right)
    assert same(left, left)


def test_measures_may_differ_by_the_rounding_of_a_machine() -> None:
    """A figure may, a count may not."""
    assert same_figure({"a": [0.1 + 0.2]}, {"a": [0.3]})
    assert not same_figure(3, 4)
    assert differing({"a": 0.1 + 0.2, "b": 1}, {"a": 0.3, "b": 2}, figures=True) == 1


@pytest.mark.parametrize("value", [True, -1, 1.0, "1", None])
def test_what_is_no_count_is_refused(value: object) -> None:
    """Whole, not negative, no truth value."""
    with pytest.raises(ValueError, match="not a count"):
        counted(value)


def test_counts_and_names_are_read_as_they_are() -> None:
    """Zero is a count; a name that occurs three times is two too many."""
    assert counted(0) == 0
    assert repeated(["a", "b", "a", "a"]) == 2
    assert list(named([{"name": "a", "x": 1}])) == [("a", {"name": "a", "x": 1})]


@pytest.mark.parametrize("found", [False, True, 0, 2])
def test_a_figure_of_a_check_is_a_number_in_json(found: int) -> None:
    """A truth value would be `false` in the report, which its schema refuses."""
    assert type(none_of("values", found).observed) is int
    assert none_of("values", found).passed is (found == 0)
