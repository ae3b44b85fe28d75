"""Distributions over four small columns, cell by cell: what tables along a tree are compared with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anonkit.dp_trees.marginals.tree_pairs import Margins, order_of

SIZES = [2, 3, 2, 2]


def joint_of(edges: list[tuple[int, int]], seed: int) -> np.ndarray:
    """A distribution over all four columns in which each depends on the others through the tree alone."""
    draw = np.random.default_rng(seed)
    out = np.ones(SIZES)
    for step in order_of(edges, len(SIZES)):
        shape = [1] * len(SIZES)
        shape[step.column] = SIZES[step.column]
        axes = SIZES[step.column] if step.parent is None else (SIZES[step.parent], SIZES[step.column])
        table = draw.dirichlet(np.ones(SIZES[step.column]), size=None if step.parent is None else SIZES[step.parent])
        if step.parent is not None:
            shape[step.parent] = SIZES[step.parent]
            table = table if step.parent < step.column else table.T
        assert np.prod(axes) == table.size
        out = out * table.reshape(shape)
    return out


def margin(joint: np.ndarray, *columns: int) -> np.ndarray:
    """The joint distribution of some columns, in order."""
    return joint.sum(axis=tuple(at for at in range(len(SIZES)) if at not in columns))


def margins_of_joints(joints: Sequence[np.ndarray]) -> Margins:
    """The marginals of the columns of some classes, without any noise."""
    return Margins(
        totals=np.ones(len(joints)),
        values=tuple(np.stack([margin(joint, at) for joint in joints]) for at in range(len(SIZES))),
        groups=tuple(np.arange(size) for size in SIZES),
    )
