"""Small coded tables for the tests of trees."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from anonkit.domains.number_bins import Categories, Grid
from anonkit.dp_trees.questions import BatchCounter, CodedBatch
from anonkit.published.tree_model import Attribute, Split, TreeSchema


def attribute(name: str, codes: int, split: Split = Split.MULTIWAY, *, missing: bool = False) -> Attribute:
    """A categorical attribute with so many codes, or a number with so many cells."""
    if split is Split.CUT:
        domain: Categories | Grid = Grid(lower=0, upper=codes, cells=codes, has_missing=missing)
    else:
        domain = Categories(values=tuple(f"{name}{code}" for code in range(codes)), has_missing=missing)
    return Attribute(name=name, domain=domain, split=split)


def schema_of(*attributes: Attribute, classes: int = 2) -> TreeSchema:
    """A schema with classes c0, c1, ..."""
    names = tuple(f"c{code}" for code in range(classes))
    return TreeSchema(attributes=attributes, target="y", classes=Categories(values=names))


MIXED = schema_of(
    attribute("a", 3),
    attribute("b", 4, Split.ONE_VS_REST),
    attribute("n", 6, Split.CUT, missing=True),
    attribute("m", 5, Split.CUT),
)


def table_of(schema: TreeSchema, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Random codes whose class depends on the first and the last attribute."""
    draw = np.random.default_rng(seed)
    codes = np.stack([draw.integers(0, one.codes, n) for one in schema.attributes]).astype(np.uint8)
    labels = (codes[0] + (codes[-1] > schema.attributes[-1].codes // 2) + (draw.random(n) < 0.1)) % schema.n_classes
    return codes, labels.astype(np.int64)


def counter_of(codes: np.ndarray, labels: np.ndarray, sizes: Sequence[int] = ()) -> BatchCounter:
    """A counter that holds a table in batches of these sizes and one of what is left."""
    ends = [0, *np.cumsum(sizes).tolist(), labels.size]
    batches = [
        CodedBatch(codes=np.ascontiguousarray(codes[:, a:b]), labels=labels[a:b], first_row=a)
        for a, b in itertools.pairwise(ends)
    ]
    return BatchCounter(lambda: batches)
