# SPDX-License-Identifier: Apache-2.0
"""Profiles of columns: the same from codes as from a pass over the table; which columns look like identifiers."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.drafting.profiling import ColumnProfile, ValueKind, profile_columns
from anonkit.engines import open_engine
from anonkit.policy.declaration import Policy
from anonkit.protocols import Engine

CELLS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.string(): st.text(st.characters(codec="utf-8"), max_size=4),
    pa.int64(): st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 30),
    pa.float64(): st.floats(),
    pa.bool_(): st.booleans(),
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)),
}


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """One engine for all tables."""
    with open_engine("local") as opened:
        yield opened


def profile(engine: Engine, name: str, values: pa.Array | list[Any]) -> ColumnProfile:
    """The profile of a table's only column."""
    (found,) = profile_columns(engine, engine.scan(pa.table({name: values}), Policy()))
    return found


@settings(max_examples=60, deadline=None)
@given(data=st.data(), kind=st.sampled_from(list(CELLS)), categorical=st.booleans())
def test_codes_and_a_pass_over_the_table_give_one_profile(
    engine: Engine, data: st.DataObject, kind: pa.DataType, categorical: bool
) -> None:
    """The profile of a column does not depend on the pass; only text cells are read closer by the second."""
    values = pa.array(data.draw(st.lists(st.none() | CELLS[kind], max_size=40)), kind)
    if categorical and kind == pa.string():
        values = values.dictionary_encode()
    source = engine.scan(pa.table({"x": values}), Policy())

    (passed,) = profile_columns(engine, source)
    coded = ColumnProfile.of_codes(engine.encode(source, ["x"])[0])
    assert (passed.filled, passed.distinct, passed.verdict) == (coded.filled, coded.distinct, coded.verdict)
    assert passed.kind is coded.kind or passed.markers or not coded.filled


@pytest.mark.parametrize(
    "name",
    [
        *("id", "ID", "customerId", "Customer ID", "patient_id", "ssn", "SSN_number", "passportNumber", "IBAN"),
        *("name", "First name", "last_name", "e-mail", "email_2", "Phone.No", "Vorname", "姓名", "手机号"),
    ],
)
def test_names_of_identifiers_are_known(engine: Engine, name: str) -> None:
    """Columns named like identifiers look like them, in any spelling, even without a single value."""
    assert profile(engine, name, ["a", "b", "a"]).identifier_reason == "its name says so"
    assert profile(engine, name, pa.nulls(3, pa.string())).identifier_reason == "its name says so"


@pytest.mark.parametrize(
    "name",
    [
        *("age", "paid", "valid", "covid", "account_balance", "phone_calls"),
        *("product_name", "country name", "id_type", "zip"),
    ],
)
def test_other_names_are_not(engine: Engine, name: str) -> None:
    """A word that only sounds like one, or names a group, does not make an identifier."""
    assert profile(engine, name, ["a", "b", "a"]).identifier_reason is None


def test_a_name_with_few_values_is_a_code(engine: Engine) -> None:
    """An `id` with a handful of values in hundreds of rows distinguishes groups."""
    assert profile(engine, "id", [1, 2, 3, 4, 5] * 40).identifier_reason is None


@pytest.mark.parametrize(
    ("values", "looks"),
    [
        ([f"text {i}" for i in range(100)], True),
        ([f"text {i % 80}" for i in range(100)], False),
        (list(range(100)), True),
        ([314_159 + 4_001 * i for i in range(100)], True),
        ([i * i for i in range(100)], False),
        ([i / 7 for i in range(100)], False),
        ([datetime.date(2000, 1, 1) + datetime.timedelta(i) for i in range(100)], False),
        ([f"text {i}" for i in range(9)], False),
    ],
    ids=["texts", "repeated texts", "running", "one length", "amounts", "fractions", "dates", "too few rows"],
)
def test_unique_texts_and_numberings_look_like_identifiers(engine: Engine, values: list[Any], looks: bool) -> None:
    """Unique texts, running numbers and codes of one length do, measured quantities do not."""
    assert (profile(engine, "x", values).identifier_reason is not None) == looks


def test_numberings_need_many_values(engine: Engine) -> None:
    """`Sample code number` is an identifier when most rows have their own, a code otherwise; a zip code never is."""
    many, few = [i * i for i in range(60)] * 2, [1, 4, 9, 16] * 30

    assert profile(engine, "Sample_code_number", many).identifier_reason is not None
    assert profile(engine, "Sample_code_number", few).identifier_reason is None
    assert profile(engine, "zip_code", many).identifier_reason is None


def test_a_unit_is_a_number_that_repeats(engine: Engine) -> None:
    """Numbers of people with several rows may be the unit; names and numbers that do not repeat are not."""
    twice = [f"{i}" for i in range(30)] * 2

    assert profile(engine, "customer_id", twice).may_be_unit
    assert not profile(engine, "customer_id", twice[:30]).may_be_unit
    assert not profile(engine, "name", twice).may_be_unit


@pytest.mark.parametrize(
    ("cells", "markers", "mostly"),
    [
        (["1", "2.5", "-3", "?", None], ("?",), False),
        (["1", "2", "NA", "-"], ("-", "NA"), False),
        ([*map(str, range(30)), "secret"], (), True),
        ([*map(str, range(30)), "secret", "?"], (), True),
        (["1", "2"], (), False),
        (["?", "red"], (), False),
        (["?", None], (), False),
        (["01234", "02345", "?"], (), False),
    ],
)
def test_texts_among_numbers_are_noticed(
    engine: Engine, cells: list[str | None], markers: tuple[str, ...], mostly: bool
) -> None:
    """Common marks of missing values among numbers are named, other texts are not; zip codes are no numbers."""
    for values in (pa.array(cells), pa.array(cells).dictionary_encode()):
        found = profile(engine, "x", values)

        assert (found.markers, found.mostly_numbers) == (markers, mostly)
        assert found.kind is (ValueKind.FRACTIONAL if markers else ValueKind.TEXT)


def test_a_profile_shows_no_value(engine: Engine) -> None:
    """The repr of a profile, even of a column with one value, does not hold it."""
    assert "987654" not in repr(profile(engine, "x", [987_654] * 3))
    assert "secret" not in repr(profile(engine, "x", ["secret", *map(str, range(30))]))
