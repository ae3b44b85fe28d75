# SPDX-License-Identifier: Apache-2.0
"""A private maximum spanning tree of dependent pairs, and private choices of further pairs where a model is worst.

The score of a pair is how far its true table is from a public model of it, as a sum of absolute differences, in whole
steps: the model is rounded to the steps, and counts are whole, so that one row moves a score by `STEPS` at most, up or
down, and no rounding of a float adds to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from anonkit.budget_rules.marginal_rule import forest_of
from anonkit.domains.array_types import BoolArray, FloatArray, IntArray
from anonkit.dp_trees.marginals.column_layout import Pair
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.mechanisms.private_selection import permute_and_flip

STEPS = 256
"""Steps of a score in a row."""
WIDTH = 2 * STEPS
"""Width of the range in which one row moves all scores: it may raise one and lower another."""
Chooser = Callable[[IntArray, int, UniformStream, BoolArray], IntArray]
"""A private choice: `permute_and_flip` or `exponential_mechanism`."""


def error_steps(counts: IntArray, model: FloatArray) -> int:
    """Return the sum of the absolute differences between true counts and a model of them, in steps.

    Privacy
    -------
    One row changes one count by 1, hence the sum by `STEPS` at most. The model must not depend on the rows but through
    noisy counts.
    """
    return int(np.abs(counts * STEPS - np.rint(model * STEPS).astype(np.int64)).sum())


def private_tree(
    scores: Mapping[Pair, int],
    n_columns: int,
    rate: int,
    words: UniformStream,
    number: int | None = None,
    choose: Chooser = permute_and_flip,
    joined: int | None = None,
) -> list[Pair]:
    """Choose the edges of a spanning tree one after another, privately, among those that close no circle.

    Parameters
    ----------
    scores : mapping of pair to int
        In steps.
    n_columns : int
    rate : int
        Of each choice, per step.
    words : UniformStream
    number : int, optional
        Edges of a forest; by default those of a spanning one.
    choose : callable
        `permute_and_flip`, or `exponential_mechanism` where choices are paid in rho.
    joined : int, optional
        A column that the first edge joins, whatever the others are worth.

    Returns
    -------
    list of pair
        So many, by default those of a spanning forest.

    Privacy
    -------
    Each choice costs `WIDTH` times the rate in epsilon; the candidates follow from earlier choices.
    """
    pairs, values = list(scores), np.array([list(scores.values())], dtype=np.int64)
    component = np.arange(n_columns)
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    chosen: list[Pair] = []
    for _ in range(len(forest_of(pairs, n_columns)) if number is None else number):
        allowed = component[ends[:, 0]] != component[ends[:, 1]]
        if joined is not None and not chosen:
            allowed &= (ends == joined).any(axis=1)
        at = int(choose(values, rate, words, allowed[np.newaxis])[0])
        first, second = pairs[at]
        component[component == component[second]] = component[first]
        chosen.append(pairs[at])
    return chosen


def private_best(
    scores: Mapping[Pair, int], number: int, rate: int, words: UniformStream, choose: Chooser = permute_and_flip
) -> list[Pair]:
    """Choose so many different pairs of high score, one after another, privately.

    Parameters and privacy are those of `private_tree`; `number` is at most the number of pairs.
    """
    pairs, values = list(scores), np.array([list(scores.values())], dtype=np.int64)
    allowed = np.ones(values.shape, dtype=bool)
    chosen: list[Pair] = []
    for _ in range(number):
        at = int(choose(values, rate, words, allowed)[0])
        allowed[0, at] = False
        chosen.append(pairs[at])
    return chosen
