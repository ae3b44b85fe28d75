"""Requests are known again under the ledger's key alone, with the same rows and the same data."""

from __future__ import annotations

import pytest

from anonkit.ledger.repeated_requests import request_digest, sealed

KEY, OTHER = b"k" * 32, b"o" * 32


def test_a_request_is_recognized_under_the_key_of_its_ledger() -> None:
    """Sixteen bytes that another key does not give; a request that is not known again has none."""
    digest = request_digest(KEY, b"mondrian k=5")
    assert digest is not None
    assert len(digest) == 16
    assert digest == request_digest(KEY, b"mondrian k=5")
    assert len({digest, request_digest(OTHER, b"mondrian k=5"), request_digest(KEY, b"mondrian k=6")}) == 3
    assert request_digest(KEY, None) is None


@pytest.mark.parametrize(
    ("key", "request_", "spelled", "data"),
    [(OTHER, b"r", b"rows", "ab"), (KEY, b"q", b"rows", "ab"), (KEY, b"r", b"rowz", "ab"), (KEY, b"r", b"rows", "ac")],
)
def test_a_seal_is_of_request_rows_and_data(key: bytes, request_: bytes, spelled: bytes, data: str) -> None:
    """Any other one of them has another seal."""
    seal = sealed(KEY, b"r", b"rows", "ab")
    assert seal is not None
    assert sealed(key, request_, spelled, data) != seal


def test_entries_of_older_versions_are_never_known_again() -> None:
    """They have no mark of their rows, or no request."""
    assert sealed(KEY, b"r", b"", "ab") is None
    assert sealed(KEY, None, b"rows", "ab") is None
