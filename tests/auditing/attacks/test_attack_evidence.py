"""Evidence of a released cell: bands of numbers, and missing cells."""

from __future__ import annotations

import pyarrow as pa

from anonkit.auditing.attacks.attack_evidence import Values
from anonkit.auditing.attacks.inference import Secret


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
