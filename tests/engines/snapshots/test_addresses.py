"""The names of a source: the parts of an address, the options that fit it, and the parts never shown."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from anonkit.engines.snapshots.addresses import FORMATS, SourceAddress, source_at
from anonkit.errors import ParameterError
from anonkit.redaction import table_name


@pytest.mark.parametrize(
    ("place", "scheme", "bare", "parameters", "file"),
    [
        ("people.csv", "", "people.csv", {}, "people.csv"),
        ("a?b.csv", "", "a?b.csv", {}, "a?b.csv"),
        ("sqlite:///people.db?table=p%20q", "sqlite", "sqlite:///people.db", {"table": "p q"}, "people.db"),
        ("duckdb:////srv/people.duckdb?table=p&schema=s", "duckdb", "duckdb:////srv/people.duckdb",
         {"table": "p", "schema": "s"}, "/srv/people.duckdb"),
        ("PostgreSQL://owner@host/db?table=p", "postgresql", "PostgreSQL://owner@host/db", {"table": "p"}, "db"),
    ],
)  # fmt: skip
def test_an_address_says_its_parts(place: str, scheme: str, bare: str, parameters: dict[str, str], file: str) -> None:
    """Scheme, place and parameters of an address; a path has none, whatever its name holds."""
    address = SourceAddress(place=place)

    assert (address.scheme, address.bare, dict(address.parameters)) == (scheme, bare, parameters)
    assert address.file_path == Path(file)


@pytest.mark.parametrize(("given", "named"), [(".CSV", "csv"), ("json", "jsonl"), ("xlsx", "excel"), ("ipc", "arrow")])
def test_a_format_has_one_name(given: str, named: str) -> None:
    """Endings and other names of a format are taken for it."""
    assert SourceAddress(place="-", format=given).format == named


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_taken(name: str) -> None:
    """Every format that the option lists is known."""
    assert SourceAddress(place="-", format=name).named_format == name


def test_an_unknown_format_and_a_table_in_memory_with_options_are_refused() -> None:
    """With exit code 2: the request is wrong, not the table."""
    with pytest.raises(ParameterError, match="format"):
        SourceAddress(place="-", format="csw")
    with pytest.raises(ParameterError, match="sheet"):
        source_at(pd.DataFrame(), sheet="x")


def test_its_repr_holds_neither_place_nor_query() -> None:
    """A password or a name in a query is in no log of a value."""
    address = SourceAddress(place="postgresql://owner:SECRET@host/db", query="select * from p where name = 'SECRET'")

    assert "SECRET" not in repr(address)


@pytest.mark.parametrize(
    ("place", "within"),
    [
        ("people.csv", "/recipes/people.csv"),
        ("*.csv", "/recipes/*.csv"),
        ("/srv/people.csv", "/srv/people.csv"),
        ("-", "-"),
        ("sqlite:///people.db?table=p", "sqlite:////recipes/people.db?table=p"),
        ("sqlite:////srv/people.db?table=p", "sqlite:////srv/people.db?table=p"),
        ("s3://bucket/people.csv", "s3://bucket/people.csv"),
    ],
)
def test_paths_of_a_recipe_begin_in_its_folder(place: str, within: str) -> None:
    """Those of files in addresses too; what is no path of this machine stays."""
    address = source_at(place, in_folder=Path("/recipes"))

    assert isinstance(address, SourceAddress)
    assert address.place == within


@pytest.mark.parametrize(
    ("place", "name"),
    [("-", "table"), ("in/people-*.csv", "people"), ("in/*.csv", "table"), ("in/people", "people")],
)
def test_a_source_without_a_name_of_its_own_is_called_a_table(place: str, name: str) -> None:
    """A dataset is named after what is before the first wildcard."""
    assert table_name(place) == name
