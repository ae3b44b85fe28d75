"""Fingerprints: a table is the same by what its rows hold, and alike when it shares many of them."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.datasets import bank_customers
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.ledger.earlier_releases import sealed
from anonkit.ledger.fingerprint import Fingerprint, Likeness, RowMarks, fingerprint, spelled_rows
from anonkit.ledger.sketch import LEAST, Sketch
from anonkit.policy.declaration import Policy

KEY, OTHER = b"k" * 32, b"o" * 32
CELLS = st.sampled_from(["a", "b", "ab", "", "1", "2", "a" * 40, None])
SPELLINGS = st.sampled_from(["1", "1.0", "01", " 1", "a", "a ", None])


def of(table: Any, key: bytes = KEY) -> Fingerprint:
    """Return the fingerprint of a table as the engine opens it."""
    with LocalEngine() as engine:
        return fingerprint(engine.scan(table, Policy()), engine, key)


def spelled(table: Any, key: bytes = KEY) -> bytes:
    """Return the mark of the very same rows alone."""
    with LocalEngine() as engine:
        return spelled_rows(engine.scan(table, Policy()), engine, key)


def table_of(rows: list[tuple[str | None, ...]], names: str) -> pa.Table:
    """Return a table of texts."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return pa.table({name: pa.array(column, pa.string()) for name, column in zip(names, columns, strict=True)})


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=6),
    st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=6),
    st.randoms(use_true_random=False),
)
def test_the_same_is_the_same_rows_as_often(one: list[Any], two: list[Any], chance: Any) -> None:
    """In any order of rows and columns: the same table exactly when the rows, counted, are the same."""
    said = [sorted(tuple(cell or "" for cell in row) for row in rows) for rows in (one, two)]
    turned = chance.sample(one, len(one))
    assert of(table_of(one, "abc")).likeness(of(table_of(turned, "abc").select(["c", "a", "b"]))) is Likeness.SAME
    assert of(table_of(one, "abc")).likeness(of(table_of(turned, "xay"))).is_same
    assert (of(table_of(one, "abc")).likeness(of(table_of(two, "abc"))) is Likeness.SAME) == (said[0] == said[1])


def test_cells_exchanged_within_a_row_are_another_table() -> None:
    """{a|b} and {b|a}: the row has the same cells, the table is not the same, whatever the columns are called."""
    rows: list[Any] = [("a", "b", "x"), ("c", "d", "y"), ("e", "f", "z")]
    exchanged = [("b", "a", "x"), *rows[1:]]
    for names in ("pqr", "rqp"):
        assert not of(table_of(rows, "pqr")).likeness(of(table_of(exchanged, names))).is_same


def test_cells_do_not_run_into_each_other() -> None:
    """Texts next to each other are not their concatenation, and a missing cell is not a word for it."""
    assert not of(table_of([("ab", "c", "d")], "pqr")).likeness(of(table_of([("a", "bc", "d")], "pqr"))).is_same
    assert not of(table_of([(None, "c", "d")], "pqr")).likeness(of(table_of([("None", "c", "d")], "pqr"))).is_same


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(SPELLINGS, SPELLINGS), max_size=6),
    st.lists(st.tuples(SPELLINGS, SPELLINGS), max_size=6),
    st.randoms(use_true_random=False),
)
def test_spelled_alike_is_the_very_same_rows(one: list[Any], two: list[Any], chance: Any) -> None:
    """In any order, as often, every cell to the letter: 1, 1.0 and 01 are one number and three texts."""
    turned = chance.sample(one, len(one))
    mark = spelled(table_of(one, "ab"))
    assert mark == of(table_of(one, "ab")).spelled == spelled(table_of(turned, "ab"))
    assert (mark == spelled(table_of(two, "ab"))) == (Counter(one) == Counter(two))
    exchanged = Counter((second, first) for first, second in one)
    assert (mark == spelled(table_of(one, "ba"))) == (Counter(one) == exchanged)
    assert mark != spelled(table_of(one, "ab"), OTHER)


def test_what_an_older_version_kept_spells_nothing() -> None:
    """An entry without the sum of spelled rows has no seal, so that no request is taken for it."""
    found = of(bank_customers(40, seed=1))
    older = Fingerprint.from_bytes(found.rows, replace(found, spelled=b"").to_bytes())
    assert Fingerprint.from_bytes(found.rows, found.to_bytes()).spelled == found.spelled
    assert sealed(KEY, b"asked", found.spelled, "ab") is not None
    assert sealed(KEY, b"asked", older.spelled, "ab") is None


@pytest.mark.parametrize("times", [2, 3, 256])
def test_how_often_a_row_stands_there_counts(times: int) -> None:
    """One row more, every row twice, every row 256 times: other tables, though names and cells are the same."""
    table = bank_customers(40, seed=1)
    many = pa.concat_tables([table] * times).combine_chunks()
    assert not of(table).likeness(of(many)).is_same
    assert not of(many).likeness(of(pa.concat_tables([many, table.slice(3, 1)]).combine_chunks())).is_same


def test_another_key_gives_unrelated_numbers() -> None:
    """Without the key nothing can be compared."""
    table = bank_customers(500, seed=1)
    assert of(table).likeness(of(table, OTHER)) is Likeness.NONE


def test_batches_add_up() -> None:
    """In pieces of any size, in any order, in another process: the same sums."""
    table = bank_customers(3000, seed=4).combine_chunks()
    marks = RowMarks(key=KEY, names=tuple(table.column_names))
    (whole,) = table.to_batches()
    pieces = [whole.slice(at, 777) for at in range(0, 3000, 777)]
    again = pickle.loads(pickle.dumps(marks))
    assert np.array_equal(sum(again(each, 5) for each in reversed(pieces)), marks(whole, 0))
    assert KEY.hex() not in repr(marks)
    assert repr(KEY) not in repr(marks)


KINDS: dict[str, Any] = {
    "customers": lambda n, seed: bank_customers(n, seed=seed),
    "answers of one scale": lambda n, seed: pa.table(
        {f"q{at:02d}": np.random.default_rng([seed, at]).integers(0, 2, n) for at in range(20)}
    ),
    "people, numbered": lambda n, seed: pa.table(
        {
            "id": np.arange(n),
            "sex": np.random.default_rng([seed, 1]).integers(0, 2, n),
            "age": np.random.default_rng([seed, 2]).integers(18, 90, n),
            "zip": np.random.default_rng([seed, 3]).integers(1000, 1100, n),
        }
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_in_common_are_seen_and_populations_are_not(kind: str) -> None:
    """Half the rows, rows gone and rows added are alike; the other half, other people and other tables are not."""
    table = KINDS[kind](1200, 1)
    order = np.random.default_rng(2).permutation(1200)
    whole, half, rest = of(table), of(table.take(order[:600])), of(table.take(order[600:]))
    assert whole.likeness(half) is Likeness.ROWS
    assert half.likeness(whole) is Likeness.ROWS
    assert whole.likeness(of(table.take(order[100:]))) is Likeness.ROWS
    assert half.likeness(rest) is Likeness.NONE
    for other in KINDS.values():
        assert whole.likeness(of(other(1200, 7))) is Likeness.NONE


@pytest.mark.parametrize("kind", KINDS)
def test_one_column_more_less_or_other_is_seen(kind: str) -> None:
    """For each column in turn."""
    table = KINDS[kind](300, 1)
    whole = of(table)
    for name in table.column_names[:4]:
        less = of(table.drop_columns([name]))
        other = of(table.set_column(table.column_names.index(name), "new", pa.array([f"x{at}" for at in range(300)])))
        assert [whole.likeness(less), less.likeness(whole), whole.likeness(other)] == [Likeness.ONE_COLUMN] * 3


def test_columns_of_few_values_have_no_mark_of_their_own() -> None:
    """Only numbers of customers and the like have a sketch; tables of few rows have none at all."""
    table = KINDS["people, numbered"](1200, 1)
    assert len(of(table).column_sketches) == 1  # the number
    assert of(table.select(["sex", "age", "zip"])).column_sketches == ()
    assert of(table.select(["sex", "age"])).without == ()
    few = of(table.slice(0, LEAST - 1))
    assert (few.named_sketch, few.row_sketches, few.column_sketches) == (None, (), ())


def test_who_has_file_and_key_hardly_sees_a_row() -> None:
    """Bits of a sketch agree with those of one of its rows, spelled out, as with any other row's, but for noise."""
    table = KINDS["people, numbered"](2000, 3)
    tags = RowMarks(key=KEY, names=tuple(table.column_names))
    sketch = of(table).row_sketches[0]
    signs = np.unpackbits(np.frombuffer(sketch.bits, np.uint8)).astype(int) * 2 - 1

    def evidence(rows: pa.Table) -> float:
        """Return the mean score of rows: the signs of their bins, times the sketch's."""
        found = []
        for batch in rows.combine_chunks().to_batches(max_chunksize=1):
            bins = tags(batch, 0)[1 + 516 + 4 : 1 + 2 * 516]
            found.append(float((bins * signs).sum()) / np.sqrt(8))
        return float(np.mean(found))

    inside, outside = evidence(table.slice(0, 100)), evidence(KINDS["people, numbered"](100, 9))
    assert abs(inside - outside) < 1  # standard deviations of one row's score


def test_it_survives_the_ledger() -> None:
    """Bytes and back."""
    found = of(bank_customers(200, seed=1))
    assert Fingerprint.from_bytes(found.rows, found.to_bytes()) == found


def test_a_table_without_rows_has_one_too() -> None:
    """Nothing to sketch."""
    assert of(bank_customers(10, seed=1).slice(0, 0)).row_sketches == ()


def test_sketches_of_what_repeats_itself_are_alike_by_chance() -> None:
    """The more two tables repeat themselves, the more they must agree; a sketch is always like itself else."""
    one = of(bank_customers(200, seed=1)).row_sketches[0]
    assert one.is_like(one)
    worn = one._replace(repetition=200.0)
    assert not worn.is_like(worn)
    assert isinstance(one, Sketch)
