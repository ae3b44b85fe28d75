"""Attributes and the splits they allow."""

from __future__ import annotations

import numpy as np
import pytest

from anonkit.published.tree_attributes import MOST_BRANCHES, Split
from tests.dp_trees.tables import MIXED, attribute


@pytest.mark.parametrize("at", range(4))
def test_the_children_of_a_split_are_where_its_branches_lead(at: int) -> None:
    """The class counts of children are the sums over the codes that go there, for every split."""
    one = MIXED.attributes[at]
    counts = np.random.default_rng(0).integers(0, 9, (5, one.codes, 3))
    children = one.children(counts)
    assert children.shape[1] == one.n_splits
    for split in range(one.n_splits):
        branches = one.branches(split)
        for child in range(children.shape[2]):
            assert np.array_equal(children[:, split, child], counts[:, branches == child].sum(axis=1))


def test_a_domain_of_one_code_cannot_be_split_and_two_codes_only_once() -> None:
    """No split is listed twice under two names."""
    assert attribute("x", 1).n_splits == 0
    assert attribute("x", 2, Split.ONE_VS_REST).n_splits == 1
    assert attribute("x", 5, Split.CUT, missing=True).n_splits == 5


def test_an_attribute_with_far_too_many_codes_is_not_split_into_each() -> None:
    """Their number is public; it can still be cut, or one code separated from the rest."""
    most, more = attribute("a", MOST_BRANCHES), attribute("a", MOST_BRANCHES + 1)
    assert (most.n_splits, more.n_splits) == (1, 0)
    assert more.n_children.size == 0
    assert attribute("a", MOST_BRANCHES + 1, Split.ONE_VS_REST).n_splits == MOST_BRANCHES + 1
