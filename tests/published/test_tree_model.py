"""Attributes and the splits they allow.

The published forest: what is not a tree is refused.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from anonkit.dp_trees.grower import grow
from anonkit.errors import ParameterError, ReleaseFormatError
from anonkit.published.tree_model import MOST_BRANCHES, LeafContent, Node, PublishedForest, Split
from anonkit.randomness import Randomness
from tests.dp_trees.tables import MIXED, attribute, counter_of, schema_of, table_of
from tests.dp_trees.test_grower import plan_of

PARAMS = grow(plan_of(), counter_of(*table_of(MIXED, 200)), Randomness.seeded(1)).to_params()


def test_cuts_and_categories_are_there_for_readers() -> None:
    """A cut is said as a number, a category by its name; a cut that only sets missing apart has none."""
    schema = schema_of(attribute("n", 4, Split.CUT, missing=True), attribute("c", 3, Split.ONE_VS_REST))
    leaf = Node(leaf=LeafContent(label=1))
    tree = (
        Node(attribute=0, at=3, children=(1, 2)),
        Node(attribute=0, at=0, children=(3, 4)),
        Node(attribute=1, at=2, children=(5, 6)),
        *[leaf] * 4,
    )
    params = PublishedForest(schema=schema, trees=(tree,), rows_per_tree={"kind": "disjoint"}).to_params()
    assert [node.get("value") for node in params["trees"][0][:3]] == [None, 1.0, "c2"]
    assert params["trees"][0][3] == {"label": "c1"}


def test_histograms_of_a_leaf_survive() -> None:
    """A leaf may have more: a table an attribute."""
    schema = schema_of(attribute("c", 3), attribute("d", 2))
    leaf = LeafContent(counts=(5, 4), histograms=(((1, 2), (3, 4), (0, -1)), ((1, 1), (2, 2))))
    forest = PublishedForest(schema=schema, trees=((Node(leaf=leaf),),), rows_per_tree={"kind": "disjoint"})
    assert PublishedForest.from_params(forest.to_params()) == forest
    broken = forest.to_params()
    broken["trees"][0][0]["histograms"][0].pop()
    with pytest.raises(ReleaseFormatError, match="histograms"):
        PublishedForest.from_params(broken)


def test_counts_beyond_any_table_are_refused() -> None:
    """Receivers add them up as integers of 64 bits."""
    schema = schema_of(attribute("c", 2))
    for counts, histograms in (((10**40, 4), None), ((1, -(2**62)), None), ((1, 2), (((1, 2), (3, 10**40)),))):
        leaf = LeafContent(counts=counts, histograms=histograms)
        with pytest.raises(ParameterError, match="more rows than any table"):
            PublishedForest(schema=schema, trees=((Node(leaf=leaf),),), rows_per_tree={"kind": "disjoint"})


@pytest.mark.parametrize("damage", ["format", "loop", "orphan", "attribute", "counts", "children", "label", "target"])
def test_damaged_params_are_refused(damage: str) -> None:
    """The message says what, and no traceback of a look-up."""
    params: dict[str, Any] = copy.deepcopy(PARAMS)
    tree = params["trees"][0]
    leaf = next(node for node in tree if "counts" in node)
    if damage == "format":
        params["format"] = "other"
    elif damage == "loop":
        tree[0]["children"][0] = 0
    elif damage == "orphan":
        tree.append({"counts": [1, 2]})
    elif damage == "attribute":
        tree[0]["attribute"] = "nobody"
    elif damage == "counts":
        leaf["counts"] = [1]
    elif damage == "children":
        tree[0]["children"].pop()
    elif damage == "label":
        del leaf["counts"]
    else:
        del params["target"]
    with pytest.raises(ReleaseFormatError):
        PublishedForest.from_params(params)


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
