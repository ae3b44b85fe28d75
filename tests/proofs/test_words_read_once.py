"""Every block of keystream that a release reads: no two draws read the same one (docs/proofs/samplers.md, lemma S1)."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest

import anonkit
from anonkit import randomness
from anonkit.policy.declaration import Policy
from anonkit.randomness import Randomness
from tests.proofs import test_replaced_rows as local
from tests.proofs import test_replayed_releases as central

RELEASES: dict[str, tuple[pa.Table, Policy, str, dict[str, Any]]] = {
    **{
        name: (central.table(central.ROWS), central.POLICY, method, {"epsilon": 1.0, **options})
        for name, (method, options) in central.METHODS_AS.items()
    },
    "a number to predict": (central.table(central.ROWS), central.NUMBER, "dp-tree", {"epsilon": 1.0}),
    "people": (
        central.PAIRS["a person more"].tables[0], central.PEOPLE, "dp-nb", {"epsilon": 1.0, "rows_per_unit": 2}
    ),
    **{
        name: (local.table(name), local.NUMBERS if name == "trr" else local.POLICY, method, options)
        for name, (method, options) in local.METHODS_AS.items()
    },
}  # fmt: skip
QUICK = ("dp-forest, weights", "diffprfs, shared", "rr, split")

Blocks = dict[tuple[bytes, int], list[tuple[int, int]]]
"""Ranges of bytes that were read, by key and stream."""


def blocks_of(name: str, monkeypatch: pytest.MonkeyPatch) -> Blocks:
    """Make a release and return what it read."""
    read: Blocks = defaultdict(list)
    own = randomness.keystream

    def keystream(key: bytes, stream: int, offset: int, n_bytes: int) -> bytes:
        read[key, stream].append((offset, offset + n_bytes))
        return own(key, stream, offset, n_bytes)

    source, policy, method, options = RELEASES[name]
    with monkeypatch.context() as patch:
        patch.setattr(randomness, "keystream", keystream)
        anonkit.release(source, method=method, policy=policy, ledger=None, **options)
    return read


def read_twice(read: Blocks) -> list[tuple[int, int]]:
    """Return the ranges that begin before another one of their stream has ended."""
    return [
        after
        for ranges in read.values()
        for before, after in zip(sorted(ranges)[:-1], sorted(ranges)[1:], strict=True)
        if after[0] < before[1]
    ]


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in RELEASES]
)
def test_no_word_of_a_release_is_read_twice(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise, choices, rows of trees, drawn rows, their order: each has words of its own, under keys of this release."""
    first, second = (blocks_of(name, monkeypatch) for _ in range(2))
    # a published table has one noise and no order of rows: one block, which can still be another release's
    assert sum(map(len, first.values())) >= (1 if name == "dp-tables" else 2)
    assert read_twice(first) == []
    assert not set(first) & set(second), "another release has other keys"


def test_words_that_are_read_twice_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were children of a key the key itself, all draws would begin with the same words."""
    monkeypatch.setattr(Randomness, "child", lambda self, name: Randomness(self._key, self.label))
    assert read_twice(blocks_of("dp-forest, weights", monkeypatch))
