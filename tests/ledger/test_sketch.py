"""Sketches of sets: alike when they share things, and not by chance; too few things have none."""

from __future__ import annotations

import numpy as np
import pytest

from anonkit.documents import plain, read
from anonkit.ledger.sketch import BINS, LEAST, Sketch, agreement_by_chance, binned, sketch_of

DRAW = np.random.default_rng(8)


def tags(n: int) -> np.ndarray:
    """Tags of so many things."""
    return DRAW.integers(0, 2**32, (n, 4), dtype=np.uint32)


def sketch(things: np.ndarray) -> Sketch:
    """Their sketch."""
    made = sketch_of(binned(things), len(things))
    assert made is not None
    return made


def test_tables_that_share_things_are_alike() -> None:
    """Half of the things in common are seen, none are not."""
    first, other = tags(4_000), tags(4_000)
    assert sketch(first).is_like(sketch(np.concatenate([first[:2_000], other[:2_000]])))
    assert not sketch(first).is_like(sketch(other))
    assert sketch(first).agreement(sketch(first)) > 0.9  # bins whose signs cancel out have a coin's bit


def test_bins_add_up() -> None:
    """Over batches, and by multiplicities."""
    first, other = tags(100), tags(100)
    both = np.concatenate([first, other])
    assert np.array_equal(binned(both), binned(first) + binned(other))
    assert np.array_equal(binned(first, np.full(100, 3)), 3 * binned(first))
    assert binned(first).shape == (BINS,)


def test_what_repeats_itself_agrees_by_chance() -> None:
    """Half of the bits for different things; more where both tables draw from a few."""
    unique, common = sketch(tags(1_000)), sketch(np.repeat(tags(10), 100, axis=0))
    assert unique.is_nearly_unique
    assert not common.is_nearly_unique
    assert agreement_by_chance(unique, unique) < agreement_by_chance(common, common)
    assert agreement_by_chance(unique, unique) == pytest.approx(0.5, abs=0.1)


def test_few_things_have_no_sketch_and_others_are_read_back() -> None:
    """Below the least number each could be found in it."""
    assert sketch_of(binned(tags(LEAST - 1)), LEAST - 1) is None
    made = sketch(tags(LEAST))
    assert plain(made) == [made.bits.hex(), LEAST, made.repetition]
    assert read(Sketch, plain(made)) == made
