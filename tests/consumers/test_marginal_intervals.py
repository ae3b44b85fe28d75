"""Intervals of counting queries on noisy tables: their coverage."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from anonkit.consumers.marginal_intervals import NoisyCells, answer
from anonkit.mechanisms.discrete_gaussian import gaussian_counts
from anonkit.mechanisms.discrete_laplace import UniformStream, noisy_counts
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE
from anonkit.randomness import Randomness

LEVEL, TIMES = 0.8, 250


def covered(asked: Any, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The coverage of intervals over redraws of the tables, in all and by a side alone."""
    hits, measured = np.zeros(truth.shape), np.zeros(truth.shape)
    for seed in range(TIMES):
        found = asked(seed)
        hits += (found.lower <= truth) & (truth <= found.upper)
        measured += found.basis == "measured"
    return hits / TIMES, measured / TIMES


@pytest.mark.quick_cases("discrete-laplace")
@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN])
def test_intervals_hold_the_true_count_as_often_as_they_say(law: str) -> None:
    """One column, a sum over another, a condition, and what splits all tables; by fresh noise of a known law."""
    noised = noisy_counts if law == LAPLACE else gaussian_counts
    rate = 1 << (48 if law == LAPLACE else 42)  # noise of 23 rows
    true = np.random.default_rng(1).integers(60, 90, (2, 3, 4))
    groups = (np.arange(2), np.arange(3), np.array([0, 1, 2, 2]))
    merged = np.stack([true[:, :, 0], true[:, :, 1], true[:, :, 2] + true[:, :, 3]], axis=2)

    @cache
    def tables(seed: int) -> tuple[list[NoisyCells], list[NoisyCells]]:
        words = UniformStream(Randomness.seeded(seed))
        first, second = noised(true.sum(2), rate, words), noised(true.sum(1), rate, words)
        both = noised(merged, rate, words)
        return [
            NoisyCells(names=("t", "a"), counts=first, groups=groups[:2], rate=rate, law=law),
            NoisyCells(names=("t", "b"), counts=second, groups=(groups[0], np.arange(4)), rate=rate, law=law),
        ], [NoisyCells(names=("t", "a", "b"), counts=both, groups=groups, rate=rate, law=law)]

    def ask(names: list[str], **allowed: list[bool]) -> Any:
        return lambda seed: answer(*tables(seed), names, {k: np.array(v) for k, v in allowed.items()}, LEVEL)

    some = [True, False, True]
    for asked, truth in (
        (ask(["a"]), true.sum(axis=(0, 2))),
        (ask(["b", "t"]), true.sum(axis=1).T),
        (ask(["t"]), true.sum(axis=(1, 2))),
        (ask(["t"], a=some), true[:, [0, 2]].sum(axis=(1, 2))),
        (ask(["a", "b"]), true.sum(axis=0)),
        (ask(["b"], a=some, t=[False, True]), true[1, [0, 2]].sum(axis=0)),
        (ask(["a"], b=[True, True, False, False]), true[:, :, :2].sum(axis=(0, 2))),
        (ask(["a"], b=[False, False, True, False]), true[:, :, 2].sum(axis=0)),
    ):
        hits, measured = covered(asked, truth)
        assert hits.min() > LEVEL - 0.08  # three standard deviations of 250 draws
        assert set(measured.ravel()) <= {0.0, 1.0}
        if (measured == 1).any():
            assert hits[measured == 1].max() < LEVEL + 0.1  # not wider than they need be
    assert answer(*tables(1), ["a", "c"], {}, LEVEL) is None
    outside = answer(*tables(1), ["a"], {"a": np.array(some)}, LEVEL)
    assert outside is not None
    assert (outside.counts[1], outside.lower[1], outside.upper[1]) == (0, 0, 0)
