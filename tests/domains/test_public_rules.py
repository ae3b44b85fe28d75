"""Public rules on rows: what they say of codes, their one form as JSON, and whether a row is left that keeps them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.documents import plain
from anonkit.domains.number_bins import Categories, Grid, NumberBins
from anonkit.domains.public_rules import Follows, Never, PublicRules, met_together, possible_row
from anonkit.domains.rounding_grid import WholeValues
from anonkit.errors import ParameterError, ReleaseFormatError

CITY = Categories(values=("Bonn", "Ulm", "Wien"), has_missing=True)
LAND = Categories(values=("at", "de"), has_missing=True)
WHOLE = Grid.over((0, 9), 10, has_missing=False, values=WholeValues.within(0, 9, 1))


RULE = Follows(name="land", of="city", pairs=(("Bonn", "de"), ("Ulm", "de"), ("Wien", "at")))


def test_a_column_follows_by_its_map() -> None:
    """Missing where nothing is listed; numbers by value."""
    assert RULE.codes(CITY, LAND).tolist() == [1, 1, 0, 2]
    number = Follows(name="n", of="city", pairs=(("Bonn", 3), ("Ulm", 4.0), ("Wien", 0), (None, 9)))
    assert number.codes(CITY, WHOLE).tolist() == [3, 4, 0, 9]
    assert PublicRules.stated(plain(PublicRules(follows=(RULE,)).listed)) == PublicRules(follows=(RULE,))


@pytest.mark.parametrize(
    ("pairs", "own"),
    [((("Bonn", "de"),), Categories(values=("at", "de"))), ((("Bonn", "fr"), ("Ulm", "de"), ("Wien", "at")), LAND)],
)
def test_what_does_not_follow_is_refused(pairs: Any, own: Categories) -> None:
    """A value of no domain, and one that nothing is said of where the column is never missing."""
    with pytest.raises(ParameterError, match=r"domain|follows from each"):
        Follows(name="land", of="city", pairs=pairs).codes(CITY, own)


@pytest.mark.parametrize(
    "raw",
    [
        [{"determines": {"from": "a", "to": "a", "map": [["x", "y"]]}, "source": "policy"}],
        [{"determines": {"from": "a", "to": "b", "map": []}, "source": "policy"}],
        [{"determines": {"from": "a", "to": "b", "map": [["x", "y"], ["x", "z"]]}, "source": "policy"}],
        [{"never": {"a": ["x"]}, "source": "policy"}],
        [{"never": {"a": ["x"], "b": []}, "source": "policy"}],
        [{"never": {"a": ["x"], "b": [2, 1]}, "source": "policy"}],
        [{"never": {"a": ["x", "x"], "b": ["y"]}, "source": "policy"}],
        [{"determines": {"from": "a", "to": "b", "map": [["x", "y"]]}, "source": "policy"}] * 2,
        [
            {"determines": {"from": "a", "to": "b", "map": [["x", "y"]]}, "source": "policy"},
            {"determines": {"from": "b", "to": "c", "map": [["y", "z"]]}, "source": "policy"},
        ],
        [{"never": {"a": ["x"], "b": ["y"]}}],
    ],
)
def test_rules_that_cannot_be_are_damage(raw: list[dict[str, Any]]) -> None:
    """In params; in a policy they are refused by the same classes."""
    with pytest.raises(ReleaseFormatError):
        PublicRules.stated(raw)


def test_values_that_never_meet_are_masks_of_codes() -> None:
    """Names, ranges of cells as they are shown, bins of a target, and of a column that follows the other one."""
    rules = PublicRules(
        follows=(RULE,),
        never=(
            Never(values={"land": ("de",), "n": (0, 2)}),
            Never(values={"land": ("de",), "city": ("Ulm", "Wien")}),
            Never(values={"city": ("Bonn",), "y": (5, 5)}),
        ),
    )
    n, y = Grid(lower=0, upper=8, cells=4), NumberBins.equal(WHOLE)
    domains = {"city": CITY, "land": LAND, "n": n, "y": y}
    first, second, third = rules.masks(domains)
    assert {name: mask.tolist() for name, mask in first.items()} == {
        "city": [True, True, False, False],
        "n": [True, False, False, False],
    }
    assert second["city"].tolist() == [False, True, False, False]
    assert np.flatnonzero(third["y"]).tolist() == [5]
    assert rules.columns == ("city", "n", "y")
    assert rules.words[1] == "never land de with n 0 to 2"
    assert bool(rules)
    assert not PublicRules()
    for name, values in (("city", (1, 2)), ("n", ("x",)), ("city", ("Rom",))):
        with pytest.raises(ParameterError, match="the rule n"):
            Never(values={name: values, "z": ("z",)}).mask(name, domains[name])  # type: ignore[dict-item]


_MASK = st.lists(st.booleans(), min_size=3, max_size=3).map(np.array)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), _MASK, min_size=1), max_size=7))
def test_a_possible_row_is_found_where_there_is_one(masks: list[dict[str, Any]]) -> None:
    """Compared with all 27 rows of three columns."""
    every = np.array(list(itertools.product(range(3), repeat=3))).T
    codes = dict(zip("abc", every, strict=True))
    broken = met_together(masks, codes)
    found = possible_row(masks, {name: np.ones(3, dtype=bool) for name in "abc"})
    assert (found is None) == bool(broken.all())
    if found is not None:
        assert not met_together(masks, {name: np.array([code]) for name, code in found.items()}).any()


def test_rules_that_are_too_many_to_be_followed_are_refused() -> None:
    """Instead of searched for hours."""
    names = [f"c{at}" for at in range(20)]
    masks = [{name: np.arange(2) == at for name in (names[-1], names[-2])} for at in (0, 1)]
    masks += [{names[-1]: np.arange(2) == at, names[-2]: np.arange(2) != at} for at in (0, 1)]
    masks += [{name: np.arange(2) == at, names[-1]: np.array([True, False])} for name in names[:-2] for at in (0,)]
    masks += [{name: np.arange(2) == 1, names[-1]: np.array([False, True])} for name in names[:-2]]
    with pytest.raises(ParameterError, match="too many"):
        possible_row(masks, {name: np.ones(2, dtype=bool) for name in names})
