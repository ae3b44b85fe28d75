"""Tasks of executors, played here without a cluster: what they hand out, and that no cell is in what fails."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from anonkit.engines.writing.part_tasks import (
    Counted,
    DealTask,
    Dictionaries,
    GroupTask,
    Lowest,
    MappedRows,
    MapStep,
    PartTask,
    RowMap,
    RowSum,
    TaskFailure,
    failure_in,
    out_schema,
    step,
    texts_of,
    words_of,
)
from anonkit.errors import EngineError, PolicyError
from tests.engines.writing.test_parquet_files import KEY, SCHEMA, SPLITS, WHOLE, WORDS, N, plain, tasks

ALL = tasks(*range(SPLITS.n_splits))
ROWS = MappedRows(splits=SPLITS)
CATEGORIES = {"kind": WORDS[::-1]}


def done(task: Callable[[list[pa.RecordBatch]], Any], batches: list[pa.RecordBatch] = ALL) -> pa.Table:
    """The output of a task, pickled as it is on its way to an executor."""
    return pa.Table.from_batches(list(pickle.loads(pickle.dumps(task))(batches)))


def even(batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
    """Every second row, by number."""
    return batch.filter(pa.array([(row + at) % 2 == 0 for at in range(batch.num_rows)], pa.bool_()))


def test_a_map_that_drops_rows_hands_out_the_others() -> None:
    """Of all pieces, as carriers and in their order."""
    mapped = MappedRows(splits=SPLITS, steps=(step(even, SCHEMA, CATEGORIES, SCHEMA),))
    found = [batch for at in range(SPLITS.n_splits) for batch, _ in mapped.read(at)]
    assert plain(pa.Table.from_batches(found)).to_pylist() == plain(WHOLE).to_pylist()[::2]


def renamed(batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
    """Another name than was announced."""
    return batch.rename_columns(["n", "kind", "other"]) if batch.num_rows else batch


def new_category(batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
    """A category that an empty batch does not have."""
    kinds = pa.DictionaryArray.from_arrays(pa.array([0] * batch.num_rows, pa.int32()), ["secret"])
    return batch.set_column(1, SCHEMA.field("kind"), kinds) if batch.num_rows else batch


@pytest.mark.parametrize("function", [renamed, new_category])
def test_what_a_function_did_not_announce_is_refused(function: Any) -> None:
    """Its columns and its categories are those of an empty batch."""
    made = step(function, SCHEMA, CATEGORIES, SCHEMA)
    assert isinstance(made, MapStep)
    with pytest.raises(EngineError, match="a batch function returned other") as refused:
        made(next(iter(SPLITS.read(0, None)))[0], 0)
    assert "secret" not in str(refused.value)
    with pytest.raises(EngineError, match="declared"):
        step(function, SCHEMA, CATEGORIES, pa.schema([("n", pa.int64())]))


def test_combinations_are_counted_by_set() -> None:
    """One set after another, what is not in a set is missing; no column at all is the number of rows."""
    columns, sets = ["kind", "text"], [("kind",), ("kind", "text"), ()]
    out = out_schema(pa.schema([SCHEMA.field(name) for name in columns]), ("set", pa.int64()), ("n", pa.int64()))
    found: Counter[tuple[Any, ...]] = Counter()
    for row in done(RowMap(rows=ROWS, finish=Counted(columns, sets), out=out)).to_pylist():
        found[row["set"], row["c0"], row["c1"]] += row["n"]
    rows = plain(WHOLE).to_pylist()
    expected = Counter((0, row["kind"], None) for row in rows) + Counter((1, row["kind"], row["text"]) for row in rows)
    assert found == expected + Counter({(2, None, None): N})


def test_a_sample_is_the_rows_of_the_lowest_words() -> None:
    """The same rows whichever task reads which piece; the key is in no text of it."""
    rows = np.arange(N)
    words = words_of(KEY, rows)
    bound = int(np.sort(words)[50])
    task = RowMap(
        rows=ROWS,
        finish=Lowest(key=KEY, bound=bound),
        out=out_schema(SCHEMA, ("row", pa.int64()), ("word", pa.int64())),
    )
    found = done(task, [*tasks(3, 1), *tasks(*(at for at in range(SPLITS.n_splits) if at not in (1, 3)))])
    assert sorted(found.column("row").to_pylist()) == rows[words < bound].tolist()
    by_word = found.sort_by("word").column("row").to_pylist()
    assert by_word == np.argsort(words)[:50].tolist()
    assert str(KEY) not in repr(task)


def length_of_text(batch: pa.RecordBatch, row: int) -> Any:
    """Number of rows by the length of their text; 0 for a missing one."""
    lengths = [len(text or "") for text in batch.column("text").to_pylist()]
    return np.bincount(lengths, minlength=9)


def test_counts_of_all_batches_add_up() -> None:
    """Places of no rows are not handed out."""
    found = done(RowSum(rows=ROWS, function=length_of_text, columns=["text"], size=9)).to_pydict()
    lengths = Counter(len(text or "") for text in WHOLE.column("text").to_pylist())
    assert dict(zip(found["at"], found["n"], strict=True)) == lengths


def test_dictionaries_are_handed_out_once_a_piece() -> None:
    """In the order in which they were seen."""
    found = done(Dictionaries(splits=SPLITS, columns=["kind"]))
    assert found.column("seen").to_pylist() == [at << 32 for at in range(SPLITS.n_splits)]
    assert all(texts_of(message).to_pylist() == ["w2", "w1", "w0"] for message in found.column("texts").to_pylist())


def failing(item: Any) -> Any:
    """An error of the kind that is its item, with a cell in its text."""
    if item == "ours":
        raise PolicyError("column 'age' has no bounds", "declare them")
    raise ValueError("a secret cell")


@pytest.mark.parametrize(("item", "kind"), [("ours", PolicyError), ("other", EngineError)])
def test_an_error_comes_back_in_our_words(item: str, kind: type[Exception]) -> None:
    """As it was raised, with its hint; of any other one nothing but that there was one."""
    with pytest.raises(TaskFailure) as failure:
        done(PartTask(function=failing, items=[item]), tasks(0))
    assert "secret" not in str(failure.value)
    back = failure_in(f"Job aborted: org.apache.spark.SparkException: {failure.value} at line 3")
    assert type(back) is kind
    assert (back.hint == "declare them") is (item == "ours")
    assert failure_in("Job aborted: out of memory") is None


def test_items_are_worked_on_by_their_numbers(tmp_path: Path) -> None:
    """A file that an executor does not see is refused before it is worked on."""
    found = done(PartTask(function=len, items=["a", "bb", "ccc"]), tasks(2, 0))
    assert [(at, pickle.loads(made)) for at, made in zip(*found.to_pydict().values(), strict=True)] == [(2, 3), (0, 1)]
    for item in (tmp_path / "gone", [tmp_path, tmp_path / "gone"]):
        with pytest.raises(TaskFailure) as failure:
            done(PartTask(function=str, items=[item]), tasks(0))
        assert "does not see the files" in str(failure_in(str(failure.value)))


def letters_of(text: str) -> list[tuple[int, bytes]]:
    """A message to the group of each letter."""
    return [(ord(letter), letter.encode()) for letter in text]


def counted(group: int, messages: list[bytes]) -> list[tuple[int, bytes]]:
    """The number of messages of a group."""
    return [(group, str(len(messages)).encode())]


def test_messages_of_a_group_come_together() -> None:
    """Dealt by one task, worked on by another one, sorted by group between them as Spark does."""
    dealt = done(DealTask(deal=letters_of, items=["abca", "cc"]), tasks(0, 1))
    found = done(GroupTask(step=counted), dealt.sort_by("group").to_batches(max_chunksize=2)).to_pydict()
    assert dict(zip(map(chr, found["group"]), found["message"], strict=True)) == {"a": b"2", "b": b"1", "c": b"3"}
