"""Places of numbers in their cells: each of them as often, within its cell, and none where a column has its own.

Drawn rows that keep public rules: none is left that breaks one, and no more is changed than that needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.domains.number_bins import Categories, Grid
from anonkit.domains.public_rules import Never, PublicRules, met_together, possible_row
from anonkit.domains.rounding_grid import WholeValues
from anonkit.errors import ParameterError
from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.published.released_codes import (
    PLACES_IN_A_CELL,
    CodeRules,
    allowed_chances,
    cells_of_places,
    places_of_cells,
    shown_domain,
)
from anonkit.randomness import Randomness

DOMAINS = {name: Categories(values=("0", "1", "2"), has_missing=name == "a") for name in "abcy"}
RULES = PublicRules(never=(Never(values={"a": ("0",), "b": ("1",)}), Never(values={"b": ("2",), "c": ("2",)})))


def words() -> UniformStream:
    """Words of a seed."""
    return UniformStream(Randomness.seeded(5))


def rows(n: int, seed: int = 0) -> dict[str, Any]:
    """Rows of four columns without relations."""
    rng = np.random.default_rng(seed)
    return {name: rng.integers(0, 3, n) for name in "abcy"}


def test_values_change_places_and_stay_as_many() -> None:
    """Within each class; columns that no rule names, and the class, are as they were."""
    codes = rows(4000)
    kept = CodeRules.of(RULES, DOMAINS, "y")
    out = kept.repaired(codes, codes["y"], words())
    assert not met_together(kept.masks, out).any()
    assert met_together(kept.masks, codes).mean() > 0.15
    assert (out["y"] == codes["y"]).all()
    for label in range(3):
        for name in "abc":
            of_class = codes["y"] == label
            assert np.bincount(out[name][of_class]).tolist() == np.bincount(codes[name][of_class]).tolist()
    unbroken = ~met_together(kept.masks, codes)
    assert np.mean([(out[name] == codes[name])[unbroken].mean() for name in "abc"]) > 0.85


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_whatever_the_rules_and_rows_no_rule_is_broken(data: st.DataObject) -> None:
    """If each class has a possible row all rules hold, and otherwise an error comes first."""
    masks = data.draw(
        st.lists(
            st.dictionaries(
                st.sampled_from("abcy"), st.lists(st.booleans(), min_size=3, max_size=3).map(np.array), min_size=2
            ),
            max_size=4,
        )
    )
    label = data.draw(st.sampled_from(["y", None]))
    names = sorted({name for rule in masks for name in rule})
    kept = CodeRules(masks=masks, may_be={name: np.ones(3, dtype=bool) for name in names}, label=label)
    try:
        kept.check()
    except ParameterError:
        by_class = [
            possible_row(masks, {**kept.may_be, **({"y": np.arange(3) == at} if label and "y" in names else {})})
            for at in range(3)
        ]
        assert None in by_class
        return
    codes = rows(data.draw(st.integers(0, 60)), data.draw(st.integers(0, 99)))
    out = kept.repaired(codes, codes["y"], words())
    assert not met_together(masks, out).any()
    assert label is None or (out["y"] == codes["y"]).all()


def test_a_row_that_finds_no_other_becomes_like_one_of_its_class() -> None:
    """A class without a row that keeps the rules gets a possible row, also if all rows have one of the two values."""
    kept = CodeRules.of(RULES, DOMAINS, "y")
    zeros = np.zeros(6, dtype=np.int64)
    codes = {"a": zeros, "b": np.array([1, 1, 1, 1, 1, 0]), "c": zeros, "y": np.array([0, 0, 0, 1, 1, 1])}
    out = kept.repaired(codes, codes["y"], words())
    assert not met_together(kept.masks, out).any()
    assert out["b"].tolist()[3:] == [0, 0, 0]
    held = CodeRules.of(
        PublicRules(never=(*RULES.never, Never(values={"a": ("1", "2"), "y": ("0",)}))),
        DOMAINS,
        "y",
        allowed={"a": np.array([True, False, False, False]), "b": np.array([False, True, False])},
    )
    with pytest.raises(ParameterError, match="leave no row possible"):
        held.check()
    with pytest.raises(ParameterError, match="under these conditions"):
        held.repaired(codes, codes["y"], words())


def test_classes_that_are_drawn_later_are_those_a_row_may_have() -> None:
    """Rows that each class forbids are changed before; others get no chance of a class that they must not have."""
    rules = PublicRules(
        never=(
            Never(values={"a": ("0",), "y": ("0", "1")}),
            Never(values={"b": ("0",), "y": ("2",)}),
            Never(values={"b": ("1",), "c": ("1",)}),
        )
    )
    kept = CodeRules.of(rules, DOMAINS, "y")
    drawn = rows(2000)
    classes = drawn.pop("y")
    codes = kept.repaired(drawn, classes, words())
    forbidden = kept.forbidden(codes, 3)
    assert kept.forbidden(drawn, 3).all(axis=1).any()
    assert not forbidden.all(axis=1).any()
    chances = allowed_chances(np.full((2000, 3), 1 / 3), forbidden)
    assert (chances[forbidden] == 0).all()
    assert np.allclose(chances.sum(axis=1), 1)
    assert kept.names_label
    assert CodeRules(masks=(), may_be={}).repaired(codes, classes, words()) == codes


AGES = WholeValues.within(17, 90, 1)
GAINS = WholeValues.within(0, 99_999, 1, spikes=[0, 99_999])
GRIDS = {
    "any numbers": Grid.over((0.0, 1.0), 4, has_missing=True, values=None),
    "few integers": Grid.over((17.0, 90.0), 16, has_missing=False, values=AGES),
    "integers with spikes": Grid.over((0.0, 99_999.0), 16, has_missing=True, values=GAINS),
}


@pytest.mark.parametrize("domain", GRIDS.values(), ids=GRIDS.keys())
def test_rows_show_each_place_of_their_cell_as_often(domain: Grid) -> None:
    """Missing stays missing, and no row leaves its cell."""
    cells = np.repeat(np.arange(domain.size), 20_000)
    shown = shown_domain(domain)
    places = places_of_cells(cells, domain, shown, UniformStream(Randomness.seeded(1)))
    assert (cells_of_places(domain, shown)[places] == cells).all()
    numbers = shown.decode(places)
    assert isinstance(numbers, np.ndarray)
    assert (domain.encode(numbers) == cells).all()
    found = np.bincount(places, minlength=shown.size)
    expected = 20_000 / np.bincount(cells_of_places(domain, shown))[cells_of_places(domain, shown)]
    assert (np.abs(found - expected) <= 6 * np.sqrt(expected)).all()


def test_each_age_is_shown_where_cells_have_few() -> None:
    """Sixteen cells of 74 ages: the middle of each alone would leave 58 ages without a row."""
    shown = shown_domain(GRIDS["few integers"])
    assert isinstance(shown, Grid)
    assert shown.midpoints().tolist() == list(range(17, 91))


def test_a_cell_has_no_more_places_than_are_told_of() -> None:
    """A spike has one."""
    domain = GRIDS["integers with spikes"]
    counts = np.bincount(cells_of_places(domain, shown_domain(domain)))
    assert counts.max() <= PLACES_IN_A_CELL
    assert (counts[0], counts[domain.cells - 1]) == (1, 1)


def test_categories_are_shown_as_they_are() -> None:
    """So is a column that is released in the cells it was counted in, as older releases are."""
    jobs, ages = Categories(values=("cook", "nurse")), GRIDS["few integers"]
    codes, words = np.array([0, 1, 1]), UniformStream(Randomness.seeded(1))
    assert shown_domain(jobs) == jobs
    assert places_of_cells(codes, jobs, jobs, words) is codes
    assert places_of_cells(codes, ages, ages, words) is codes
    assert cells_of_places(jobs, jobs).tolist() == [0, 1]
    assert cells_of_places(ages, ages).tolist() == list(range(16))
