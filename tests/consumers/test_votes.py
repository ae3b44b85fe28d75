"""The three votes of the trees of a published forest, against an oracle that walks the JSON by hand."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.consumers import Forest
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import ParameterError, ReleaseFormatError

COLOURS, SIZES, CLASSES = ["blue", "red"], ["large", "medium", "small"], ["no", "perhaps", "yes"]
COLUMNS = {"colour": COLOURS, "size": SIZES}
ROWS = [dict(zip(COLUMNS, values, strict=True)) for values in itertools.product(*COLUMNS.values())]
TEST = bank_customers(300, seed=2)
NEEDS_RELEASE = {"policy": bank_customers_policy(), "epsilon": 2.0, "seed": 1}


def _table() -> pa.Table:
    return pa.table({name: [row[name] for row in ROWS] for name in COLUMNS})


@st.composite
def leaves(draw: st.DrawFn) -> dict[str, Any]:
    """A leaf: noisy counts, negative ones among them, or a label alone."""
    if draw(st.integers(0, 4)) == 0:
        return {"label": draw(st.sampled_from(CLASSES))}
    return {"counts": draw(st.lists(st.integers(-6, 9), min_size=3, max_size=3))}


@st.composite
def trees(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A tree: a leaf, or one or two splits, each attribute once on a path."""
    first = draw(st.sampled_from([None, *COLUMNS]))
    if first is None:
        return [draw(leaves())]
    nodes: list[dict[str, Any]] = [{"attribute": first, "split": "multiway", "children": []}]
    second = next(name for name in COLUMNS if name != first)
    for _ in COLUMNS[first]:
        nodes[0]["children"].append(len(nodes))
        if draw(st.booleans()):
            nodes.append(draw(leaves()))
            continue
        below = list(range(len(nodes) + 1, len(nodes) + 1 + len(COLUMNS[second])))
        nodes.append({"attribute": second, "split": "multiway", "children": below})
        nodes += [draw(leaves()) for _ in below]
    return nodes


def _params(forest: list[list[dict[str, Any]]], **more: Any) -> dict[str, Any]:
    return {
        "format": "anonkit-forest-1",
        "target": {"name": "answer", "domain": {"categories": CLASSES, "has_missing": False}},
        "attributes": [
            {"name": name, "type": "category", "split": "multiway",
             "domain": {"categories": values, "has_missing": False}}
            for name, values in COLUMNS.items()
        ],
        "rows_per_tree": {"kind": "shared", "trees": len(forest)},
        **more,
        "trees": forest,
    }  # fmt: skip


def _leaf(tree: list[dict[str, Any]], row: dict[str, str]) -> dict[str, Any]:
    node = tree[0]
    while "children" in node:
        node = tree[node["children"][COLUMNS[node["attribute"]].index(row[node["attribute"]])]]
    return node


def _shares(forest: list[list[dict[str, Any]]], row: dict[str, str], vote: str) -> list[Fraction]:
    """Return the share of each class as fractions, from the words on the page of the consumer alone."""
    total = [Fraction(0)] * len(CLASSES)
    for leaf in (_leaf(tree, row) for tree in forest):
        if "label" in leaf:
            said = [Fraction(name == leaf["label"]) for name in CLASSES]
        elif vote == "pooled":
            said = [Fraction(count) for count in leaf["counts"]]
        elif vote == "majority":
            said = [Fraction(at == leaf["counts"].index(max(leaf["counts"]))) for at in range(len(CLASSES))]
        else:
            kept = [Fraction(max(count, 0)) for count in leaf["counts"]]
            said = [Fraction(1, 3) if not sum(kept) else count / sum(kept) for count in kept]
        total = [one + other for one, other in zip(total, said, strict=True)]
    no_counts = not any("counts" in node for tree in forest for node in tree)
    smoothing = 0 if vote == "sum" and not no_counts else 1
    total = [max(one, Fraction(0)) + smoothing for one in total]
    return [one / sum(total) for one in total]


@given(forest=st.lists(trees(), min_size=1, max_size=4), vote=st.sampled_from(["pooled", "majority", "sum"]))
def test_every_vote_is_what_a_walk_by_hand_gives(forest: list[list[dict[str, Any]]], vote: str) -> None:
    """All rows of a small domain, all three votes, negative and absent counts: equal to the fractions."""
    for model in (Forest(_params(forest, vote=vote)), Forest(_params(forest, vote="pooled"), vote=vote)):
        found = model.fit().predict_proba(_table())
        for row, shares in zip(ROWS, found, strict=True):
            assert shares == pytest.approx([float(share) for share in _shares(forest, row, vote)], abs=1e-12)


def test_the_votes_can_disagree() -> None:
    """A large leaf decides when counts are pooled, two small ones when trees vote, a sure one when shares add up."""
    forest = [[{"counts": [0, 0, 100]}], [{"counts": [9, 0, 8]}], [{"counts": [9, 0, 8]}]]
    said = {vote: Forest(_params(forest, vote=vote)).fit().predict(_table())[0] for vote in ("pooled", "majority")}
    assert said == {"pooled": "yes", "majority": "no"}
    forest = [[{"counts": [0, 90, 60]}], [{"counts": [7, 1, 0]}], [{"counts": [8, 0, 0]}]]
    found = [Forest(_params(forest), vote=vote).fit().predict(_table())[0] for vote in ("pooled", "sum")]
    assert found == ["perhaps", "no"]


def test_a_release_without_a_vote_is_pooled() -> None:
    """Releases of earlier versions have no such key."""
    forest = [[{"counts": [0, 90, 60]}], [{"counts": [7, 1, 0]}], [{"counts": [8, 0, 0]}]]
    old = Forest(_params(forest)).fit()
    assert old.vote_ == "pooled"
    assert "vote" not in json.loads(old.to_json())
    assert np.array_equal(
        old.predict_proba(_table()), Forest(_params(forest, vote="pooled")).fit().predict_proba(_table())
    )
    with pytest.raises(ReleaseFormatError):
        Forest(_params(forest, vote="loud")).fit()


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A forest on disk whose owner requested the sum."""
    output = tmp_path_factory.mktemp("votes") / "out.parquet"
    anonkit.release(
        bank_customers(3_000, seed=1), method="diffprf", output=output, trees=9, depth=2, rows="disjoint", vote="sum",
        ledger=None, **NEEDS_RELEASE,
    )  # fmt: skip
    return output


def test_what_the_owner_says_is_published_and_followed(released: Path, tmp_path: Path) -> None:
    """The release, the model written from it and the consumer agree; a consumer may choose another vote."""
    params = json.loads((released.parent / "out.params.json").read_text())
    assert params["vote"] == params["parameters"]["vote"] == "sum"
    made = anonkit.reconstruct(released, test=TEST, model=tmp_path / "sum.json")
    other = anonkit.reconstruct(released, test=TEST, vote="majority", model=tmp_path / "majority.json")
    assert (made.to_dict()["vote"], other.to_dict()["vote"]) == ("sum", "majority")
    for name, one in (("sum", made), ("majority", other)):
        again = Forest(json.loads((tmp_path / f"{name}.json").read_text())).fit()
        assert again.vote_ == name
        assert np.array_equal(again.predict_proba(TEST), one.model.predict_proba(TEST))
    assert not np.array_equal(made.model.predict_proba(TEST), other.model.predict_proba(TEST))


def test_a_forest_of_labels_votes(tmp_path: Path) -> None:
    """Leaves without counts have nothing to pool: the stated vote is the one that they make."""
    anonkit.release(
        bank_customers(300, seed=1), method="edprf", output=tmp_path / "out.parquet", leaf="label", ledger=None,
        **NEEDS_RELEASE,
    )  # fmt: skip
    assert anonkit.reconstruct(tmp_path / "out.parquet").to_dict()["vote"] == "majority"


@pytest.mark.parametrize("method", ["dp-nb", "dp-forest"])
def test_a_vote_is_refused_where_no_trees_vote(method: str, tmp_path: Path) -> None:
    """Naive Bayes has no trees, and the default forest predicts by scores."""
    anonkit.release(
        bank_customers(300, seed=1), method=method, output=tmp_path / "out.parquet", ledger=None, **NEEDS_RELEASE
    )
    with pytest.raises(ParameterError, match="vote is for"):
        anonkit.reconstruct(tmp_path / "out.parquet", vote="sum")
