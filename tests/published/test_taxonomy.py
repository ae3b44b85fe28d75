"""Hierarchies of categories: their divisions, their names, and what they do to counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.number_bins import Categories, Grid
from anonkit.errors import ParameterError
from anonkit.published.tree_model import Attribute, Split, Taxonomy

PATHS = (
    ("private", "private", "work"),
    ("federal", "government", "work"),
    ("state", "government", "work"),
    ("none", "none", "no work"),
)


def attribute(*, missing: bool = False) -> Attribute:
    """Work, with two groups, one of which has a group and a single category."""
    domain = Categories(values=tuple(path[0] for path in PATHS), has_missing=missing)
    return Attribute(name="work", domain=domain, split=Split.TAXONOMY, paths=PATHS)


def test_groups_are_divided_one_level_at_a_time() -> None:
    """All, then the group with two below it, then the pair; single categories are not divided."""
    taxonomy = attribute().taxonomy
    assert taxonomy.names == ("*", "work", "government")
    assert [division.tolist() for division in taxonomy.divisions] == [
        [0, 0, 0, 1],
        [0, 1, 1, -1],
        [-1, 0, 1, -1],
    ]
    assert attribute().n_children.tolist() == [2, 2, 2]


def test_missing_is_a_group_beside_all_others() -> None:
    """It leaves the categories with the first division."""
    one = attribute(missing=True)
    assert one.taxonomy.divisions[0].tolist() == [0, 0, 0, 1, 2]
    assert one.n_children.tolist() == [3, 2, 2]


def test_a_group_is_named_when_its_name_means_nothing_else() -> None:
    """A name that two groups share, or a category has too, would mislead readers of the cells."""
    taxonomy = attribute().taxonomy
    assert taxonomy.name_of(np.array([False, True, True, False])) == "government"
    assert taxonomy.name_of(np.array([True, True, True, False])) == "work"
    assert taxonomy.name_of(np.array([True, True, False, False])) is None
    twice = Taxonomy.of(Categories(values=("a", "b", "c")), (("a", "c", "x"), ("b", "c", "x"), ("c", "d", "x")))
    assert twice.name_of(np.array([True, True, False])) is None


def test_a_chain_of_single_groups_is_passed_over() -> None:
    """Coarser names for the same categories are no step."""
    chain = Taxonomy.of(Categories(values=("a", "b")), (("a", "ab", "all", "all"), ("b", "ab", "all", "all")))
    assert [division.tolist() for division in chain.divisions] == [[0, 1]]
    assert chain.names == ("*",)


@pytest.mark.parametrize(
    ("domain", "paths"),
    [
        (Categories(values=("a", "b")), (("b", "x"), ("a", "x"))),
        (Categories(values=("a", "b")), (("a", "x"), ("b",))),
        (Grid(lower=0.0, upper=1.0, cells=2), (("a", "x"), ("b", "x"))),
    ],
)
def test_paths_that_are_not_those_of_the_domain_are_refused(domain: Categories | Grid, paths: object) -> None:
    """One path a category, in their order, of one length."""
    with pytest.raises(ParameterError):
        Taxonomy.of(domain, paths)  # type: ignore[arg-type]


def test_only_a_taxonomy_has_paths() -> None:
    """A kind of split without what it needs cannot be made."""
    with pytest.raises(ParameterError):
        Attribute(name="a", domain=Categories(values=("a",)), split=Split.TAXONOMY)
    with pytest.raises(ParameterError):
        Attribute(name="a", domain=Categories(values=("a",)), split=Split.MULTIWAY, paths=(("a",),))


HIERARCHIES = st.integers(1, 3).flatmap(
    lambda levels: st.lists(st.tuples(*[st.integers(0, 2)] * levels), min_size=1, max_size=8)
)


@given(HIERARCHIES, st.booleans())
def test_dividing_all_groups_leads_to_single_categories(keys: list[tuple[int, ...]], missing: bool) -> None:
    """Any hierarchy: each division is of a set that was reached, and what cannot be divided is one code."""
    paths = tuple(
        (f"v{at}", *("/".join(map(str, key[: len(key) - level])) for level in range(len(key))))
        for at, key in enumerate(keys)
    )
    domain = Categories(values=tuple(path[0] for path in paths), has_missing=missing)
    one = Attribute(name="a", domain=domain, split=Split.TAXONOMY, paths=paths)
    reached, used = [np.ones(one.codes, dtype=bool)], 0
    while reached:
        codes = reached.pop()
        splits = one.splits_of(codes)
        assert splits.size == (codes.sum() > 1)
        for split in splits:
            used += 1
            reached += [codes & (one.branches(split) == child) for child in range(one.n_children[split])]
    assert used == one.n_splits


@given(st.lists(st.integers(0, 9), min_size=10, max_size=10))
def test_children_hold_the_rows_of_their_group(counts: list[int]) -> None:
    """Class counts of the children of every division; rows of other groups are in none."""
    table = np.array(counts, dtype=np.int64).reshape(1, 5, 2)
    one = attribute(missing=True)
    children = one.children(table)[0]
    for split, division in enumerate(one.taxonomy.divisions):
        for child in range(children.shape[1]):
            assert children[split, child].tolist() == table[0, division == child].sum(axis=0).tolist()
