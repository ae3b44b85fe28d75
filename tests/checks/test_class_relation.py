# SPDX-License-Identifier: Apache-2.0
"""Values inside classes counted by workers alone: the figures are those of one machine, to the last digit."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from part_workers import Elsewhere, without_rows

from anonkit.bundle.data_files import Message, read_by
from anonkit.checks import class_relation, clear_parts, table_scans
from anonkit.checks.class_relation import DealRows, MakeTables, _read
from anonkit.checks.clear_parts import KnownBeside
from anonkit.checks.counted_as import ReadValues
from anonkit.checks.disclosure import fewest_alike, measure
from anonkit.errors import EngineError

KINDS: dict[str, tuple[pa.DataType, Callable[[int], Any]]] = {
    "n": (pa.int64(), int),
    "x": (pa.float64(), lambda code: code / 7 - 3),
    "text": (pa.string(), lambda code: f"{'aZü€'[code % 4]}{code}"),
    "day": (pa.date32(), lambda code: date.fromordinal(700_000 + code)),
    "when": (pa.timestamp("us", "UTC"), lambda code: code * 1_000_003),
    "price": (pa.decimal128(9, 2), lambda code: Decimal(code) / 100),
    "yes": (pa.bool_(), lambda code: code % 2 == 0),
}
"""Columns of every kind, made of small numbers."""
NAMES = list(KINDS)
READ = ReadValues(
    widths={"n": 2.0, "x": 0.3, "price": 0.0},
    caps={
        "n": [[None, 0.6], [0, 0.7], [3, None]],
        "x": [[-3.0, 0.55], [-2.5, 0.9]],
        "text": [["a0", None], ["z1", 0.7]],
        "day": [["1917-07-16", 0.6]],
        "yes": [["true", 0.8]],
    },
    left_out=2,
)
"""Widths and caps of columns of most kinds."""
MOST_BYTES = 64 << 10
"""Bytes that come to this machine and go out, of a few classes."""
BESIDE: dict[str, Any] = {
    "listed": ("y", "s"),
    "beside": KnownBeside(columns=("t", "y"), sensitive=("s",), target="y", k=5),
}


@pytest.fixture(autouse=True)
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the combinations of a few rows be too many, and groups be small."""
    monkeypatch.setattr(table_scans, "_FEW", -1)
    monkeypatch.setattr(table_scans, "_SHARE", 1_000_000)
    monkeypatch.setattr(class_relation, "_TOGETHER", 3)
    monkeypatch.setattr(clear_parts, "FEW_VALUES", 4)


def table_of(rows: Sequence[tuple[int | None, ...]]) -> pa.Table:
    """Return a table of rows of codes: two quasi-identifiers, then a column of every kind."""
    codes = list(zip(*rows, strict=True)) if rows else [()] * (2 + len(KINDS))
    columns = {
        "q": pa.array([None if code is None else f"[{code}, {code + 1})" for code in codes[0]], pa.string()),
        "r": pa.array(codes[1], pa.int64()),
    }
    for (name, (kind, made)), own in zip(KINDS.items(), codes[2:], strict=True):
        columns[name] = pa.array([None if code is None else made(code) for code in own], kind)
    return pa.table(columns)


def folder_of(table: pa.Table, folder: Path, each: int) -> Path:
    """Write a table into files of so many rows."""
    folder.mkdir()
    for at in range(-(-table.num_rows // each) + 1):
        pq.write_table(table.slice(at * each, each), folder / f"part-{at:05d}.parquet")
    return folder


class Drawn:
    """A random table of few rows, in files of fewer, and what is requested of it."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.random = random.Random(seed)
        rows = self.random.choice([0, 1, 5, 24, 24, 24])
        most = self.random.choice([1, 3, 13])
        self.table = table_of([self._row(most) for _ in range(rows)])
        self.names = self.random.choice([(), ("q",), ("q", "r")])
        self.asked: dict[str, Any] = {
            "sensitive": self.random.choice([NAMES, NAMES, []]),
            "missing_is_value": self.random.choice([(), ("n", "text"), tuple(NAMES)]),
            "target": self.random.choice([None, "x", "text"]),
            "reading": self.random.choice([ReadValues(), READ]),
            "listed": self.random.choice([NAMES, ("x", "text")]),
            "beside": self.random.choice(
                [
                    None,
                    KnownBeside(columns=("day", "x"), sensitive=("yes", "n"), target="x", k=2),
                    KnownBeside(columns=(), sensitive=tuple(NAMES), k=3),
                ]
            ),
        }
        self.folder = folder

    def _row(self, most: int) -> tuple[int | None, ...]:
        cells = [self.random.choice([None, *range(most)]) for _ in KINDS]
        return (self.random.choice([None, 0, 1]), self.random.randrange(2), *cells)

    def spread(self) -> tuple[Path, Elsewhere]:
        """Write the files; return their folder here, and who has their rows."""
        data = folder_of(self.table, self.folder / "here", self.random.randint(1, 9))
        workers = without_rows(data, self.folder / "there")
        workers.tasks = self.random.randint(1, 4)
        return data, workers


@pytest.mark.quick_cases("1")
@pytest.mark.parametrize("seed", range(12))
def test_the_figures_are_those_of_one_machine(seed: int, tmp_path: Path) -> None:
    """Of columns of every kind, with missing cells, however the rows lie in files: no row is read here."""
    drawn = Drawn(seed, tmp_path)
    data, workers = drawn.spread()
    with read_by(workers):
        found = measure(data, drawn.names, recursive=(2, 3, 4), **drawn.asked)

    assert found == measure(drawn.table, drawn.names, recursive=(2, 3, 4), **drawn.asked)


@pytest.mark.quick_cases("2")
@pytest.mark.parametrize("seed", range(12))
def test_people_are_those_of_one_machine(seed: int, tmp_path: Path) -> None:
    """By class and value, with rows of nobody too; the counts of people are compared with the same rows."""
    drawn = Drawn(seed, tmp_path)
    whose = [drawn.random.choice([None, *"abcdefg"] if seed % 2 else [*"abcdefg"]) for _ in range(drawn.table.num_rows)]
    drawn.table = drawn.table.append_column("person", pa.array(whose, pa.string()))
    data, workers = drawn.spread()
    expected = measure(drawn.table, drawn.names, unit="person", **drawn.asked)
    told = expected.counts
    assert told is not None
    with read_by(workers):
        found = measure(data, drawn.names, unit="person", **drawn.asked)
        again = measure(data, drawn.names, people=told, **drawn.asked)
        alike = fewest_alike(data, drawn.names, "person")

    assert found == expected
    assert found.counts is not None
    assert found.counts.to_params() == told.to_params()
    here = measure(drawn.table, drawn.names, people=told, **drawn.asked)
    assert (again, again.checks) == (here, here.checks)
    assert alike == fewest_alike(drawn.table, drawn.names, "person")


@pytest.mark.slow
def test_numbers_hardly_two_of_which_are_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of pairs in groups of hundreds: the same distances and entropies to the last digit."""
    drawn = np.random.default_rng(5)
    table = pa.table(
        {
            "q": drawn.integers(0, 60, 5_000),
            "s": np.round(drawn.lognormal(8, 1, 5_000), 2),
            "t": drawn.integers(0, 800, 5_000),
            "y": drawn.normal(size=5_000),
        }
    )
    data = folder_of(table, tmp_path / "here", 700)
    workers = without_rows(data, tmp_path / "there")
    monkeypatch.setattr(class_relation, "_TOGETHER", 400)
    with read_by(workers):
        found = measure(data, ["q"], sensitive=["s", "t"], target="y", **BESIDE)

    assert found == measure(table, ["q"], sensitive=["s", "t"], target="y", **BESIDE)
    assert found.sensitive["s"]["t"] > 0


class Losing(Elsewhere):
    """Workers between which a message is lost."""

    def regrouped(self, deal: Any, steps: Any, items: Any, groups: int) -> list[Message]:
        """Lose the last message that was dealt."""
        return super().regrouped(_Lossy(deal), steps, items, groups)


class _Lossy:
    def __init__(self, deal: Any) -> None:
        self._deal = deal

    def __call__(self, item: Any) -> list[Message]:
        return list(self._deal(item))[:-1]


def test_what_is_lost_on_the_way_is_noticed(tmp_path: Path) -> None:
    """The pairs of a class have as many rows as the class, or no figure is published."""
    data = folder_of(table_of([(1, 0, *[at] * len(KINDS)) for at in range(8)]), tmp_path / "here", 3)
    for asked in ({"sensitive": ["n"]}, {"listed": ["text"]}, {"beside": KnownBeside(columns=("text",), k=2)}):
        with read_by(Losing()), pytest.raises(EngineError, match="does not add up"):
            measure(data, ["q"], **asked)


class IncompleteWorkers(Elsewhere):
    """Workers between which cells of whole columns are lost: as they are dealt, or once a table is made of them."""

    def __init__(self, at: str) -> None:
        super().__init__()
        self.at = at

    def regrouped(self, deal: Any, steps: Any, items: Any, groups: int) -> list[Message]:
        """Lose the cells of the last file, or lines of the table, or all of it."""
        if self.at == "dealt":
            return super().regrouped(_WithoutCells(deal), steps, items, groups)
        if isinstance(steps[0], MakeTables):
            steps = [_WithoutLines(steps[0], 1 if self.at == "some lines" else 100), *steps[1:]]
        return super().regrouped(deal, steps, items, groups)


class _WithoutCells:
    def __init__(self, deal: Any) -> None:
        self._deal = deal

    def __call__(self, item: Any) -> list[Message]:
        said = list(self._deal(item))
        last = next((at for at in reversed(range(len(said))) if "class" not in _read([said[at][1]]).column_names), None)
        return [message for at, message in enumerate(said) if at != last]


class _WithoutLines:
    def __init__(self, step: Any, lost: int) -> None:
        self._step, self._lost = step, lost

    def __call__(self, group: int, said: Any) -> list[Message]:
        made = list(self._step(group, said))
        return made if group < self._step.groups else made[self._lost :]


@pytest.mark.parametrize("at", ["dealt", "some lines", "all lines"])
def test_values_whose_rows_in_the_table_are_not_told_are_noticed(
    at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every class is whole then, but its distance is from other shares than those of the table."""
    monkeypatch.setattr(class_relation, "_IN_A_MESSAGE", 4)
    data = folder_of(table_of([(1, 0, *[at] * len(KINDS)) for at in range(8)]), tmp_path / "here", 3)
    for asked in ({"sensitive": ["n"]}, *([{"listed": ["text"]}] if at == "dealt" else [])):
        with read_by(IncompleteWorkers(at)), pytest.raises(EngineError, match="does not add up"):
            measure(data, ["q", "r"], **asked)


class Answerless(Elsewhere):
    """Workers of whose answers one is lost."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at, self.answers = at, 0

    def regrouped(self, deal: Any, steps: Any, items: Any, groups: int) -> list[Message]:
        """Lose the answer of that number, all calls counted together."""
        made = super().regrouped(deal, steps, items, groups)
        first, self.answers = self.answers, self.answers + len(made)
        return [message for at, message in enumerate(made, first) if at != self.at]


@pytest.mark.parametrize("asked", ["values", "people", "sets", "confidence", "parts"])
def test_whichever_answer_is_lost_is_noticed(asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of classes, of people, of values, of whole sets of rows: each in turn."""
    monkeypatch.setattr(class_relation, "_TOGETHER", 3)
    table = table_of([(at % 3, 0, *[at] * len(KINDS)) for at in range(8)])
    table = table.append_column("person", pa.array([f"p{at // 2}" for at in range(8)]))
    data = folder_of(table, tmp_path / "here", 3)

    def ask() -> Any:
        if asked == "sets":
            return fewest_alike(data, ["q"], "person")
        if asked == "confidence":
            return measure(data, ["q"], listed=("n", "text"))
        if asked == "parts":
            return measure(data, ["q"], beside=KnownBeside(columns=("day", "x"), target="x", k=2))
        return measure(data, ["q"], sensitive=["n"], unit="person" if asked == "people" else None)

    every = Answerless(-1)
    with read_by(every):
        ask()
    assert every.answers > 1
    for at in range(every.answers):
        with read_by(Answerless(at)), pytest.raises(EngineError, match="does not add up"):
            ask()


class Misplacing(Elsewhere):
    """Workers that give the lines of one group to the next one."""

    def __init__(self, unit: str | None) -> None:
        super().__init__()
        self.unit = unit

    def regrouped(self, deal: Any, steps: Any, items: Any, groups: int) -> list[Message]:
        """Deal the first group's lines to the second, where rows are dealt by class, or by person."""
        deals = deal.unit if isinstance(deal, DealRows) else "a column"
        return super().regrouped(_Misplaced(deal) if deals == self.unit else deal, steps, items, groups)


class _Misplaced:
    def __init__(self, deal: Any) -> None:
        self._deal = deal

    def __call__(self, item: Any) -> list[Message]:
        return [(max(group, 1), said) for group, said in self._deal(item)]


@pytest.mark.parametrize("unit", [None, "person"])
def test_rows_that_are_not_in_their_group_are_noticed(unit: str | None, tmp_path: Path) -> None:
    """No row is lost then: but a class is in two groups, or who has rows in two groups is two people."""
    table = table_of([(at // 3, 0, *[at] * len(KINDS)) for at in range(8)])
    table = table.append_column("person", pa.array([f"p{at}" for at in range(8)]))
    data = folder_of(table, tmp_path / "here", 3)
    with read_by(Misplacing(unit)), pytest.raises(EngineError, match="does not add up"):
        measure(data, ["q"], sensitive=["n"], unit=unit)
    if unit is None:
        with read_by(Misplacing(unit)), pytest.raises(EngineError, match="does not add up"):
            measure(data, ["q"], listed=["n"])


class Weighing(Elsewhere):
    """Workers that count the rows of each group, and the lines of each message."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: Counter[int] = Counter()
        self.lines = 0

    def regrouped(self, deal: Any, steps: Any, items: Any, groups: int) -> list[Message]:
        """Weigh what is dealt."""
        for group, said in (message for item in items for message in deal(item)):
            self.lines = max(self.lines, _read([said]).num_rows)
            if "class" in _read([said]).column_names:
                self.rows[group] += sum(_read([said]).column("n").to_pylist())
        return super().regrouped(deal, steps, items, groups)


def test_no_task_has_more_rows_than_it_can_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A group has as many rows as were agreed on, besides those of the class that it ends with."""
    monkeypatch.setattr(class_relation, "_TOGETHER", 10)
    monkeypatch.setattr(class_relation, "_IN_A_MESSAGE", 4)
    sizes = [1, 9, 3, 30, 2, 2, 2, 2, 2, 11, 1]
    table = pa.table({"q": [at for at, size in enumerate(sizes) for _ in range(size)], "s": range(sum(sizes))})
    with read_by(workers := Weighing()):
        found = measure(folder_of(table, tmp_path / "here", 7), ["q"], sensitive=["s"])

    assert found == measure(table, ["q"], sensitive=["s"])
    assert workers.rows == {0: 10, 1: 33, 2: 8, 3: 13, 4: 1}
    assert workers.lines == 4


class Metered(Elsewhere):
    """Workers that count the bytes that this machine sends and gets."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def each(self, function: Any, items: Any) -> list[Any]:
        """Count what goes out to every task, and what comes back."""
        made = super().each(function, items)
        self.bytes += len(pickle.dumps(function)) + len(pickle.dumps(made))
        return made

    def regrouped(self, deal: Any, steps: Any, items: Any, groups: int) -> list[Message]:
        """Count what goes out to every task, and what comes back."""
        made = super().regrouped(deal, steps, items, groups)
        self.bytes += len(pickle.dumps((deal, steps))) + len(pickle.dumps(made))
        return made


def test_this_machine_gets_no_more_where_there_are_more_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of numbers no two of which are alike some kB come here and go out, however many they are: no value does."""
    monkeypatch.setattr(class_relation, "_TOGETHER", 50_000)
    found = []
    for rows in (10_000, 80_000):
        drawn = np.random.default_rng(7)
        numbers = {name: drawn.permutation(rows) * 1.37 for name in ("s", "y")}
        table = pa.table({"q": np.arange(rows) % 20, "t": np.arange(rows) % 3, **numbers})
        data = folder_of(table, tmp_path / str(rows), rows // 2)
        with read_by(workers := Metered()):
            measure(data, ["q"], sensitive=["s", "y"], target="y", **BESIDE)
        found.append(workers.bytes)

    assert max(found) < MOST_BYTES


def test_nothing_is_counted_where_nothing_may_be_known(tmp_path: Path) -> None:
    """No column in clear, and no sensitive one of few values."""
    data = folder_of(table_of([(1, 0, *[at] * len(KINDS)) for at in range(8)]), tmp_path / "here", 3)
    with read_by(Elsewhere()):
        assert measure(data, ["q"], beside=KnownBeside(columns=(), sensitive=("n",), k=2)).clear is None
