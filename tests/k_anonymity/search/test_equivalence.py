"""Equivalence classes and requirements, against their definitions.

Distinct rows with their multiplicities: the table, whatever the order of its rows and columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.coded_columns import CodedColumn
from anonkit.errors import ParameterError
from anonkit.k_anonymity.search.equivalence import (
    AlphaK,
    AtLeastK,
    DistinctL,
    DistinctRows,
    EntropyL,
    NumberedRows,
    Partition,
    RecursiveCL,
    Requirement,
    TCloseness,
    check_k,
    released_partition,
)
from anonkit.k_anonymity.search.greedy_selection import suppressed_rows
from tests.k_anonymity.search.coded_tables import (
    arrays,
    classes_of,
    holds,
    of_people,
    plainly_meets,
    requirements,
    tables,
)


def column(name: str, codes: list[int]) -> CodedColumn:
    """A column of numbers."""
    return CodedColumn(name=name, codes=np.array(codes, dtype=np.int32), values=[0, 1, 2], ordered=True)


ROWS = [column("b", [1, 0, 1, 1, 0]), column("a", [2, 0, 2, 1, 0])]


def test_rows_that_are_alike_are_counted() -> None:
    """Entries ascend by their codes, columns by their names; shuffled rows give the same."""
    found = DistinctRows.of(ROWS, [])
    assert [one.name for one in found.columns] == ["a", "b"]
    assert [one.codes.tolist() for one in found.columns] == [[0, 1, 2], [0, 1, 1]]
    order = [4, 2, 0, 3, 1]
    shuffled = DistinctRows.of([column(one.name, one.codes[order].tolist()) for one in reversed(ROWS)], [])
    assert all((x.codes == y.codes).all() for x, y in zip(found.columns, shuffled.columns, strict=True))


def test_numbered_rows_say_which_entry_each_row_is() -> None:
    """Codes of its entry are the codes of the row; weights are the multiplicities."""
    found = NumberedRows.of(ROWS, [])
    assert found.weights.tolist() == [2.0, 1.0, 2.0]
    for one in ROWS:
        own = next(each for each in found.columns if each.name == one.name)
        assert (own.codes[found.entry] == one.codes).all()


def test_dropped_columns_do_not_divide_rows() -> None:
    """Classes by the released groups of the other column."""
    partition = released_partition(ROWS, {"a": np.array([0, 1, 1], dtype=np.int32), "b": None})
    classes = partition.classes
    assert len(set(classes.tolist())) == 2
    assert classes[0] == classes[2] == classes[3] != classes[1]


@st.composite
def _partitioned(draw: st.DrawFn) -> tuple[list[np.ndarray], Partition, list[Requirement]]:
    columns = [column.codes for column in draw(tables())]
    n_rows = columns[0].size
    return columns, Partition.of(columns, n_rows), draw(requirements(n_rows))


@given(tables())
def test_a_partition_groups_rows_by_their_combination(table: list[Any]) -> None:
    """Built at once or by refining, classes are the groups of equal rows, with their sizes."""
    columns = [column.codes for column in table]
    n_rows = columns[0].size
    at_once, stepwise = Partition.of(columns, n_rows), Partition.whole(n_rows)
    for codes in columns:
        stepwise = stepwise.refine(codes)
    expected = classes_of(columns, range(n_rows))
    for partition in (at_once, stepwise):
        assert partition.n_classes == len(expected)
        for rows in expected:
            assert len(set(partition.classes[rows].tolist())) == 1
            assert partition.sizes()[partition.classes[rows[0]]] == len(rows)
    assert at_once.classes.tolist() == stepwise.classes.tolist()


@given(_partitioned())
def test_each_requirement_is_its_definition(drawn: tuple[list[np.ndarray], Partition, list[Requirement]]) -> None:
    """A class is violated exactly when its rows break the definition."""
    columns, partition, asked = drawn
    everything = np.ones(partition.classes.size, dtype=bool)
    for requirement in asked:
        violated = requirement.violated(partition, everything)
        for rows in classes_of(columns, range(everything.size)):
            meets = plainly_meets(requirement, rows, range(everything.size))
            assert violated[partition.classes[rows[0]]] == (not meets)


@given(_partitioned())
def test_what_is_left_after_suppression_meets_everything(
    drawn: tuple[list[np.ndarray], Partition, list[Requirement]],
) -> None:
    """The rows kept meet every requirement among themselves, and only whole classes go."""
    columns, partition, asked = drawn
    gone = suppressed_rows(partition, asked)
    assert holds(columns, ~gone, asked)
    assert all(len(set(gone[rows].tolist())) == 1 for rows in classes_of(columns, range(gone.size)))


@given(_partitioned())
def test_without_t_closeness_no_class_goes_that_could_stay(
    drawn: tuple[list[np.ndarray], Partition, list[Requirement]],
) -> None:
    """A class that meets everything by itself is kept."""
    columns, partition, asked = drawn
    if any(isinstance(requirement, TCloseness) for requirement in asked):
        return
    gone = suppressed_rows(partition, asked)
    for rows in classes_of(columns, range(gone.size)):
        assert gone[rows[0]] == (not all(plainly_meets(one, rows, rows) for one in asked))


@given(_partitioned(), st.data())
def test_requirements_are_monotone_under_merging(
    drawn: tuple[list[np.ndarray], Partition, list[Requirement]], data: st.DataObject
) -> None:
    """When all classes meet a requirement on rows, or on numbers of people, so do those of any coarser partition."""
    _, partition, asked = drawn
    merged = data.draw(arrays(partition.n_classes, max(1, partition.n_classes // 2)))
    coarser = Partition.of([merged[partition.classes]], partition.classes.size)
    everything = np.ones(partition.classes.size, dtype=bool)
    for requirement in asked:
        if not of_people(requirement) and not requirement.violated(partition, everything).any():
            assert not requirement.violated(coarser, everything).any()


@given(_partitioned(), st.data())
def test_a_weight_stands_for_repeated_rows(
    drawn: tuple[list[np.ndarray], Partition, list[Requirement]], data: st.DataObject
) -> None:
    """Entries with weights are judged like the table in which they are repeated."""
    _, partition, asked = drawn
    n_entries = partition.classes.size
    weights = data.draw(arrays(n_entries, 3)) + 1
    repeated = np.repeat(np.arange(n_entries), weights)
    weighted = Partition(partition.classes, partition.n_classes, weights)
    spelled_out = Partition(partition.classes[repeated], partition.n_classes)
    gone = suppressed_rows(weighted, asked)
    assert gone[repeated].tolist() == suppressed_rows(spelled_out, [one.at(repeated) for one in asked]).tolist()
    assert weighted.n_rows(gone) == int(gone[repeated].sum())
    assert weighted.n_rows() == repeated.size


@given(_partitioned(), st.data())
def test_a_selection_of_entries_keeps_their_classes(
    drawn: tuple[list[np.ndarray], Partition, list[Requirement]], data: st.DataObject
) -> None:
    """The partition of some rows groups them as before."""
    columns, partition, _ = drawn
    chosen = data.draw(arrays(partition.classes.size, 2)).astype(bool)
    expected = Partition.of([codes[chosen] for codes in columns], int(chosen.sum()))
    assert partition.at(chosen).classes.tolist() == expected.classes.tolist()


def test_large_histograms_are_worked_on_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few classes give what one table gives."""
    random = np.random.default_rng(0)
    partition = Partition.of([random.integers(0, 50, 2000)], 2000)
    asked = EntropyL(random.integers(0, 5, 2000), 4.5)
    everything = np.ones(2000, dtype=bool)
    at_once = asked.achieved(partition, everything)
    monkeypatch.setattr("anonkit.k_anonymity.search.equivalence._CELLS", 15)
    assert asked.achieved(partition, everything).tolist() == at_once.tolist()


def test_achieved_values_of_a_known_class() -> None:
    """Counts 4, 2, 2 of three values, the whole table being one class."""
    sensitive = np.array([0, 0, 0, 0, 1, 1, 2, 2])
    whole, everything = Partition.whole(8), np.ones(8, dtype=bool)
    assert DistinctL(sensitive, 2).achieved(whole, everything).tolist() == [3]
    assert EntropyL(sensitive, 2).achieved(whole, everything).tolist() == pytest.approx([2**1.5])
    assert RecursiveCL(sensitive, 2.0, 2).achieved(whole, everything).tolist() == [1.0]
    assert AlphaK(sensitive, 0.5).achieved(whole, everything).tolist() == [0.5]
    assert TCloseness(sensitive, 0.1).achieved(whole, everything).tolist() == [0.0]


def test_ordered_t_closeness_is_the_published_example() -> None:
    """Li et al. 2007, section 4.1: salaries 3k..11k, class {3k, 4k, 5k} is at 0.375, {6k, 8k, 11k} at 0.167."""
    salaries = np.arange(9)
    partition = Partition.of([np.array([0, 0, 0, 1, 2, 1, 2, 2, 1])], 9)
    distances = TCloseness(salaries, 0.2, ordered=True).achieved(partition, np.ones(9, dtype=bool))
    assert distances[0] == pytest.approx(0.375)
    assert distances[1] == pytest.approx(1 / 6)


def test_an_empty_table_has_no_class() -> None:
    """Nothing is partitioned, refined and suppressed without complaint."""
    empty = Partition.of([np.zeros(0, dtype=np.int32)], 0)
    assert empty.n_classes == 0
    assert empty.refine(np.zeros(0, dtype=np.int32)).n_classes == 0
    assert suppressed_rows(empty, [AtLeastK(2)]).size == 0


@pytest.mark.parametrize("k", [1, 0, -3, 2.0, True, "10", None])
def test_k_must_be_an_integer_of_at_least_two(k: object) -> None:
    """Anything else is refused by name."""
    with pytest.raises(ParameterError, match="k "):
        check_k(k)


def test_k_must_not_exceed_the_rows() -> None:
    """A k above the number of rows cannot be met; at that number it can."""
    assert check_k(5, 5) == 5
    with pytest.raises(ParameterError, match="number of rows"):
        check_k(6, 5)
