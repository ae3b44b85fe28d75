"""Fingerprints: the same rows are recognised in any order, and nothing is learned without the key."""

from __future__ import annotations

import pyarrow as pa
import pytest

from anonkit.engines.local import LocalEngine
from anonkit.ledger.fingerprint import Fingerprint, fingerprint
from anonkit.policy import Policy

KEY, OTHER = b"k" * 32, b"o" * 32


def of(table: pa.Table, key: bytes = KEY) -> Fingerprint:
    """Return the fingerprint of a table as the engine opens it."""
    with LocalEngine() as engine:
        return fingerprint(engine.scan(table, Policy()), key)


def rows(first: int, last: int) -> pa.Table:
    """Return a table of numbered rows."""
    numbers = list(range(first, last))
    return pa.table({"a": numbers, "b": [str(number % 7) if number % 5 else None for number in numbers]})


def test_the_order_of_rows_and_columns_does_not_matter() -> None:
    """The same rows from another export are the same table."""
    table = rows(0, 500)
    turned = table.take(pa.array(range(499, -1, -1))).select(["b", "a"])
    assert of(table).same_rows(of(turned))


def test_another_key_gives_unrelated_numbers() -> None:
    """Without the key nothing can be compared."""
    assert of(rows(0, 500)).overlap(of(rows(0, 500), OTHER)) == 0


@pytest.mark.parametrize(
    ("first", "last", "share"), [(0, 5000, 1.0), (2500, 7500, 1 / 3), (5000, 9000, 0.0), (0, 2500, 0.5)]
)
def test_the_overlap_is_the_share_of_common_rows(first: int, last: int, share: float) -> None:
    """Within the error of 256 hashes."""
    assert of(rows(0, 5000)).overlap(of(rows(first, last))) == pytest.approx(share, abs=0.13)


def test_small_tables_overlap_exactly() -> None:
    """With fewer rows than hashes every row is known."""
    assert of(rows(0, 10)).overlap(of(rows(5, 15))) == 5 / 15


def test_a_missing_value_is_not_its_text() -> None:
    """A missing cell and a cell that says so are different rows."""
    assert not of(pa.table({"a": [None, "x"]})).same_rows(of(pa.table({"a": ["None", "x"]})))


def test_it_survives_the_ledger() -> None:
    """Bytes and back."""
    found = of(rows(0, 1000))
    assert Fingerprint.from_bytes(found.rows, found.to_bytes()).same_rows(found)


def test_an_empty_table_has_one_too() -> None:
    """No rows, no hashes."""
    assert of(rows(0, 0)).lowest.size == 0
