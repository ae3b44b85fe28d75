"""The part of a release's params that the ledger stores, and the digest that recognizes it."""

from __future__ import annotations

from typing import Any

import pytest

from anonkit.ledger.packed_params import digest_of_packed, pack, unpacked

PARAMS: dict[str, Any] = {
    "format": "anonkit-release-1",
    "method": "mondrian",
    "model": {"k": 5},
    "recoding": {"columns": ["age"]},
    "max_suppression": 0.1,
    "created": "2026-01-01",
}


def test_what_is_kept_comes_back() -> None:
    """The keys that recode and suppress, and nothing of when or where."""
    packed = pack(PARAMS)
    assert packed is not None
    assert unpacked(packed) == {key: PARAMS[key] for key in ("method", "model", "recoding", "max_suppression")}


@pytest.mark.parametrize("absent", ["recoding", "model"])
def test_a_release_without_a_recoding_is_not_kept(absent: str) -> None:
    """Noise has neither."""
    assert pack({key: value for key, value in PARAMS.items() if key != absent}) is None


def test_the_digest_is_of_what_decides_about_rows() -> None:
    """Order of keys and what is not kept change nothing; k does."""

    def digest(params: dict[str, Any]) -> bytes:
        packed = pack(params)
        assert packed is not None
        return digest_of_packed(packed)

    assert len(digest(PARAMS)) == 16
    assert digest(dict(reversed(PARAMS.items()))) == digest(PARAMS) == digest({**PARAMS, "created": "later"})
    assert digest({**PARAMS, "model": {"k": 6}}) != digest(PARAMS)
