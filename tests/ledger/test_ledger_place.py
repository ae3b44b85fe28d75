"""Places of ledgers: paths and addresses, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from anonkit.errors import ParameterError
from anonkit.ledger.ledger_place import LedgerPlace


def test_a_path_is_a_file_and_an_address_is_a_server() -> None:
    """Paths are never taken for addresses, nor the other way round; `~` is the owner's home."""
    assert LedgerPlace.of("a/b.sqlite").file == Path("a/b.sqlite")
    assert LedgerPlace.of(Path("postgresql://x")).file == Path("postgresql:/x")
    assert LedgerPlace.of("~/l.sqlite").file == Path.home() / "l.sqlite"
    for scheme in ("postgresql", "postgres"):
        place = LedgerPlace.of(f"{scheme}://db/ledger")
        assert place.is_on_server
        assert place.file is None
        assert place.may_be_there


@pytest.mark.parametrize(
    ("address", "bare", "schema"),
    [
        ("postgresql://db/l", "postgresql://db/l", "anonkit"),
        ("postgresql://db/l?schema=team", "postgresql://db/l", "team"),
        ("postgresql://db/l?schema=team&sslmode=require", "postgresql://db/l?sslmode=require", "team"),
        ("postgresql://db/l?sslmode=require&schema=team", "postgresql://db/l?sslmode=require", "team"),
        ("postgresql://db/l?a=1&schema=team&b=2", "postgresql://db/l?a=1&b=2", "team"),
    ],
)
def test_the_schema_is_ours_and_the_rest_is_the_driver_s(address: str, bare: str, schema: str) -> None:
    """`schema` is taken out, parameters of TLS and the rest go on as they are; the text says it all again."""
    place = LedgerPlace.of(address)
    assert (place.address, place.schema) == (bare, schema)
    assert LedgerPlace.of(str(place)).schema == schema


@pytest.mark.parametrize(
    "address", ["mysql://db/l", "sqlite:///l.sqlite", "postgresql://db/l?schema=a%22b", "s3://b/l"]
)
def test_other_places_are_refused(address: str) -> None:
    """No server but PostgreSQL, no schema that would have to be quoted."""
    with pytest.raises(ParameterError):
        LedgerPlace.of(address)
