"""Released cells are read by what they contain, not compared as texts.

Evidence of a released cell: bands of numbers, and missing cells.
"""

from __future__ import annotations

import math
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.auditing.attacks.attack_evidence import Values, compatible
from anonkit.auditing.attacks.attack_kinds import Secret


def test_numbers_are_held_in_bands_and_missing_is_no_value() -> None:
    """At most ten bands, each with its ends; a column of one number has one."""
    numbers = Values.of(pa.chunked_array([pa.array([None, *range(1000)])]))
    bands = Secret.of("pay", numbers, 5.0).attacked_values()
    assert len(bands) == 10
    assert bands[0].value[0] == 0
    assert bands[-1].value[1] == 999
    assert sum(band.codes.sum() for band in bands) == 1000
    same = Secret.of("pay", Values.of(pa.chunked_array([pa.array([3.0] * 4)])), 5.0)
    assert [band.value for band in same.attacked_values()] in ([], [[3.0, 3.0]])
    texts = Values.of(pa.chunked_array([pa.array([None, "a", "a", "b"])]))
    assert [held.value for held in Secret.of("x", texts, None).attacked_values()] == ["b", "a"]


AGES = [17, 20, 25, 30.0, None]


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("[20, 30)", [20, 25]),
        ("[20, 30]", [20, 25, 30.0]),
        ("(20, 30)", [25]),
        ("< 20", [17]),
        (">= 25", [25, 30.0]),
        ("20-29", [20, 25]),
        ("25+", [25, 30.0]),
        ("< 20|>= 30", [17, 30.0]),
        ("[20, 30)|missing", [20, 25, None]),
        ("*", AGES),
        (None, [None]),
        (25, [25]),
        ("30", [30.0]),
        ("elsewhere", []),
    ],
)
def test_numbers(label: Any, expected: list[Any]) -> None:
    """Intervals of every usual kind, masks and missing cells."""
    fits = compatible([label], AGES)[0]
    assert [value for value, fit in zip(AGES, fits, strict=True) if fit] == expected


def test_sets_and_what_is_not_listed() -> None:
    """`other` is what no label names; `not` is the rest, and what no label names may be in either."""
    values = ["a", "b", "c\"'", "d", None]
    labels = ["a", "b|c\"'", "other", "not a|other", "{a, b}", "missing"]
    fits = compatible(labels, values)
    found = [[v for v, fit in zip(values, row, strict=True) if fit] for row in fits]
    assert found == [["a"], ["b", "c\"'"], ["d"], ["b", "c\"'", "d", None], ["a", "b"], [None]]


def test_masked_digits_and_dates() -> None:
    """Zip codes with stars, dates in intervals."""
    assert compatible(["254**"], ["25413", "25488", "2541", "26413"])[0].tolist() == [True, True, False, False]
    days = [date(2020, 1, 1), date(2021, 6, 1)]
    assert compatible(["[2020-01-01, 2021-01-01)"], days)[0].tolist() == [True, False]


@pytest.mark.parametrize("method", [pytest.param("mondrian", marks=pytest.mark.slow), "rfka"])
def test_every_source_row_fits_its_released_row(method: str) -> None:
    """The labels of both kinds of recoding: what is read back contains what was recoded."""
    from anonkit.auditing.attacks.aligned import align
    from anonkit.auditing.attacks.attack_evidence import Values

    table = anonkit.datasets.bank_customers(300, seed=1)
    release = anonkit.release(table, method=method, k=5, **({"trees": 20} if method == "rfka" else {}))
    plain = pa.table({n: table.column(n).cast(pa.string()) if pa.types.is_dictionary(table.schema.field(n).type)
                      else table.column(n) for n in table.column_names})  # fmt: skip
    aligned = align(release.params, release.to_arrow(), plain)
    assert aligned is not None
    assert aligned.table.num_rows == release.report["rows"]["out"]
    for name in aligned.table.column_names:
        shown, original = Values.of(aligned.table.column(name)), Values.of(plain.column(name))
        fits = compatible(shown.values, original.values)
        for row, at in enumerate(aligned.position.tolist()):
            assert at < 0 or fits[shown.codes[at], original.codes[row]], name


@pytest.mark.slow
@given(
    st.lists(st.one_of(st.floats(allow_nan=False), st.none()), max_size=12, unique=True),
    st.lists(st.integers(-5, 5), min_size=2, max_size=2),
)
def test_numbers_of_one_kind_are_found_as_among_others(values: list[float | None], ends: list[int]) -> None:
    """Sorted as they are or, with a text among them, as fractions: the same values fit a label."""
    low, high = sorted(ends)
    labels = [f"[{low}, {high})", f"({low}, {high}]", f"< {high}", f">= {low}", f"{low}+"]
    assert np.array_equal(compatible(labels, values), compatible(labels, [*values, "x"])[:, :-1])
    whole = [None if value is None or not math.isfinite(value) else int(value) for value in values]
    assert np.array_equal(compatible(labels, whole), compatible(labels, [*whole, "x"])[:, :-1])
