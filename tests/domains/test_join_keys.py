"""Keys of joined tables: equal exactly when their texts are."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.cell_keys import cell_keys
from anonkit.domains.join_keys import join_keys

TEXT = st.none() | st.text(max_size=4) | st.sampled_from(["7", "007", "7.0", " 7", "x37", "٧"])


@given(st.lists(st.tuples(TEXT, TEXT), min_size=2, max_size=8))
def test_two_keys_are_one_when_all_their_texts_are(rows: list[tuple[str | None, str | None]]) -> None:
    """007 and 7 are two, `a`+`b` is not `ab`, a missing part makes no key; reading units merges none of them."""
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    keys = join_keys(columns).to_pylist()

    for at, one in enumerate(rows):
        assert (keys[at] is None) == (None in one)
        for also, other in enumerate(rows):
            assert (keys[at] is not None and keys[at] == keys[also]) == (None not in one and one == other)
    assert cell_keys(pa.array(keys, pa.string())).to_pylist() == keys


def test_numbers_by_the_type_of_their_file_are_one_number() -> None:
    """7 in a column of integers, 7.0 in one of floats and the text 7 are one key; the text 007 is another."""
    keys = [
        join_keys([pa.array(values, kind)])[0].as_py()
        for values, kind in (([7], pa.int64()), ([7.0], pa.float64()), (["7"], pa.string()), (["007"], pa.string()))
    ]

    assert keys[0] == keys[1] == keys[2] != keys[3]
